import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type Condition,
  type ConditionTest,
  joined,
  parseCondition,
  SELECTOR_FIELDS,
  STATES,
} from '../../../../core/domain/alerts/condition.ts'
import { conditionText } from '../../../../core/domain/alerts/condition-text.ts'
import { inRange, METRIC_NAMES, metricInfo } from '../../../../core/domain/alerts/metrics.ts'
import { verdictOf } from '../../../../core/domain/alerts/verdict.ts'
import { check, fuzzTimeout, hostileText } from '../../../support/fuzz.ts'

function read(text: string): Condition {
  const result = parseCondition(text)
  if ('error' in result) throw new Error(`${result.error.column}: ${result.error.message}`)
  return result.condition
}

describe('a condition is read', () => {
  const forms: readonly (readonly [string, string])[] = [
    ['error_rate > 5%', 'error_rate > 0.05'],
    ['server_status == offline', 'server_status == offline'],
    ['server_status=="offline"', 'server_status == offline'],
    ["server_status != 'online'", 'server_status != online'],
    ['avg_response_time > 1000ms', 'avg_response_time > 1000'],
    ['p95_response_time[5m] >= 1.5s', 'p95_response_time[300000ms] >= 1500'],
    ['request_rate < 30/m', 'request_rate < 0.5'],
    ['error_rate', 'error_rate > threshold'],
    ['error_rate >= threshold', 'error_rate >= threshold'],
    ['error_count[1h30m] > 3', 'error_count[5400000ms] > 3'],
    ['request_count[60s] == 0', 'request_count == 0'],
    ['custom.queue_bytes > 2GB', 'custom.queue_bytes > 2000000000'],
    ['custom.delta < -3', 'custom.delta < -3'],
    ['error_rate{server="a \\"b\\"",tool!="x"} > 0.5', 'error_rate{server="a \\"b\\"",tool!="x"} > 0.5'],
    [
      'error_rate>1% && request_count>10 || servers_offline>0',
      'error_rate > 0.01 and request_count > 10 or servers_offline > 0',
    ],
    [
      'not (restarts > 1 or health_failures > 2) and !restarts > 5',
      'not (restarts > 1 or health_failures > 2) and not restarts > 5',
    ],
    ['((restarts > 1))', 'restarts > 1'],
    ['(restarts > 1 or restarts < 1) and request_count > 0', '(restarts > 1 or restarts < 1) and request_count > 0'],
  ]
  for (const [text, canonical] of forms) test(text, () => expect(conditionText(read(text))).toBe(canonical))
})

describe('a mistake is named with its column', () => {
  const mistakes: readonly (readonly [string, number, RegExp])[] = [
    ['', 1, /metric is missing/],
    ['error_rate >', 13, /number or the word threshold/],
    ['error_rate > 5', 14, /is 5% meant\?/],
    ['error_rate > 500', 14, /0 to 1/],
    ['error_rate > 5ms', 14, /no unit/],
    ['p95_response_time > 5%', 21, /no unit/],
    ['avg_response_time > -5', 21, /never below 0/],
    ['server_status > 5', 15, /only == and !=/],
    ['server_status > offline', 15, /only == and !=/],
    ['server_status == asleep', 18, /online, connecting, offline/],
    ['server_status', 14, /== or !=/],
    ['server_status[5m] == offline', 14, /no window/],
    ['eror_rate > 5%', 1, /no metric "eror_rate".* custom.NAME/],
    ['custom.A > 1', 1, /no metric "custom.A"/],
    ['error_rate[5s] > 5%', 12, /10s to 24h/],
    ['error_rate[25h] > 5%', 12, /10s to 24h/],
    ['error_rate[5] > 5%', 12, /duration/],
    ['error_rate{host="a"} > 5%', 12, /server, owner, group/],
    ['error_rate{server=a} > 5%', 19, /quotes/],
    ['error_rate{server="a"', 22, /"}" is missing/],
    ['error_rate{server="a', 19, /closing quote/],
    ['error_rate > 5% error_rate', 17, /does not belong here/],
    ['(error_rate > 5%', 17, /"\)" is missing/],
    ['error_rate > 5% and', 20, /metric is missing/],
    ['error_rate > 5%; drop table x', 16, /";" does not belong/],
    [`error_rate > 5%${' '.repeat(1_024)}`, 1_025, /1024 characters/],
  ]
  for (const [text, column, message] of mistakes) {
    test(text.slice(0, 40) || 'nothing', () => {
      const result = parseCondition(text)
      expect(result).toMatchObject({ error: { column, message: expect.stringMatching(message) } })
    })
  }
})

