import type { ErrorCode } from '../../../contract/errors.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import type { MachineState, ServerEffect, ServerEvent, ServerPhase, Transition, Verdict } from './server-events.ts'

/** A next attempt due within this time is worth waiting for. */
const NEAR_MS = 1_000

/** Reason of a server whose lists contain this hub's own: retried, as the servers in between may change. */
export const LOOP_MET: WireError = {
  code: 'loop_detected',
  message: 'The lists of the server hold those of this hub itself',
  data: { met: true },
}
const RESTARTED: WireError = { code: 'connection_lost', message: 'The server is being restarted' }
const CHANGED: WireError = { code: 'connection_lost', message: 'The server has changed' }
const GIVES_WAY: WireError = {
  code: 'connection_lost',
  message: 'Another connection finds out whether the server asks its client, and it may not bear two',
}
const SIGNED_OUT: WireError = { code: 'connection_lost', message: 'The credential of its owner has ended' }
const UNUSED: WireError = { code: 'idle', message: 'The server sleeps until the next call' }
const LAZY: WireError = { code: 'idle', message: 'The server starts with the first call' }
const LATE: WireError = {
  code: 'upstream_timeout',
  message: 'Its lists are not read yet; those known before count until they are',
}

/** Faults of a changed configuration alone: the calls that it met may end over the connection that they have. */
const MISTAKES: ReadonlySet<ErrorCode> = new Set([
  'config_invalid',
  'variable_unknown',
  'env_key_forbidden',
  'cwd_forbidden',
])

type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { readonly type: Type }>
type Handlers = { readonly [Type in ServerEvent['type']]: (state: MachineState, event: EventOf<Type>) => Transition }

/** The state of a server before its first event; `reason`: why it does not run. */
export function initialState(wanted: boolean, reason: WireError | undefined): MachineState {
  const state = { wanted, listsOnly: false, connections: 0, attempts: 0 }
  if (wanted) return { ...state, phase: 'loading' }
  return { ...state, phase: 'stopped', ...(reason ? { reasonCode: reason.code } : {}) }
}

/**
 * The state machine of one server: what an event changes, and what is to be done. It is pure: connections, timers and
 * bookkeeping are effects, which the caller carries out in their order before the next event.
 */
export function transition(state: MachineState, event: ServerEvent): Transition {
  return (HANDLERS[event.type] as (state: MachineState, event: ServerEvent) => Transition)(state, event)
}

