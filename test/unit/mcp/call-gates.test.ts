/** Gates of plugins: their order, the end that each one gets, callers that leave, and the events of tasks. */
import { expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import type { CallGate, Decision, GatedCall, GatedEnd, TaskEvent } from '../../../core/features/gates.ts'
import { CallGates } from '../../../core/mcp/gates/call-gates.ts'
import type { Asking } from '../../../core/mcp/gates/question.ts'
import { until } from '../../support/wait.ts'

const ACTOR = {
  ...{ kind: 'user', userId: 'u', name: 'ann', role: 'user' },
  credential: { kind: 'local' },
} as const satisfies Asking['actor']
const SENT: GatedEnd = { sent: true, sentAgain: false, failed: false, resultCharacters: 2, task: false }
const NOT_SENT: GatedEnd = { sent: false, sentAgain: false, failed: true, resultCharacters: 0, task: false }
const REFUSED = new HubError('quota_calls', 'Not now')

type Gates = Readonly<Record<string, Omit<CallGate, 'ended' | 'task'>>>

/** One call through these gates. `heard`: all that happens, in its order; `leave`: its caller goes away. */
function oneCall(gates: Gates, { end = SENT, recheck = true, asked = async () => {} } = {}) {
  const heard: string[] = []
  const ends: [gate: string, end: GatedEnd][] = []
  const abort = new AbortController()
  const exchange: Asking = {
    ...{ requestId: 'r', clientAddress: '127.0.0.1', actor: ACTOR },
    async ask() {
      await asked()
      return { result: { action: 'accept', content: {} } }
    },
  }
  const call: GatedCall = {
    ...{ requestId: 'r', actor: ACTOR, principal: 'u', path: 'work', tags: { group: [], server: [] }, called: 'pay' },
    ...{ server: { id: 's', name: 'bank', ownerId: 'u', ownerName: 'ann' }, arguments: {}, given: {} },
    tool: { name: 'pay', hash: '', annotations: {} },
    ...{ client: { address: '127.0.0.1' }, elicitation: { form: true, url: false }, sendsAgain: false },
    ...{ signal: abort.signal, progress() {} },
  }
  const held = Object.entries(gates).map(([name, gate]): [string, CallGate] => [
    name,
    {
      ...gate,
      decide(given) {
        heard.push(`asked ${name}`)
        return gate.decide(given)
      },
      ended(_, one) {
        heard.push(`ended ${name}`)
        ends.push([name, one])
      },
      task: () => event => void heard.push(`${event.kind} ${name}`),
    },
  ])
  const errors: string[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
  const followers: ((event: TaskEvent) => void)[] = []
  const outcome = () =>
    new CallGates(() => new Map(held), log).through<string>({
      ...{ call, exchange, abort, cancelled: 'cancelled' },
      recheck: async () => recheck,
      send() {
        heard.push('sent')
        return 'result'
      },
      again: () => 'again',
      denied: ({ code }) => code,
      endOf: () => end,
      follow(listener) {
        heard.push('followed')
        followers.push(listener)
      },
    })
  return { heard, ends, errors, followers, outcome, leave: () => exchange.cancel?.() }
}

const passes = (order?: number): Gates[string] => ({ ...(order === undefined ? {} : { order }), decide: () => 'pass' })

test('gates are asked by their order, those without one at 0 and as they came, and each gets the end once', async () => {
  const { heard, ends, outcome } = oneCall({ last: passes(100), plain: passes(), second: passes(0), first: passes(-1) })
  expect(await outcome()).toBe('result')
  const order = ['first', 'plain', 'second', 'last']
  expect(heard).toEqual([...order.map(name => `asked ${name}`), 'sent', ...order.map(name => `ended ${name}`)])
  expect(ends).toEqual(order.map(name => [name, SENT]))
})

test.each<[string, () => Decision | Promise<Decision>]>([
  ['at once', () => ({ denied: REFUSED })],
  ['later', async () => ({ denied: REFUSED })],
  ['after a question', () => ({ elicitation: {}, answered: () => ({ denied: REFUSED }) })],
])(
  'a gate that refuses %s gets no end, those before it hear that nothing was sent, and later ones nothing',
  async (_, decide) => {
    const { heard, ends, outcome } = oneCall({ before: passes(), refuses: { decide }, after: passes() })
    expect(await outcome()).toBe('quota_calls')
    expect(heard).toEqual(['asked before', 'asked refuses', 'ended before'])
    expect(ends).toEqual([['before', NOT_SENT]])
  },
)

test('a gate that throws gets no end, and its error is thrown', async () => {
  const decide = () => {
    throw REFUSED
  }
  const { heard, outcome } = oneCall({ before: passes(), throws: { decide }, after: passes() })
  expect(await outcome().catch(error => error)).toBe(REFUSED)
  expect(heard).toEqual(['asked before', 'asked throws', 'ended before'])
})

test('a caller that leaves while a gate lets its call pass: later gates are not asked, and nothing is sent', async () => {
  const one = oneCall({
    leaves: {
      decide() {
        one.leave()
        return 'pass'
      },
    },
    later: passes(),
  })
  expect(await one.outcome()).toBe('cancelled')
  expect(one.heard).toEqual(['asked leaves', 'ended leaves'])
  expect(one.ends).toEqual([['leaves', NOT_SENT]])
})

test('a caller that has left waits for no gate, and one that lets the call pass after that gets its end', async () => {
  const late = Promise.withResolvers<Decision>()
  const one = oneCall({ before: passes(), slow: { decide: () => late.promise }, later: passes() })
  const outcome = one.outcome()
  await until(() => one.heard.includes('asked slow'), { what: 'the slow gate to be asked' })
  one.leave()
  expect(await outcome).toBe('cancelled')
  expect(one.heard).toEqual(['asked before', 'asked slow', 'ended before'])
  late.resolve('pass')
  await until(() => one.heard.includes('ended slow'), { what: 'the end of the slow gate' })
  expect(one.ends).toEqual([
    ['before', NOT_SENT],
    ['slow', NOT_SENT],
  ])
})

test('a caller that leaves before its gate begins to wait, or while it is asked, waits for no gate either', async () => {
  const never = new Promise<Decision>(() => {})
  const before = oneCall({
    hangs: {
      decide() {
        before.leave()
        return never
      },
    },
  })
  expect(await before.outcome()).toBe('cancelled')
  const during = oneCall(
    { asks: { decide: () => ({ elicitation: {}, answered: () => never }) } },
    { asked: async () => during.leave() },
  )
  expect(await during.outcome()).toBe('cancelled')
  expect([...before.heard, ...during.heard]).toEqual(['asked hangs', 'asked asks'])
})

test('a call that has changed during a wait begins again, and its gates are told that it was not sent', async () => {
  const { heard, ends, outcome } = oneCall(
    { waits: { decide: async (): Promise<Decision> => 'pass' } },
    { recheck: false },
  )
  expect(await outcome()).toBe('again')
  expect(heard).toEqual(['asked waits', 'ended waits'])
  expect(ends).toEqual([['waits', NOT_SENT]])
})

test('a task is followed once, after the end of its call, for all gates that let it pass', async () => {
  const end: GatedEnd = { ...SENT, resultCharacters: 0, task: true }
  const { heard, followers, outcome } = oneCall({ one: passes(), two: passes() }, { end })
  await outcome()
  for (const event of [{ kind: 'over' }, { kind: 'result', failed: false, resultCharacters: 2 }] as const)
    for (const follower of followers) follower(event)
  expect(heard.slice(2)).toEqual([
    ...['sent', 'ended one', 'ended two', 'followed'],
    ...['over one', 'over two', 'result one', 'result two'],
  ])
})
