import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { LIMITS } from '../../config/limits.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import { LIST_KINDS, type ListKind } from '../../domain/mcp-methods.ts'
import { type CatalogItem, catalogItem } from '../../domain/tools/catalog-item.ts'
import type { Tables } from '../../store/tables.ts'
import type { ServerCatalog } from '../api.ts'

/** Size of one row: written and read within some milliseconds. */
const PART_CHARACTERS = 64 * 1024
/** Pause after each full row, so that other statements are not delayed by the disk. */
const PAUSE_MS = 25

type Lists = Pick<ServerCatalog, ListKind>

/** The stored catalogue without its lists. */
export interface StoredHead {
  readonly configHash: string
  readonly head: Omit<ServerCatalog, ListKind>
  /** Ids of the rows of each list. */
  readonly rows: Readonly<Record<ListKind, string>>
}

interface Saved {
  readonly configHash: string
  readonly catalog: ServerCatalog
}

/**
 * Stores the latest lists of each server over restarts, up to 4 MiB, in rows of about 64 KiB, so that neither reading
 * nor writing blocks the thread. New rows are added before the head refers to them. A failure costs the cache, never a
 * connection.
 */
export class CatalogStore {
  readonly #db: Kysely<Tables>
  readonly #log: PluginLogger
  /** Catalogues to be written, the newest of each server; undefined: to be deleted. */
  readonly #due = new Map<string, Saved | undefined>()
  /** The rows of each list that was written or read, and the list itself, so that only changed lists are written. */
  readonly #written = new Map<string, Map<ListKind, { readonly rows: string; readonly items: object }>>()
  #writing: Promise<void> | undefined

  constructor(db: Kysely<Tables>, log: PluginLogger) {
    this.#db = db
    this.#log = log
  }