const HANDLERS: Handlers = {
  loaded: (state, { lazy, sleeps }) => {
    if (state.phase !== 'loading') return unchanged(state)
    if (sleeps)
      return { state: at(state, 'asleep', LAZY), effects: [{ do: 'publish', state: 'offline', reason: LAZY }] }
    return connect({ ...state, listsOnly: lazy })
  },

  start: state => {
    const wanted = { ...state, wanted: true }
    return hasConnection(state) || state.phase === 'preparing' ? unchanged(wanted) : connectAfresh(wanted)
  },

  stop: (state, { reason }) => {
    if (!state.wanted && state.phase === 'stopped' && state.reasonCode === reason.code) return unchanged(state)
    return goOffline({ ...state, wanted: false }, 'stopped', reason)
  },

  restart: state => restart({ ...state, wanted: true }),

  'give-way': state => {
    if (!hasConnection(state) && state.phase !== 'preparing') return unchanged(state)
    return connect(at(state, state.phase, GIVES_WAY), [
      { do: 'publish', state: 'connecting', reason: GIVES_WAY },
      ...end(GIVES_WAY, 'with-calls'),
    ])
  },

  refresh: state => {
    if (canSend(state)) return { state, effects: [{ do: 'read-lists' }] }
    return state.wanted && isOffline(state) ? connectAfresh(state) : unchanged(state)
  },

  enabled: state => unchanged({ ...state, wanted: true }),

  configured: (state, { differs, listsKept, lazy }) => {
    if (hasConnection(state)) return differs ? replace(state) : { state, effects: [{ do: 'set-limits' }] }
    // Sessions may have dedicated connections while the shared one sleeps.
    const before: readonly ServerEffect[] = differs
      ? [{ do: 'drain-sessions', reason: CHANGED }, { do: 'forget-legacy-side' }]
      : []
    const asleep = state.phase === 'asleep'
    if (asleep && listsKept) return { state, effects: before }
    return connect({ ...state, listsOnly: lazy && asleep }, [...before, { do: 'forget-failures' }])
  },

  forbidden: (state, { reason, callers }) => {
    const isMistake = callers === 'drain' || MISTAKES.has(reason.code)
    return goOffline(state, 'failed', reason, callers === 'stay' ? 'alone' : isMistake ? 'with-calls' : 'at-once')
  },

  'credential-lost': state => {
    if (!hasConnection(state) && state.phase !== 'preparing') return unchanged(state)
    return connect(at(state, state.phase, SIGNED_OUT), [
      { do: 'publish', state: 'connecting', reason: SIGNED_OUT },
      ...end(SIGNED_OUT),
    ])
  },

  call: state => {
    if (state.phase === 'asleep') return connect({ ...state, listsOnly: false })
    const wakes = state.phase === 'waiting' && state.wakes === true
    return wakes ? connect({ ...state, listsOnly: false }, [{ do: 'excuse-failure' }]) : unchanged(state)
  },

  tick: (state, { outdated, idle }) => {
    // Its configuration could not be read when it was enabled.
    if (state.phase === 'stopped' && state.wanted) return connect(state)
    if (!canSend(state)) return unchanged(state)
    if (outdated) return restart(state)
    return idle ? goOffline(state, 'asleep', UNUSED) : unchanged(state)
  },

  'retry-due': state => (state.phase === 'waiting' ? connect(state) : unchanged(state)),

  'attempt-failed': (state, { verdict }) => (state.phase === 'preparing' ? follow(state, verdict) : unchanged(state)),

  launched: state => {
    if (state.phase !== 'preparing') return unchanged(state)
    return { state: { ...state, phase: 'handshaking' }, effects: [{ do: 'expect-lists' }] }
  },

  opened: state => {
    if (state.phase !== 'handshaking') return unchanged(state)
    return {
      state: { ...state, phase: 'listing', attempts: 0, connections: state.connections + 1 },
      effects: [{ do: 'await-lists' }, { do: 'send-calls' }],
    }
  },

  'lists-read': (state, { again, failed }) => {
    if (again) return unchanged(state)
    if (state.phase === 'listing') return asksPerson(failed) ? refuseLists(state, failed) : goOnline(state, failed)
    if (state.phase !== 'online' || (failed === undefined && state.reasonCode === undefined)) return unchanged(state)
    return { state: at(state, 'online', failed), effects: [publishOnline(failed)] }
  },

  'lists-late': state => (state.phase === 'listing' ? goOnline(state, LATE) : unchanged(state)),

  unused: state => (state.listsOnly && canSend(state) ? goOffline(state, 'asleep', UNUSED) : unchanged(state)),

  'loop-found': (state, { retryMs }) => {
    if (state.phase === 'stopped') return unchanged(state)
    const { state: after, effects } = follow(state, { kind: 'offline', reason: LOOP_MET, delayMs: retryMs })
    return { state: after, effects: [{ do: 'close-sessions', reason: LOOP_MET }, ...end(LOOP_MET), ...effects] }
  },

  unusable: state => {
    if (!hasConnection(state)) return unchanged(state)
    return {
      state: { ...state, phase: 'ending' },
      effects: [{ do: 'stop-awaiting-lists' }, { do: 'hold-calls' }],
    }
  },

  ended: (state, { verdict }) => (hasConnection(state) ? follow(state, verdict) : unchanged(state)),
}

function unchanged(state: MachineState): Transition {
  return { state, effects: [] }
}

/** The state in another phase, with what is published of the reason. */
function at(state: MachineState, phase: ServerPhase, reason: Pick<WireError, 'code'> | undefined): MachineState {
  const { reasonCode: _, wakes: __, ...rest } = state
  return { ...rest, phase, ...(reason ? { reasonCode: reason.code } : {}) }
}

function hasConnection({ phase }: MachineState): boolean {
  return phase === 'handshaking' || phase === 'listing' || phase === 'online' || phase === 'ending'
}

function canSend({ phase }: MachineState): boolean {
  return phase === 'listing' || phase === 'online'
}

function isOffline({ phase }: MachineState): boolean {
  return phase === 'stopped' || phase === 'asleep' || phase === 'waiting' || phase === 'failed'
}

/** Begins an attempt; one in progress is dropped. */
function connect(state: MachineState, before: readonly ServerEffect[] = []): Transition {
  const { reasonCode: code } = state
  // A fault is shown until it is fixed; `stopped` and `idle` end with this start.
  const kept = state.connections > 0 && code !== undefined && code !== 'stopped' && code !== 'idle'
  return {
    state: at(state, 'preparing', kept ? { code } : undefined),
    effects: [
      ...before,
      { do: 'cancel-retry' },
      { do: 'publish', state: 'connecting', ...(kept ? { reason: 'kept' } : {}) },
      { do: 'connect' },
    ],
  }
}

