import { describe, expect, test } from 'bun:test'
import { Histogram } from '../../../core/telemetry/histogram.ts'

/** Whole numbers from 0 to 2^32 - 1 of all magnitudes, always the same ones. */
function someValues(count: number): number[] {
  let state = 42
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return Array.from({ length: count }, () => Math.floor(2 ** (next() * 32)) - (next() < 0.1 ? 1 : 0))
}

function of(values: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const value of values) histogram.add(value)
  return histogram
}

/** The value at the same rank of the sorted list. */
function exact(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1] ?? Number.NaN
}

describe('Histogram', () => {
  test('a quantile is at most 0.8 % away from the one of the sorted list', () => {
    for (const count of [1, 2, 10, 1_000, 20_000]) {
      const values = someValues(count)
      const histogram = of(values)
      for (const part of [0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
        const right = exact(values, part)
        const found = histogram.quantile(part) ?? Number.NaN
        expect(Math.abs(found - right)).toBeLessThanOrEqual(right * 0.008)
      }
    }
  })

  test('small values are exact, and every one is in the bucket of its size', () => {
    for (let value = 0; value < 64; value += 1) expect(of([value]).quantile(0.5)).toBe(value)
    for (const value of [64, 65, 127, 128, 1_000, 2 ** 20, 2 ** 31, 2 ** 32 - 1]) {
      const found = of([value]).quantile(0.5) ?? Number.NaN
      expect(Math.abs(found - value) / value).toBeLessThanOrEqual(0.008)
    }
  })

  test('values outside of the range, and no numbers, are brought into it', () => {
    expect(of([-5, Number.NaN]).quantile(1)).toBe(0)
    expect(of([2 ** 40, Number.POSITIVE_INFINITY]).quantile(0.5)).toBe(of([2 ** 32 - 1]).quantile(0.5) ?? -1)
    expect(new Histogram().quantile(0.5)).toBeUndefined()
  })

  test('merging parts is the same as one, also after they were written and read', () => {
    const values = someValues(3_000)
    const whole = of(values)
    const parts = new Histogram()
    for (let at = 0; at < values.length; at += 700) {
      parts.merge(Histogram.decode(of(values.slice(at, at + 700)).encode()))
    }
    expect(parts.total).toBe(3_000)
    expect(parts.encode()).toEqual(whole.encode())
  })

  test('bytes that are cut short are refused', () => {
    const bytes = of([5, 1_000_000]).encode()
    for (let length = 1; length < bytes.length; length += 1) {
      if (length === 2) continue
      expect(() => Histogram.decode(bytes.subarray(0, length))).toThrow(RangeError)
    }
  })
})
