import type { Kysely } from 'kysely'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { ServerRequestKind } from '../../contract/records.ts'
import type { Tables } from '../../store/tables.ts'
import { ServerRows } from './server-rows.ts'

/** Findings of a probe for server requests, for one version of a server. */
export interface ServerRequestFindings {
  readonly serverRequests: readonly ServerRequestKind[]
  /** Tools that it lists only, or in another form, for clients that support server requests; at most 5,000 names. */
  readonly tools: readonly string[]
  /** True when the server serves one connection at a time. */
  readonly single?: boolean
  /** True when the probe was the only connection to the server: it is not known whether it bears two. */
  readonly alone?: boolean
  readonly configHash: string
  /** JSON of the protocol version, and of the server's name and version. */
  readonly version: string
}

/** Stands among the requests of a server that serves one connection at a time. */
const SINGLE = 'one-connection'
/** Stands among those of a server to which the hub has not had two connections. */
const ALONE = 'alone'
const CAPABILITIES: ReadonlySet<unknown> = new Set<ServerRequestKind>(['sampling', 'elicitation', 'roots'])

/** Stores the findings over restarts. A failure costs another probe, never a connection. */
export class AskingStore extends ServerRows<'server_asking'> {
  constructor(db: Kysely<Tables>, log: PluginLogger) {
    super(db, log, 'server_asking', 'What a server asks of clients')
  }

  async find(serverId: string): Promise<ServerRequestFindings | undefined> {
    try {
      const row = await this.db
        .selectFrom('server_asking')
        .selectAll()
        .where('server_id', '=', serverId)
        .executeTakeFirst()
      if (!row) return undefined
      const requests = textsIn(row.requests)
      const single = {
        ...(requests.includes(SINGLE) ? { single: true } : {}),
        ...(requests.includes(ALONE) ? { alone: true } : {}),
      }
      const serverRequests = requests.filter((name): name is ServerRequestKind => CAPABILITIES.has(name))
      return { serverRequests, ...single, tools: textsIn(row.tools), configHash: row.config_hash, version: row.version }
    } catch (error) {
      this.log.warn('What a server asks of clients cannot be read; it is probed again', {
        serverId,
        error: String(error),
      })
      return undefined
    }
  }

  save(serverId: string, { serverRequests, single, alone, tools, configHash, version }: ServerRequestFindings): void {
    this.put({
      server_id: serverId,
      config_hash: configHash,
      version,
      requests: JSON.stringify([...(single ? [SINGLE] : []), ...(alone ? [ALONE] : []), ...serverRequests]),
      tools: JSON.stringify(tools),
      seen_at: new Date().toISOString(),
    })
  }
}

function textsIn(json: string): string[] {
  const value: unknown = JSON.parse(json)
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}
