import type { Kysely } from 'kysely'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { AskCapability } from '../../contract/records.ts'
import type { Tables } from '../../store/tables.ts'
import { ServerRows } from './server-rows.ts'

/** What a server was seen to do for clients that can be asked. */
export interface AskFindings {
  readonly asks: readonly AskCapability[]
  /** Tools that it lists only, or lists in another form, for such clients; at most 5,000 names. */
  readonly tools: readonly string[]
  readonly configHash: string
  /** Of the server, and of the protocol that it speaks with the hub. */
  readonly version: string
}

const CAPABILITIES: ReadonlySet<unknown> = new Set<AskCapability>(['sampling', 'elicitation', 'roots'])

/** Keeps the findings over restarts. A failure costs one more look at the server, never a connection. */
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
      this.log.warn('What a server asks of clients cannot be read; it is looked at again', {
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
