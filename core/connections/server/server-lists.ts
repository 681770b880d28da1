import { LIMITS } from '../../config/limits.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { ServerRecord, TransportName } from '../../contract/records.ts'
import { type CatalogItem, sameItems } from '../../domain/tools/catalog-item.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ListEntry, ListKind, ListsRead, OpenedMessage } from '../protocol.ts'
import type { StoredHead } from '../store/catalog-store.ts'
import { KeptLists } from './kept-lists.ts'
import { noteDefinitions, tellListChange } from './list-news.ts'
import type { ServerContext } from './server-context.ts'

type EventKind = 'tools' | 'prompts' | 'resources'

const EVENT_KIND = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
} as const satisfies Record<ListKind, EventKind>
const KINDS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const satisfies readonly ListKind[]

/** Lists that a server does not watch itself are read again no oftener. */
const EXPIRED_MS = 60_000
const MARKED_CHARACTERS = 1024 * 1024

/** The last known lists of one server, and whether they are being read. What changes of them is kept and told. */
export class ServerLists {
  readonly #context: ServerContext
  readonly #record: () => ServerRecord
  readonly #older: boolean
  readonly #kept: KeptLists
  #catalog: ServerCatalog | undefined
  #configHash: string | undefined
  /** When each kind was read (`performance.now()`), of servers that say how long that holds. */
  readonly #readAtMs = new Map<ListKind, number>()
  #reading = false
  #awaited = false
  #expiredAtMs = Number.NEGATIVE_INFINITY

  /** `older`: those that clients of the older era see of a server that speaks both. They are not stored. */
  constructor(context: ServerContext, record: () => ServerRecord, older = false) {
    this.#older = older
    this.#context = context
    this.#record = record
    this.#kept = new KeptLists(context.account, () => record().ownerId)
  }

  get catalog(): ServerCatalog | undefined {
    return this.#catalog
  }

  /** Of the configuration that the lists were read with. */
  get configHash(): string | undefined {
    return this.#configHash
  }

  /** JSON of tools with arguments that go out as headers too, where the transport has such. */
  get markedTools(): string {
    const texts: string[] = []
    let characters = 0
    for (const { marked, text } of this.#catalog?.tools ?? []) {
      // A tool that is not known here is learnt when the server refuses its call.
      if (!marked || characters + text.length > MARKED_CHARACTERS) continue
      characters += text.length
      texts.push(text)
    }
    return `[${texts.join(',')}]`
  }

  get reading(): boolean {
    return this.#reading
  }

  /** What is being read is known to differ from what is here, so that it is worth waiting for. */
  get awaited(): boolean {
    return this.#awaited
  }

