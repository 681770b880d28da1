import { LIMITS } from '../../config/limits.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { ServerRecord, TransportName } from '../../contract/records.ts'
import { LIST_KINDS, LISTS, type ListCapability, type ListKind } from '../../domain/mcp-methods.ts'
import { type CatalogItem, sameItems } from '../../domain/tools/catalog-item.ts'
import type { Caching, ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ListEntry, ListsRead, OpenedMessage } from '../protocol.ts'
import type { StoredHead } from '../store/catalog-store.ts'
import { KeptLists } from './kept-lists.ts'
import type { ServerContext } from './server-context.ts'

/** Expired lists that the server does not send notifications for are read again at most this often. */
const EXPIRED_MS = 60_000
const MARKED_CHARACTERS = 1024 * 1024

/** Tools named in one reading, since each is an event that is stored and sent to listeners. */
const MOST_EVENTS = 100

/** Whose lists they are; absent: those that the server's shared connection reads. */
export interface ListReader {
  /** They are of the legacy side of a server that speaks both eras. */
  readonly older?: boolean
  /** The user who brings the credential that they are read with, and what the owner's list of tools has. */
  readonly caller?: { readonly userId: string; readonly hasTool: (name: string) => boolean }
}

/** The last known lists of one server, and whether they are being read. Changes are stored and emitted. */
export class ServerLists {
  readonly #context: ServerContext
  readonly #record: () => ServerRecord
  readonly #older: boolean
  readonly #caller: ListReader['caller']
  readonly #kept: KeptLists
  #catalog: ServerCatalog | undefined
  #configHash: string | undefined
  /** When each kind was read (`performance.now()`), for servers that declare a time to live. */
  readonly #readAtMs = new Map<ListKind, number>()
  #reading = false
  #awaited = false
  #expiredAtMs = Number.NEGATIVE_INFINITY
  /** The handshake of the present connection, and when its answer came (`Date.now()`). */
  #discovered: { readonly opened: OpenedMessage; readonly atMs: number } | undefined

  /** Lists of a reader are not stored; those of a user count against that user's quota. */
  constructor(context: ServerContext, record: () => ServerRecord, { older = false, caller }: ListReader = {}) {
    this.#older = older
    this.#caller = caller
    this.#context = context
    this.#record = record
    this.#kept = new KeptLists(context.account, () => caller?.userId ?? record().ownerId)
  }

  get catalog(): ServerCatalog | undefined {
    return this.#catalog
  }

  /** Hash of the configuration that the lists were read with. */
  get configHash(): string | undefined {
    return this.#configHash
  }

  /** JSON of the tools whose arguments are also sent as headers, for transports that support it. */
  get markedTools(): string {
    const texts: string[] = []
    let characters = 0
    for (const { marked, text } of this.#catalog?.tools ?? []) {
      // A tool that is left out is learned when the server rejects its call.
      if (!marked || characters + text.length > MARKED_CHARACTERS) continue
      characters += text.length
      texts.push(text)
    }
    return `[${texts.join(',')}]`
  }

  get reading(): boolean {
    return this.#reading
  }

  /** True while lists are read that are known to differ from the cached ones, so that waiting is worthwhile. */
  get awaited(): boolean {
    return this.#awaited
  }

