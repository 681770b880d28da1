import type { ServerSettings } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import { listChanged } from '../../domain/mcp-methods.ts'
import { scopeOf } from '../../domain/session-scope.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { forCaller } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd, ConnectionEvents } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { checkProcesses } from '../connection/session-processes.ts'
import { refusesSecond } from '../probe/second-connection.ts'
import type { ReaderEvents } from './caller-lists.ts'
import { upstreamNotices } from './forward-notices.ts'
import { isFinal } from './machine/recovery.ts'
import { askingEvents } from './seen-asking.ts'
import { wireErrorOf } from './server-context.ts'
import { type DedicatedConnectionsOptions, isUntried, offersOf, type SessionEntry, startTurn } from './session-entry.ts'

/** Time for which a session that got no process uses the shared connection before the next attempt. */
const SHARES_MS = 30_000
/** A list_changed notification this soon after the handshake announces the list for this client, which is read anyway. */
const FRESH_MS = 2_000
/** Time for which a connection stays the only one after its server asked something: the call waits for a person. */
const ASKED_MS = 5_000
const BUSY: WireError = { code: 'quota_servers', message: 'Calls keep its only connection busy' }
const ONE_ONLY: WireError = { code: 'connection_lost', message: 'The server serves one connection at a time' }
const TOOLS_CHANGED = listChanged('tools')

/** Connections that are closing, by key. `of` resolves when the former process is gone; undefined when there is none. */
interface ClosingConnections {
  of(key: string): Promise<void> | undefined
  add(key: string, closing: Promise<void>): void
}

/** Opens dedicated connections, and decides what becomes of the calls of a session that gets none. */
export class DedicatedOpener {
  readonly #options: DedicatedConnectionsOptions
  readonly #entries: () => Iterable<SessionEntry>
  readonly #closing: ClosingConnections

  /** `entries`: all dedicated connections of the server. */
  constructor(
    options: DedicatedConnectionsOptions,
    entries: () => Iterable<SessionEntry>,
    closing: ClosingConnections,
  ) {
    this.#options = options
    this.#entries = entries
    this.#closing = closing
  }

  /** Opens the connection of an entry; its calls wait in its slot. Never rejects. */
  async open(entry: SessionEntry): Promise<void> {
    const { context, record } = this.#options
    const serverId = record().id
    const isFace = entry.owner.kind === 'face'
    let release: (() => void) | undefined
    try {
      // Never beside its predecessor, which may be stopped or deaf to TERM.
      await this.#closing.of(entry.owner.key)
      if (await this.#isShared(entry)) return
      const effective = await this.#options.effective()
      const prepared = await context.launcher.prepare(serverId, effective, entry.owner.userId || undefined)
      const plan = await context.launcher.ready(prepared, () => !entry.closed)
      if (plan.child) this.#admitProcess(entry)
      release = await startTurn(this.#options.context, entry, effective, plan)
      const era = await this.#eraOf(entry, plan, effective.configHash)
      const whole = entry.closed ? plan : await context.launcher.withDocument(plan)
      if (entry.closed) {
        release()
        return
      }
      entry.shares = undefined
      const reader = this.#readerOf(entry, effective.configHash)
      entry.connection = context.launcher.launch(whole, {
        ...(isFace ? {} : { session: entry.owner }),
        offers: offersOf(entry, effective, this.#options),
        era,
        knownTools: this.#options.knownTools(),
        catalog: reader !== undefined,
        events: this.#events(entry, release, reader, effective),
      })
    } catch (error) {
      release?.()
      this.#failed(entry, wireErrorOf(context.log, error))
    }
  }

  /** Only a user's connection shows the era while the shared one cannot be opened. */
  async #eraOf(entry: SessionEntry, plan: LaunchPlan, configHash: string): Promise<Era> {
    if (entry.older) return 'legacy'
    if (!this.#isAlone(entry)) return this.#options.era()
    return this.#options.protocol.era(plan, configHash, () => !entry.closed)
  }

  #isAlone({ owner }: SessionEntry): boolean {
    return owner.kind === 'user' && this.#options.forCallers()
  }

  /** Its connection was not opened. */
  #failed(entry: SessionEntry, reason: WireError): void {
    const isFace = entry.owner.kind === 'face'
    entry.endTurn?.()
    entry.opening = false
    entry.admitted = false
    if (isFace) this.#options.older.ended({ reason, wasOpen: false })
    else this.#options.callers.ended(entry.owner.key, reason)
    if (this.#isTrial(entry)) this.#endTrial(entry, reason)
    else if (!isFace && reason.code === 'quota_servers' && this.#isAuto()) this.#share(entry, reason)
    else this.#failWaiting(entry, reason)
  }

  /** Calls wait until the server has asked for the client's roots (`changed`: again) and knows them, where it is expected to ask. */
  awaitRoots(entry: SessionEntry, connection: Connection, changed = false): void {
    const { slot, roots, binding } = entry
    const isExpected = !this.#isAuto() || this.#askingOf(entry).serverRequests.includes('roots')
    if (!isExpected || binding?.capabilities.roots === undefined) return slot.opened(connection)
    slot.connection = undefined
    roots.hold(connection, () => slot.opened(connection), changed)
  }

  #isAuto(): boolean {
    return scopeOf(this.#options.record()) === 'auto'
  }

  /** Findings about server requests, for the protocol era of the connection. */
  #askingOf({ older }: SessionEntry): DedicatedConnectionsOptions['asking'] {
    return older ? this.#options.older.asking : this.#options.asking
  }

  /** True when its calls were dispatched to the shared connection, after the first look at what the server grants. */
  async #isShared(entry: SessionEntry): Promise<boolean> {
    if (entry.owner.kind === 'face' || entry.owner.kind === 'user') return false
    await this.#askingOf(entry).probeForClient()
    if (this.#sharesNow(entry)) return true
    const { fragile, unproven } = this.#askingOf(entry)
    if (fragile) return this.#sharesTurn(entry)
    // Only a connection beside the shared one shows whether it bears two: the calls return when that is open again.
    entry.opening = !unproven || this.#options.online()
    return !entry.opening
  }

  /**
   * Waits for its turn as the only connection, where a second one may end the server. True when its calls were dispatched to
   * the shared connection instead: calls keep that busy, or the tool was tried meanwhile.
   */
  async #sharesTurn(entry: SessionEntry): Promise<boolean> {
    const asking = this.#askingOf(entry)
    const endTurn = await this.#options.turns.take()
    if (asking.fragile && endTurn && !entry.closed && isUntried(entry, asking.trials)) {
      entry.endTurn = endTurn
      return false
    }
    endTurn?.()
    if (entry.closed) return false
    if (!asking.fragile) return this.#isShared(entry)
    asking.trials.share(entry.owner.key)
    return this.#useShared(entry, BUSY)
  }

  /** Dispatches its calls to the shared connection where the server serves one at a time; false where it does not. */
  #sharesNow(entry: SessionEntry): boolean {
    return this.#askingOf(entry).single && this.#useShared(entry, ONE_ONLY)
  }

