/** The form of a rule: nothing of a stored rule is lost in it, and values keep their types. */
import { describe, expect, test } from 'bun:test'
import { conditionsOf, repeatedRow, rowsOf } from '../../../plugins/approvals/console/argument-rows.ts'
import { draftOf, ruleOf } from '../../../plugins/approvals/console/rule-draft.ts'

const then = 'then'

describe('ruleOf()', () => {
  test('returns the rule that its draft was made of', () => {
    const rules = [
      { [then]: 'deny' as const },
      { when: { readOnly: true, openWorld: false, clients: ['Claude*'] }, [then]: 'allow' as const },
      {
        when: { tools: ['send_*', 'pay'], callers: ['bob'], arguments: { '/amount': { gt: 1, lte: 5 } } },
        ...{ [then]: 'ask' as const, who: 'caller', timeout: '90s', remember: '1h' },
        by: ['elicitation', 'console'] as const,
      },
      { [then]: 'ask' as const, who: 'team:ops', by: ['console', 'chat'] as const, timeout: '10m' },
      { [then]: 'ask' as const, who: 'caller', by: ['elicitation', 'chat'] as const, timeout: '10m' },
    ] as const
    for (const rule of rules) expect(ruleOf(draftOf(rule as never), rule as never)).toEqual(rule as never)
  })

  test('keeps members for which the form has no field', () => {
    const rule = { when: { labels: ['x'], tools: ['a'] }, [then]: 'deny', note: 'later' } as never
    expect(ruleOf({ ...draftOf(rule), tools: '' }, rule)).toEqual({
      ...{ when: { labels: ['x'] }, note: 'later' },
      [then]: 'deny',
    } as never)
  })

  test('leaves who, ways and times out of a rule that does not ask', () => {
    const rule = { [then]: 'ask', who: 'caller', by: ['console'], timeout: '5m', remember: '1h' } as never
    expect(ruleOf({ ...draftOf(rule), [then]: 'deny' }, rule)).toEqual({ [then]: 'deny' } as never)
  })
})

describe('conditionsOf()', () => {
  test.each([
    ...[{ eq: 100 }, { eq: '100' }, { eq: '' }, { eq: null }, { eq: 'null' }, { eq: true }, { eq: 'a, b' }],
    ...[{ eq: '[1]' }, { eq: '"x"' }, { in: [1, '1', 'x'] }, { in: ['a, b', 'c'] }, { in: ['[1]'] }, { in: [' a'] }],
    ...[
      { in: [''] },
      { gt: -1.5, lte: 3 },
      { contains: '100' },
      { prefix: 'null' },
      { exists: true },
      { exists: false },
    ],
  ])('reads %j as it was written', condition => {
    const all = { '/a~1b': condition, '/c': { eq: 1 } }
    expect(conditionsOf(rowsOf(all))).toEqual(all)
  })

  test('leaves what is no number to the hub, which names the field', () => {
    const row = { pointer: '/a', operator: 'gt' as const }
    for (const value of ['a lot', '', 'Infinity', '1e999'])
      expect(conditionsOf([{ ...row, value }])).toEqual({ '/a': { gt: value } } as never)
    expect(conditionsOf([{ pointer: '/a', operator: 'eq', value: '1e999' }])).toEqual({ '/a': { eq: '1e999' } })
  })

  test('loses no path, whatever its name', () => {
    const row = { pointer: '__proto__', operator: 'eq' as const, value: '1' }
    expect(JSON.stringify(conditionsOf([row]))).toBe('{"__proto__":{"eq":1}}')
  })
})

test('repeatedRow() finds the second comparison of the same kind', () => {
  const given = { pointer: '/a', operator: 'given' as const, value: '' }
  expect(repeatedRow([given, { ...given, pointer: '/b' }])).toBe(-1)
  expect(repeatedRow([given, { ...given, operator: 'eq' as const }, { ...given, operator: 'missing' as const }])).toBe(
    2,
  )
})
