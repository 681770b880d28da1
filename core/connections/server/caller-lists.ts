import type { ConnectionState, ServerRecord } from '../../contract/records.ts'
import { asksCallers, type ServerFace, type Side, userConnection } from '../../domain/session-scope.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'
import type { OpenedMessage } from '../protocol.ts'
import { within } from '../within.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLists } from './server-lists.ts'

/** Most users whose lists are kept for one server; lists without a connection go first, those not listed for longest before others. */
const MOST_USERS = 1_000
/** Longest wait of a client for the first lists of its user, which take a connection. */
const FIRST_WAIT_MS = 5_000
/** Time after a failed connection until lists open the next one. */
const AGAIN_MS = 5_000

/** The parts of its server that `CallerLists` uses. */
export interface CallerListsOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  readonly kind: () => ServerFace['kind']
  /** True when the server should run and can be expected to respond. */
  readonly usable: () => boolean
  readonly connection: (key: string) => Connection | undefined
  /** Opens the connection of a user unless it is open or being opened. */
  readonly open: (key: string, userId: string, older: boolean) => void
  /** True for a tool in the owner's list. */
  readonly hasTool: (name: string) => boolean
}

/** Handlers of a connection that reads lists. */
export type ReaderEvents = Pick<ConnectionEvents, 'list' | 'catalog' | 'stale'> & {
  opened(message: OpenedMessage): void
}

/** The lists of one user. */
interface Kept {
  readonly userId: string
  readonly lists: ServerLists
  opened: OpenedMessage | undefined
  /** They were read with a credential, or a configuration, that is not in use any more: nobody sees them until the next reading. */
  hidden: boolean
  /** They may have changed while no connection was open. */
  stale: boolean
  failedAtMs: number
  /** Why the last connection failed; undefined after one that was not needed any more. */
  failure: (WireError & { readonly since: string }) | undefined
  first: PromiseWithResolvers<void> | undefined
}

/**
 * The lists of the users who bring credentials of their own to one server: each is read over that user's connection and seen by
 * that user alone. The owner's lists are those of the shared connection.
 */
export class CallerLists {
  readonly #options: CallerListsOptions
  readonly #kept = new Map<string, Kept>()
  #opened: OpenedMessage | undefined

  constructor(options: CallerListsOptions) {
    this.#options = options
  }

  /** True when this user has lists of its own. Those of a document are the same for all. */
  reads(userId: string): boolean {
    const record = this.#options.record()
    return asksCallers(record) && userId !== record.ownerId && this.#options.kind() !== 'answers'
  }

  /** The last handshake of a user's connection with the present configuration. */
  get opened(): OpenedMessage | undefined {
    return this.#opened
  }

