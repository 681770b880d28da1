import { expect, test } from 'bun:test'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { until } from '../../support/wait.ts'
import { catalog, serverRecord, startHub } from './support.ts'

const time = serverRecord('time')
const DONE: UpstreamReply = { kind: 'result', text: '{}', isError: false }

test('requests for the same resource go out one after the other, so that the last one holds', async () => {
  const answers: ((reply: UpstreamReply) => void)[] = []
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resources: [{ uri: 'a://1', name: '1' }] }), () => {
      const { promise, resolve } = Promise.withResolvers<UpstreamReply>()
      answers.push(resolve)
      return promise
    })
  })
  const methods = () => hub.upstreams.seen.map(({ request }) => request.method)
  const client = await new RawClient(hub, '/mcp/time').open()
  const subscribe = () => client.call('resources/subscribe', { uri: 'a://1' })
  const first = subscribe()
  await until(() => answers.length === 1, { what: 'the first request' })
  answers[0]?.(DONE)
  expect((await first).result).toEqual({})

  const leaving = client.call('resources/unsubscribe', { uri: 'a://1' })
  await until(() => answers.length === 2, { what: 'the second request' })
  const again = subscribe()
  expect((await client.call('ping')).result).toEqual({})
  expect(methods()).toEqual(['resources/subscribe', 'resources/unsubscribe'])
  answers[1]?.(DONE)
  expect((await leaving).result).toEqual({})
  await until(() => answers.length === 3, { what: 'the third request' })
  answers[2]?.(DONE)
  expect((await again).result).toEqual({})
  expect(methods()).toEqual(['resources/subscribe', 'resources/unsubscribe', 'resources/subscribe'])
})
