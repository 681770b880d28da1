import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { LogCondition } from '../../../core/features/log-store.ts'
import { folded, substringTerms, textTerms } from '../../../plugins/log-database/log-terms.ts'
import { parseQueryText, readTime } from '../../../plugins/log-database/query-text.ts'
import {
  indexOf,
  matches,
  type SearchedRecord,
  type TermExpression,
  termsFor,
} from '../../../plugins/log-database/record-terms.ts'

const record: SearchedRecord = {
  timestamp: '2026-11-22T09:30:00.000Z',
  level: 'WARN',
  message: 'The upstream 连接超时 after 2 s',
  server: 'Time',
  serverId: 's-1',
  tool: 'now',
  duration: 512,
  status: 'upstream_timeout',
  requestId: '01JD7C2M8K',
  userId: 'u-1',
  component: 'mcp',
}

function holds(expression: TermExpression, terms: ReadonlySet<string>): boolean {
  if (typeof expression === 'string') return terms.has(expression)
  if ('wanted' in expression) return holds(expression.terms, terms)
  if ('all' in expression) return expression.all.every(each => holds(each, terms))
  return expression.any.some(each => holds(each, terms))
}

/** The terms of a record with those of all its texts. */
function allTerms(of: SearchedRecord, readers: readonly string[]): string[] {
  const { terms, ids } = indexOf(of, readers)
  return [terms, ...ids.map(textTerms)].flatMap(each => each.split(' ')).filter(each => each !== '')
}

describe('terms', () => {
  test('miss no substring, in any script, letter case or width', () => {
    const units = [
      'a',
      'B',
      'ß',
      'İ',
      '１',
      'é',
      'e\u0301',
      '超',
      '时',
      'カ',
      'ｶﾞ',
      '한',
      'ไ',
      'ж',
      '😀',
      ' ',
      '-',
      '"',
      '%',
    ]
    const text = fc.array(fc.constantFrom(...units), { maxLength: 24 }).map(parts => parts.join(''))
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (whole, from, length) => {
        const all = folded(whole)
        const characters = [...all]
        const start = characters.length === 0 ? 0 : from % characters.length
        const part = characters.slice(start, start + 1 + (length % 8)).join('')
        // A part of a folded text can fold further at its ends; such parts are left out.
        fc.pre(all.includes(folded(part)))
        const terms = new Set(textTerms(whole).split(' '))
        return substringTerms(part).every(term => terms.has(term))
      }),
      { numRuns: 3_000 },
    )
  })

  test('are the same ones for a short text, which is read the quick way, as where it begins a long one', () => {
    const short = fc.string({ unit: 'binary-ascii', minLength: 3, maxLength: 40 })
    fc.assert(
      fc.property(short, text => {
        const long = new Set(textTerms(`${text}${'~'.repeat(200)}`).split(' '))
        for (const term of textTerms(text).split(' ')) expect(long.has(term)).toBe(true)
        expect(textTerms(text).split(' ')).toEqual(expect.arrayContaining(substringTerms(text)))
      }),
      { numRuns: 1_000 },
    )
    expect(textTerms('ab')).toBe('')
    expect(textTerms('Ab-c')).toBe('wab2dx wb2dxc')
  })

  test('are letters and digits of ASCII alone', () => {
    for (const term of allTerms({ ...record, note: 'ä"*^ (or) 连', none: '' }, ['u-1', 'u-2']))
      expect(term).toMatch(/^[a-z0-9]+$/)
  })

  test('are there for every condition that the record satisfies', () => {
    const queries = [
      ...['timeout', '连接', '超', 'level:warn', 'level:>=info', 'server:time', 'tool:NOW', 'status:upstream_timeout'],
      ...['requestId:01JD7C2M8K', 'userId:u-1', 'serverId:(s-1 or s-2)', 'duration:>=500', '"after 2 s"', '-other'],
      'component:mcp upstream -level:error duration:<1s',
    ]
    const terms = new Set(allTerms(record, ['u-1']))
    for (const query of queries) {
      const condition = parseQueryText(query)
      expect([query, matches(record, condition)]).toEqual([query, true])
      const expression = termsFor(condition)
      expect([query, expression === undefined || holds(expression, terms)]).toEqual([query, true])
    }
  })

  test('of an empty choice match nothing', () => {
    expect(termsFor({ field: 'serverId', op: 'in', values: [] })).toEqual({ any: [] })
  })
})

