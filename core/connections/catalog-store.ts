import type { Kysely } from 'kysely'
import { isJsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { parseExact } from '../domain/exact-json.ts'
import type { Tables } from '../store/tables.ts'
import type { ServerCatalog } from './api.ts'
import { ServerRows } from './server-rows.ts'

export interface StoredCatalog {
  readonly configHash: string
  readonly catalog: ServerCatalog
}

/** Keeps the last lists of each server over restarts. A failure costs the cache, never a connection. */
export class CatalogStore extends ServerRows<'server_catalog'> {
  constructor(db: Kysely<Tables>, log: PluginLogger) {
    super(db, log, 'server_catalog', 'A catalogue')
  }

  async all(): Promise<ReadonlyMap<string, StoredCatalog>> {
    const found = new Map<string, StoredCatalog>()
    try {
      for (const row of await this.db.selectFrom('server_catalog').selectAll().execute()) {
        const catalog = asCatalog(parse(row.catalog))
        if (catalog) found.set(row.server_id, { configHash: row.config_hash, catalog })
      }
    } catch (error) {
      this.log.error('The stored catalogues cannot be read; they are read anew from the servers', {
        error: String(error),
      })
    }
    return found
  }

  save(serverId: string, configHash: string, catalog: ServerCatalog): void {
    this.put({
      server_id: serverId,
      config_hash: configHash,
      catalog: JSON.stringify(catalog),
      read_at: catalog.readAt,
    })
  }
}

function parse(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** What was stored, if it still has the shape of a catalogue. */
function asCatalog(value: unknown): ServerCatalog | undefined {
  if (!isJsonObject(value)) return undefined
  const { tools, prompts, resources, resourceTemplates, warnings } = value
  const lists = [tools, prompts, resources, resourceTemplates, warnings]
  if (!lists.every(list => Array.isArray(list)) || typeof value.readAt !== 'string') return undefined
  return value as unknown as ServerCatalog
}
