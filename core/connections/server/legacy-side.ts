import type { ServerRecord } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { LATEST_LEGACY } from '../../domain/era.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd, ConnectionEvents } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { saysModern } from '../probe/era-probe.ts'
import type { OpenedMessage } from '../protocol.ts'
import { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLists } from './server-lists.ts'

/** Time after a refusal, or a failed connection, until the legacy era is tried again. */
const REFUSED_MS = 60 * 60_000
const FAILED_MS = 60_000
/** Longest wait of the first client for the probe: as long as most programs need to start, on a busy machine too. */
export const LEGACY_PROBE_WAIT_MS = 5_000

/** The parts of its server that a `LegacySide` uses. */
export interface LegacySideOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The plan for opening a connection now. Rejects with HubError. */
  readonly plan: () => Promise<LaunchPlan>
  /** The era in which the hub talks to the server for modern clients. */
  readonly era: () => Era
  /** True when the server should run and can be expected to respond. */
  readonly ready: () => boolean
  /** Opens the connection of the legacy side, unless it is open or being opened. */
  readonly open: () => void
  readonly connection: () => Connection | undefined
  /** Called when the legacy side was found, lost or changed. */
  readonly changed: () => void
  /** Called when its lists contain this hub's own. */
  readonly loopFound: () => void
}

/**
 * The legacy side of a server that speaks both eras, with its own lists and capabilities, read over a second link. The
 * first legacy client starts the probe for it. Until it is found, and where there is none, legacy clients get the
 * modern side.
 */
export class LegacySide {
  /** Findings about its server requests: it sends them during a call, which the modern side does not. */
  readonly asking: ServerAsking
  readonly #options: LegacySideOptions
  #lists: ServerLists
  #opened: OpenedMessage | undefined
  #spoken = false
  #probedAtMs: number | undefined
  #againAtMs = Number.NEGATIVE_INFINITY
  /** The lists may have changed while no connection was open to notify of it. */
  #stale = false

  constructor(options: LegacySideOptions) {
    this.#options = options
    this.#lists = new ServerLists(options.context, options.record, { older: true })
    const { context, record, plan, ready } = options
    this.asking = new ServerAsking({
      ...{ context, record, plan, older: true },
      era: () => 'legacy',
      usable: ready,
      tools: () => this.catalog?.tools,
      found: extra => this.#lists.alsoListed(extra),
    })
  }

  /** True once its lists are known: legacy clients then get this side only. */
  get spoken(): boolean {
    return this.#spoken
  }

  get catalog(): ServerCatalog | undefined {
    return this.#spoken ? this.#lists.catalog : undefined
  }

  /** Its protocol version, as far as known. */
  get version(): string {
    return this.#opened?.protocolVersion ?? LATEST_LEGACY
  }

  /** True while lists are read that are known to differ from the cached ones. */
  get awaited(): boolean {
    return this.#lists.awaited
  }

  /** A legacy client has come: probes for the legacy side unless that was done. True while it is worth waiting for. */
  findLegacyFace(): boolean {
    const { era, ready, record, open } = this.#options
    if (this.#spoken || era() !== 'modern' || record().era !== undefined || !ready()) return false
    const now = performance.now()
    if (this.#probedAtMs === undefined) {
      if (now < this.#againAtMs) return false
      this.#probedAtMs = now
      open()
    }
    return now - this.#probedAtMs < LEGACY_PROBE_WAIT_MS
  }

  /** A client reads its lists. */
  listed(): void {
    const connection = this.#options.connection()
    if (connection) this.#lists.listed(connection)
    else if (this.#spoken && this.#stale) this.#options.open()
  }

  /** The modern side's lists have changed. An open legacy connection notifies of its own, a sleeping one cannot. */
  mayDiffer(): void {
    if (!this.#spoken || this.#options.connection()) return
    this.#stale = true
    this.#emitLists({ older: true })
  }

  /** A changed definition was approved: other tools are offered, though the lists are the same. */
  toolsChanged(): void {
    if (this.#spoken) this.#lists.toolsChanged()
  }

  /** Periodic tick. */
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

  /** The server's configuration has changed, or a new probe was requested. */
  forget(): void {
    this.asking.abandon()
    this.#lists.dispose()
    this.#lists = new ServerLists(this.#options.context, this.#options.record, { older: true })
    this.#opened = undefined
    this.#spoken = false
    this.#probedAtMs = undefined
    this.#againAtMs = Number.NEGATIVE_INFINITY
    this.#stale = false
  }

  /** Resolves when all its connections have ended. */
  async dispose(): Promise<void> {
    await this.asking.dispose()
    this.#lists.dispose()
  }

  /** Handlers for its connection's events besides calls; `configHash`: of the configuration it was opened with. */
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
        if (read.lists.instances?.some(this.#options.context.isOwnMark)) return this.#options.loopFound()
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
    this.#probedAtMs = undefined
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
