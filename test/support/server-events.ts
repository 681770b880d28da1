import type {
  MachineState,
  ServerEvent,
  ServerPhase,
  Transition,
} from '../../core/connections/server/machine/server-events.ts'
import { SERVER_PHASES } from '../../core/connections/server/machine/server-events.ts'
import { transition } from '../../core/connections/server/machine/server-machine.ts'

const FAULT = { code: 'connection_lost', message: 'It was lost' } as const
const SIGN_IN = {
  code: 'authorization_required',
  message: 'It wants sign-in',
  data: { connectUrl: 'https://hub.example.com/connect/s1' },
} as const

/** One event in a form that decides something, and the words for it. `listsOnly`: the server was opened for its lists. */
export interface EventCase {
  readonly name: string
  readonly event: ServerEvent
  readonly listsOnly?: true
}

/** Every event of a server's state machine, once for each decision that depends on its content. */
export const EVENT_CASES: readonly EventCase[] = [
  { name: 'loaded', event: { type: 'loaded', lazy: false, sleeps: false } },
  { name: 'loaded: lazy, its lists known', event: { type: 'loaded', lazy: true, sleeps: true } },
  { name: 'start', event: { type: 'start' } },
  { name: 'stop', event: { type: 'stop', reason: { code: 'stopped', message: 'By hand' } } },
  { name: 'restart', event: { type: 'restart' } },
  { name: 'give-way', event: { type: 'give-way' } },
  { name: 'refresh', event: { type: 'refresh' } },
  { name: 'enabled', event: { type: 'enabled' } },
  { name: 'configured: as before', event: { type: 'configured', differs: false, listsKept: true, lazy: true } },
  { name: 'configured: differs', event: { type: 'configured', differs: true, listsKept: false, lazy: false } },
  { name: 'forbidden', event: { type: 'forbidden', reason: { code: 'stdio_not_permitted', message: 'No' } } },
  { name: 'forbidden: sign-in wanted', event: { type: 'forbidden', reason: SIGN_IN, callers: 'stay' } },
  { name: 'credential-lost', event: { type: 'credential-lost' } },
  { name: 'call', event: { type: 'call' } },
  { name: 'tick', event: { type: 'tick', outdated: false, idle: false } },
  { name: 'tick: outdated', event: { type: 'tick', outdated: true, idle: false } },
  { name: 'tick: idle', event: { type: 'tick', outdated: false, idle: true } },
  { name: 'retry-due', event: { type: 'retry-due' } },
  {
    name: 'attempt-failed',
    event: { type: 'attempt-failed', verdict: { kind: 'offline', reason: FAULT, delayMs: 9_000 } },
  },
  {
    name: 'attempt-failed: for good',
    event: { type: 'attempt-failed', verdict: { kind: 'offline', reason: FAULT, delayMs: undefined } },
  },
  { name: 'launched', event: { type: 'launched' } },
  { name: 'opened', event: { type: 'opened' } },
  { name: 'lists-read', event: { type: 'lists-read', again: false, failed: undefined } },
  { name: 'lists-read: failed', event: { type: 'lists-read', again: false, failed: FAULT } },
  { name: 'lists-read: sign-in wanted', event: { type: 'lists-read', again: false, failed: SIGN_IN } },
  { name: 'lists-read: another follows', event: { type: 'lists-read', again: true, failed: undefined } },
  { name: 'lists-late', event: { type: 'lists-late' } },
  { name: 'unused', event: { type: 'unused' } },
  { name: 'unused: opened for its lists', event: { type: 'unused' }, listsOnly: true },
  { name: 'loop-found', event: { type: 'loop-found', retryMs: 600_000 } },
  { name: 'unusable', event: { type: 'unusable' } },
  { name: 'ended: retry now', event: { type: 'ended', verdict: { kind: 'now', reason: FAULT } } },
  { name: 'ended: retry soon', event: { type: 'ended', verdict: { kind: 'offline', reason: FAULT, delayMs: 500 } } },
  { name: 'ended: retry later', event: { type: 'ended', verdict: { kind: 'offline', reason: FAULT, delayMs: 9_000 } } },
  {
    name: 'ended: for good',
    event: { type: 'ended', verdict: { kind: 'offline', reason: FAULT, delayMs: undefined } },
  },
]

const REASONS = { asleep: 'idle', waiting: 'connection_lost', failed: 'config_invalid', stopped: 'stopped' } as const

/** A server in this phase that was connected once. */
export function serverIn(phase: ServerPhase, more: Partial<MachineState> = {}): MachineState {
  const reasonCode = phase in REASONS ? { reasonCode: REASONS[phase as keyof typeof REASONS] } : {}
  const wakes = phase === 'waiting' ? { wakes: true } : {}
  return {
    ...{ phase, wanted: phase !== 'stopped', listsOnly: false, connections: 1, attempts: 0 },
    ...{ ...reasonCode, ...wakes, ...more },
  }
}

/** Transition of a server in this phase by the event. */
export function transitionIn(phase: ServerPhase, { event, listsOnly }: EventCase): Transition {
  return transition(serverIn(phase, listsOnly ? { listsOnly } : {}), event)
}

/** The transitions as the table of docs/reference/server-states.md: phases in which an event does the same share a row. */
export function transitionRows(): readonly string[] {
  return EVENT_CASES.flatMap(one => {
    const rows = new Map<string, ServerPhase[]>()
    for (const phase of SERVER_PHASES) {
      const { state, effects } = transitionIn(phase, one)
      if (state.phase === phase && effects.length === 0) continue
      const next = state.phase === phase ? 'stays' : state.phase
      const does = effects.map(effect => (effect.do === 'publish' ? `publish ${effect.state}` : effect.do)).join(', ')
      const key = `${next} | ${does || 'nothing'}`
      rows.set(key, [...(rows.get(key) ?? []), phase])
    }
    return [...rows].map(([row, phases]) => `| ${one.name} | ${phases.join(', ')} | ${row} |`)
  })
}
