import { LIMITS } from '../../config/limits.ts'
import { HubError, type WireError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { askableCapabilities, listReaderCapabilities } from '../../domain/client-capabilities.ts'
import type { Era } from '../../domain/era.ts'
import { listChanged } from '../../domain/mcp-methods.ts'
import { OLDER_CONNECTION } from '../../domain/session-scope.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { SessionBinding, UpstreamRequest } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEvents, Lost } from '../connection/connection-events.ts'
import type { LinkLimits } from '../protocol.ts'
import { ConnectionSlot } from './connection-slot.ts'
import { upstreamNotices } from './forward-notices.ts'
import { noted } from './noted.ts'
import type { OlderFace } from './older-face.ts'
import { isFinal } from './recovery.ts'
import { askingEvents } from './seen-asking.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'

/** Idle time after which a dedicated connection is closed; the next call opens it again. */
const IDLE_MS = 5 * 60_000
/** Delay before a lost connection with resource subscriptions is reopened without a call. */
const REOPEN_MS = 5_000
/** How long a session that got no process uses the shared connection before the next attempt. */
const SHARES_MS = 30_000
/** A list_changed notification so soon after the handshake announces the list for this client, which is read anyway. */
const FRESH_MS = 2_000
const TOOLS_CHANGED = listChanged('tools')
const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const MOST_SUBSCRIPTIONS = 1_000

interface SessionEntry {
  readonly slot: ConnectionSlot
  readonly owner: DedicatedTo
  /** True for a connection of the server's legacy side. */
  readonly older: boolean
  /** Absent when the connection does not belong to one client session. */
  binding: SessionBinding | undefined
  /**
   * Hashes of the URIs subscribed to over this connection, which stays open for them. Rejected subscriptions count too,
   * so the set is bounded: the oldest is dropped first.
   */
  readonly subscriptions: Set<number | bigint>
  connection: Connection | undefined
  opening: boolean
  /** When it was last opened or tried to open (`performance.now()`). */
  triedAtMs: number
  usedAtMs: number
  connectedBefore: boolean
  closed: boolean
  /** Until `untilMs` (`performance.now()`) its calls use the shared connection, for this reason. */
  shares: { readonly untilMs: number; readonly reason: WireError } | undefined
}

/** To whom a connection belongs: one client session, one lease, or all calls of one user. */
export interface DedicatedTo {
  readonly key: string
  readonly kind: SessionBinding['kind']
  readonly userId: string
}

/** What `DedicatedConnections` needs from its server. */
export interface DedicatedConnectionsOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The configuration with the transport in effect. */
  readonly effective: () => Promise<EffectiveServer>
  readonly era: () => Era
  /** The protocol version negotiated with the hub, as far as known. */
  readonly version: () => string
  /** True while the server's shared connection is open. */
  readonly online: () => boolean
  /** JSON of the tools whose schemas map arguments to headers. */
  readonly knownTools: () => string
  readonly input: (call: PendingCall, text: string) => void
  readonly lost: (call: PendingCall, how: Lost, reason: WireError) => void
  readonly answered: (call: PendingCall) => void
  /** Gets notified of the server requests that the server sends. */
  readonly asking: Pick<ServerAsking, 'noted' | 'stale'>
  /** Called with a call whose session gets no process of its own. */
  readonly shared: (call: PendingCall, reason: WireError) => void
  readonly older: Pick<OlderFace, 'asking' | 'version' | 'events' | 'ended'>
}

/** The connections of one server that are not shared by everybody. Losing one does not change the server's state. */
export class DedicatedConnections {
  readonly #options: DedicatedConnectionsOptions
  readonly #entries = new Map<string, SessionEntry>()
  readonly #closing = new Set<Promise<void>>()

  constructor(options: DedicatedConnectionsOptions) {
    this.#options = options
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

  #add(owner: DedicatedTo, older: boolean, binding: SessionBinding | undefined): SessionEntry {
    const entry: SessionEntry = {
      slot: new ConnectionSlot(),
      owner,
      older,
      binding,
      subscriptions: new Set(),
      connection: undefined,
      opening: false,
      triedAtMs: 0,
      usedAtMs: performance.now(),
      connectedBefore: false,
      closed: false,
      shares: undefined,
    }
    this.#entries.set(owner.key, entry)
    return entry
  }

