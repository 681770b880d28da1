import { expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import { LogFeed } from '../../../core/telemetry/log-feed.ts'
import { until } from '../../support/wait.ts'

test('a sink that takes nothing says why, by the code of its last error, until it takes records again', async () => {
  const feed = new LogFeed()
  let failure: Error | undefined = new HubError('upstream_dns_error', 'No address of "logs.test"')
  feed.add('remote', {
    ...{ maxRecords: 10, maxBytes: 10_000, maxBatch: 1, pausesMs: [1], changed() {} },
    send: () => (failure ? Promise.reject(failure) : Promise.resolve({ rejected: 0 })),
  })
  const reason = () => feed.list()[0]?.reason
  feed.push('{}\n', '', undefined)
  await until(() => reason() !== undefined, { what: 'a failure' })
  expect(reason()).toEqual({ code: 'upstream_dns_error', message: 'No address of "logs.test"' })
  failure = new TypeError('a mistake of the plugin')
  await until(() => reason()?.code === 'delivery_failed', { what: 'a failure without a code' })
  expect(reason()?.message).toBe('a mistake of the plugin')
  failure = undefined
  await until(() => feed.list()[0]?.state === 'up', { what: 'the end of the failure' })
  expect(reason()).toBeUndefined()
  await feed.remove('remote', 100)
})
