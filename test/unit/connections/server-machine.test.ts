import { describe, expect, test } from 'bun:test'
import {
  type MachineState,
  SERVER_PHASES,
  type ServerEffect,
  type ServerPhase,
} from '../../../core/connections/server/machine/server-events.ts'
import { initialState, transition } from '../../../core/connections/server/machine/server-machine.ts'
import { EVENT_CASES, serverIn, transitionIn } from '../../support/server-events.ts'

/** The phase after each event, in the order of SERVER_PHASES. `-`: nothing changes; `=`: the phase stays, and more follows. */
const AFTER: Readonly<Record<string, string>> = {
  // loading, stopped, asleep, waiting, failed, preparing, handshaking, listing, online, ending
  loaded: 'preparing - - - - - - - - -',
  'loaded: lazy, its lists known': 'asleep - - - - - - - - -',
  start: 'preparing preparing preparing preparing preparing - - - - -',
  stop: 'stopped - stopped stopped stopped stopped stopped stopped stopped stopped',
  restart: 'preparing preparing preparing preparing preparing = preparing preparing preparing preparing',
  'give-way': '- - - - - = preparing preparing preparing preparing',
  refresh: '- - preparing preparing preparing - - = = -',
  enabled: '- - - - - - - - - -',
  'configured: as before': 'preparing preparing - preparing preparing = = = = =',
  'configured: differs': 'preparing preparing preparing preparing preparing = preparing preparing preparing preparing',
  forbidden: 'failed failed failed failed = failed failed failed failed failed',
  'forbidden: sign-in wanted': 'failed failed failed failed = failed failed failed failed failed',
  'credential-lost': '- - - - - = preparing preparing preparing preparing',
  call: '- - preparing preparing - - - - - -',
  tick: '- - - - - - - - - -',
  'tick: outdated': '- - - - - - - preparing preparing -',
  'tick: idle': '- - - - - - - asleep asleep -',
  'retry-due': '- - - preparing - - - - - -',
  'attempt-failed': '- - - - - waiting - - - -',
  'attempt-failed: for good': '- - - - - failed - - - -',
  launched: '- - - - - handshaking - - - -',
  opened: '- - - - - - listing - - -',
  'lists-read': '- - - - - - - online - -',
  'lists-read: failed': '- - - - - - - online = -',
  'lists-read: sign-in wanted': '- - - - - - - failed = -',
  'lists-read: another follows': '- - - - - - - - - -',
  'lists-late': '- - - - - - - online - -',
  unused: '- - - - - - - - - -',
  'unused: opened for its lists': '- - - - - - - asleep asleep -',
  'loop-found': 'waiting - waiting = waiting waiting waiting waiting waiting waiting',
  unusable: '- - - - - - ending ending ending =',
  'ended: retry now': '- - - - - - preparing preparing preparing preparing',
  'ended: retry soon': '- - - - - - waiting waiting waiting waiting',
  'ended: retry later': '- - - - - - waiting waiting waiting waiting',
  'ended: for good': '- - - - - - failed failed failed failed',
}

const STATE_OF: Readonly<Record<ServerPhase, 'online' | 'connecting' | 'offline' | undefined>> = {
  ...{ stopped: 'offline', asleep: 'offline', waiting: 'offline', failed: 'offline' },
  ...{ loading: 'connecting', preparing: 'connecting', handshaking: 'connecting', listing: 'connecting' },
  ...{ online: 'online', ending: undefined },
}
const CONNECTED: readonly ServerPhase[] = ['handshaking', 'listing', 'online', 'ending']

describe('each event in each phase', () => {
  test('the table names every event and every phase', () => {
    expect(Object.keys(AFTER).toSorted()).toEqual(EVENT_CASES.map(({ name }) => name).toSorted())
    for (const row of Object.values(AFTER)) expect(row.split(' ')).toHaveLength(SERVER_PHASES.length)
  })

  for (const one of EVENT_CASES)
    test(one.name, () => {
      const after = SERVER_PHASES.map(phase => {
        const { state, effects } = transitionIn(phase, one)
        if (state.phase !== phase) return state.phase
        return effects.length === 0 ? '-' : '='
      })
      expect(after.join(' ')).toBe(AFTER[one.name]!)
    })
})

function does(effects: readonly ServerEffect[], what: ServerEffect['do']): boolean {
  return effects.some(effect => effect.do === what)
}

