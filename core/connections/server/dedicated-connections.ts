import type { JsonObject } from '../../contract/json.ts'
import { OLDER_CONNECTION } from '../../domain/session-scope.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { SessionBinding, UpstreamRequest } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { ConnectionSlot } from '../connection/connection-slot.ts'
import type { LinkLimits } from '../protocol.ts'
import { DedicatedOpener } from './dedicated-opener.ts'
import { type DedicatedConnectionsOptions, type DedicatedTo, type SessionEntry, sessionEntry } from './session-entry.ts'

/** Idle time after which a dedicated connection is closed; the next call opens it again. */
const IDLE_MS = 5 * 60_000
/** Delay before a lost connection with resource subscriptions is reopened without a call. */
const REOPEN_MS = 5_000
const TRIED: WireError = { code: 'idle', message: 'It is known whether the tool asks its client' }
const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const ROOTS_CHANGED = 'notifications/roots/list_changed'
const MOST_SUBSCRIPTIONS = 1_000

/** The connections of one server that are not shared by everybody. Losing one does not change the server's state. */
export class DedicatedConnections {
  readonly #options: DedicatedConnectionsOptions
  readonly #entries = new Map<string, SessionEntry>()
  readonly #opener: DedicatedOpener
  /** By key: resolves when the process of the connection before is gone. */
  readonly #closing = new Map<string, Promise<void>>()

