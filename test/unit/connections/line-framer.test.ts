import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LineFramer } from '../../../core/connections/line-framer.ts'

function frame(chunks: readonly Uint8Array[], maxBytes = 1_000): { lines: string[]; overflows: number } {
  const seen = { lines: [] as string[], overflows: 0 }
  const framer = new LineFramer({
    maxBytes,
    line: line => seen.lines.push(line),
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
  const framer = new LineFramer({ maxBytes: 100, line: line => lines.push(line), overflow: () => undefined })
  framer.push(reused)
  reused.fill('x')
  framer.push(Buffer.from('d\n'))
  expect(lines).toEqual(['abcd'])
})

test('LineFramer reports a line beyond the limit once and delivers nothing after it', () => {
  expect(
    frame([Buffer.from('short\n'), Buffer.alloc(60, 97), Buffer.alloc(60, 97), Buffer.from('\nlate\n')], 100),
  ).toEqual({
    lines: ['short'],
    overflows: 1,
  })
  expect(frame([Buffer.alloc(60, 97), Buffer.from(`${'b'.repeat(60)}\nlate\n`)], 100)).toEqual({
    lines: [],
    overflows: 1,
  })
})

test('LineFramer holds a line that comes byte by byte in little more memory than it has bytes', () => {
  const lines: string[] = []
  const framer = new LineFramer({ maxBytes: 4_000_000, line: line => lines.push(line), overflow: () => undefined })
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
