import type { Kysely } from 'kysely'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { nextTurn } from '../../domain/next-turn.ts'
import type { Side } from '../../domain/session-scope.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { Tables } from '../../store/tables.ts'
import type { ToolDefinition } from '../api.ts'

/** Prefix of the key of a tool on the legacy side. No valid tool name of a client has a line break. */
const OLDER = 'older\n'
/** Rows of one statement: SQLite takes a limited number of values. */
const ROWS_AT_ONCE = 500

/**
 * The definitions of the tools of all servers. The first definition of a tool counts as approved; any other one is a
 * change until it is approved, even if the tool was absent in between. Stored over restarts; a failure of the store
 * costs this memory, never a connection.
 */
export class ToolDefinitions {
  readonly #db: Kysely<Tables>
  readonly #log: PluginLogger
  readonly #servers = new Map<string, Map<string, ToolDefinition>>()
  /** Serializes the writes, so that the last one stays. */
  #writing: Promise<void> = Promise.resolve()

  constructor(db: Kysely<Tables>, log: PluginLogger) {
    this.#db = db
    this.#log = log
  }

  /** Reads the stored definitions. Throws the database's error: without them no change would be recognized. */
  async load(): Promise<void> {
    for (const row of await this.#db.selectFrom('tool_definition').selectAll().orderBy('seen_at').execute())
      this.#of(row.server_id).set(row.tool, asKnown(row.seen_hash, row.approved_hash))
  }

  /**
   * By tool name, as clients of this side see them. Without a side: as the owner sees them, who is shown the changes of
   * both sides of a server that speaks both eras, one after the other.
   */
  of(serverId: string, side?: Side): ReadonlyMap<string, ToolDefinition> {
    const all = this.#servers.get(serverId) ?? NONE
    if (side !== undefined && side !== 'older') return all
    const older = [...all].filter(([key]) => key.startsWith(OLDER))
    if (side === undefined && older.length === 0) return all
    const named = older.map(([key, definition]) => [key.slice(OLDER.length), definition] as const)
    if (side === 'older') return new Map(named)
    return new Map([...all, ...named.filter(([tool, { changed }]) => changed && !all.get(tool)?.changed)])
  }

  /** Takes a list that was read; returns the tools with a new and unapproved definition. */
  read(
    serverId: string,
    tools: readonly CatalogItem[],
    older = false,
  ): readonly { readonly tool: string; readonly hash: string }[] {
    const definitions = this.#of(serverId)
    const news: { tool: string; hash: string }[] = []
    const changed = new Map<string, ToolDefinition>()
    const listed = new Set<string>()
    for (const item of tools) {
      const { hash } = item
      const tool = older ? OLDER + item.key : item.key
      // When a tool is listed twice, the first one is offered.
      if (listed.has(tool)) continue
      listed.add(tool)
      const before = definitions.get(tool)
      if (before?.hash === hash) continue
      const now = asKnown(hash, before?.approved ?? hash)
      changed.set(tool, now)
      if (now.changed) news.push({ tool: item.key, hash })
    }
    for (const [tool, now] of changed) definitions.set(tool, now)
    this.#save(serverId, changed)
    this.#forgetSome(serverId, definitions, tool => listed.has(tool) || tool.startsWith(OLDER) !== older)
    return news
  }

  /**
   * Bounds the memory for a server that renames its tools with every list. The newest go first: those are the flood
   * itself, not the tools that it may be meant to push out.
   */
  #forgetSome(serverId: string, definitions: Map<string, ToolDefinition>, kept: (tool: string) => boolean): void {
    let excess = definitions.size - LIMITS.toolDefinitions
    let excessBytes = -LIMITS.toolDefinitionNameBytes
    for (const tool of definitions.keys()) if (!kept(tool)) excessBytes += tool.length
    if (excess <= 0 && excessBytes <= 0) return
    const gone: string[] = []
    for (const tool of [...definitions.keys()].reverse()) {
      if (excess <= 0 && excessBytes <= 0) break
      if (kept(tool)) continue
      definitions.delete(tool)
      gone.push(tool)
      excess -= 1
      excessBytes -= tool.length
    }
    for (let start = 0; start < gone.length; start += ROWS_AT_ONCE) {
      const some = gone.slice(start, start + ROWS_AT_ONCE)
      this.#then(serverId, () =>
        this.#db.deleteFrom('tool_definition').where('server_id', '=', serverId).where('tool', 'in', some).execute(),
      )
    }
  }

  /** Throws tool_not_found, version_conflict. */
  approve(serverId: string, tool: string, hash: string): void {
    const known = this.#servers.get(serverId)
    const older = known?.get(OLDER + tool)
    // Each side of a server that speaks both eras has its own definition; the hash says which one is meant.
    const key = older?.hash === hash && known?.get(tool)?.hash !== hash ? OLDER + tool : tool
    const found = known?.get(key)
    if (!found) throw new HubError('tool_not_found', `There is no tool "${tool.slice(0, 64)}" to approve`)
    if (found.hash !== hash)
      throw new HubError('version_conflict', `The tool "${tool.slice(0, 64)}" is another one than the one to approve`, {
        hint: 'Read its definition again, and approve the hash that it has now.',
        data: { hash: found.hash },
      })
    const approved = asKnown(hash, hash)
    this.#of(serverId).set(key, approved)
    this.#save(serverId, new Map([[key, approved]]))
  }

  remove(serverId: string): void {
    // The rows are deleted with the server's own.
    this.#servers.delete(serverId)
  }

  /** Resolves when all definitions are written. */
  flush(): Promise<void> {
    return this.#writing
  }

  #of(serverId: string): Map<string, ToolDefinition> {
    const found = this.#servers.get(serverId) ?? new Map<string, ToolDefinition>()
    this.#servers.set(serverId, found)
    return found
  }

  #save(serverId: string, definitions: ReadonlyMap<string, ToolDefinition>): void {
    const at = new Date().toISOString()
    const rows = [...definitions].map(([tool, { hash, approved }]) => {
      return { server_id: serverId, tool, seen_hash: hash, approved_hash: approved, seen_at: at }
    })
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const some = rows.slice(start, start + ROWS_AT_ONCE)
      this.#then(serverId, () => this.#write(some))
    }
  }

  #then(serverId: string, work: () => Promise<unknown>): void {
    // Each in a turn of its own: a list may have thousands of rows.
    this.#writing = this.#writing.then(() =>
      nextTurn()
        .then(work)
        .then(
          () => undefined,
          (error: unknown) =>
            this.#log.warn('The definitions of tools could not be stored', { serverId, error: String(error) }),
        ),
    )
  }

  async #write(rows: readonly Tables['tool_definition'][]): Promise<void> {
    await this.#db
      .insertInto('tool_definition')
      .values(rows)
      .onConflict(conflict =>
        conflict.columns(['server_id', 'tool']).doUpdateSet(update => ({
          seen_hash: update.ref('excluded.seen_hash'),
          approved_hash: update.ref('excluded.approved_hash'),
          seen_at: update.ref('excluded.seen_at'),
        })),
      )
      .execute()
  }
}

function asKnown(hash: string, approved: string): ToolDefinition {
  return { hash, approved, changed: hash !== approved }
}

const NONE: ReadonlyMap<string, ToolDefinition> = new Map()
