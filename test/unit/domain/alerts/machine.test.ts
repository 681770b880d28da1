import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type AlertChange,
  type AlertInstance,
  type AlertTiming,
  dueInMs,
  evaluate,
  INACTIVE,
  isForgettable,
  usualKeepFiringFor,
} from '../../../../core/domain/alerts/machine.ts'
import type { Verdict } from '../../../../core/domain/alerts/verdict.ts'
import { check, fuzzTimeout } from '../../../support/fuzz.ts'

const TIMING: AlertTiming = { durationMs: 60_000, keepFiringForMs: 30_000, repeatIntervalMs: 0, noData: 'keep' }
const S = 1_000

type Step = readonly [Verdict | 'gone', number]

function run(steps: readonly Step[], timing: Partial<AlertTiming> = {}, from = INACTIVE) {
  let instance: AlertInstance = from
  const changes: AlertChange[] = []
  for (const [verdict, elapsedMs] of steps) {
    const next = evaluate(instance, verdict, elapsedMs, { ...TIMING, ...timing })
    instance = next.instance
    if (next.change) changes.push(next.change)
  }
  return { instance, changes, kinds: changes.map(change => change.kind).join(' ') }
}

function times(count: number, ...steps: readonly Step[]): Step[] {
  return Array.from({ length: count }, () => steps).flat()
}

const FIRING: readonly Step[] = [
  [true, 0],
  [true, 60 * S],
]

describe('one rule for one subject', () => {
  const rows: readonly (readonly [string, readonly Step[], Partial<AlertTiming>, string])[] = [
    ['fires when it has held for its duration', FIRING, {}, 'pending fired'],
    [
      'is only pending a moment before',
      [
        [true, 0],
        [true, 59_999],
      ],
      {},
      'pending',
    ],
    ['fires at once with duration 0', [[true, 0]], { durationMs: 0 }, 'fired'],
    [
      'starts again after one false evaluation',
      [
        [true, 0],
        [true, 50 * S],
        [false, 5 * S],
        [true, 5 * S],
        [true, 50 * S],
      ],
      {},
      'pending cleared pending',
    ],
    ['resolves after keepFiringFor', [...FIRING, [false, 10 * S], [false, 30 * S]], {}, 'pending fired resolved'],
    ['keeps firing before that', [...FIRING, [false, 10 * S], [false, 29 * S]], {}, 'pending fired'],
    [
      'one fired and one resolved for 100 flickers',
      [...FIRING, ...times(100, [false, 10 * S], [true, 10 * S]), [false, 10 * S], [false, 30 * S]],
      {},
      'pending fired resolved',
    ],
    [
      'never fires when it flickers before',
      times(100, [true, 10 * S], [false, 10 * S]),
      {},
      times(100, [true, 0])
        .map(() => 'pending cleared')
        .join(' '),
    ],
    [
      'time that the hub did not see does not count',
      [
        [true, 0],
        [true, 50 * S],
        [true, 0],
        [true, 9 * S],
      ],
      {},
      'pending',
    ],
    [
      'and goes on after it',
      [
        [true, 0],
        [true, 50 * S],
        [true, 0],
        [true, 10 * S],
      ],
      {},
      'pending fired',
    ],
    [
      'one evaluation without data leaves it pending',
      [
        [true, 0],
        [undefined, 10 * S],
        [true, 60 * S],
      ],
      {},
      'pending fired',
    ],
    [
      'two end it',
      [
        [true, 0],
        [undefined, 10 * S],
        [undefined, 10 * S],
      ],
      {},
      'pending cleared',
    ],
    ['no data keeps it firing for 15 minutes', [...FIRING, ...times(90, [undefined, 10 * S])], {}, 'pending fired'],
    ['and then resolves it', [...FIRING, ...times(91, [undefined, 10 * S])], {}, 'pending fired resolved'],
    [
      'noData ok counts as false',
      [...FIRING, [undefined, 0], [undefined, 30 * S]],
      { noData: 'ok' },
      'pending fired resolved',
    ],
    [
      'noData alert counts as true',
      [
        [undefined, 0],
        [undefined, 60 * S],
      ],
      { noData: 'alert' },
      'pending fired',
    ],
    ['a subject that goes is resolved', [...FIRING, ['gone', 0]], {}, 'pending fired resolved'],
    [
      'or cleared',
      [
        [true, 0],
        ['gone', 0],
      ],
      {},
      'pending cleared',
    ],
    [
      'repeats',
      [...FIRING, [true, 100 * S], [true, 100 * S], [true, 100 * S]],
      { repeatIntervalMs: 200 * S },
      'pending fired repeat',
    ],
  ]
  for (const [name, steps, timing, kinds] of rows) test(name, () => expect(run(steps, timing).kinds).toBe(kinds))

  test('the reason of an end that is none of the condition', () => {
    expect(run([...FIRING, ['gone', 0]]).changes.at(-1)).toEqual({ kind: 'resolved', reason: 'removed' })
    expect(run([...FIRING, ...times(91, [undefined, 10 * S])]).changes.at(-1)).toEqual({
      kind: 'resolved',
      reason: 'no_data',
    })
  })

  test('the third firing in an hour is flapping, and is resolved four times as late', () => {
    const round: readonly Step[] = [...FIRING, [false, 10 * S], [false, 30 * S]]
    const third = run([...round, ...round, ...FIRING])
    expect(third.instance).toMatchObject({ phase: 'firing', flapping: true })
    expect(
      run(
        [
          [false, 0],
          [false, 119 * S],
        ],
        {},
        third.instance,
      ).instance.phase,
    ).toBe('firing')
    expect(
      run(
        [
          [false, 0],
          [false, 120 * S],
        ],
        {},
        third.instance,
      ).kinds,
    ).toBe('resolved')
    const slow: readonly Step[] = [...round, [false, 3_600 * S]]
    expect(run([...slow, ...slow, ...FIRING]).instance.flapping).toBe(false)
  })

  test('it says when an unchanged verdict will change it', () => {
    const { instance } = run([
      [true, 0],
      [true, 20 * S],
    ])
    expect(dueInMs(instance, TIMING)).toBe(40 * S)
    expect(dueInMs(INACTIVE, TIMING)).toBeUndefined()
    const firing = run(FIRING).instance
    expect(dueInMs(firing, TIMING)).toBeUndefined()
    expect(
      dueInMs(
        run(
          [
            [false, 0],
            [false, 5 * S],
          ],
          {},
          firing,
        ).instance,
        TIMING,
      ),
    ).toBe(25 * S)
    expect(isForgettable(firing)).toBe(false)
    expect(isForgettable(run([[false, 3_600 * S]]).instance)).toBe(true)
  })

  test('keepFiringFor follows the duration within its bounds', () => {
    expect([0, 60 * S, 3_600 * S].map(usualKeepFiringFor)).toEqual([30 * S, 60 * S, 300 * S])
  })
})

