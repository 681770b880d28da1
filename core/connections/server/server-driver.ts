import type { ServerRecord } from '../../contract/records.ts'
import type { Connection } from '../connection/connection.ts'
import { limitsOf } from '../connection/launcher.ts'
import type { CallDispatcher } from './call-dispatcher.ts'
import type { CallerLists } from './caller-lists.ts'
import type { LegacySide } from './legacy-side.ts'
import type { MachineState, ServerEffect, ServerEvent } from './machine/server-events.ts'
import { initialState, transition } from './machine/server-machine.ts'
import type { ProtocolFindings } from './protocol-findings.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerHealth } from './server-health.ts'
import type { ServerLists } from './server-lists.ts'
import type { ServerState } from './server-state.ts'
import type { SharedConnection } from './shared-connection.ts'

/** Longest time for which a connected server stays `connecting` while its lists are read: more than thousands of tools take. */
const LISTS_MS = 10_000

/** Shortest time between the starts of two attempts, when a call starts the second one. */
const WAKE_MS = 1_000

/** The objects of one server that carry out effects. */
export interface DrivenParts {
  readonly context: Pick<ServerContext, 'bus'>
  readonly record: () => ServerRecord
  readonly serverState: Pick<ServerState, 'attempts' | 'become' | 'reason' | 'wantsOwner'>
  readonly health: Pick<ServerHealth, 'forget' | 'lost'>
  readonly shared: Pick<
    SharedConnection,
    'connection' | 'effective' | 'open' | 'close' | 'drain' | 'resetFailures' | 'excuseFailure'
  >
  readonly protocol: Pick<ProtocolFindings, 'forgetTransport'>
  readonly slots: Pick<
    CallDispatcher,
    'base' | 'opened' | 'failWaiting' | 'closeSessions' | 'drainSessions' | 'setLimits'
  >
  readonly lists: Pick<ServerLists, 'begin' | 'abandon'>
  readonly asking: Pick<ServerAsking, 'abandon'>
  readonly older: Pick<LegacySide, 'forget'>
  readonly callers: Pick<CallerLists, 'outdated'>
}

type EffectOf<Do extends ServerEffect['do']> = Extract<ServerEffect, { readonly do: Do }>
type Effects = { readonly [Do in ServerEffect['do']]: (effect: EffectOf<Do>) => void }

/**
 * Runs the state machine of one server: takes events one after another and carries out their effects. An event that
 * comes from an effect waits until the effects before it are done.
 */
export class ServerDriver {
  readonly #parts: DrivenParts
  readonly #listsMs: number
  readonly #effects: Effects
  readonly #events: ServerEvent[] = []
  #state: MachineState
  #running = false
  #startedAtMs = Number.NEGATIVE_INFINITY
  #retry: ReturnType<typeof setTimeout> | undefined
  /** The next attempt that a call starts. */
  #waking: ReturnType<typeof setTimeout> | undefined
  #lists: ReturnType<typeof setTimeout> | undefined

  /** `wanted`: the server should run. `listsMs`: the longest wait for the first lists. */
  constructor(wanted: boolean, parts: DrivenParts, listsMs = LISTS_MS) {
    this.#parts = parts
    this.#listsMs = listsMs
    this.#state = initialState(wanted, parts.serverState.reason)
    this.#effects = this.#effectsOf(parts)
  }

  get state(): MachineState {
    return this.#state
  }

  /** When the attempt in progress began (`performance.now()`); undefined: there is none. */
  get startingSinceMs(): number | undefined {
    const { phase } = this.#state
    return phase === 'preparing' || phase === 'handshaking' ? this.#startedAtMs : undefined
  }

  /**
   * Starts an attempt for a call, or schedules it where the last one began within a second. False when no call may wait
   * for one.
   */
  wake(): boolean {
    const { phase, wakes = false } = this.#state
    if (phase !== 'asleep' && !(phase === 'waiting' && wakes)) return false
    const restMs = phase === 'asleep' ? 0 : this.#startedAtMs + WAKE_MS - performance.now()
    const wake = (): void => this.dispatch({ type: 'call' })
    if (restMs <= 0) wake()
    else this.#waking ??= setTimeout(wake, restMs)
    return true
  }

  dispatch(event: ServerEvent): void {
    this.#events.push(event)
    if (this.#running) return
    this.#running = true
    try {
      for (let next = this.#events.shift(); next; next = this.#events.shift()) this.#take(next)
    } finally {
      this.#running = false
    }
  }

  #take(event: ServerEvent): void {
    const { state, effects } = transition(this.#state, event)
    this.#state = state
    this.#parts.serverState.attempts = state.attempts
    for (const effect of effects) (this.#effects[effect.do] as (effect: ServerEffect) => void)(effect)
  }

  #effectsOf({
    serverState,
    health,
    shared,
    protocol,
    slots,
    lists,
    asking,
    older,
    callers,
    ...parts
  }: DrivenParts): Effects {
    const withConnection = (use: (connection: Connection) => void) => () => {
      if (shared.connection) use(shared.connection)
    }
    return {
      publish: ({ state, reason, nextAttemptInMs }) => serverState.become(state, reason, nextAttemptInMs),
      connect: () => {
        this.#startedAtMs = performance.now()
        shared.open()
      },
      disconnect: ({ reason }) => shared.close(reason),
      drain: ({ reason }) => shared.drain(reason),
      'schedule-retry': ({ delayMs }) => {
        this.#retry = setTimeout(() => this.dispatch({ type: 'retry-due' }), delayMs)
      },
      'cancel-retry': () => {
        clearTimeout(this.#retry)
        clearTimeout(this.#waking)
        this.#waking = undefined
      },
      'await-lists': () => {
        clearTimeout(this.#lists)
        this.#lists = setTimeout(() => this.dispatch({ type: 'lists-late' }), this.#listsMs)
      },
      'stop-awaiting-lists': () => clearTimeout(this.#lists),
      'expect-lists': () => lists.begin({ awaited: false }),
      'read-lists': withConnection(connection => {
        lists.begin({ awaited: true })
        connection.refresh()
      }),
      'abandon-lists': () => lists.abandon(),
      'send-calls': withConnection(connection => slots.opened(connection)),
      'hold-calls': () => {
        slots.base.connection = undefined
      },
      'fail-waiting-calls': () => slots.failWaiting(),
      'close-sessions': ({ reason }) => slots.closeSessions(reason),
      'drain-sessions': ({ reason }) => slots.drainSessions(reason),
      'set-limits': () => {
        if (shared.effective) slots.setLimits(limitsOf(shared.effective.settings))
      },
      'announce-connection': ({ again }) => {
        const { id: serverId, ownerId, name } = parts.record()
        const start = { name, ms: performance.now() - this.#startedAtMs }
        parts.context.bus.emit('upstream.connected', ownerId, { serverId, again, start }, 'internal')
      },
      'abandon-probes': () => asking.abandon(),
      'forget-legacy-side': () => {
        older.forget()
        callers.outdated()
      },
      'forget-failures': () => shared.resetFailures(),
      'excuse-failure': () => shared.excuseFailure(),
      'forget-transport': () => protocol.forgetTransport(),
      'forget-health': () => health.forget(),
      'health-lost': ({ reason }) => (serverState.wantsOwner ? health.forget() : health.lost(reason)),
    }
  }
}
