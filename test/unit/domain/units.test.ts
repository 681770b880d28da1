import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseDuration } from '../../../core/domain/duration.ts'
import { mergePatch } from '../../../core/domain/json/merge-patch.ts'
import { nearest } from '../../../core/domain/nearest.ts'
import { exactSize, parseSize } from '../../../core/domain/size.ts'
import { parseTimestamp } from '../../../core/domain/timestamp.ts'

describe('parseDuration()', () => {
  test.each([
    ['5m', 300_000],
    ['30d', 2_592_000_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1m1ms', 60_001],
    ['0s', 0],
    [1500, 1500],
  ])('reads %p', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each([
    '',
    '5',
    '5 m',
    '-1h',
    '1.5h',
    '30m1h',
    '1h1h',
    '5y',
    'm',
    '5M',
    `${'9'.repeat(20)}d`,
    -1,
    1.5,
    Number.NaN,
    null,
    '5m ',
  ])('refuses %p', input => {
    expect(parseDuration(input)).toBeUndefined()
  })

  test('a text of several units is their sum', () => {
    fc.assert(
      fc.property(fc.nat(9_999), fc.nat(99), fc.nat(999), (hours, seconds, ms) => {
        expect(parseDuration(`${hours}h${seconds}s${ms}ms`)).toBe(hours * 3_600_000 + seconds * 1_000 + ms)
      }),
    )
  })
})

describe('exactSize()', () => {
  test.each([
    [100_000_000, '100MB'],
    [10_485_760, '10MiB'],
    [1_234, '1234B'],
    [0, '0B'],
  ])('writes %p', (bytes, text) => {
    expect(exactSize(bytes)).toBe(text)
  })

  test('its output is read as the same bytes', () => {
    fc.assert(fc.property(fc.maxSafeNat(), bytes => expect(parseSize(exactSize(bytes))).toBe(bytes)))
  })
})

describe('parseSize()', () => {
  test.each([
    ['100MB', 100_000_000],
    ['10MiB', 10_485_760],
    ['1kB', 1000],
    ['512B', 512],
    ['10', 10],
    ['100M', 100_000_000],
    ['10Mi', 10_485_760],
    ['5g', 5_000_000_000],
    ['100mb', 100_000_000],
    [7, 7],
  ])('reads %p', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes)
  })

  test.each(['', '10XB', '10Bit', '1.5GB', '-1MB', '10 MB', 'MB', '10iB', '99999999TiB', -1, 0.5, {}])(
    'refuses %p',
    input => {
      expect(parseSize(input)).toBeUndefined()
    },
  )

  test('binary units are larger than decimal ones', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.constantFrom('K', 'M', 'G', 'T'), (count, letter) => {
        const unit = letter === 'K' ? 'k' : letter
        expect(parseSize(`${count}${letter}iB`) ?? 0).toBeGreaterThan(parseSize(`${count}${unit}B`) ?? Infinity)
      }),
    )
  })
})

describe('mergePatch()', () => {
  // The cases of RFC 7396, appendix A, that have objects on both sides.
  test.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, result) => {
    expect(mergePatch(target as never, patch as never)).toEqual(result as never)
  })

  test('never reaches a prototype', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"x":1}}'))
    expect((merged as { x?: number }).x).toBeUndefined()
    expect(Object.keys(merged)).toEqual(['__proto__'])
  })
})

test('nearest() finds a misspelling and nothing for a stranger', () => {
  const known = ['command', 'args', 'url', 'headers', 'timeout']
  expect(['comand', 'Headers', 'timeOut', 'uri', 'zebra', 'x'].map(word => nearest(word, known))).toEqual([
    'command',
    'headers',
    'timeout',
    'url',
    undefined,
    undefined,
  ])
})

describe('parseTimestamp()', () => {
  test.each([
    ['2027-01-31T00:00:00Z', Date.UTC(2027, 0, 31)],
    ['2027-01-31T00:00Z', Date.UTC(2027, 0, 31)],
    ['2028-02-29T23:59:59.999+01:00', Date.UTC(2028, 1, 29, 22, 59, 59, 999)],
  ])('reads %s', (text, ms) => {
    expect(parseTimestamp(text)).toBe(ms)
  })

  test.each([
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-31T00:00:00',
    '2027-01-31',
    '2027-01-31T24:00:00Z',
    '2027-01-31T00:00:60Z',
    '2027-01-31 00:00:00Z',
    '2027-01-31T00:00:00+1:00',
    'tomorrow',
    '',
  ])('refuses %j', text => {
    expect(parseTimestamp(text)).toBeUndefined()
  })
})