  known(key: string): ConnectionSlot | undefined {
    return this.#entries.get(key)?.slot
  }

  /** Numbers of open connections by kind. */
  counts(): Readonly<Record<DedicatedTo['kind'], number>> {
    const counts = { session: 0, lease: 0, user: 0, face: 0 }
    for (const { slot, owner } of this.#entries.values()) if (slot.connection) counts[owner.kind] += 1
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
    void this.#open(entry)
  }

  /** Empties the queues of all sessions. */
  takeWaiting(): readonly PendingCall[] {
    return [...this.#entries.values()].flatMap(({ slot }) => slot.takeWaiting())
  }

  end(key: string, reason: WireError): void {
    const entry = this.#entries.get(key)
    if (entry) this.#close(entry, reason)
  }

  /** Ends the connections of callers who may not use the server. */
  endForeign(mayUse: (userId: string) => boolean, reason: WireError): void {
    for (const entry of [...this.#entries.values()])
      if (entry.owner.kind !== 'face' && !mayUse(entry.owner.userId)) this.#close(entry, reason)
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
      if (lost && this.#options.online()) this.open(owner.key)
      if (needed) entry.usedAtMs = nowMs
      else if (nowMs - entry.usedAtMs > (owner.kind === 'user' || owner.kind === 'face' ? idleTimeoutMs : IDLE_MS))
        this.#close(entry, { code: 'idle', message: 'The connection was not used' })
    }
  }

  inFlight(): number {
    let count = 0
    for (const { slot, connection } of this.#entries.values()) count += slot.waiting + (connection?.inFlight ?? 0)
    return count
  }

  async dispose(): Promise<void> {
    this.closeAll({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all(this.#closing)
  }

  async #open(entry: SessionEntry): Promise<void> {
    const { context, record } = this.#options
    const serverId = record().id
    const isFace = entry.owner.kind === 'face'
    let release: (() => void) | undefined
    try {
      const effective = await this.#options.effective()
      const prepared = await context.launcher.prepare(serverId, effective)
      const plan = await context.launcher.ready(prepared, () => !entry.closed)
      release = await context.starts.acquire(record().ownerId)
      const whole = entry.closed ? plan : await context.launcher.withDocument(plan)
      if (entry.closed) {
        release()
        return
      }
      if (whole.child) this.#admitProcess(entry)
      entry.shares = undefined
      entry.connection = context.launcher.launch(whole, {
        ...(isFace ? {} : { session: entry.owner }),
        offers: this.#offers(entry, effective),
        era: entry.older ? 'legacy' : this.#options.era(),
        knownTools: this.#options.knownTools(),
        catalog: isFace,
        events: this.#events(entry, release, effective.configHash),
      })
    } catch (error) {
      release?.()
      entry.opening = false
      const reason = noted(context.log, error)
      if (isFace) this.#options.older.ended({ reason, wasOpen: false })
      if (!isFace && reason.code === 'quota_servers' && this.#isAuto()) this.#share(entry, reason)
      else this.#failWaiting(entry, reason)
    }
  }

  /** Server requests are matched to a client only on a connection that is not shared: only those offer them. */
  #offers({ owner, binding, older }: SessionEntry, { settings }: EffectiveServer): JsonObject {
    const version = older ? this.#options.older.version : this.#options.version()
    if (owner.kind === 'face') return listReaderCapabilities(settings.session, version)
    return owner.kind === 'user' || !binding ? {} : askableCapabilities(binding.capabilities, version)
  }

  #isAuto(): boolean {
    const { session = 'auto' } = this.#options.record()
    return session === 'auto'
  }

  /** Calls use the shared connection for a while: service without server requests is better than no service. */
  #share(entry: SessionEntry, reason: WireError): void {
    const { context, record, shared } = this.#options
    const { id: serverId, name: server, ownerId } = record()
    entry.shares = { untilMs: performance.now() + SHARES_MS, reason }
    context.log.warn('A session gets no process of its own, and shares that of the others', {
      ...{ server, serverId, ownerId, userId: entry.owner.userId, code: reason.code, reason: reason.message },
    })
    for (const call of entry.slot.takeWaiting()) shared(call, reason)
  }

  /** Limits one user's processes at one server, since sessions start processes by default. Throws `quota_servers`. */
  #admitProcess({ owner: { kind, userId } }: SessionEntry): void {
    if (kind === 'face' || !this.#isAuto()) return
    let count = 0
    for (const { owner, connection } of this.#entries.values())
      if (connection?.child && owner.userId === userId) count += 1
    const most = LIMITS.ownProcessesPerUserAndServer
    if (count < most) return
    const message = `Cannot start "${this.#options.record().name}" for one more session: ${most} sessions of this user have a process of it, the most that may`
    throw new HubError('quota_servers', message, { hint: 'End a session of another client.' })
  }

  #events(entry: SessionEntry, release: () => void, configHash: string): ConnectionEvents {
    const { context, record, older } = this.#options
    const serverId = record().id
    const { key, kind } = entry.owner
    const ask = entry.binding?.ask
    const asking = entry.older ? older.asking : this.#options.asking
    const face = kind === 'face' ? older.events(configHash) : undefined
    const notices = upstreamNotices(context, record, { key, hears: kind === 'session' })
    let openedAtMs = Number.POSITIVE_INFINITY
    return {
      opened: message => {
        openedAtMs = performance.now()
        release()
        entry.opening = false
        if (entry.closed || !entry.connection) return
        face?.opened(message)
        entry.slot.opened(entry.connection)
        const again = entry.connectedBefore
        entry.connectedBefore = true
        context.bus.emit('upstream.connected', record().ownerId, { serverId, sessionId: key, again }, 'internal')
      },
      unusable: () => {
        release()
        entry.opening = false
        entry.slot.connection = undefined
        entry.connection = undefined
      },
      ended: end => {
        const { reason } = end
        if (face && !entry.closed) this.#options.older.ended(end)
        // A lost call may have opened the next connection already; then it waits for that one.
        if (!entry.opening && !entry.connection) this.#failWaiting(entry, reason)
      },
      lost: (call, how, reason) => {
        if (entry.closed) call.fail(reason.code, reason.message)
        else this.#options.lost(call, how, reason)
      },
      input: (call, text) => this.#options.input(call, text),
      answered: call => this.#options.answered(call),
      ...(kind === 'session' && ask ? { asked: ask } : {}),
      ...askingEvents(capability => asking.noted(capability)),
      list: (list, entries) => face?.list(list, entries),
      catalog: read => face?.catalog(read),
      stale: () => face?.stale(),
      ...notices,
      notification: (method, params) => {
        if (method === TOOLS_CHANGED && performance.now() - openedAtMs > FRESH_MS) asking.stale()
        notices.notification(method, params)
      },
    }
  }

  #failWaiting(entry: SessionEntry, reason: WireError): void {
    const { context, record } = this.#options
    const message = `Server "${record().name}" gave this caller no connection of its own: ${context.redact(reason.message)}`
    // The next call opens it again, unless the error is permanent.
    const data = isFinal(reason.code) ? {} : { data: { retryAfterSeconds: 1 } }
    entry.slot.failWaiting({ code: 'server_offline', message, ...data })
  }

  #close(entry: SessionEntry, reason: WireError): void {
    this.#entries.delete(entry.owner.key)
    entry.closed = true
    const { connection } = entry
    entry.connection = undefined
    entry.slot.connection = undefined
    entry.slot.failWaiting({ code: 'connection_lost', message: reason.message })
    if (!connection) return
    if (entry.owner.kind === 'face') this.#options.older.ended({ reason, wasOpen: true })
    const closing = connection.close(reason)
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }
}

function noteSubscription(noted: Set<number | bigint>, uri: string): void {
  noted.add(Bun.hash(uri))
  const [oldest] = noted
  if (noted.size > MOST_SUBSCRIPTIONS && oldest !== undefined) noted.delete(oldest)
}
