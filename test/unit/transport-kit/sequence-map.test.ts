import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SequenceMap } from '../../../core/transport-kit/sequence-map.ts'
import { check } from '../../support/fuzz.ts'

describe('SequenceMap', () => {
  test('holds what a Map holds, whatever comes and goes', async () => {
    const step = fc.record({
      what: fc.constantFrom('next', 'next', 'next', 'leave', 'leave', 'stray', 'below', 'again', 'clear'),
      which: fc.nat(),
    })
    await check(
      fc.property(fc.array(step, { maxLength: 400 }), fc.constantFrom(1, 2, 32), (steps, stride) => {
        const map = new Map<number, number>()
        const same = new SequenceMap<number>()
        let last = 0
        let lowest = 0
        const put = (key: number, value: number) => {
          map.set(key, value)
          same.set(key, value)
        }
        for (const { what, which } of steps) {
          const keys = [...map.keys()]
          const one = keys[which % Math.max(1, keys.length)]
          if (what === 'next') {
            last += stride
            put(last, which)
          } else if (what === 'below') {
            lowest -= stride
            put(lowest, which)
          } else if (what === 'again' && one !== undefined) put(one, which)
          else if (what === 'leave') expect(same.delete(one ?? 0)).toBe(map.delete(one ?? 0))
          else if (what === 'stray') expect(same.delete(last + 1 + which)).toBe(false)
          else if (what === 'clear' && which % 8 === 0) {
            map.clear()
            same.clear()
          }
          expect(same.size).toBe(map.size)
        }
        expect(same.entries()).toEqual([...map].sort(([a], [b]) => a - b))
        for (let key = lowest; key <= last; key += 1) {
          expect(same.get(key)).toBe(map.get(key) as number)
          expect(same.has(key)).toBe(map.has(key))
        }
      }),
      { share: 0.3 },
    )
  })

  test('keeps one that stays while millions of others pass, and thousands at a time', () => {
    const map = new SequenceMap<string>()
    map.set(1, 'stays')
    for (let key = 2; key < 1_000_000; key += 1) {
      map.set(key, 'passes')
      if (key > 6_000) map.delete(key - 5_000)
    }
    expect(map.get(1)).toBe('stays')
    expect(map.get(999_999)).toBe('passes')
    expect(map.get(994_999)).toBeUndefined()
    expect(map.size).toBe(5_000 + 1_000)
    expect(map.entries().at(0)).toEqual([1, 'stays'])
  })
})
