import { expect, test } from 'bun:test'
import { PendingCall } from '../../../core/connections/connection/call.ts'
import { CallsInFlight } from '../../../core/connections/connection/calls-in-flight.ts'

/** Messages that the hub sends by itself. */
const OWN = [
  ['a level that is set', { method: 'logging/setLevel', params: { level: 'debug' } }],
  ['a ping', { method: 'ping', params: undefined }],
] as const
const LOGGED = { method: 'notifications/message', params: { level: 'error', data: 'x' } }

test.each(OWN)('a log message reaches the only call beside %s, and not one of two calls', (_, own) => {
  const received: string[] = []
  const calls = new CallsInFlight({ notification: () => received.push('log') }, () => undefined)
  const call = (caller: string) =>
    new PendingCall({ method: 'tools/call', params: {}, notification: () => received.push(caller) })
  calls.add(1, new PendingCall(own))
  calls.notification(0, LOGGED)
  calls.add(2, call('ann'))
  calls.notification(0, LOGGED)
  calls.add(3, call('bob'))
  calls.notification(0, LOGGED)
  calls.take(2)
  calls.notification(0, LOGGED)
  expect(received).toEqual(['log', 'ann', 'log', 'bob'])
})

test.each(OWN)('a server request that names no call reaches the newest call, and never %s', async (_, own) => {
  const asked: string[] = []
  const answers: unknown[] = []
  const calls = new CallsInFlight({ notification: () => undefined }, (...answer) => answers.push(answer))
  const ask = async (method: string) => {
    asked.push(method)
    return { result: {} }
  }
  calls.add(1, new PendingCall({ method: 'tools/call', params: {}, ask }))
  calls.add(2, new PendingCall(own))
  calls.asked(0, 7, 'sampling/createMessage', {})
  await Bun.sleep(0)
  expect(asked).toEqual(['sampling/createMessage'])
  expect(JSON.stringify(answers)).toContain('"result":{}')
})
