import { expect, test } from 'bun:test'
import { LIMITS as HUB } from '../../../core/config/limits.ts'
import { LinePipe } from '../../../core/connections/worker/child-pipe.ts'
import { WriteBacklog } from '../../../core/connections/worker/write-backlog.ts'

const LIMITS = { maxBytes: 10_000_000, tooLong: () => undefined }

/** Number of times that a pipe that gets these bytes at once makes its child wait. `countAsAnswer`: each line answers a call. */
function pauses(bytes: string, countAsAnswer = false): number {
  let count = 0
  const pipe = new LinePipe({ ...LIMITS, closed: () => undefined, expecting: () => false })
  pipe.attach({
    write: data => data.length,
    pause: () => {
      count += 1
    },
    resume: () => undefined,
    end: () => undefined,
    destroy: () => undefined,
  })
  pipe.onLine(() => {
    if (countAsAnswer) pipe.countAsAnswer()
  })
  pipe.received(Buffer.from(bytes))
  pipe.destroy()
  return count
}

test('a child that writes many lines of no use has to wait, however short they are', () => {
  expect(pauses('{}\n'.repeat(300))).toBe(1)
  expect(pauses(`${'x'.repeat(200_000)}\n`)).toBe(1)
})

test('a child does not wait for some lines, nor for any number that answer calls', () => {
  expect(pauses('{}\n'.repeat(100))).toBe(0)
  expect(pauses('{}\n'.repeat(10_000), true)).toBe(0)
})

test('lines that were read with a flood wait with it, in order, and count when the child has ended', () => {
  const lines: string[] = []
  let resumed = 0
  const pipe = new LinePipe({ ...LIMITS, closed: () => lines.push('closed'), expecting: () => false })
  const nothing = (): void => undefined
  const resume = (): void => {
    resumed += 1
  }
  pipe.attach({ write: data => data.length, pause: nothing, resume, end: nothing, destroy: nothing })
  pipe.onLine(line => lines.push(line))
  const all = Array.from({ length: 5_000 }, (_, index) => String(index))
  pipe.received(Buffer.from(all.slice(0, 4_000).join('\n')))
  expect(lines.length).toBeLessThan(4_000)
  pipe.received(Buffer.from(`\n${all.slice(4_000).join('\n')}\n`))
  pipe.ended()
  expect(lines).toEqual([...all, 'closed'])
  expect(resumed).toBe(0)
})

/** A child that reads this many of the bytes written to it, and then nothing. */
function deaf(backlog: WriteBacklog, reads = 0) {
  const closed: string[] = []
  let left = reads
  const pipe = new LinePipe({
    ...LIMITS,
    closed: ({ message }) => closed.push(message),
    expecting: () => false,
    backlog,
  })
  pipe.attach({
    write: data => {
      const taken = Math.min(left, data.length)
      left -= taken
      return taken
    },
    end: () => undefined,
    destroy: () => undefined,
  })
  return { pipe, closed }
}

test('unread bytes of one owner’s children end the child with most, and not those that read', async () => {
  const most = HUB.ownerWriteBacklogBytes
  const backlog = new WriteBacklog(most, { unreadMs: 0 })
  const children = Array.from({ length: 5 }, () => deaf(backlog))
  const reading = deaf(backlog, Number.POSITIVE_INFINITY)
  // Each child alone may be this far behind.
  const text = 'x'.repeat(most / 5 - 1_000)
  for (const { pipe } of children) pipe.write(text)
  await Promise.resolve()
  children[2]?.pipe.write('y'.repeat(100_000))
  expect(children.map(({ closed }) => closed.length)).toEqual([0, 0, 1, 0, 0])
  expect(children[2]?.closed[0]).toMatch(/^The server does not read its standard input: \d+ bytes are waiting$/)
  for (let sent = 0; sent < 100; sent += 1) {
    reading.pipe.write(text.slice(0, 500_000))
    await Promise.resolve()
  }
  expect(reading.closed).toEqual([])
  // A child that ended frees its share.
  for (const { pipe } of children) pipe.destroy()
  const late = deaf(backlog)
  late.pipe.write('x'.repeat(HUB.upstreamWriteBacklogBytes - 10))
  expect(late.closed).toEqual([])
})

test('a text with a little left counts as a whole, since it holds all of its memory', async () => {
  const backlog = new WriteBacklog(2_000_000, { unreadMs: 0 })
  const children = Array.from({ length: 3 }, () => deaf(backlog, 899_990))
  for (const { pipe } of children) {
    pipe.write('x'.repeat(900_000))
    await Promise.resolve()
  }
  expect(children.filter(({ closed }) => closed.length > 0)).toHaveLength(1)
})

test('a child that reads slowly is not ended: what is too much is refused, small texts still go', async () => {
  const backlog = new WriteBacklog(HUB.ownerWriteBacklogBytes)
  const slow = deaf(backlog, 100_000)
  const large = 'x'.repeat(HUB.upstreamWriteBacklogBytes / 2)
  expect([large, large, large].map(text => slow.pipe.write(text))).toEqual([true, true, false])
  expect(slow.pipe.write('{"method":"notifications/cancelled"}')).toBe(true)
  const neighbours = [deaf(backlog), deaf(backlog)]
  expect(neighbours.map(({ pipe }) => pipe.write(large.slice(0, -1_000)))).toEqual([true, true])
  // Together they have reached the limit of one owner's programs.
  expect(neighbours.map(({ pipe }) => pipe.write(large))).toEqual([false, false])
  await Promise.resolve()
  expect([slow, ...neighbours].flatMap(({ closed }) => closed)).toEqual([])
})
