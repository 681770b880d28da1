import type { Kysely } from 'kysely'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { Era } from '../../domain/era.ts'
import type { Tables } from '../../store/tables.ts'
import { ServerRows } from './server-rows.ts'

/** The era that a server was found to speak, and the configuration it was probed with. */
export interface EraVerdict {
  readonly era: Era
  readonly configHash: string
  readonly credentialHash: string
  /** ISO 8601 UTC. */
  readonly probedAt: string
}

/** Stores the verdicts over restarts. A failure costs another probe, never a connection. */
export class EraStore extends ServerRows<'server_era'> {
  constructor(db: Kysely<Tables>, log: PluginLogger) {
    super(db, log, 'server_era', 'The era of a server')
  }

  async find(serverId: string): Promise<EraVerdict | undefined> {
    try {
      const row = await this.db
        .selectFrom('server_era')
        .selectAll()
        .where('server_id', '=', serverId)
        .executeTakeFirst()
      if (!row || (row.era !== 'legacy' && row.era !== 'modern')) return undefined
      const { era, config_hash: configHash, credential_hash: credentialHash, probed_at: probedAt } = row
      return { era, configHash, credentialHash, probedAt }
    } catch (error) {
      this.log.warn('The era of a server cannot be read; the server is asked', { serverId, error: String(error) })
      return undefined
    }
  }

  save(serverId: string, { era, configHash, credentialHash, probedAt }: EraVerdict): void {
    this.put({
      server_id: serverId,
      era,
      config_hash: configHash,
      credential_hash: credentialHash,
      probed_at: probedAt,
    })
  }
}