  constructor(options: DedicatedConnectionsOptions) {
    this.#options = options
    this.#opener = new DedicatedOpener(options, () => this.#entries.values(), {
      of: key => this.#closing.get(key),
      add: (key, closing) => this.#noteClosing(key, closing),
    })
  }

  /** The slot of a call; `key` identifies the connection that it may use. */
  slot(
    key: string,
    session: SessionBinding | undefined,
    { method, params, older = false }: UpstreamRequest,
  ): ConnectionSlot {
    let entry = this.#entries.get(key)
    if (!entry) {
      const kind = key === session?.id ? session.kind : 'user'
      entry = this.#add({ key, kind, userId: session?.userId ?? '' }, older, session)
    }
    entry.binding = session
    entry.usedAtMs = performance.now()
    if (method === SUBSCRIBE) noteSubscription(entry.subscriptions, String(params?.uri))
    else if (method === UNSUBSCRIBE) entry.subscriptions.delete(Bun.hash(String(params?.uri)))
    return entry.slot
  }

  /** Why the calls of this session use the shared connection instead of its own; undefined if they do not. */
  shares(key: string): WireError | undefined {
    const shares = this.#entries.get(key)?.shares
    return shares && performance.now() < shares.untilMs ? shares.reason : undefined
  }

  /** Why some session uses the shared connection instead of its own; undefined if none does. */
  get refused(): string | undefined {
    for (const key of this.#entries.keys()) {
      const reason = this.shares(key)
      if (reason) return reason.message
    }
    return undefined
  }

  /** The slot of the shared connection of the server's legacy side. */
  olderSlot(): ConnectionSlot {
    const entry = this.#entries.get(OLDER_CONNECTION)
    return (entry ?? this.#add({ key: OLDER_CONNECTION, kind: 'face', userId: '' }, true, undefined)).slot
  }

  /** Opens the connection of a user, unless it is open or being opened. */
  openUser(key: string, userId: string, older: boolean): void {
    if (!this.#entries.has(key)) this.#add({ key, kind: 'user', userId }, older, undefined)
    this.open(key)
  }

  #add(owner: DedicatedTo, older: boolean, binding: SessionBinding | undefined): SessionEntry {
    const entry = sessionEntry(owner, older, binding)
    this.#entries.set(owner.key, entry)
    return entry
  }

  known(key: string): ConnectionSlot | undefined {
    return this.#entries.get(key)?.slot
  }

  /** Numbers of open connections by kind. */
  counts(): Readonly<Record<DedicatedTo['kind'], number>> {
    const counts = { session: 0, lease: 0, user: 0, face: 0 }
    for (const { slot, roots, owner } of this.#entries.values())
      if (slot.connection ?? roots.holding) counts[owner.kind] += 1
    return counts
  }

  /** Ids of the users with a connection of their own. */
  users(): readonly string[] {
    return [...this.#entries.values()].filter(({ owner }) => owner.kind === 'user').map(({ owner }) => owner.userId)
  }

  /** Opens the connection unless it is open or being opened. */
  open(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry || entry.connection || entry.opening) return
    entry.opening = true
    entry.triedAtMs = performance.now()
    void this.#opener.open(entry)
  }

  /** Empties the queues of all sessions. */
  takeWaiting(): readonly PendingCall[] {
    return [...this.#entries.values()].flatMap(({ slot }) => slot.takeWaiting())
  }

  /** Empties the queues for users' connections that are not being opened. */
  takeUnopened(): readonly PendingCall[] {
    const unopened = [...this.#entries.values()].filter(
      ({ owner, opening, connection }) => owner.kind === 'user' && !opening && !connection,
    )
    return unopened.flatMap(({ slot }) => slot.takeWaiting())
  }

  /** Fails the calls that wait for a connection that is not being opened. */
  failUnopened(reason: WireError): void {
    for (const { slot, opening, connection } of this.#entries.values())
      if (!opening && !connection) slot.failWaiting(reason)
  }

  /**
   * Sends a client's notification over its open connection. Calls wait until the server has its changed roots. A lease announces
   * them for each of its callers: that is left out where the server does not ask for roots after that.
   */
  notify(key: string, method: string, params: JsonObject | undefined): void {
    const entry = this.#entries.get(key)
    const connection = entry?.slot.connection ?? entry?.roots.holding
    if (!entry || !connection) return
    const areRoots = method === ROOTS_CHANGED
    if (areRoots && entry.owner.kind === 'lease' && (!entry.asksRoots || entry.roots.silent)) return
    connection.notify(method, params)
    if (areRoots) this.#opener.awaitRoots(entry, connection, true)
  }

  /** A call has ended: its connection, if it is open alone, ends with the last one. The caller shares from then on. */
  endTurn(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry?.endTurn || entry.opening || entry.slot.waiting > 0 || (entry.connection?.inFlight ?? 0) > 0) return
    this.#options.asking.trials.share(key)
    this.#close(entry, TRIED)
  }

  end(key: string, reason: WireError): void {
    const entry = this.#entries.get(key)
    if (entry) this.#close(entry, reason)
    this.#options.draining.close(reason, owner => owner.key === key)
  }

  /** Ends the connections of callers who may not use the server. */
  endForeign(mayUse: (userId: string) => boolean, reason: WireError): void {
    for (const entry of [...this.#entries.values()])
      if (entry.owner.kind !== 'face' && !mayUse(entry.owner.userId)) this.#close(entry, reason)
    const { draining } = this.#options
    draining.close(reason, ({ key, userId }) => key !== OLDER_CONNECTION && !mayUse(userId))
  }

  /**
   * Others take the place of all connections, which end with their calls in flight. Subscriptions move to those. Returns
   * the calls that waited, which the caller must dispatch.
   */
  drainAll(reason: WireError): readonly PendingCall[] {
    const waiting = this.takeWaiting()
    for (const entry of [...this.#entries.values()]) {
      const { connection, owner, subscriptions } = entry
      if (connection && connection.inFlight > 0) {
        this.#options.draining.add(connection, reason, { owner })
        entry.connection = undefined
        entry.drains = true
      }
      this.#close(entry, reason)
      if (subscriptions.size === 0) continue
      const next = this.#add(owner, entry.older, entry.binding)
      for (const uri of subscriptions) next.subscriptions.add(uri)
      next.connectedBefore = entry.connectedBefore
    }
    return waiting
  }

  closeAll(reason: WireError): void {
    for (const entry of [...this.#entries.values()]) this.#close(entry, reason)
  }

  setLimits(limits: LinkLimits): void {
    for (const { connection } of this.#entries.values()) connection?.setLimits(limits)
  }

  tick(nowMs: number): void {
    const { idleTimeoutMs = IDLE_MS } = this.#options.record()
    for (const entry of [...this.#entries.values()]) {
      const { slot, connection, owner, subscriptions } = entry
      const needed = entry.opening || slot.waiting > 0 || (connection?.inFlight ?? 0) > 0 || subscriptions.size > 0
      const lost = subscriptions.size > 0 && !connection && nowMs - entry.triedAtMs > REOPEN_MS
      if (lost && this.#mayOpen(owner)) this.open(owner.key)
      if (needed) entry.usedAtMs = nowMs
      else if (nowMs - entry.usedAtMs > (owner.kind === 'user' || owner.kind === 'face' ? idleTimeoutMs : IDLE_MS))
        this.#close(entry, { code: 'idle', message: 'The connection was not used' })
    }
  }

  #mayOpen({ kind }: DedicatedTo): boolean {
    return this.#options.online() || (kind === 'user' && this.#options.forCallers())
  }

  inFlight(): number {
    let count = 0
    for (const { slot, connection } of this.#entries.values()) count += slot.waiting + (connection?.inFlight ?? 0)
    return count
  }

  async dispose(): Promise<void> {
    this.closeAll({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all(this.#closing.values())
  }

  #close(entry: SessionEntry, reason: WireError): void {
    this.#entries.delete(entry.owner.key)
    entry.closed = true
    entry.roots.end()
    const { connection } = entry
    entry.connection = undefined
    entry.slot.connection = undefined
    entry.slot.failWaiting({ code: 'connection_lost', message: reason.message })
    if (!connection) return void this.#options.draining.ended().then(entry.endTurn)
    if (entry.owner.kind === 'face') this.#options.older.ended({ reason, wasOpen: true })
    else this.#options.callers.ended(entry.owner.key, reason)
    const closing = connection.close(reason)
    this.#noteClosing(entry.owner.key, closing)
    void closing.then(entry.endTurn)
  }

  #noteClosing(key: string, closing: Promise<void>): void {
    const all: Promise<void> = Promise.all([this.#closing.get(key), closing]).then(() => {
      if (this.#closing.get(key) === all) this.#closing.delete(key)
    })
    this.#closing.set(key, all)
  }
}

function noteSubscription(noted: Set<number | bigint>, uri: string): void {
  noted.add(Bun.hash(uri))
  const [oldest] = noted
  if (noted.size > MOST_SUBSCRIPTIONS && oldest !== undefined) noted.delete(oldest)
}
