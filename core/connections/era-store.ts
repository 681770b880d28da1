import type { Kysely } from 'kysely'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Era } from '../domain/era.ts'
import type { Tables } from '../store/tables.ts'
import { BackgroundWrites } from './background-writes.ts'

/** What a server was found to speak, and what it was asked with. */
export interface EraVerdict {
  readonly era: Era
  readonly configHash: string
  readonly credentialHash: string
  /** ISO 8601 UTC. */
  readonly probedAt: string
}

/** Keeps the verdicts over restarts. A failure costs one probe more, never a connection. */
export class EraStore {
  readonly #db: Kysely<Tables>
  readonly #log: PluginLogger
  readonly #writes: BackgroundWrites

  constructor(db: Kysely<Tables>, log: PluginLogger) {
    this.#db = db
    this.#log = log
    this.#writes = new BackgroundWrites(log, 'The era of a server')
  }

  async find(serverId: string): Promise<EraVerdict | undefined> {
    try {
      const row = await this.#db
        .selectFrom('server_era')
        .selectAll()
        .where('server_id', '=', serverId)
        .executeTakeFirst()
      if (!row || (row.era !== 'legacy' && row.era !== 'modern')) return undefined
      const { era, config_hash: configHash, credential_hash: credentialHash, probed_at: probedAt } = row
      return { era, configHash, credentialHash, probedAt }
    } catch (error) {
      this.#log.warn('The era of a server cannot be read; the server is asked', { serverId, error: String(error) })
      return undefined
    }
  }

  save(serverId: string, { era, configHash, credentialHash, probedAt }: EraVerdict): void {
    const row = { era, config_hash: configHash, credential_hash: credentialHash, probed_at: probedAt }
    this.#writes.add(
      this.#db
        .insertInto('server_era')
        .values({ server_id: serverId, ...row })
        .onConflict(conflict => conflict.column('server_id').doUpdateSet(row))
        .execute(),
    )
  }

  remove(serverId: string): void {
    this.#writes.add(this.#db.deleteFrom('server_era').where('server_id', '=', serverId).execute())
  }

  /** Resolves when all that was saved is written. */
  async flush(): Promise<void> {
    await this.#writes.flush()
  }
}