const number = fc.oneof(fc.integer({ min: 0, max: 1e9 }), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }))

const selector = fc.array(
  fc.record({ field: fc.constantFrom(...SELECTOR_FIELDS), equal: fc.boolean(), text: fc.string({ maxLength: 8 }) }),
  { maxLength: 2 },
)

const oneTest: fc.Arbitrary<ConditionTest> = fc
  .tuple(
    fc.constantFrom(...METRIC_NAMES, 'custom.queue'),
    selector,
    fc.integer({ min: 10_000, max: 86_400_000 }),
    fc.constantFrom('>', '>=', '<', '<=', '==', '!=' as const),
    fc.oneof(number, fc.constant('threshold' as const)),
    fc.constantFrom(...STATES),
  )
  .map(([metric, matchers, windowMs, op, value, state]): ConditionTest => {
    const info = metricInfo(metric)
    const query = { metric, selector: matchers, ...(info?.windowed ? { windowMs } : {}) }
    if (info?.dimension === 'state') return { kind: 'test', query, op: op === '==' ? '==' : '!=', value: { state } }
    const fits = value === 'threshold' || (info !== undefined && inRange(info.dimension, value))
    return { kind: 'test', query, op: op as '>', value: fits ? (value === 0 ? 0 : value) : 0.5 }
  })

const condition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition }>(tie => ({
  any: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'condition' },
    oneTest,
    tie('any').map((part): Condition => ({ kind: 'not', part })),
    fc
      .tuple(fc.constantFrom('and', 'or' as const), fc.array(tie('any'), { minLength: 2, maxLength: 3 }))
      .map(([kind, parts]) => joined(kind as 'and', parts)),
  ),
})).any

test(
  'printer and parser agree',
  async () => {
    await check(
      fc.property(condition, tree => {
        const text = conditionText(tree)
        fc.pre(text.length <= 1_024)
        expect(read(text)).toEqual(tree)
      }),
    )
  },
  fuzzTimeout(),
)

test(
  'any text is read or refused with a column inside of it',
  async () => {
    const text = hostileText('error_rate', ' > ', '5', '%', '{', '}', '[5m]', '"', "'", '(', ')', 'not ', ' and ', 'or')
    await check(
      fc.property(text, input => {
        const result = parseCondition(input)
        if ('condition' in result) expect(read(conditionText(result.condition))).toEqual(result.condition)
        else expect(result.error.column).toBeWithin(1, Math.min(input.length, 1_024) + 2)
      }),
    )
  },
  fuzzTimeout(),
)

test('a condition without data is neither true nor false', () => {
  const values: Record<string, number> = { restarts: 1, request_count: 0 }
  const verdict = (text: string, threshold?: number) =>
    verdictOf(read(text), ({ query }) => values[query.metric], threshold)
  expect(verdict('restarts > 0')).toBe(true)
  expect(verdict('error_rate > 0')).toBeUndefined()
  expect(verdict('not error_rate > 0')).toBeUndefined()
  expect(verdict('error_rate > 0 or restarts > 0')).toBe(true)
  expect(verdict('error_rate > 0 or restarts > 1')).toBeUndefined()
  expect(verdict('error_rate > 0 and restarts > 1')).toBe(false)
  expect(verdict('error_rate > 0 and restarts > 0')).toBeUndefined()
  expect(verdict('restarts', 1)).toBe(false)
  expect(verdict('restarts >= threshold', 1)).toBe(true)
  expect(verdict('request_count == 0')).toBe(true)
})
