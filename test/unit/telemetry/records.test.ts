import { expect, test } from 'bun:test'
import type { LogBatch } from '../../../core/features/log-store.ts'
import { LogLevels } from '../../../core/telemetry/levels.ts'
import { LogFeed } from '../../../core/telemetry/log-feed.ts'
import { linesOf } from '../../../core/telemetry/record-blocks.ts'
import { SinkQueue, type SinkQueueOptions } from '../../../core/telemetry/sink-queue.ts'
import { UpstreamRecords } from '../../../core/telemetry/upstream-records.ts'
import { until } from '../../support/wait.ts'

function queueOptions(change: Partial<SinkQueueOptions> = {}) {
  const taken: string[] = []
  const states: string[] = []
  const options: SinkQueueOptions = {
    maxRecords: 10,
    maxBytes: 1_000,
    maxBatch: 4,
    async send(batch: LogBatch) {
      taken.push(...linesOf(batch))
      return { rejected: 0 }
    },
    changed: state => void states.push(state),
    pausesMs: [5],
  }
  // A spread would read a getter once.
  return { options: Object.defineProperties(options, Object.getOwnPropertyDescriptors(change)), taken, states }
}

test('a server’s level comes before its component’s, and that before the default; null removes', () => {
  const levels = new LogLevels('info')
  expect([levels.allows('INFO', 'mcp', undefined), levels.allows('DEBUG', 'mcp', undefined)]).toEqual([true, false])
  levels.set({ key: 'mcp', level: 'debug' })
  levels.set({ key: 'server:ada~time', level: 'error', serverId: 's1' })
  expect(levels.allows('DEBUG', 'mcp', undefined)).toBe(true)
  expect(levels.allows('WARN', 'mcp', 's1')).toBe(false)
  expect(levels.allows('DEBUG', 'http', 's2')).toBe(false)
  levels.set({ key: 'plugins', level: 'warn' })
  expect(levels.allows('INFO', 'plugin:groups', undefined)).toBe(false)
  expect(levels.list().map(each => each.key)).toEqual(['mcp', 'plugins', 'server:ada~time'])
  levels.set({ key: 'mcp', level: null })
  expect(levels.allows('DEBUG', 'mcp', undefined)).toBe(false)
})

test('a level with an end is gone after it', async () => {
  const levels = new LogLevels('info')
  levels.set({ key: 'http', level: 'trace', forMs: 1 })
  expect(levels.list()[0]?.until).toMatch(/^\d{4}-.*Z$/)
  await until(() => levels.list().length === 0)
  expect(levels.allows('TRACE', 'http', undefined)).toBe(false)
})

test('records arrive in order, whatever the sizes of the batches', async () => {
  const { options, taken } = queueOptions()
  const queue = new SinkQueue(options)
  const lines = Array.from({ length: 10 }, (_, index) => `line ${index}`)
  for (const line of lines) queue.push(line, '')
  await queue.flush(1_000)
  expect(taken).toEqual(lines)
  expect([queue.sent, queue.waiting, queue.dropped]).toEqual([10, 0, { full: 0, rejected: 0, late: 0 }])
})

test('the size of a batch may change from one to the next', async () => {
  const sizes: number[] = []
  const { options } = queueOptions({
    get maxBatch() {
      return sizes.length === 0 ? 4 : 2
    },
    async send({ ends }) {
      sizes.push(ends.length)
      return { rejected: 0 }
    },
  })
  const queue = new SinkQueue(options)
  for (let index = 0; index < 9; index += 1) queue.push(String(index), '')
  await queue.flush(1_000)
  expect(sizes).toEqual([4, 2, 2, 1])
})

test('a full queue loses the oldest, and the counts are exact: taken, lost and waiting make all', async () => {
  let open: (() => void) | undefined
  const gate = new Promise<void>(resolve => {
    open = resolve
  })
  const taken: string[] = []
  const { options } = queueOptions({
    async send(batch) {
      await gate
      taken.push(...linesOf(batch))
      return { rejected: 1 }
    },
  })
  const queue = new SinkQueue(options)
  for (let index = 0; index < 5_000; index += 1) queue.push(String(index), '')
  expect(queue.waiting).toBe(14)
  open?.()
  await queue.flush(1_000)
  expect(taken).toEqual([...['0', '1', '2', '3'], ...Array.from({ length: 10 }, (_, index) => String(4_990 + index))])
  expect(queue.dropped).toEqual({ full: 4_986, rejected: 4, late: 0 })
  expect(queue.sent).toBe(10)
})

test('bytes are bounded too', () => {
  const { options } = queueOptions({ maxBytes: 100, maxBatch: 1_000 })
  const queue = new SinkQueue(options)
  for (let index = 0; index < 5; index += 1) queue.push('x'.repeat(40), '')
  expect([queue.waiting, queue.dropped.full]).toEqual([2, 3])
})

test('a failed batch is sent again unchanged; failing and recovering are logged once each', async () => {
  let failures = 3
  const { options, taken, states } = queueOptions()
  const queue = new SinkQueue({
    ...options,
    async send(batch, signal) {
      failures -= 1
      if (failures >= 0) throw new Error('down')
      return options.send(batch, signal)
    },
  })
  queue.push('a', '')
  queue.push('b', '')
  await queue.flush(10)
  await until(() => taken.length === 2)
  expect([taken, states]).toEqual([
    ['a', 'b'],
    ['failing', 'up'],
  ])
})

test('records that did not arrive at the end are late, and so are all after them', async () => {
  const { options } = queueOptions({ send: () => new Promise(() => {}) })
  const queue = new SinkQueue(options)
  for (let index = 0; index < 6; index += 1) queue.push('x', '')
  await queue.end(1)
  queue.push('y', '')
  expect(queue.dropped.late).toBe(7)
})

test('the first sink gets what was logged before it; a failing one not what it says itself', async () => {
  const feed = new LogFeed()
  feed.push('early', '', 'hub')
  const { options, taken } = queueOptions()
  feed.add('good', options)
  const bad = feed.add('bad', { ...options, send: () => Promise.reject(new Error('down')) })
  feed.push('of bad', '', 'sink:bad')
  await until(() => bad.failing)
  const before = bad.waiting
  feed.push('of bad again', '', 'sink:bad')
  expect(bad.waiting).toBe(before)
  await feed.remove('good', 1_000)
  expect(taken).toEqual(['early', 'of bad', 'of bad again'])
  expect(feed.list()).toMatchObject([{ id: 'bad', state: 'failing', sent: 0 }])
  await feed.remove('bad', 1)
})

test('a server may log 1,000 lines at once and 100 a second; the number left out is logged', async () => {
  let nowMs = 0
  const said: string[] = []
  const say = (message: string) => void said.push(message)
  const records = new UpstreamRecords({ debug: say, info: say, warn: say, error: say }, () => nowMs)
  const server = { id: 's1', ownerId: 'u1', name: 'time' }
  for (let index = 0; index < 1_200; index += 1) records.write(server, 'info', 'x', {})
  expect(said.length).toBe(1_000)
  nowMs += 500
  for (let index = 0; index < 100; index += 1) records.write(server, 'info', 'x', {})
  expect(said.length).toBe(1_050)
  await until(() => said.some(text => text.startsWith('250 records of a server were left out')))
})
