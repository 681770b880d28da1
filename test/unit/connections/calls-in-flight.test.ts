import { expect, test } from 'bun:test'
import { PendingCall } from '../../../core/connections/connection/call.ts'
import { CallsInFlight } from '../../../core/connections/connection/calls-in-flight.ts'

const LOGGED = { method: 'notifications/message', params: { level: 'error', data: 'x' } }

test('a log message reaches the only call although a level is being set, and not one of two calls', () => {
  const received: string[] = []
  const calls = new CallsInFlight({ notification: () => received.push('log') }, () => undefined)
  const call = (caller: string) =>
    new PendingCall({ method: 'tools/call', params: {}, notification: () => received.push(caller) })
  calls.add(1, new PendingCall({ method: 'logging/setLevel', params: { level: 'debug' } }))
  calls.notification(0, LOGGED)
  calls.add(2, call('ann'))
  calls.notification(0, LOGGED)
  calls.add(3, call('bob'))
  calls.notification(0, LOGGED)
  calls.take(2)
  calls.notification(0, LOGGED)
  expect(received).toEqual(['log', 'ann', 'log', 'bob'])
})

test('a server request that names no call reaches the newest call, and no level that is being set', async () => {
  const asked: string[] = []
  const answers: unknown[] = []
  const calls = new CallsInFlight({ notification: () => undefined }, (...answer) => answers.push(answer))
  const ask = async (method: string) => {
    asked.push(method)
    return { result: {} }
  }
  calls.add(1, new PendingCall({ method: 'tools/call', params: {}, ask }))
  calls.add(2, new PendingCall({ method: 'logging/setLevel', params: { level: 'debug' } }))
  calls.asked(0, 7, 'sampling/createMessage', {})
  await Bun.sleep(0)
  expect(asked).toEqual(['sampling/createMessage'])
  expect(JSON.stringify(answers)).toContain('"result":{}')
})