test(
  'whatever happens: fired and resolved take turns, and neither comes before its time',
  async () => {
    const verdict = fc.constantFrom<Verdict | 'gone'>(true, true, true, false, false, undefined, 'gone')
    const walk = fc.array(fc.tuple(verdict, fc.integer({ min: 0, max: 40_000 })), { maxLength: 200 })
    const noData = fc.constantFrom<AlertTiming['noData']>('keep', 'ok', 'alert')
    await check(
      fc.property(walk, noData, (steps, how) => {
        const timing = { ...TIMING, noData: how }
        let instance = INACTIVE
        let open = false
        let heldMs = -1
        let falseMs = -1
        for (const [seen, elapsedMs] of steps) {
          const meant = seen ?? (how === 'keep' ? undefined : how === 'alert')
          if (meant === true) heldMs = heldMs < 0 ? 0 : heldMs + elapsedMs
          else if (meant !== undefined) heldMs = -1
          else if (heldMs >= 0) heldMs += elapsedMs
          if (meant === false) falseMs = falseMs < 0 ? 0 : falseMs + elapsedMs
          else if (meant === true || meant === 'gone') falseMs = -1
          else if (falseMs >= 0) falseMs += elapsedMs
          const next = evaluate(instance, seen, elapsedMs, timing)
          instance = next.instance
          if (next.change?.kind === 'fired') {
            expect(open).toBe(false)
            expect(heldMs).toBeGreaterThanOrEqual(timing.durationMs)
            open = true
          }
          if (next.change?.kind === 'resolved') {
            expect(open).toBe(true)
            if (next.change.reason === undefined) expect(falseMs).toBeGreaterThanOrEqual(timing.keepFiringForMs)
            open = false
          }
          expect(instance.phase === 'firing').toBe(open)
        }
      }),
    )
  },
  fuzzTimeout(),
)