  /** Somebody reads the lists: what the server called fresh for a while is read again after that. */
  listed(connection: Connection): void {
    const now = performance.now()
    if (now - this.#expiredAtMs < EXPIRED_MS) return
    const kinds = this.#expired(now)
    if (kinds.length === 0) return
    this.#expiredAtMs = now
    this.begin({ awaited: false })
    connection.refresh(kinds)
  }

  /** Takes the lists that were stored, unless they were read with another configuration; false when they are not taken. */
  async restore(stored: StoredHead): Promise<boolean> {
    const { id } = this.#record()
    const hash = await this.#context.effective(id).then(
      effective => effective.configHash,
      // A server whose variables are missing keeps the lists it had.
      () => stored.configHash,
    )
    if (hash !== stored.configHash || this.#catalog) return false
    const lists = await this.#context.catalogs.lists(id, stored)
    if (!lists || this.#catalog || !this.#kept.restore(lists)) return false
    this.#catalog = { ...stored.head, ...lists }
    this.#configHash = stored.configHash
    return true
  }

  /** The server is gone: its lists count no more. */
  dispose(): void {
    this.#kept.dispose()
  }

  /** The same lists are offered in another way. */
  toolsChanged(): void {
    tellListChange(this.#context, this.#record(), ['tools'], this.#older)
  }

  /** Some clients are offered these tools too. */
  alsoListed(tools: readonly CatalogItem[]): void {
    noteDefinitions(this.#context, this.#record(), tools, this.#older)
    this.toolsChanged()
  }

  /** The kinds that are older than the server said they would hold, and of which it does not tell when they change. */
  #expired(nowMs: number): readonly ListKind[] {
    const { capabilities, caching } = this.#catalog ?? {}
    if (!capabilities || !caching) return []
    return KINDS.filter(kind => {
      const readAtMs = this.#readAtMs.get(kind)
      const capability = capabilities[EVENT_KIND[kind]]
      if (readAtMs === undefined || !isJsonObject(capability) || capability.listChanged === true) return false
      return nowMs - readAtMs > (caching[kind]?.ttlMs ?? 0)
    })
  }

  /** A reading begins. */
  begin({ awaited }: { readonly awaited: boolean }): void {
    this.#reading = true
    this.#awaited ||= awaited
  }

  /** The reading will not end. */
  abandon(): void {
    this.#reading = false
    this.#awaited = false
    this.#kept.drop()
  }

  /** The next items of a list that is being read; returns why no more of it is taken, if so. */
  part(kind: ListKind, entries: readonly ListEntry[]): string | undefined {
    return this.#kept.stage(kind, entries, this.#catalog?.[kind] ?? [])
  }

  /** Takes what was read, by `transport` where that is not the configured one. */
  read(read: ListsRead, opened: OpenedMessage, configHash: string, transport: TransportName | undefined): void {
    const before = this.#catalog
    const kinds = this.#take(read, opened, configHash, transport)
    const record = this.#record()
    if (this.#catalog && !this.#older) this.#context.catalogs.save(record.id, configHash, this.#catalog)
    // Before anybody hears of the new list, so that nobody gets a tool that waits for an approval.
    if (this.#catalog && this.#catalog.tools !== before?.tools)
      noteDefinitions(this.#context, record, this.#catalog.tools, this.#older)
    tellListChange(this.#context, record, kinds, this.#older)
  }

  /** Returns the kinds that differ, or that the upstream itself called changed. */
  #take(
    { lists: read, noticed, more }: ListsRead,
    opened: OpenedMessage,
    configHash: string,
    transport: TransportName | undefined,
  ): readonly EventKind[] {
    this.#configHash = configHash
    const changed = new Set<EventKind>()
    const before = this.#catalog
    const now = performance.now()
    const items = { tools: NO_ITEMS, prompts: NO_ITEMS, resources: NO_ITEMS, resourceTemplates: NO_ITEMS }
    for (const kind of KINDS) {
      const known = before?.[kind] ?? NO_ITEMS
      items[kind] = known
      if (!read.read.includes(kind)) continue
      this.#readAtMs.set(kind, now)
      const staged = this.#kept.staged(kind)
      const differs = !sameItems(staged, known)
      if (differs) items[kind] = staged
      this.#kept.commit(kind, items[kind])
      if (differs || noticed.includes(kind)) changed.add(EVENT_KIND[kind])
    }
    const refused = KINDS.some(kind => this.#kept.cut(kind))
    this.#kept.drop()
    this.#catalog = {
      ...items,
      ...(refused ? { refused: QUOTA } : {}),
      capabilities: opened.capabilities,
      serverInfo: opened.serverInfo,
      ...(opened.instructions === undefined ? {} : { instructions: opened.instructions }),
      protocolVersion: opened.protocolVersion,
      ...(transport === undefined ? {} : { transport }),
      readAt: new Date().toISOString(),
      ...(read.instances ? { instances: read.instances } : {}),
      ...(opened.caching ? { caching: { ...before?.caching, ...read.caching, discover: opened.caching } } : {}),
      warnings: [...(opened.warnings ?? []), ...read.warnings],
    }
    if (!more) this.abandon()
    return [...changed]
  }
}

const QUOTA = {
  code: 'quota_catalog_bytes',
  message: `The lists of all servers of this user have ${LIMITS.catalogBytesPerUser} bytes together; the rest is left out`,
} as const

const NO_ITEMS: ServerCatalog['tools'] = Object.freeze([])
