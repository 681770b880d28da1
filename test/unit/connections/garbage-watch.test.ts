import { expect, test } from 'bun:test'
import { GarbageWatch } from '../../../core/connections/process/garbage-watch.ts'
import { until } from '../../support/wait.ts'

test('memory is collected once after a period of large messages, and small ones are not counted', async () => {
  let collections = 0
  const collect = (): void => {
    collections += 1
  }
  const watch = new GarbageWatch({ periodBytes: 1_000_000, collect })
  for (let index = 0; index < 1_000; index += 1) watch.message(2_000)
  watch.message(600_000)
  await new Promise(setImmediate)
  expect(collections).toBe(0)
  watch.message(600_000)
  watch.message(600_000)
  await until(() => collections === 1)
  await new Promise(setImmediate)
  expect(collections).toBe(1)
})