  /** A client reads the lists: those past the server's time to live are read again. */
  listed(connection: Connection): void {
    const now = performance.now()
    if (now - this.#expiredAtMs < EXPIRED_MS) return
    const kinds = this.#expired(now)
    if (kinds.length === 0) return
    this.#expiredAtMs = now
    this.begin({ awaited: false })
    connection.refresh(kinds)
  }

  /** Restores the stored lists; false when they were read with another configuration or do not fit the account. */
  async restore(stored: StoredHead): Promise<boolean> {
    const { id } = this.#record()
    const hash = await this.#context.effective(id).then(
      effective => effective.configHash,
      // A server with missing variables keeps its lists.
      () => stored.configHash,
    )
    if (hash !== stored.configHash || this.#catalog) return false
    const lists = await this.#context.catalogs.lists(id, stored)
    if (!lists || this.#catalog || !this.#kept.restore(lists)) return false
    this.#catalog = { ...stored.head, ...lists }
    this.#configHash = stored.configHash
    return true
  }

  /** The server was deleted: its lists are no longer charged. */
  dispose(): void {
    this.#kept.dispose()
  }

  /** Emits `catalog.changed` for tools that are offered differently, though the list is the same. */
  toolsChanged(): void {
    this.#emit(['tools'])
  }

  /** Stores the definitions of tools that are listed for some clients only, and emits `catalog.changed`. */
  alsoListed(tools: readonly CatalogItem[]): void {
    this.#saveDefinitions(tools)
    this.toolsChanged()
  }

  /** The kinds past the server's time to live for which it sends no list_changed notification. */
  #expired(nowMs: number): readonly ListKind[] {
    const { capabilities, caching } = this.#catalog ?? {}
    if (!capabilities || !caching) return []
    return LIST_KINDS.filter(kind => {
      const readAtMs = this.#readAtMs.get(kind)
      const capability = capabilities[LISTS[kind].capability]
      if (readAtMs === undefined || !isJsonObject(capability) || capability.listChanged === true) return false
      return nowMs - readAtMs > (caching[kind]?.ttlMs ?? 0)
    })
  }

  /** A reading begins. */
  begin({ awaited }: { readonly awaited: boolean }): void {
    this.#reading = true
    this.#awaited ||= awaited
  }

  /** The reading will not finish. */
  abandon(): void {
    this.#reading = false
    this.#awaited = false
    this.#kept.drop()
  }

  /** Charges the next items of a list that is being read; returns the reason when no more is accepted. */
  part(kind: ListKind, entries: readonly ListEntry[]): string | undefined {
    return this.#kept.stage(kind, entries, this.#catalog?.[kind] ?? [])
  }

  /** Stores the lists that were read; `transport`: the one used, if not the configured one. */
  read(read: ListsRead, opened: OpenedMessage, configHash: string, transport: TransportName | undefined): void {
    const before = this.#catalog
    const kinds = this.#take(read, opened, configHash, transport)
    const record = this.#record()
    const isStored = !this.#older && this.#caller === undefined
    if (this.#catalog && isStored) this.#context.catalogs.save(record.id, configHash, this.#catalog)
    // Before the event for the new list, so that no client gets a tool that waits for an approval.
    if (this.#catalog && this.#catalog.tools !== before?.tools) this.#saveDefinitions(this.#catalog.tools)
    this.#emit(kinds)
  }

  /** Emits an event when lists of the server differ, or more or fewer of their items are offered. */
  #emit(kinds: readonly ListCapability[]): void {
    const { bus } = this.#context
    const { id: serverId, ownerId, name } = this.#record()
    const { userId } = this.#caller ?? {}
    // Also where nothing differs: the first reading of empty lists ends a wait.
    if (userId !== undefined) bus.emit('caller.lists', userId, { serverId, userId, kinds }, 'internal')
    else if (kinds.length > 0)
      bus.emit('catalog.changed', ownerId, { serverId, name, kinds, ...(this.#older ? { older: true } : {}) })
  }

  /**
   * Stores the tools' definitions and emits an event for each change, at most 100; the log has the number of more. Of the tools that
   * a caller alone has, they are stored where changes wait for approval.
   */
  #saveDefinitions(all: readonly CatalogItem[]): void {
    const { bus, definitions, log } = this.#context
    const { id, ownerId, name, definitionPolicy } = this.#record()
    const blocked = definitionPolicy === 'pin'
    const caller = this.#caller
    if (caller && !blocked) return
    const tools = caller ? all.filter(({ key }) => !caller.hasTool(key)) : all
    const news = definitions.read(id, tools, this.#older)
    if (news.length > MOST_EVENTS)
      log.warn('Many tools of a server say something else of themselves than before', {
        server: name,
        tools: news.length,
        named: MOST_EVENTS,
      })
    for (const { tool, hash } of news.slice(0, MOST_EVENTS)) {
      log.warn('A tool says something else of itself than before', { server: name, tool, blocked })
      bus.emit('tool.definition_changed', ownerId, { serverId: id, name, tool, hash, blocked })
    }
  }

  /** The hints of what was read now, and of the handshake, each with its time. */
  #received(hints: ListsRead['lists']['caching'] = {}, opened: OpenedMessage): Caching {
    const atMs = Date.now()
    if (opened !== this.#discovered?.opened) this.#discovered = { opened, atMs }
    const lists = Object.entries(hints).map(([kind, hint]) => [kind, { ...hint, atMs }])
    const discover = opened.caching && { ...opened.caching, atMs: this.#discovered.atMs }
    return { ...Object.fromEntries(lists), ...(discover ? { discover } : {}) }
  }

  /** Returns the kinds that differ, or that the upstream reported as changed. */
  #take(
    { lists: read, noticed, more }: ListsRead,
    opened: OpenedMessage,
    configHash: string,
    transport: TransportName | undefined,
  ): readonly ListCapability[] {
    this.#configHash = configHash
    const changed = new Set<ListCapability>()
    const before = this.#catalog
    const now = performance.now()
    const items = { tools: NO_ITEMS, prompts: NO_ITEMS, resources: NO_ITEMS, resourceTemplates: NO_ITEMS }
    for (const kind of LIST_KINDS) {
      const known = before?.[kind] ?? NO_ITEMS
      items[kind] = known
      if (!read.read.includes(kind)) continue
      this.#readAtMs.set(kind, now)
      const staged = this.#kept.staged(kind)
      const differs = !sameItems(staged, known)
      if (differs) items[kind] = staged
      this.#kept.commit(kind, items[kind])
      if (differs || noticed.includes(kind)) changed.add(LISTS[kind].capability)
    }
    const refused = LIST_KINDS.some(kind => this.#kept.cut(kind))
    this.#kept.drop()
    this.#catalog = {
      ...items,
      ...(refused ? { refused: QUOTA } : {}),
      ...withForgotten(handshakeOf(opened), items),
      ...(transport === undefined ? {} : { transport }),
      readAt: new Date().toISOString(),
      ...(read.instances ? { instances: read.instances } : {}),
      ...(opened.caching ? { caching: { ...before?.caching, ...this.#received(read.caching, opened) } } : {}),
      warnings: [...(opened.warnings ?? []), ...read.warnings],
    }
    if (!more) this.abandon()
    return [...changed]
  }
}

/** Adds the capabilities that the server did not declare, and of which it has items: clients ask for nothing else. */
function withForgotten(
  handshake: ReturnType<typeof handshakeOf>,
  items: Readonly<Record<ListKind, readonly CatalogItem[]>>,
): ReturnType<typeof handshakeOf> {
  const listed = LIST_KINDS.filter(kind => items[kind].length > 0).map(kind => LISTS[kind].capability)
  const forgotten = listed.filter(capability => handshake.capabilities[capability] === undefined)
  if (forgotten.length === 0) return handshake
  const added = Object.fromEntries(forgotten.map(capability => [capability, {}]))
  return { ...handshake, capabilities: { ...handshake.capabilities, ...added } }
}

/** The members of the server's handshake result that a catalogue holds. */
function handshakeOf({ capabilities, serverInfo, instructions, protocolVersion, askedVersion }: OpenedMessage) {
  return {
    ...{ capabilities, serverInfo, ...(instructions === undefined ? {} : { instructions }), protocolVersion },
    ...(askedVersion === undefined ? {} : { askedVersion }),
  }
}

const QUOTA = {
  code: 'quota_catalog_bytes',
  message: `The lists of all servers of this user have ${LIMITS.catalogBytesPerUser} bytes together; the rest is left out`,
} as const

const NO_ITEMS: ServerCatalog['tools'] = Object.freeze([])