  /** The state of the server for a user whose own connection alone shows it; undefined while that has shown nothing. */
  state(
    userId: string,
  ): { readonly state: ConnectionState; readonly since?: string; readonly reason?: WireError } | undefined {
    const lists = keysOf(userId).flatMap(key => this.#kept.get(key) ?? [])
    if (!lists.some(({ hidden }) => !hidden)) return undefined
    const isRead = lists.some(({ lists, hidden, failure }) => !hidden && !failure && lists.catalog !== undefined)
    if (isRead || keysOf(userId).some(key => this.#options.connection(key))) return { state: 'online' }
    const failure = lists.find(kept => kept.failure)?.failure
    if (!failure) return { state: 'connecting' }
    const { since, ...reason } = failure
    return { state: 'offline', since, reason }
  }

  /** The last known lists; undefined before the first reading with the user's present credential. */
  catalog(userId: string, side?: Side): ServerCatalog | undefined {
    const kept = this.#kept.get(userConnection(userId, side))
    return kept?.hidden === true ? undefined : kept?.lists.catalog
  }

  /** Resolves when the first lists were read, or that failed, after 5 s at most; undefined when they need no wait. Never rejects. */
  ready(userId: string, side?: Side): Promise<void> | undefined {
    if (!this.reads(userId) || this.catalog(userId, side) || !this.#options.usable()) return undefined
    const key = userConnection(userId, side)
    const kept = this.#of(key, userId, side === 'older')
    if (performance.now() - kept.failedAtMs < AGAIN_MS) return undefined
    kept.first ??= Promise.withResolvers<void>()
    const connection = this.#options.connection(key)
    if (!connection) this.#options.open(key, userId, side === 'older')
    else if (!kept.lists.reading) this.#read(kept, connection)
    return within(kept.first.promise, FIRST_WAIT_MS)
  }

  /** A client of the user reads the lists: those that may be outdated are read again meanwhile. */
  listed(userId: string, side?: Side): void {
    const key = userConnection(userId, side)
    const kept = this.#kept.get(key)
    if (!kept || !this.reads(userId)) return
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    const connection = this.#options.connection(key)
    const isLate = kept.stale && performance.now() - kept.failedAtMs > AGAIN_MS
    if (connection) kept.lists.listed(connection)
    else if (isLate && this.#options.usable()) this.#options.open(key, userId, side === 'older')
  }

  /** Ids of the users with lists. */
  users(): readonly string[] {
    return [...this.#kept.values()].map(({ userId }) => userId)
  }

  /** The handlers for a connection of a user; undefined where the user has no lists of its own. */
  events(key: string, userId: string, older: boolean, configHash: string): ReaderEvents | undefined {
    if (!this.reads(userId)) return undefined
    const kept = (): Kept => this.#of(key, userId, older)
    return {
      opened: message => {
        this.#opened = message
        kept().opened = message
        kept().failure = undefined
        kept().lists.begin({ awaited: false })
      },
      list: (kind, entries) => kept().lists.part(kind, entries),
      catalog: read => {
        const { lists, opened } = kept()
        if (!opened) return
        if (read.lists.instances?.some(this.#options.context.isOwnMark)) {
          lists.abandon()
          return this.#settle(kept())
        }
        kept().stale = false
        kept().hidden = false
        lists.read(read, opened, configHash, undefined)
        this.#settle(kept())
      },
      stale: () => kept().lists.begin({ awaited: true }),
    }
  }

  /** The connection of a user has ended, or could not be opened. */
  ended(key: string, reason: WireError): void {
    const kept = this.#kept.get(key)
    if (!kept) return
    kept.failure = reason.code === 'idle' ? undefined : { since: new Date().toISOString(), ...kept.failure, ...reason }
    kept.lists.abandon()
    kept.stale = true
    kept.failedAtMs = performance.now()
    this.#settle(kept)
    if (kept.hidden) this.#drop(key)
  }

  /** The user's credential is another one now: its lists are read before they are seen. */
  renew(userId: string): void {
    for (const key of keysOf(userId)) {
      const kept = this.#kept.get(key)
      if (!kept) continue
      kept.hidden = true
      kept.failedAtMs = Number.NEGATIVE_INFINITY
      const connection = this.#options.connection(key)
      if (connection) this.#read(kept, connection)
      else this.#drop(key)
    }
  }

  /** The user has no valid credential any more. */
  hide(userId: string): void {
    for (const key of keysOf(userId)) {
      const kept = this.#kept.get(key)
      if (!kept || kept.hidden) continue
      kept.hidden = true
      if (!this.#options.connection(key)) this.#drop(key)
      const serverId = this.#options.record().id
      this.#options.context.bus.emit('caller.lists', userId, { serverId, userId, kinds: [] }, 'internal')
    }
  }

  /** The user has no connection any more. */
  forget(userId: string): void {
    for (const key of keysOf(userId)) this.#drop(key)
  }

  /** The configuration has changed: connections are opened again, and read their lists. */
  outdated(): void {
    this.#opened = undefined
    for (const [key, kept] of [...this.#kept]) {
      kept.hidden = true
      kept.failedAtMs = Number.NEGATIVE_INFINITY
      if (!this.#options.connection(key)) this.#drop(key)
    }
  }

  dispose(): void {
    for (const key of [...this.#kept.keys()]) this.#drop(key)
  }

  #read({ lists }: Kept, connection: Connection): void {
    lists.begin({ awaited: true })
    connection.refresh()
  }

  #of(key: string, userId: string, older: boolean): Kept {
    const known = this.#kept.get(key)
    if (known) return known
    const { context, record, hasTool } = this.#options
    const kept: Kept = {
      userId,
      lists: new ServerLists(context, record, { older, caller: { userId, hasTool } }),
      ...{ opened: undefined, hidden: false, stale: false, first: undefined, failure: undefined },
      failedAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#kept.set(key, kept)
    // The worker of an open connection says what has changed, which needs what was read before.
    if (this.#kept.size > MOST_USERS)
      for (const other of this.#kept.keys())
        if (other !== key && !this.#options.connection(other)) {
          this.#drop(other)
          break
        }
    return kept
  }

  #settle(kept: Kept): void {
    kept.first?.resolve()
    kept.first = undefined
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (!kept) return
    this.#kept.delete(key)
    this.#settle(kept)
    kept.lists.dispose()
  }
}

function keysOf(userId: string): readonly string[] {
  return [userConnection(userId), userConnection(userId, 'older')]
}