/** The same on demand: earlier failures no longer count, and it stays connected. */
function connectAfresh(state: MachineState): Transition {
  return connect({ ...state, listsOnly: false }, [{ do: 'forget-failures' }])
}

function restart(state: MachineState): Transition {
  return reconnected(state, RESTARTED, 'at-once')
}

/** The next connection differs: it opens beside the present one, which ends with the calls in flight. */
function replace(state: MachineState): Transition {
  return reconnected(state, CHANGED, 'with-calls')
}

function reconnected(state: MachineState, reason: WireError, ends: Ends): Transition {
  return connect(at(state, state.phase, reason), [
    // Published before lost calls return, so that repeatable ones wait for the new connection.
    { do: 'publish', state: 'connecting', reason },
    sessionsEnd(reason, ends),
    { do: 'abandon-probes' },
    { do: 'forget-legacy-side' },
    ...end(reason, ends),
    { do: 'forget-failures' },
    { do: 'forget-transport' },
  ])
}

/** Its lists were read, or will be later: `reason` says why they are missing. */
function goOnline(state: MachineState, reason: WireError | undefined): Transition {
  return {
    state: at(state, 'online', reason),
    effects: [
      { do: 'stop-awaiting-lists' },
      publishOnline(reason),
      { do: 'announce-connection', again: state.connections > 1 },
    ],
  }
}

/** Nothing can be read without a person's sign-in. Connections of users who have signed in stay. */
function refuseLists(state: MachineState, reason: WireError): Transition {
  const { state: after, effects } = follow(state, { kind: 'offline', reason, delayMs: undefined })
  return { state: after, effects: [...end(reason), ...effects] }
}

function asksPerson(reason: WireError | undefined): reason is WireError {
  return reason?.data?.connectUrl !== undefined
}

function publishOnline(reason: WireError | undefined): ServerEffect {
  return { do: 'publish', state: 'online', ...(reason ? { reason } : {}) }
}

/** Ends the connection and all attempts, for a reason that a retry cannot fix; `alone`: no others but the shared one. */
function goOffline(
  state: MachineState,
  phase: 'stopped' | 'asleep' | 'failed',
  reason: WireError,
  given: Ends | 'alone' = 'at-once',
): Transition {
  const ends = given === 'alone' ? 'at-once' : given
  const sessions: readonly ServerEffect[] =
    phase === 'asleep' || given === 'alone'
      ? []
      : [sessionsEnd(reason, ends), { do: 'abandon-probes' }, { do: 'forget-legacy-side' }]
  return {
    state: { ...at(state, phase, reason), attempts: 0 },
    effects: [
      { do: 'forget-health' },
      { do: 'publish', state: 'offline', reason },
      { do: 'fail-waiting-calls' },
      ...sessions,
      ...end(reason, ends),
    ],
  }
}

/** When connections end: at once, with the calls that they have, or with the last of these. */
type Ends = 'at-once' | 'with-calls'

function sessionsEnd(reason: WireError, ends: Ends): ServerEffect {
  return { do: ends === 'at-once' ? 'close-sessions' : 'drain-sessions', reason }
}

/** Ends what belongs to the connection. */
function end(reason: WireError, ends: Ends = 'at-once'): readonly ServerEffect[] {
  return [
    { do: 'stop-awaiting-lists' },
    { do: 'hold-calls' },
    { do: 'abandon-lists' },
    { do: 'cancel-retry' },
    { do: ends === 'at-once' ? 'disconnect' : 'drain', reason },
  ]
}

/** The transition after the end of a connection or a failed attempt. */
function follow(state: MachineState, verdict: Verdict): Transition {
  if (verdict.kind === 'now') {
    const { reason } = verdict
    if (!reason) return connect(state, [{ do: 'abandon-lists' }])
    return connect(at(state, state.phase, reason), [
      { do: 'abandon-lists' },
      { do: 'publish', state: 'connecting', reason },
    ])
  }
  const { reason, delayMs, wakes = false } = verdict
  const next = delayMs === undefined ? {} : { nextAttemptInMs: delayMs }
  const soon = delayMs !== undefined && delayMs <= NEAR_MS
  return {
    state: {
      ...at(state, delayMs === undefined ? 'failed' : 'waiting', reason),
      attempts: state.attempts + 1,
      ...(wakes ? { wakes } : {}),
    },
    effects: [
      { do: 'publish', state: 'offline', reason, ...next },
      { do: 'abandon-lists' },
      { do: 'health-lost', reason },
      ...(soon ? [] : [{ do: 'fail-waiting-calls' } as const]),
      ...(delayMs === undefined ? [] : [{ do: 'schedule-retry', delayMs } as const]),
    ],
  }
}
