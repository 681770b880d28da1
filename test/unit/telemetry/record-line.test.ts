import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { linesOf, RecordBlocks } from '../../../core/telemetry/record-blocks.ts'
import { RecordLine } from '../../../core/telemetry/record-line.ts'

const TIME = '2027-01-31T12:00:00.000Z'

function lineOf(line: RecordLine, fields: Record<string, unknown>, message: string): string {
  line.begin('INFO', TIME)
  for (const name in fields) line.member(name, fields[name])
  line.end(message)
  return String(line)
}

test('a line is the JSON of its record, whatever it holds, and takes one line of a terminal', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
    fc.constantFrom(
      '',
      '"',
      '\\',
      '\u007f',
      '\u0085',
      '\u2028',
      '\u202e',
      '\ud800',
      'ü',
      '中文',
      '😀',
      'a"b',
      `${'x'.repeat(150)}\n`,
    ),
  )
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-0, 0, 9, 10, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e21))
  const value = fc.oneof(
    ...[
      text,
      number,
      fc.boolean(),
      fc.constant(undefined),
      fc.constant(null),
      fc.jsonValue(),
      fc.object({ maxDepth: 2 }),
    ],
  )
  const name = text.filter(each => !['__proto__', 'level', 'timestamp', 'message'].includes(each))
  const line = new RecordLine()
  const seen = fc.property(fc.dictionary(name, value), text, (fields, message) => {
    const made = lineOf(line, fields, message)
    const expected = { level: 'INFO', timestamp: TIME, ...fields, message }
    expect(JSON.parse(made)).toEqual(JSON.parse(JSON.stringify(expected)))
    expect(Object.keys(JSON.parse(made)).at(-1)).toBe('message')
    expect(made.slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    expect(made.at(-1)).toBe('\n')
    expect(line.length).toBe(Buffer.byteLength(made))
    const blocks = new RecordBlocks()
    blocks.push(line, 'u1')
    expect(linesOf(blocks.take(1))).toEqual([made])
  })
  fc.assert(seen, { numRuns: 200 })
}, 60_000)

test('big integers are texts, and what JSON does not have is left out', () => {
  const fields = { n: 12345678901234567890n, deep: { n: 1n }, f: () => 1, s: Symbol('s'), u: undefined, i: Number.NaN }
  expect(JSON.parse(lineOf(new RecordLine(), fields, 'm'))).toEqual({
    ...{ level: 'INFO', timestamp: TIME },
    ...{ n: '12345678901234567890', deep: { n: '1' }, i: null, message: 'm' },
  })
})

test('a line may have 32,768 characters; of a longer record the first members and its length are left', () => {
  const line = new RecordLine()
  const rest = lineOf(line, { component: 'hub', text: '' }, 'm').length - 1
  for (const filler of ['x', '中']) {
    const whole = { component: 'hub', text: filler.repeat(32 * 1024 - 1 - rest) }
    expect(JSON.parse(lineOf(line, whole, 'm'))).toMatchObject(whole)
    const longer = { ...whole, text: `${whole.text}${filler}` }
    expect(JSON.parse(lineOf(line, longer, 'm'))).toEqual({
      ...{ level: 'INFO', timestamp: TIME, component: 'hub', message: 'm' },
      cut: 'the record had 32769 characters',
    })
  }
})

test('memory of a long record is given back', () => {
  const line = new RecordLine()
  expect(lineOf(line, { component: 'hub', deep: { text: '中'.repeat(1_000_000) } }, 'm').length).toBeLessThan(200)
  expect(line.room).toBeLessThan(64 * 1024)
  lineOf(line, { text: '中'.repeat(32_000) }, 'm')
  expect(line.room).toBeLessThan(256 * 1024)
})

test('a record of usual texts makes no text that the garbage collector has to remove', () => {
  const line = new RecordLine()
  const blocks = new RecordBlocks({ maxCount: 500, maxBytes: 1_000_000 })
  const fields = {
    component: 'plugin:flood',
    plugin: 'flood',
    n: 1,
    text: 'a record of usual length, as calls have them',
  }
  const make = (count: number) => {
    for (let n = 0; n < count; n += 1) {
      fields.n = n
      line.begin('INFO', TIME)
      for (const name in fields) line.member(name, fields[name as keyof typeof fields])
      line.end('flood')
      blocks.push(line, '', 'flood')
    }
  }
  make(10_000)
  const texts = () => heapStats().objectTypeCounts.string ?? 0
  const before = texts()
  make(2_000)
  expect(texts() - before).toBeLessThan(200)
  // The same lines written as texts leave texts behind.
  const kept = texts()
  for (let n = 0; n < 2_000; n += 1) blocks.push(JSON.stringify({ ...fields, n }), '')
  expect(texts() - kept).toBeGreaterThan(1_000)
})
