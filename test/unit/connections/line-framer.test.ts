import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LineFramer } from '../../../core/connections/worker/line-framer.ts'
import type { LongMessage } from '../../../core/transport-kit/definition.ts'

const SILENT = { tooLong: () => undefined, overflow: () => undefined }

function frame(chunks: readonly Uint8Array[], maxBytes = 1_000) {
  const seen = { lines: [] as string[], dropped: [] as LongMessage[], overflows: 0 }
  const framer = new LineFramer({
    maxBytes,
    line: line => seen.lines.push(line),
    tooLong: message => seen.dropped.push(message),
    overflow: () => {
      seen.overflows += 1
    },
  })
  for (const chunk of chunks) framer.push(Buffer.from(chunk))
  return seen
}

test('LineFramer delivers the same lines however the bytes were cut', () => {
  const line = fc.string({ unit: 'binary' }).map(text => text.replace(/[\r\n]/g, ''))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(200)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map(text => `${text}\n`).join(''))
      const at = [...new Set(cuts.map(cut => Math.min(cut, bytes.length)))].sort((a, b) => a - b)
      const chunks = [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length))
      expect(frame(chunks).lines).toEqual(lines.map(text => Buffer.from(text).toString('utf8')))
    }),
  )
})

test('LineFramer keeps a character whole that is cut between two chunks', () => {
  const bytes = Buffer.from('a€𝄞b\r\n')
  for (let cut = 1; cut < bytes.length; cut += 1) {
    expect(frame([bytes.subarray(0, cut), bytes.subarray(cut)]).lines).toEqual(['a€𝄞b'])
  }
})

test('LineFramer keeps what it holds when the buffer of a chunk is used again', () => {
  const reused = Buffer.from('abc')
  const lines: string[] = []
  const framer = new LineFramer({ maxBytes: 100, line: line => lines.push(line), ...SILENT })
  framer.push(reused)
  reused.fill('x')
  framer.push(Buffer.from('d\n'))
  expect(lines).toEqual(['abcd'])
})

const NOTHING = { answers: [], requests: [], hasMethod: false }

test('LineFramer drops a line beyond the limit, reports its id, and continues behind it', () => {
  const x = 'x'.repeat(80)
  const run = (line: string) => {
    const bytes = Buffer.from(`short\n${line}\nlate\n`)
    const seen = [...Array(bytes.length).keys()]
      .slice(0, -4)
      .map(cut =>
        frame([bytes.subarray(0, cut), bytes.subarray(cut, bytes.length - 4), bytes.subarray(bytes.length - 4)], 60),
      )
    const dropped = seen.filter(each => each.dropped.length > 0)
    for (const each of dropped) expect(each).toMatchObject({ lines: ['short', 'late'], overflows: 0 })
    for (const each of seen) if (each.dropped.length === 0) expect(each.lines).toEqual(['short', line, 'late'])
    expect(dropped.length).toBeGreaterThan(20)
    const [first] = dropped.map(each => each.dropped)
    for (const each of dropped) expect(each.dropped).toEqual(first ?? [])
    expect(first?.length).toBe(1)
    return first?.[0]
  }
  expect(run(x)).toEqual(NOTHING)
  expect(run(`{"jsonrpc":"2.0","id":7,"result":{"id":9,"x":"${x}"}}`)).toEqual({ ...NOTHING, answers: [7] })
  expect(run(`{"result":{"id":9,"x":"\\"}${x}"},"jsonrpc":"2.0","id":7}`)).toEqual({ ...NOTHING, answers: [7] })
})

test('LineFramer fails at once the answer whose id comes first, and gives up a line that never ends', () => {
  const told: LongMessage[] = []
  let overflows = 0
  const framer = new LineFramer({
    maxBytes: 1_000,
    line: () => undefined,
    tooLong: message => told.push(message),
    overflow: () => {
      overflows += 1
    },
  })
  const piece = Buffer.alloc(1024 * 1024, 120)
  framer.push(Buffer.from('{"jsonrpc":"2.0","id":3,"result":"'))
  framer.push(piece)
  expect(told).toEqual([{ ...NOTHING, answers: [3] }])
  for (let count = 0; count < 300; count += 1) framer.push(piece)
  expect([told.length, overflows, framer.heldBytes]).toEqual([1, 1, 0])
})

test('LineFramer takes another limit for the lines that follow', () => {
  const lines: string[] = []
  const framer = new LineFramer({ maxBytes: 10, line: line => lines.push(line), ...SILENT })
  framer.push(Buffer.from('12345'))
  framer.maxBytes = 100
  framer.push(Buffer.from('6789012345'))
  framer.push(Buffer.from('\n'))
  expect(lines).toEqual(['123456789012345'])
})

test('LineFramer holds a line that comes byte by byte in little more memory than it has bytes', () => {
  const lines: string[] = []
  const framer = new LineFramer({ maxBytes: 4_000_000, line: line => lines.push(line), ...SILENT })
  const used = (): number => {
    Bun.gc(true)
    const { heapSize, extraMemorySize } = heapStats()
    return heapSize + extraMemorySize
  }
  const before = used()
  const byte = Buffer.from('x')
  for (let count = 0; count < 1_000_000; count += 1) framer.push(byte)
  // The room is doubled at most.
  expect(used() - before).toBeLessThan(8_000_000)
  framer.push(Buffer.from('\n'))
  expect(lines.map(line => line.length)).toEqual([1_000_000])
})
