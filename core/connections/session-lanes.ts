import { toWireError, type WireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import type { Era } from '../domain/era.ts'
import type { SessionBinding } from './api.ts'
import type { PendingCall } from './call.ts'
import type { Connection } from './connection.ts'
import type { ConnectionEvents, Lost } from './connection-events.ts'
import { Lane } from './lane.ts'
import type { ServerContext } from './server-context.ts'
import { upstreamNotices } from './upstream-notices.ts'

/** A session's own connection ends when it was not used for so long; the next call opens it again. */
const IDLE_MS = 5 * 60_000

interface SessionEntry {
  readonly lane: Lane
  binding: SessionBinding
  connection: Connection | undefined
  opening: boolean
  usedAtMs: number
  connectedBefore: boolean
  closed: boolean
}

export interface SessionLanesOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  readonly era: () => Era
  /** Tools of the server whose schemas mark arguments. */
  readonly knownTools: () => readonly JsonObject[]
  readonly input: (call: PendingCall, text: string) => void
  readonly lost: (call: PendingCall, how: Lost, reason: WireError) => void
  readonly answered: (call: PendingCall) => void
}

/** The connections of one server that belong to single client sessions. Their loss is no matter of the server's state. */
export class SessionLanes {
  readonly #options: SessionLanesOptions
  readonly #entries = new Map<string, SessionEntry>()
  readonly #closing = new Set<Promise<void>>()

  constructor(options: SessionLanesOptions) {
    this.#options = options
  }

  lane(session: SessionBinding): Lane {
    let entry = this.#entries.get(session.id)
    if (!entry) {
      entry = {
        lane: new Lane(),
        binding: session,
        connection: undefined,
        opening: false,
        usedAtMs: 0,
        connectedBefore: false,
        closed: false,
      }
      this.#entries.set(session.id, entry)
    }
    entry.binding = session
    entry.usedAtMs = performance.now()
    return entry.lane
  }

  known(sessionId: string): Lane | undefined {
    return this.#entries.get(sessionId)?.lane
  }

  /** Opens the session's connection unless it is open or on its way. */
  open(sessionId: string): void {
    const entry = this.#entries.get(sessionId)
    if (!entry || entry.connection || entry.opening) return
    entry.opening = true
    void this.#open(entry)
  }

  /** Takes the calls of all sessions that wait. */
  takeWaiting(): readonly PendingCall[] {
    return [...this.#entries.values()].flatMap(({ lane }) => lane.takeWaiting())
  }

  end(sessionId: string): void {
    const entry = this.#entries.get(sessionId)
    if (entry) this.#close(sessionId, entry, { code: 'session_not_found', message: 'The session has ended' })
  }

  closeAll(reason: WireError): void {
    for (const [sessionId, entry] of [...this.#entries]) this.#close(sessionId, entry, reason)
  }

  setLimits(timeoutMs: number, maxTimeoutMs: number): void {
    for (const { connection } of this.#entries.values()) connection?.setLimits(timeoutMs, maxTimeoutMs)
  }

  tick(nowMs: number): void {
    for (const [sessionId, entry] of [...this.#entries]) {
      const idle =
        nowMs - entry.usedAtMs > IDLE_MS && entry.lane.waiting === 0 && (entry.connection?.inFlight ?? 0) === 0
      if (idle && !entry.opening)
        this.#close(sessionId, entry, { code: 'idle', message: 'The connection was not used' })
    }
  }

  inFlight(): number {
    let count = 0
    for (const { lane, connection } of this.#entries.values()) count += lane.waiting + (connection?.inFlight ?? 0)
    return count
  }

  async dispose(): Promise<void> {
    this.closeAll({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all(this.#closing)
  }

  async #open(entry: SessionEntry): Promise<void> {
    const { context, record } = this.#options
    const serverId = record().id
    let release: (() => void) | undefined
    try {
      const effective = await context.effective(serverId)
      const prepared = await context.launcher.prepare(serverId, effective)
      const plan = await context.launcher.ready(prepared, () => !entry.closed)
      release = await context.starts.acquire()
      if (entry.closed) {
        release()
        return
      }
      entry.connection = context.launcher.launch(plan, {
        session: entry.binding,
        era: this.#options.era(),
        knownTools: this.#options.knownTools(),
        catalog: false,
        events: this.#events(entry, release),
      })
    } catch (error) {
      release?.()
      entry.opening = false
      this.#failWaiting(entry, toWireError(error))
    }
  }

  #events(entry: SessionEntry, release: () => void): ConnectionEvents {
    const { context, record } = this.#options
    const serverId = record().id
    const sessionId = entry.binding.id
    return {
      opened: () => {
        release()
        entry.opening = false
        if (entry.closed || !entry.connection) return
        entry.lane.opened(entry.connection)
        const again = entry.connectedBefore
        entry.connectedBefore = true
        context.bus.emit('upstream.connected', record().ownerId, { serverId, sessionId, again }, 'internal')
      },
      unusable: () => {
        release()
        entry.opening = false
        entry.lane.connection = undefined
        entry.connection = undefined
      },
      ended: ({ reason }) => {
        // A call that was lost may have opened the next connection already; it waits for that one.
        if (!entry.opening && !entry.connection) this.#failWaiting(entry, reason)
      },
      lost: (call, how, reason) => {
        if (entry.closed) call.fail(reason.code, reason.message)
        else this.#options.lost(call, how, reason)
      },
      input: (call, text) => this.#options.input(call, text),
      answered: call => this.#options.answered(call),
      catalog: () => undefined,
      stale: () => undefined,
      ...upstreamNotices(context, record, sessionId),
    }
  }

  #failWaiting(entry: SessionEntry, reason: WireError): void {
    const { context, record } = this.#options
    const message = `Server "${record().name}" gave this session no connection: ${context.redact(reason.message)}`
    entry.lane.failWaiting({ code: 'server_offline', message })
  }

  #close(sessionId: string, entry: SessionEntry, reason: WireError): void {
    this.#entries.delete(sessionId)
    entry.closed = true
    const { connection } = entry
    entry.connection = undefined
    entry.lane.connection = undefined
    entry.lane.failWaiting({ code: 'connection_lost', message: reason.message })
    if (!connection) return
    const closing = connection.close(reason)
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }
}