  /** The stored catalogues of all servers, without their lists. */
  async heads(): Promise<ReadonlyMap<string, StoredHead>> {
    const found = new Map<string, StoredHead>()
    try {
      for (const row of await this.#db.selectFrom('server_catalog').selectAll().execute()) {
        const head = asHead(row.config_hash, parse(row.catalog))
        if (head) found.set(row.server_id, head)
      }
    } catch (error) {
      this.#log.error('The stored catalogues cannot be read; they are read from the servers again', {
        error: String(error),
      })
    }
    return found
  }

  /** The lists of one server; undefined when they are incomplete. Never rejects. */
  async lists(serverId: string, { rows }: StoredHead): Promise<Lists | undefined> {
    const lists = { tools: NONE, prompts: NONE, resources: NONE, resourceTemplates: NONE }
    const written = new Map<ListKind, { readonly rows: string; readonly items: object }>()
    try {
      for (const kind of LIST_KINDS) {
        lists[kind] = await this.#list(serverId, kind, rows[kind])
        written.set(kind, { rows: rows[kind], items: lists[kind] })
      }
    } catch (error) {
      this.#log.warn('The stored lists of a server cannot be read; they are read from it again', {
        serverId,
        error: String(error),
      })
      return undefined
    }
    this.#written.set(serverId, written)
    return lists
  }

  save(serverId: string, configHash: string, catalog: ServerCatalog): void {
    const bytes = LIST_KINDS.reduce((sum, kind) => sum + catalog[kind].reduce((more, item) => more + item.bytes, 0), 0)
    const fits = bytes <= LIMITS.catalogStoredBytes
    // An older stored catalogue would be offered after a restart as if it were current.
    this.#due.set(serverId, fits ? { configHash, catalog } : undefined)
    this.#writing ??= this.#write()
  }

  remove(serverId: string): void {
    this.#due.set(serverId, undefined)
    this.#writing ??= this.#write()
  }

  /** Resolves when everything saved so far is written. */
  async flush(): Promise<void> {
    await this.#writing
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    for (;;) {
      const [next] = this.#due
      if (!next) break
      const [serverId, saved] = next
      this.#due.delete(serverId)
      try {
        if (saved) await this.#put(serverId, saved)
        else await this.#delete(serverId)
      } catch (error) {
        this.#written.delete(serverId)
        this.#log.warn('A catalogue could not be stored', { error: String(error) })
      }
    }
    this.#writing = undefined
  }

  async #put(serverId: string, { configHash, catalog }: Saved): Promise<void> {
    const written = this.#written.get(serverId) ?? new Map<ListKind, { rows: string; items: object }>()
    const { tools, prompts, resources, resourceTemplates, ...head } = catalog
    const lists: Lists = { tools, prompts, resources, resourceTemplates }
    for (const kind of LIST_KINDS) {
      if (written.get(kind)?.items === lists[kind]) continue
      const rows = randomUUID()
      await this.#putList(serverId, kind, rows, lists[kind])
      written.set(kind, { rows, items: lists[kind] })
    }
    const names = Object.fromEntries(LIST_KINDS.map(kind => [kind, written.get(kind)?.rows ?? '']))
    const row = {
      server_id: serverId,
      config_hash: configHash,
      catalog: JSON.stringify({ head, rows: names }),
      read_at: catalog.readAt,
    }
    const insert = this.#db.insertInto('server_catalog').values(row)
    await insert.onConflict(conflict => conflict.column('server_id').doUpdateSet(row)).execute()
    const old = this.#db.deleteFrom('server_catalog_part').where('server_id', '=', serverId)
    await old.where('list_id', 'not in', Object.values(names)).execute()
    this.#written.set(serverId, written)
  }

  async #putList(serverId: string, kind: ListKind, rows: string, items: readonly CatalogItem[]): Promise<void> {
    let part = 0
    let texts: string[] = []
    let characters = 0
    const put = async (): Promise<void> => {
      const row = { server_id: serverId, list_id: rows, part, items: texts.join('\n') }
      await this.#db.insertInto('server_catalog_part').values(row).execute()
      part += 1
      await turn(characters >= PART_CHARACTERS ? PAUSE_MS : 0)
      texts = []
      characters = 0
    }
    for (const { text, hash, fingerprint } of items) {
      texts.push(`${fingerprint} ${hash} ${text}`)
      characters += text.length
      if (characters >= PART_CHARACTERS) await put()
    }
    if (texts.length > 0 || kind === 'tools') await put()
  }

  async #list(serverId: string, kind: ListKind, rows: string): Promise<readonly CatalogItem[]> {
    const items: CatalogItem[] = []
    for (let part = 0; ; part += 1) {
      const found = await this.#db
        .selectFrom('server_catalog_part')
        .select('items')
        .where('server_id', '=', serverId)
        .where('list_id', '=', rows)
        .where('part', '=', part)
        .executeTakeFirst()
      if (!found) return items
      for (const line of found.items.split('\n')) if (line !== '') items.push(readLine(kind, line))
      await turn()
    }
  }

  async #delete(serverId: string): Promise<void> {
    this.#written.delete(serverId)
    await this.#db.deleteFrom('server_catalog_part').where('server_id', '=', serverId).execute()
    await this.#db.deleteFrom('server_catalog').where('server_id', '=', serverId).execute()
  }
}

const NONE: readonly CatalogItem[] = Object.freeze([])

/** Lets all other pending work run first. */
function turn(pauseMs = 0): Promise<void> {
  return new Promise(resolve => (pauseMs > 0 ? setTimeout(resolve, pauseMs) : setImmediate(resolve)))
}

function readLine(kind: ListKind, line: string): CatalogItem {
  const first = line.indexOf(' ')
  const second = line.indexOf(' ', first + 1)
  const text = line.slice(second + 1)
  const value = parseExact(text)
  if (!isJsonObject(value)) throw new Error('a stored item is no object')
  // The text may have been redacted: its hashes are those of what the server wrote.
  const hash = line.slice(first + 1, second)
  return { ...catalogItem(kind, value, text), fingerprint: Number(line.slice(0, first)), hash }
}

function parse(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** The stored head, if it still has a valid shape. */
function asHead(configHash: string, value: unknown): StoredHead | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.head) || !isJsonObject(value.rows)) return undefined
  const { head, rows } = value
  if (!Array.isArray(head.warnings) || typeof head.readAt !== 'string') return undefined
  if (!LIST_KINDS.every(kind => typeof rows[kind] === 'string')) return undefined
  return { configHash, head, rows } as unknown as StoredHead
}
