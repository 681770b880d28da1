/** No way to a tool passes its rules, and nobody decides who may not. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import type { Client, Hub } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

const config = { holdSeconds: 1 }
const settings = {
  plugins: [{ use: 'approvals', config }],
  mcpServers: {
    bank: { ...sharedFixture('counting'), visibility: 'public', tags: ['production'] },
    other: { ...sharedFixture('counting'), visibility: 'public' },
  },
  groups: [{ name: 'work', naming: 'prefixed', servers: ['bank', 'other'], visibility: 'public', tags: ['Payments'] }],
}
let hub: Hub
let admin: Client
let ann: Client

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings }))
  ann = await hub.user('ann')
  await admin.ok('PATCH', '/api/servers/bank', { visibility: 'public', tools: { pay: { name: 'give' } } })
  await admin.ok('PATCH', '/api/servers/other', { visibility: 'public' })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const rule = (then: 'allow' | 'ask' | 'deny', more: object = {}) => ({ when: { tools: ['pay'] }, then, ...more })
const set = (rules: readonly object[], path = '/api/servers/bank', more: object = {}) =>
  admin.ok('PUT', `${path}/approvals`, { rules, ...more })
const paid = async () =>
  Number((await admin.ok('POST', '/api/servers/bank/tools/paid/call', {})).result.content[0].text)
const given = { amount: 5 }
const inner = (client: RawModern, tool: string) =>
  client.call('tools/call', { name: 'call_tool', arguments: { tool, arguments: given } } as never)
const called = async (client: RawModern, name: string, args: object = given) => {
  const { result, error } = await client.call('tools/call', { name, arguments: args } as never)
  return result?.isError ? result.content[0].text.split(':')[0] : (error?.data?.code ?? 'passed')
}

test('a rule that denies holds for other names, both eras, groups, $smart, REST, arrays and other users', async () => {
  await set([rule('deny')])
  const before = await paid()
  const key = await ann.mcpKey()
  const modern = (path: string) => new RawModern(hub, path, key)
  const denied = 'approval_denied'
  expect(await called(modern('/mcp/@admin/bank'), 'give')).toBe(denied)
  expect(await called(modern('/mcp/@admin/work'), 'bank_give')).toBe(denied)
  const bySmart = await inner(modern('/mcp/$smart/@admin/work'), 'bank_give')
  expect(bySmart.result.content[0].text).toStartWith(denied)
  const legacy = await new RawClient(hub, '/mcp/@admin/bank', key).open('2025-03-26')
  const call = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'give', arguments: given },
  })
  const answers = (await (await legacy.post([call(1), call(2)])).json()) as { result: { isError: boolean } }[]
  expect(answers.map(({ result }) => result.isError)).toEqual([true, true])
  const asTask = await legacy.call('tools/call', { name: 'give', arguments: given, task: { ttl: 60_000 } })
  expect(asTask.result?.isError ?? asTask.error !== undefined).toBe(true)
  for (const tool of ['pay', 'give']) {
    const overRest = await ann.request('POST', `/api/servers/admin~bank/tools/${tool}/call`, { arguments: given })
    expect([overRest.status >= 400, await paid()]).toEqual([true, before])
  }
  // The rule is of this server alone.
  expect(await called(modern('/mcp/@admin/work'), 'other_pay')).toBe('passed')
})

test('the strictest of hub, group and server holds, and the first that fits in each', async () => {
  await set([rule('allow'), rule('deny')])
  const client = new RawModern(hub, '/mcp/@admin/work', await ann.mcpKey())
  expect(await called(client, 'bank_give')).toBe('passed')
  await set([rule('deny')], '/api/groups/work')
  expect(await called(client, 'bank_give')).toBe('approval_denied')
  expect(await called(new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey()), 'give')).toBe('passed')
  await set([], '/api/groups/work')
  const hubWide = (rules: readonly object[]) =>
    admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { ...config, rules } })
  await hubWide([rule('deny', { when: { callers: ['an*'], arguments: { '/amount': { gt: 3 } } } })])
  expect([await called(client, 'bank_give'), await called(client, 'bank_give', { amount: 3 })]).toEqual([
    'approval_denied',
    'passed',
  ])
  expect(await called(client, 'bank_give', { amount: '9' })).toBe('approval_denied')
  await hubWide([])
})

test('a rule fits by tags of the server on every path, and by those of a group at its address', async () => {
  await set([])
  const tagged = (tags: readonly string[]) =>
    admin.ok('PATCH', '/api/admin/plugins/approvals', {
      config: { ...config, rules: [rule('deny', { when: { tags } })] },
    })
  const key = await ann.mcpKey()
  const outcomes = async () => [
    await called(new RawModern(hub, '/mcp/@admin/bank', key), 'give'),
    await called(new RawModern(hub, '/mcp/@admin/other', key), 'pay'),
    await called(new RawModern(hub, '/mcp/@admin/work', key), 'bank_give'),
    await called(new RawModern(hub, '/mcp/@admin/work', key), 'other_pay'),
  ]
  const denied = 'approval_denied'
  await tagged(['PRODUCTION', 'none'])
  expect(await outcomes()).toEqual([denied, 'passed', denied, 'passed'])
  await tagged(['payments'])
  expect(await outcomes()).toEqual(['passed', 'passed', denied, denied])
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { ...config, rules: [] } })
  const rules = [rule('allow', { when: { tags: ['production'] } })]
  const refused = await admin.request('PUT', '/api/servers/bank/approvals', { rules })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/rules/0/when/tags'])
})

test('what a server says of its tools allows nothing, unless it is trusted', async () => {
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { readOnly: true }, then: 'allow' }, { then: 'deny' }]
  const client = new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey())
  await set(rules)
  expect([await called(client, 'look'), await called(client, 'give')]).toEqual(['approval_denied', 'approval_denied'])
  await set(rules, '/api/servers/bank', { trustAnnotations: true })
  expect([await called(client, 'look'), await called(client, 'give')]).toEqual(['passed', 'approval_denied'])
})

test('only the one whom the rule names decides, with a sign-in, and once', async () => {
  await set([rule('ask')])
  const bob = await hub.user('bob')
  const client = new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey())
  const secret = { amount: 1, token: 'canary-of-a-card' }
  expect(await called(client, 'give', secret)).toBe('approval_pending')
  const [{ id, ...seen }] = (await admin.ok('GET', '/api/approvals?state=pending')).items
  expect(seen).toMatchObject({ server: 'admin~bank', tool: 'pay', caller: 'ann', count: 1, mayDecide: true })
  expect(JSON.stringify(seen)).not.toContain('canary')
  const { secret: adminKey } = await admin.ok('POST', '/api/keys', { label: 'agent', scopes: ['api', 'mcp'] })
  const decide = (who: Client, headers = {}) =>
    who.request('POST', `/api/approvals/${id}`, { decision: 'approve' }, headers)
  const byKey = { authorization: `Bearer ${adminKey}` }
  const lifted = await admin.request('PUT', '/api/servers/bank/approvals', { rules: [] }, byKey)
  expect([lifted.status, lifted.json.code]).toEqual([403, 'insufficient_scope'])
  const answers = [
    await decide(ann),
    await decide(bob),
    await decide(admin, byKey),
    await bob.request('GET', `/api/approvals/${id}`),
  ]
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual([
    [403, 'approval_foreign'],
    [404, 'approval_not_found'],
    [403, 'approval_foreign'],
    [404, 'approval_not_found'],
  ])
  expect((await ann.ok('GET', `/api/approvals/${id}`)).mayDecide).toBe(false)
  const twice = await Promise.all([decide(admin), decide(admin)])
  expect(twice.map(({ status }) => status).sort()).toEqual([200, 409])
  // Another user with the same arguments has no part in it.
  expect(await called(new RawModern(hub, '/mcp/@admin/bank', await bob.mcpKey()), 'give', secret)).toBe(
    'approval_pending',
  )
  expect(await called(client, 'give', secret)).toBe('passed')
  expect((await bob.request('PUT', '/api/servers/admin~bank/approvals', { rules: [] })).json.code).toBe('not_owner')
})

test('a yes is not used up by a call that is refused afterwards, as for a quota', async () => {
  await set([rule('ask')])
  const client = new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey())
  const own = { amount: 77 }
  expect(await called(client, 'give', own)).toBe('approval_pending')
  const found = (await admin.ok('GET', '/api/approvals?state=pending')).items.find(
    (one: { arguments: { amount: number } }) => one.arguments.amount === 77,
  )
  await admin.ok('POST', `/api/approvals/${found.id}`, { decision: 'approve' })
  await admin.ok('PUT', '/api/servers/bank/quota', { tools: { pay: { perDay: 0 } } })
  expect(await called(client, 'give', own)).toBe('quota_day')
  await admin.ok('PUT', '/api/servers/bank/quota', { tools: {} })
  expect([await called(client, 'give', own), await called(client, 'give', own)]).toEqual(['passed', 'approval_pending'])
})

test('more than 16 calls of one user do not wait, and those of others do', async () => {
  await set([rule('ask')])
  const client = new RawModern(hub, '/mcp/@admin/bank', await ann.mcpKey())
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => called(client, 'give', { amount: 1_000 + index })),
  )
  expect(outcomes.filter(one => one === 'approval_denied').length).toBeGreaterThanOrEqual(4)
  const other = await hub.user('cleo')
  expect(await called(new RawModern(hub, '/mcp/@admin/bank', await other.mcpKey()), 'give')).toBe('approval_pending')
})

test('a caller who loses the server while the call waits gets nothing by a yes', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/approvals', { config: { holdSeconds: 20 } })
  await set([rule('ask')])
  const before = await paid()
  const dora = await hub.user('dora')
  const calling = called(new RawModern(hub, '/mcp/@admin/bank', await dora.mcpKey()), 'give', { amount: 9 })
  const found = await until(
    async () =>
      (await admin.ok('GET', '/api/approvals?state=pending')).items.find(
        (one: { caller: string }) => one.caller === 'dora',
      ),
    { what: 'the request', intervalMs: 50 },
  )
  await admin.ok('PATCH', '/api/servers/bank', { visibility: 'private' })
  await admin.request('POST', `/api/approvals/${found.id}`, { decision: 'approve' })
  expect(await calling).not.toBe('passed')
  expect(await paid()).toBe(before)
})