  #useShared(entry: SessionEntry, reason: WireError): true {
    entry.opening = false
    for (const call of entry.slot.takeWaiting()) this.#options.shared(call, reason)
    return true
  }

  /** True where the connection only finds out whether the server asks. */
  #isTrial(entry: SessionEntry): boolean {
    const { owner, binding } = entry
    const { serverRequests, trials } = this.#askingOf(entry)
    return trials.wasPlaced(owner.key) && !serverRequests.some(name => binding?.capabilities[name] !== undefined)
  }

  /** A program that does not run twice at once serves the caller over the shared connection, as before the trial. */
  #endTrial(entry: SessionEntry, reason: WireError): void {
    const { shared } = this.#options
    const { trials } = this.#askingOf(entry)
    // Other callers' connections may be opening too, and end in the same way.
    if (reason.code === 'quota_servers') trials.share(entry.owner.key)
    else trials.stop()
    for (const call of entry.slot.takeWaiting()) shared(call, reason)
  }

  /** Calls use the shared connection for a while: service without server requests is better than no service. */
  #share(entry: SessionEntry, reason: WireError): void {
    const { context, record, shared } = this.#options
    const { id: serverId, name: server, ownerId } = record()
    entry.shares = { untilMs: performance.now() + SHARES_MS, reason }
    context.log.warn('A session gets no connection of its own, and shares that of the others', {
      ...{ server, serverId, ownerId, userId: entry.owner.userId, code: reason.code, reason: reason.message },
    })
    for (const call of entry.slot.takeWaiting()) shared(call, reason)
  }

  /** Limits one user's processes at one server, since sessions start processes by default. Throws `quota_servers`. */
  #admitProcess(entry: SessionEntry): void {
    const { kind, userId } = entry.owner
    const record = this.#options.record()
    const foreign = userId !== record.ownerId
    if (kind === 'face' || kind === 'user' || !(foreign || this.#isAuto())) return
    const others = [...this.#entries()].filter(
      other =>
        other.admitted && (other.opening || other.connection) && other !== entry && other.owner.userId === userId,
    )
    const processOf = (one: SessionEntry) => ({ isTrial: this.#isTrial(one) })
    checkProcesses(record, userId, processOf(entry), others.map(processOf))
    entry.admitted = true
  }

  /** The handlers for the lists that a connection reads; undefined for one that reads none. */
  #readerOf({ owner: { key, kind, userId }, older }: SessionEntry, configHash: string): ReaderEvents | undefined {
    if (kind === 'face') return this.#options.older.events(configHash)
    return kind === 'user' ? this.#options.callers.events(key, userId, older, configHash) : undefined
  }

  #events(
    entry: SessionEntry,
    release: () => void,
    reader: ReaderEvents | undefined,
    { settings }: EffectiveServer,
  ): ConnectionEvents {
    const { context, record } = this.#options
    const serverId = record().id
    const { key, kind } = entry.owner
    const ask = entry.binding?.ask
    const asking = this.#askingOf(entry)
    const notices = upstreamNotices(context, record, { key, hears: kind === 'session' })
    let openedAtMs = Number.POSITIVE_INFINITY
    const ended = Promise.withResolvers<WireError>()
    // Not closed before it has ended, since its exit says why.
    const gone = async (connection: Connection): Promise<void> => connection.close(await ended.promise)
    return {
      opened: message => {
        openedAtMs = performance.now()
        release()
        entry.opening = false
        if (entry.closed || !entry.connection) return
        if (this.#isAlone(entry) && !entry.older) this.#options.protocol.opened(message)
        reader?.opened(message)
        this.awaitRoots(entry, entry.connection)
        const again = entry.connectedBefore
        entry.connectedBefore = true
        context.bus.emit('upstream.connected', record().ownerId, { serverId, sessionId: key, again }, 'internal')
      },
      unusable: () => {
        release()
        entry.opening = false
        entry.admitted = false
        entry.slot.connection = undefined
        entry.roots.end()
        if (entry.connection) this.#closing.add(key, gone(entry.connection))
        entry.connection = undefined
      },
      ended: given => {
        const end = this.#shown(entry, settings, given)
        if (!end) return void this.open(entry)
        const { reason } = end
        ended.resolve(reason)
        entry.endTurn?.()
        if (kind === 'face' && !entry.closed) this.#options.older.ended(end)
        if (kind === 'user' && !entry.closed) this.#options.callers.ended(key, reason)
        // A lost call may have opened the next connection already; then it waits for that one.
        if (!entry.opening && !entry.connection) this.#ended(entry, end)
      },
      retired: reason => {
        const { connection, owner, slot, endTurn } = entry
        if (entry.closed || !connection) return
        this.#options.draining.add(connection, reason, { owner, isLost: true })
        entry.admitted = false
        entry.connection = undefined
        slot.connection = undefined
        entry.roots.end()
        if (endTurn) void this.#options.draining.ended().then(endTurn)
        if (kind === 'face') this.#options.older.ended({ reason, wasOpen: true })
        if (kind === 'user') this.#options.callers.ended(key, reason)
        this.#ended(entry, { reason, wasOpen: true })
      },
      lost: (call, how, reason) => {
        if (entry.closed && !entry.drains) call.fail(reason.code, reason.message)
        else this.#options.lost(call, how, reason)
      },
      input: (call, text) => this.#options.input(call, text),
      answered: call => this.#options.answered(call),
      get asked() {
        const { roots, slot } = entry
        if (kind === 'session') return ask && roots.watched(ask, false)
        // Before its first call is sent, a lease belongs to the call that waits for it.
        const waiting = roots.holding && slot.firstWaiting?.request.ask
        return waiting && roots.watched(waiting, true)
      },
      ...askingEvents(capability => {
        asking.noted(capability)
        if (capability === 'roots') entry.asksRoots = true
        if (entry.endTurn) setTimeout(entry.endTurn, ASKED_MS)
      }),
      list: (list, entries) => reader?.list(list, entries),
      catalog: read => reader?.catalog(read),
      stale: () => reader?.stale(),
      ...notices,
      notification: (method, params) => {
        if (method === TOOLS_CHANGED && performance.now() - openedAtMs > FRESH_MS) asking.stale()
        notices.notification(method, params)
      },
    }
  }

  /**
   * An end with the reason to show; undefined where it has shown that the server speaks another transport or version, as the end of a
   * shared connection may.
   */
  #shown(entry: SessionEntry, settings: ServerSettings, end: ConnectionEnd): ConnectionEnd | undefined {
    if (!this.#isAlone(entry) || entry.older || end.wasOpen || entry.closed || entry.connection) return end
    const { shown, outcome } = this.#options.protocol.ended(settings, end)
    return outcome === 'retry' ? undefined : shown
  }

  /** Retries, shares or fails the calls that wait for a connection that has ended. */
  #ended(entry: SessionEntry, { reason, wasOpen }: Pick<ConnectionEnd, 'reason' | 'wasOpen'>): void {
    if (entry.closed) return this.#failWaiting(entry, reason)
    if (wasOpen) for (const call of entry.slot.takeWaiting()) this.#options.lost(call, 'not-begun', reason)
    else if (!entry.connectedBefore && this.#isTrial(entry)) this.#endTrial(entry, reason)
    else if (this.#isAuto() && this.#askingOf(entry).kind === 'remote' && this.#options.online()) {
      // Service without server requests is better than none.
      if (refusesSecond(reason)) this.#askingOf(entry).onlyOne(reason.message)
      if (!this.#sharesNow(entry)) this.#share(entry, reason)
    } else this.#failWaiting(entry, reason)
  }

  #failWaiting(entry: SessionEntry, reason: WireError): void {
    const { context, record } = this.#options
    const message = `Server "${record().name}" gave this caller no connection of its own: ${context.redact(reason.message)}`
    if (reason.data?.connectUrl !== undefined) return entry.slot.failWaiting(forCaller(reason))
    const data = isFinal(reason) ? {} : { data: { retryAfterSeconds: 1 } }
    const code = reason.code === 'quota_servers' ? reason.code : 'server_offline'
    entry.slot.failWaiting({ code, message, ...data })
  }
}
