import { expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { SessionRequests, type SessionRequestsHost } from '../../../core/mcp/legacy/session-requests.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { until } from '../../support/wait.ts'

interface Sent {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly requestId?: number }
}

/** A client with one stream, open or closed. */
function world(options: Partial<SessionRequestsHost> = {}) {
  const sent: Sent[] = []
  const stream = { send: (text: string) => void sent.push(JSON.parse(text)) }
  const state = { open: true }
  const account = bytesInFlight().user('u-ann')
  const asks = new SessionRequests({
    capabilities: () => ({ roots: {} }),
    anyStream: () => (state.open ? stream : undefined),
    streamWaitMs: 5_000,
    answerMs: 5_000,
    bytes: () => account,
    ...options,
  })
  const ask = (signal = new AbortController().signal) => asks.onSession('roots/list', undefined, signal)
  return { asks, ask, sent, stream, state, account }
}

test('a question of the session outlives the call whose stream carried it; one of the call ends with it', async () => {
  const { asks, ask, stream } = world()
  const ofSession = ask()
  const ofCall = asks.onCall(stream, 'roots/list', undefined, new AbortController().signal)
  asks.closeCall(stream)
  expect(await ofCall).toMatchObject({ error: { code: -32603 } })
  asks.answered({ kind: 'result', id: '1', result: { roots: [] } })
  expect(await ofSession).toEqual({ result: { roots: [] } })
})

test('without a stream it waits, goes out with the next one, and only once', async () => {
  const { asks, ask, sent, state } = world()
  state.open = false
  const answer = ask()
  asks.streamOpened()
  expect(sent).toEqual([])
  state.open = true
  asks.streamOpened()
  asks.streamOpened()
  expect(sent).toMatchObject([{ id: 1, method: 'roots/list' }])
  asks.answered({ kind: 'result', id: '1', result: {} })
  expect(await answer).toEqual({ result: {} })
})

test('it is refused when no stream comes in time, and what waits is bounded', async () => {
  const { asks, state, sent } = world({ streamWaitMs: 20 })
  state.open = false
  const signal = new AbortController().signal
  const first = asks.onSession('roots/list', { filler: 'x'.repeat(700_000) }, signal)
  const second = await asks.onSession('roots/list', { filler: 'x'.repeat(700_000) }, signal)
  expect(second).toMatchObject({ error: { code: -32603, message: expect.stringContaining('too many') } })
  expect(await first).toMatchObject({ error: { code: -32603, message: expect.stringContaining('no open stream') } })
  // Room is free again.
  state.open = true
  void asks.onSession('roots/list', undefined, signal)
  expect(sent).toHaveLength(1)
})

test('a client that does not answer in time gets a cancellation', async () => {
  const { ask, sent } = world({ answerMs: 20 })
  expect(await ask()).toMatchObject({ error: { message: 'The client did not answer within 20 ms' } })
  expect(sent).toMatchObject([{ id: 1 }, { method: 'notifications/cancelled', params: { requestId: 1 } }])
})

test('the server takes it back: the client is notified; one that waits unsent is dropped in silence', async () => {
  const { asks, ask, sent, state } = world()
  const [one, two] = [new AbortController(), new AbortController()]
  const first = ask(one.signal)
  state.open = false
  const second = ask(two.signal)
  state.open = true
  one.abort()
  two.abort()
  expect(await Promise.all([first, second])).toMatchObject([{ error: {} }, { error: {} }])
  await until(() => sent.length === 2)
  asks.streamOpened()
  expect(sent).toMatchObject([{ id: 1 }, { method: 'notifications/cancelled', params: { requestId: 1 } }])
})

test('requests that the client did not declare are refused at once, and so are all once the session has ended', async () => {
  const { asks, ask, sent } = world()
  const signal = new AbortController().signal
  expect(await asks.onSession('sampling/createMessage', {}, signal)).toMatchObject({ error: { code: -32601 } })
  const open = ask()
  asks.end()
  expect(await open).toMatchObject({ error: { code: -32603 } })
  expect(await ask()).toMatchObject({ error: { code: -32603 } })
  expect(sent).toHaveLength(1)
})

test('requests that wait for a stream count for the user of the session, until they are sent or dropped', async () => {
  const { asks, state, account } = world()
  state.open = false
  const withdrawn = new AbortController()
  const question = (signal: AbortSignal) => asks.onSession('roots/list', { filler: 'x'.repeat(300_000) }, signal)
  void question(withdrawn.signal)
  const one = account.used
  expect(one).toBeGreaterThan(300_000)
  void question(new AbortController().signal)
  expect(account.used).toBe(2 * one)
  withdrawn.abort()
  expect(account.used).toBe(one)
  account.add(LIMITS.bytesInFlightPerUser - one)
  expect(await question(new AbortController().signal)).toMatchObject({ error: { code: -32603 } })
  account.give(LIMITS.bytesInFlightPerUser - one)
  state.open = true
  asks.streamOpened()
  expect(account.used).toBe(0)
  asks.end()
  expect(account.used).toBe(0)
})