/** Checks the rules for every transition. */
function check(before: MachineState, { state, effects }: ReturnType<typeof transition>, event: string): void {
  const published = effects.findLast(effect => effect.do === 'publish')
  const [was, is] = [STATE_OF[before.phase], STATE_OF[state.phase]]
  // The published state is the state of the phase, and every change of it is published.
  if (published) expect(published.state).toBe(is!)
  else if (was !== undefined && is !== undefined) expect(is).toBe(was)
  // Attempts and connections begin and end in pairs.
  expect(does(effects, 'connect')).toBe(state.phase === 'preparing' && effects.length > 0)
  const left = CONNECTED.includes(before.phase) && !CONNECTED.includes(state.phase)
  if (left && !event.startsWith('ended')) expect(does(effects, 'disconnect') || does(effects, 'drain')).toBe(true)
  // A retry is due in `waiting` alone.
  if (state.phase === 'waiting' && effects.length > 0) expect(does(effects, 'schedule-retry')).toBe(true)
  else expect(does(effects, 'schedule-retry')).toBe(false)
  if (before.phase === 'waiting' && state.phase !== 'waiting') expect(does(effects, 'cancel-retry')).toBe(true)
  // A server that should not run has nothing.
  if (state.phase === 'stopped' && before.phase !== 'stopped') {
    expect(state.wanted).toBe(false)
    for (const what of ['disconnect', 'close-sessions', 'fail-waiting-calls'] as const)
      expect(does(effects, what)).toBe(true)
  }
}

test('whatever the order of the events, what is published, opened and scheduled follows the phase', () => {
  let seed = 20
  const next = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 8) % below
  }
  const visited = new Set<string>()
  for (let walk = 0; walk < 300; walk += 1) {
    let state = initialState(walk % 4 !== 0, undefined)
    for (let step = 0; step < 40; step += 1) {
      const { name, event } = EVENT_CASES[next(EVENT_CASES.length)]!
      const done = transition(state, event)
      check(state, done, name)
      visited.add(`${state.phase} ${name}`)
      state = done.state
    }
  }
  expect(visited.size).toBeGreaterThan(200)
})

test('what another configuration needs opens beside the connections in use; a right that is lost ends them at once', () => {
  const forbid = (code: 'variable_unknown' | 'stdio_not_permitted') =>
    transition(serverIn('online'), { type: 'forbidden', reason: { code, message: 'No' } }).effects
  const changed = transition(serverIn('online'), { type: 'configured', differs: true, listsKept: false, lazy: false })
  for (const effects of [changed.effects, forbid('variable_unknown')]) {
    expect([does(effects, 'drain'), does(effects, 'drain-sessions')]).toEqual([true, true])
    expect([does(effects, 'disconnect'), does(effects, 'close-sessions')]).toEqual([false, false])
  }
  for (const effects of [forbid('stdio_not_permitted'), transition(serverIn('online'), { type: 'restart' }).effects])
    expect([does(effects, 'disconnect'), does(effects, 'close-sessions')]).toEqual([true, true])
})

test('a server that was enabled, and whose configuration could not be read, is tried with the next tick', () => {
  const { state } = transition(serverIn('stopped'), { type: 'enabled' })
  expect(transition(state, { type: 'tick', outdated: false, idle: false }).state.phase).toBe('preparing')
})

test('a fault stays published while the server reconnects, and not before it was ever connected', () => {
  const again = transition(serverIn('waiting'), { type: 'retry-due' })
  expect(again.effects).toContainEqual({ do: 'publish', state: 'connecting', reason: 'kept' })
  expect(again.state.reasonCode).toBe('connection_lost')
  const first = transition(serverIn('waiting', { connections: 0 }), { type: 'retry-due' })
  expect(first.effects).toContainEqual({ do: 'publish', state: 'connecting' })
  expect(first.state.reasonCode).toBeUndefined()
  const woken = transition(serverIn('asleep'), { type: 'call' })
  expect(woken.effects).toContainEqual({ do: 'publish', state: 'connecting' })
})

test('attempts count up to the next connection, and only later ones are announced as such', () => {
  const failed = { kind: 'offline', reason: { code: 'connection_lost', message: 'No' }, delayMs: 2_000 } as const
  let { state } = transition(serverIn('preparing', { connections: 0 }), { type: 'attempt-failed', verdict: failed })
  state = transition(transition(state, { type: 'retry-due' }).state, { type: 'attempt-failed', verdict: failed }).state
  expect(state.attempts).toBe(2)
  for (const again of [false, true]) {
    state = transition({ ...state, phase: 'preparing' }, { type: 'launched' }).state
    state = transition(state, { type: 'opened' }).state
    expect(state.attempts).toBe(0)
    const online = transition(state, { type: 'lists-read', again: false, failed: undefined })
    expect(online.effects).toContainEqual({ do: 'announce-connection', again })
    state = online.state
  }
})

test('a lazy server that was opened for its lists sleeps again, and stays awake for a call or a user', () => {
  const loaded = transition(initialState(true, undefined), { type: 'loaded', lazy: true, sleeps: false })
  expect(loaded.state.listsOnly).toBe(true)
  expect(transition({ ...loaded.state, phase: 'online' }, { type: 'unused' }).state.phase).toBe('asleep')
  expect(transition(serverIn('asleep', { listsOnly: true }), { type: 'call' }).state.listsOnly).toBe(false)
  expect(transition(serverIn('waiting', { listsOnly: true }), { type: 'start' }).state.listsOnly).toBe(false)
})
