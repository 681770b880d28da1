import { expect, test } from 'bun:test'
import { parseExact } from '../../../core/domain/json/exact-json.ts'
import type { GatedCall } from '../../../core/features/gates.ts'
import { policySchema } from '../../../plugins/approvals/rule-schema.ts'
import { verdictOf } from '../../../plugins/approvals/rules.ts'

type Given = Partial<Record<'tool' | 'caller' | 'client', string>> & {
  args?: object
  annotations?: object
  tags?: object
}

/** The verdict of one rule about a call. */
function verdict(
  rule: object,
  {
    tool = 'pay',
    caller = 'ann',
    client = 'cursor',
    args = {},
    annotations = {},
    tags = { group: [], server: [] },
  }: Given,
) {
  const policy = policySchema.parse({ rules: [rule] })
  const call = {
    ...{ tool: { name: tool, annotations }, tags, actor: { name: caller }, client: { name: client }, arguments: args },
  }
  return verdictOf(policy, call as unknown as GatedCall)
}
// biome-ignore lint/suspicious/noThenProperty: the word of rules
const deny = (when: object) => ({ when, then: 'deny' })
// biome-ignore lint/suspicious/noThenProperty: the word of rules
const allow = (when: object) => ({ when, then: 'allow' })

test.each([
  ['a larger amount', { '/amount': { gt: 100 } }, { amount: 101 }, true],
  ['the same amount', { '/amount': { gt: 100 } }, { amount: 100 }, false],
  ['a missing one', { '/amount': { gt: 100 } }, {}, false],
  ['one as a text, which a server may read', { '/amount': { gt: 100 } }, { amount: '101' }, true],
  ['one that is no number', { '/amount': { gt: 100 } }, { amount: [101] }, true],
  ['a number as it was written', { '/amount': { eq: 100 } }, parseExact('{"amount":100.0}') as object, true],
  ['all bounds', { '/amount': { gte: 1, lt: 5 } }, { amount: 5 }, false],
  ['a list', { '/to/0': { in: ['a', 'b'] } }, { to: ['b'] }, true],
  ['a part of a text', { '/to': { contains: '@evil' } }, { to: 'x@evil.example' }, true],
  ['an entry of a list', { '/to': { contains: 'x' } }, { to: ['x'] }, true],
  ['a beginning', { '/path': { prefix: '/etc/' } }, { path: '/etc/passwd' }, true],
  ['what is missing', { '/cc': { exists: false } }, {}, true],
  ['what is there', { '/cc': { exists: true } }, { cc: null }, true],
  ['an inherited member', { '/constructor': { exists: true } }, {}, false],
])('a rule that denies fits %s: %p', (_, conditions, args, expected) => {
  expect(verdict(deny({ arguments: conditions }), { args })).toBe(expected ? 'deny' : undefined)
})

test('a rule that allows does not fit what can be read in several ways', () => {
  const rule = allow({ arguments: { '/amount': { lt: 100 } } })
  expect(verdict(rule, { args: { amount: 5 } })).toBe('allow')
  for (const amount of ['5', [5], { n: 5 }, null]) expect(verdict(rule, { args: { amount } })).toBeUndefined()
})

test('missing annotations have the defaults of MCP', () => {
  expect(verdict(deny({ destructive: true }), {})).toBe('deny')
  expect(verdict(deny({ openWorld: true, readOnly: false, idempotent: false }), {})).toBe('deny')
  expect(verdict(deny({ destructive: true }), { annotations: { destructiveHint: false } })).toBeUndefined()
  expect(verdict(deny({ destructive: true }), { annotations: { readOnlyHint: true } })).toBeUndefined()
  expect(verdict(deny({ destructive: true }), { annotations: { destructiveHint: 'no' } })).toBe('deny')
})

test('rules of wrong shape are refused, as are more than 50', () => {
  // biome-ignore-start lint/suspicious/noThenProperty: the word of rules
  const wrong = [
    [{ then: 'maybe' }],
    [{ then: 'ask', who: 'nobody' }],
    [{ then: 'ask', timeout: '10 minutes' }],
    [{ then: 'ask', by: [] }],
    [{ when: { pattern: '.*' }, then: 'deny' }],
    [{ when: { arguments: { amount: { gt: 1 } } }, then: 'deny' }],
    Array(51).fill({ then: 'deny' }),
  ]
  // biome-ignore-end lint/suspicious/noThenProperty: the word of rules
  for (const rules of wrong) expect(policySchema.safeParse({ rules }).success).toBe(false)
})

test('rules that ask or deny fit by tags of the server or group, and rules that allow cannot', () => {
  const production = deny({ tags: ['Production', 'billing'] })
  expect(verdict(production, {})).toBeUndefined()
  expect(verdict(production, { tags: { group: [], server: ['production'] } })).toBe('deny')
  expect(verdict(production, { tags: { group: ['BILLING'], server: ['eu'] } })).toBe('deny')
  expect(verdict(production, { tags: { group: ['bill'], server: ['prod'] } })).toBeUndefined()
  const refused = policySchema.safeParse({ rules: [allow({ tags: ['production'] })] })
  expect(refused.error?.issues.map(({ path }) => path.join('/'))).toEqual(['rules/0/when/tags'])
})
