import type { Kysely } from 'kysely'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { AskCapability } from '../../contract/records.ts'
import type { Tables } from '../../store/tables.ts'
import { ServerRows } from './server-rows.ts'

/** Findings of a probe for server requests, for one version of a server. */
export interface AskFindings {
  readonly asks: readonly AskCapability[]
  /** Tools that it lists only, or in another form, for clients that support server requests; at most 5,000 names. */
  readonly tools: readonly string[]
  readonly configHash: string
  /** JSON of the protocol version, and of the server's name and version. */
  readonly version: string
}

const CAPABILITIES: ReadonlySet<unknown> = new Set<AskCapability>(['sampling', 'elicitation', 'roots'])

/** Stores the findings over restarts. A failure costs another probe, never a connection. */
export class AskingStore extends ServerRows<'server_asking'> {
  constructor(db: Kysely<Tables>, log: PluginLogger) {
    super(db, log, 'server_asking', 'What a server asks of clients')
  }

  async find(serverId: string): Promise<AskFindings | undefined> {
    try {
      const row = await this.db
        .selectFrom('server_asking')
        .selectAll()
        .where('server_id', '=', serverId)
        .executeTakeFirst()
      if (!row) return undefined
      const asks = textsIn(row.asks).filter((name): name is AskCapability => CAPABILITIES.has(name))
      return { asks, tools: textsIn(row.tools), configHash: row.config_hash, version: row.version }
    } catch (error) {
      this.log.warn('What a server asks of clients cannot be read; it is probed again', {
        serverId,
        error: String(error),
      })
      return undefined
    }
  }

  save(serverId: string, { asks, tools, configHash, version }: AskFindings): void {
    this.put({
      server_id: serverId,
      config_hash: configHash,
      version,
      asks: JSON.stringify(asks),
      tools: JSON.stringify(tools),
      seen_at: new Date().toISOString(),
    })
  }
}

function textsIn(json: string): string[] {
  const value: unknown = JSON.parse(json)
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}
