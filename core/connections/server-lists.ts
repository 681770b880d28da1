import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { ServerRecord, TransportName } from '../contract/records.ts'
import { parseExact } from '../domain/exact-json.ts'
import { MARK } from '../domain/param-marks.ts'
import type { ServerCatalog } from './api.ts'
import type { StoredCatalog } from './catalog-store.ts'
import type { Connection } from './connection.ts'
import { noteDefinitions, tellListChange } from './list-news.ts'
import type { ListKind, ListsRead, OpenedMessage } from './protocol.ts'
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

/** The last known lists of one server, and whether they are being read. What changes of them is kept and told. */
export class ServerLists {
  readonly #context: ServerContext
  readonly #record: () => ServerRecord
  readonly #texts = new Map<ListKind, string>()
  #catalog: ServerCatalog | undefined
  #configHash: string | undefined
  /** When each kind was read (`performance.now()`), of servers that say how long that holds. */
  readonly #readAtMs = new Map<ListKind, number>()
  #reading = false
  #awaited = false
  #expiredAtMs = Number.NEGATIVE_INFINITY

  constructor(context: ServerContext, record: () => ServerRecord) {
    this.#context = context
    this.#record = record
  }

  get catalog(): ServerCatalog | undefined {
    return this.#catalog
  }

  /** Of the configuration that the lists were read with. */
  get configHash(): string | undefined {
    return this.#configHash
  }

  /** Tools with arguments that go out as headers too, where the transport has such. */
  get markedTools(): readonly JsonObject[] {
    return (this.#catalog?.tools ?? []).filter(tool => JSON.stringify(tool.inputSchema ?? null).includes(MARK))
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
  async restore(stored: StoredCatalog): Promise<boolean> {
    const hash = await this.#context.effective(this.#record().id).then(
      effective => effective.configHash,
      // A server whose variables are missing keeps the lists it had.
      () => stored.configHash,
    )
    if (hash !== stored.configHash || this.#catalog) return false
    this.#catalog = stored.catalog
    this.#configHash = stored.configHash
    for (const kind of KINDS) this.#texts.set(kind, JSON.stringify(stored.catalog[kind]))
    return true
  }

  /** The same lists are offered in another way. */
  toolsChanged(): void {
    tellListChange(this.#context, this.#record(), ['tools'])
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
  }

  /** Takes what was read, by `transport` where that is not the configured one. */
  read(read: ListsRead, opened: OpenedMessage, configHash: string, transport: TransportName | undefined): void {
    const kinds = this.#take(read, opened, configHash, transport)
    const record = this.#record()
    if (this.#catalog) this.#context.catalogs.save(record.id, configHash, this.#catalog)
    // Before anybody hears of the new list, so that nobody gets a tool that waits for an approval.
    noteDefinitions(this.#context, record, this.#catalog?.tools ?? [])
    tellListChange(this.#context, record, kinds)
  }

  /** Returns the kinds that differ, or that the upstream itself called changed. */
  #take(
    { json: texts, noticed, more }: ListsRead,
    opened: OpenedMessage,
    configHash: string,
    transport: TransportName | undefined,
  ): readonly EventKind[] {
    this.#configHash = configHash
    const changed = new Set<EventKind>()
    const before = this.#catalog
    const now = performance.now()
    for (const kind of KINDS) {
      const text = texts[kind]
      if (text === null) continue
      this.#readAtMs.set(kind, now)
      const differs = text !== (this.#texts.get(kind) ?? '[]')
      if (differs || noticed.includes(kind)) changed.add(EVENT_KIND[kind])
      this.#texts.set(kind, text)
    }
    const items = (kind: ListKind): readonly JsonObject[] => {
      const text = texts[kind]
      return text === null ? (before?.[kind] ?? []) : (parseExact(text) as unknown as readonly JsonObject[])
    }
    this.#catalog = {
      tools: items('tools'),
      prompts: items('prompts'),
      resources: items('resources'),
      resourceTemplates: items('resourceTemplates'),
      capabilities: opened.capabilities,
      serverInfo: opened.serverInfo,
      ...(opened.instructions === undefined ? {} : { instructions: opened.instructions }),
      protocolVersion: opened.protocolVersion,
      ...(transport === undefined ? {} : { transport }),
      readAt: new Date().toISOString(),
      ...(opened.caching ? { caching: { ...before?.caching, ...texts.caching, discover: opened.caching } } : {}),
      warnings: texts.warnings,
    }
    if (!more) this.abandon()
    return [...changed]
  }
}