describe('conditions', () => {
  const not = (query: string) => matches(record, parseQueryText(query))

  test('are false for what the record is not', () => {
    const wrong = [
      'level:error',
      'level:>warn',
      'duration:>512',
      'server:tim',
      '-timeout',
      'tool:(a or b)',
      'qz',
      'traceId:x',
    ]
    for (const query of wrong) expect([query, not(query)]).toEqual([query, false])
  })

  test('combine, and texts are literal', () => {
    const either: LogCondition = { or: [{ text: 'nothing' }, { not: { text: '(a+)+$' } }] }
    expect(matches(record, either)).toBe(true)
    expect(matches({ ...record, message: 'x(a+)+$y' }, { text: '(A+)+$' })).toBe(true)
    expect(matches(record, { field: 'message', op: 'prefix', values: ['the UP'] })).toBe(true)
    expect(matches(record, { field: 'message', op: 'contains', values: ['超时'] })).toBe(true)
    expect(matches(record, { field: 'timestamp', op: 'gte', values: [Date.parse('2026-11-23')] })).toBe(false)
  })
})

test('mistakes are reported with their column', () => {
  const problem = (query: string) => {
    try {
      parseQueryText(query)
      return 'none'
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      return [code, message.replace(/:.*/, '')]
    }
  }
  expect(problem('good "open')).toEqual(['condition_invalid', 'in column 6'])
  expect(problem('colour:red')).toEqual(['condition_unknown', 'in column 1'])
  expect(problem('level:loud')).toEqual(['enum', 'in column 1'])
  expect(problem('a (b or c)')).toEqual(['condition_invalid', 'in column 3'])
  expect(problem('tool:(a or )')).toEqual(['condition_invalid', 'in column 1'])
  expect(problem('x '.repeat(101))).toEqual(['query_too_complex', 'more than 100 terms'])
  expect(problem('y'.repeat(257))).toEqual(['query_too_complex', 'in column 1'])
})

test('a date stands for its UTC day in every condition', () => {
  const holding = [
    ...['timestamp:2026-11-22', 'timestamp:<=2026-11-22', 'timestamp:>=2026-11-22', 'timestamp:>2026-11-21'],
    ...['timestamp:<2026-11-23', 'timestamp:(2026-11-20 or 2026-11-22)', 'timestamp:2026-11-22T09:30:00Z'],
    ...['timestamp:<=2026-11-22T09:30:00Z', 'timestamp:>2026-11-22T09:29:59Z'],
  ]
  for (const query of holding) expect([query, matches(record, parseQueryText(query))]).toEqual([query, true])
  const others = [
    ...['timestamp:2026-11-21', 'timestamp:>2026-11-22', 'timestamp:<2026-11-22', 'timestamp:<=2026-11-21'],
    ...['timestamp:(2026-11-20 or 2026-11-21)', 'timestamp:2026-11-22T09:30:01Z', '-timestamp:2026-11-22'],
  ]
  for (const query of others) expect([query, matches(record, parseQueryText(query))]).toEqual([query, false])
})

test('a mistake is said with what would be right', () => {
  const message = (query: string) => {
    try {
      parseQueryText(query)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(message('status:"open')).toContain('closing quote is missing')
  expect(message('http://one.example')).toContain('a text with a colon stands in quotes')
  expect(message('colour:red')).toContain('there are timestamp, level, message, server')
  expect(message('NEAR(a b)')).toContain('a text with brackets stands in quotes')
})

test('a date as an end includes its day, by UTC', () => {
  expect(readTime('2026-11-22', 'from', 'from')).toBe(Date.parse('2026-11-22T00:00:00.000Z'))
  expect(readTime('2026-11-22', 'to', 'to')).toBe(Date.parse('2026-11-22T23:59:59.999Z'))
  expect(() => readTime('yesterday', 'to', 'to')).toThrow()
})
