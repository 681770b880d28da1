import type { WireError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { LATEST_LEGACY } from '../../domain/era.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd, ConnectionEvents } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launcher.ts'
import { saysModern } from '../probe/era-probe.ts'
import type { OpenedMessage } from '../protocol.ts'
import { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLists } from './server-lists.ts'

/** A server that refused the older era, or gave no connection by it, is asked again after so long. */
const REFUSED_MS = 60 * 60_000
const FAILED_MS = 60_000
/** So long whoever comes first waits to meet it: as long as most programs need to start, on a busy machine too. */
export const LOOK_MS = 5_000

export interface OlderFaceOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** How a connection is opened now. Rejects with HubError. */
  readonly plan: () => Promise<LaunchPlan>
  /** What the server is spoken to in by those of the newer era. */
  readonly era: () => Era
  /** It is wanted, and can be expected to answer. */
  readonly ready: () => boolean
  /** Opens the connection by which it is met, unless it is open or on its way. */
  readonly open: () => void
  readonly connection: () => Connection | undefined
  /** What is known of it has changed. */
  readonly changed: () => void
  /** Its lists hold this hub's own. */
  readonly loopMet: () => void
}

/**
 * What a server of the newer era is to clients of the older one, where it speaks that too: its own lists and capabilities, read
 * over a second link. It is looked for when the first such client comes. Until it was met, and where there is none, those clients
 * meet the newer one.
 */
export class OlderFace {
  /** What it is to clients that can be asked: it asks in the middle of a call, as the newer face does not. */
  readonly asking: ServerAsking
  readonly #options: OlderFaceOptions
  #lists: ServerLists
  #opened: OpenedMessage | undefined
  #spoken = false
  #lookedAtMs: number | undefined
  #againAtMs = Number.NEGATIVE_INFINITY
  /** The lists may have changed while nothing was open that would tell. */
  #stale = false

  constructor(options: OlderFaceOptions) {
    this.#options = options
    this.#lists = new ServerLists(options.context, options.record, true)
    const { context, record, plan, ready } = options
    this.asking = new ServerAsking({
      ...{ context, record, plan, older: true },
      era: () => 'legacy',
      usable: ready,
      tools: () => this.catalog?.tools,
      found: extra => this.#lists.alsoListed(extra),
    })
  }

  /** True once its lists are known: clients of the older era meet it and nothing else. */
  get spoken(): boolean {
    return this.#spoken
  }

  get catalog(): ServerCatalog | undefined {
    return this.#spoken ? this.#lists.catalog : undefined
  }

  /** The version that it speaks, as far as is known. */
  get version(): string {
    return this.#opened?.protocolVersion ?? LATEST_LEGACY
  }

  /** What is being read of it is known to differ from what is here. */
  get awaited(): boolean {
    return this.#lists.awaited
  }

  /** A client of the older era comes: looks for it where that was not done. True while it is worth waiting for. */
  findLegacyFace(): boolean {
    const { era, ready, record, open } = this.#options
    if (this.#spoken || era() !== 'modern' || record().era !== undefined || !ready()) return false
    const now = performance.now()
    if (this.#lookedAtMs === undefined) {
      if (now < this.#againAtMs) return false
      this.#lookedAtMs = now
      open()
    }
    return now - this.#lookedAtMs < LOOK_MS
  }

  /** Somebody reads its lists. */
  listed(): void {
    const connection = this.#options.connection()
    if (connection) this.#lists.listed(connection)
    else if (this.#spoken && this.#stale) this.#options.open()
  }

  /** The newer face has other lists now. This one tells of its own, unless it sleeps. */
  mayDiffer(): void {
    if (!this.#spoken || this.#options.connection()) return
    this.#stale = true
    this.#emitLists({ older: true })
  }

  /** What the owner makes of the tools has changed, though the lists are the same. */
  toolsChanged(): void {
    if (this.#spoken) this.#lists.toolsChanged()
  }

  /** Regular look. */
  tick(): void {
    if (this.#options.connection()) this.asking.tick()
  }

  refresh(): void {
    this.asking.stale()
    const connection = this.#options.connection()
    if (connection) {
      this.#lists.begin({ awaited: true })
      connection.refresh()
    } else this.#stale = true
  }

  /** The server is another one now, or was asked to be looked at afresh. */
  forget(): void {
    this.asking.abandon()
    this.#lists.dispose()
    this.#lists = new ServerLists(this.#options.context, this.#options.record, true)
    this.#opened = undefined
    this.#spoken = false
    this.#lookedAtMs = undefined
    this.#againAtMs = Number.NEGATIVE_INFINITY
    this.#stale = false
  }

  /** Resolves when nothing of its connections is left. */
  async dispose(): Promise<void> {
    await this.asking.dispose()
    this.#lists.dispose()
  }

  /** What comes by its connection besides calls; `configHash` is of the configuration that it was opened with. */
  events(configHash: string): Pick<ConnectionEvents, 'list' | 'catalog' | 'stale'> & {
    opened(message: OpenedMessage): void
  } {
    const lists = this.#lists
    const current = (): boolean => lists === this.#lists
    return {
      opened: message => {
        if (!current()) return
        this.#opened = message
        this.#stale = false
        lists.begin({ awaited: false })
      },
      list: (kind, entries) => (current() ? lists.part(kind, entries) : 'another connection took its place'),
      catalog: read => {
        if (!current() || !this.#opened) return
        if (read.lists.instances?.some(this.#options.context.isOwnMark)) return this.#options.loopMet()
        lists.read(read, this.#opened, configHash, undefined)
        if (!this.#spoken) {
          this.#spoken = true
          const { bus } = this.#options.context
          const { id: serverId, ownerId, name } = this.#options.record()
          bus.emit('catalog.changed', ownerId, { serverId, name, kinds: [], older: true })
        }
        if (lists.catalog && !read.more)
          this.asking.seen({ opened: this.#opened, configHash, tools: lists.catalog.tools })
        this.#options.changed()
      },
      stale: () => {
        this.asking.stale()
        if (current()) lists.begin({ awaited: true })
      },
    }
  }

  /** Its connection has ended, or could not be opened. */
  ended({ reason, wasOpen }: Pick<ConnectionEnd, 'reason' | 'wasOpen'>): void {
    this.#lists.abandon()
    this.#stale = true
    if (!wasOpen) this.#failed(reason)
    this.#options.changed()
  }

  #failed(reason: WireError): void {
    this.#lookedAtMs = undefined
    const refused = saysModern(reason)
    if (this.#spoken && !refused) return
    this.#againAtMs = performance.now() + (refused ? REFUSED_MS : FAILED_MS)
    if (!this.#spoken) return
    this.#spoken = false
    this.#emitLists()
  }

  #emitLists(more: { readonly older?: true } = {}): void {
    const { id: serverId, ownerId, name } = this.#options.record()
    const kinds = ['tools', 'prompts', 'resources'] as const
    this.#options.context.bus.emit('catalog.changed', ownerId, { serverId, name, kinds, ...more })
  }
}
