import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hub } from './hub.ts'
import { descendants } from './processes.ts'

/** Data written with every request, even a rejected one: audit, use of keys, sign-ins, open sessions, findings about upstreams, numbers of calls. */
const BESIDE = new Set([
  ...['audit', 'access_key.last_used_at', 'sign_in', 'client_session', 'server_era', 'server_asking'],
  ...['plugin_quotas__usage', 'plugin_quotas__counter'],
])

/** State that a rejected request must not change: the settings file, every row of the store, the hub's children. */
export interface KeptState {
  readonly settings: string
  readonly rows: Readonly<Record<string, string>>
  readonly children: readonly number[]
}

/** Reads the files directly, not through the hub, so that its own answers are not trusted. */
export function keptState(hub: Pick<Hub, 'settingsFile' | 'dataDir' | 'pid'>): KeptState {
  const database = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
  try {
    const tables = database
      .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .all()
    const rows = tables
      .filter(({ name }) => !BESIDE.has(name) && !name.startsWith('sqlite_'))
      .map(({ name }) => [name, digest(JSON.stringify(rowsOf(database, name)))])
    return {
      settings: digest(readFileSync(hub.settingsFile)),
      rows: Object.fromEntries(rows),
      children: descendants(hub.pid).map(({ pid }) => pid),
    }
  } finally {
    database.close()
  }
}

function rowsOf(database: Database, table: string): object[] {
  const rows = database.query<Record<string, unknown>, []>(`SELECT * FROM "${table}" ORDER BY rowid`).all()
  return rows.map(row =>
    Object.fromEntries(Object.entries(row).filter(([column]) => !BESIDE.has(`${table}.${column}`))),
  )
}

function digest(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16)
}
