import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { EventBus } from '../../../core/events/bus.ts'
import { Redactor } from '../../../core/secrets/redact.ts'
import { ServerRedactors } from '../../../core/secrets/server-redactors.ts'
import { HubMetrics } from '../../../core/telemetry/hub-metrics.ts'
import { HubLog } from '../../../core/telemetry/log.ts'
import { LogTally } from '../../../core/telemetry/log-tally.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

test('a record of usual fields leaves the garbage collector next to nothing, with a queue that is full and with counters', async () => {
  const folder = await makeTemp('garbage')
  const options = { level: 'info', format: 'json', file: join(folder, 'hub.log') } as const
  const redactor = new Redactor(['a secret of the hub'])
  const log = await HubLog.open({ ...options, redactor, servers: new ServerRedactors(), bus: new EventBus(() => {}) })
  const metrics = new HubMetrics()
  const tally = new LogTally()
  log.onRecord(level => metrics.record(level))
  log.onCounted(key => tally.add(key))
  const never = new Promise<{ rejected: number }>(() => {})
  const limits = { maxRecords: 3_000, maxBytes: 1_000_000, maxBatch: 100 }
  log.feed.add('full', { ...limits, send: () => never, changed() {} })
  log.feed.started()
  const logger = log.with({ component: 'plugin:flood', plugin: 'flood' })
  const fields = { n: 0, text: 'a record of usual length, as calls have them' }
  const make = async (count: number) => {
    for (fields.n = 1; fields.n <= count; fields.n += 1) {
      logger.info('flood', fields)
      // The file's queue is not to be the one that is full.
      if (fields.n % 500 === 0) await Bun.sleep(2)
    }
  }
  const cells = () => Object.values(heapStats().objectTypeCounts).reduce((sum, count) => sum + count, 0)
  await make(20_000)
  const before = cells()
  await make(5_000)
  const left = cells() - before
  await log.end()
  await removeTemp(folder)
  // One thing a record: the file's batches and the test's own.
  expect(left).toBeLessThan(7_500)
}, 20_000)
