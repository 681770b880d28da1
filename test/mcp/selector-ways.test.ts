/** Equal servers behind one argument: what rules, quotas, shares and changed definitions do at one of them leaves the others alone. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Device } from '../support/assistant-device.ts'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { callText, failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(60_000)

/** Values as people may write them: words of other scripts, punctuation, words of JSON, and the longest. */
const ODD = ['7', 'the "west" one', '日本', 'a/b%2f?#&', 'null', '🇪🇺', '\\u0061$1', 'x'.repeat(64)]
const NAMES = ODD.map((_, at) => `bank-${at}`)
const SELECTOR = { argument: 'region', members: Object.fromEntries(ODD.map((value, at) => [value, `bank-${at}`])) }
const [SEVEN = '', WEST = '', JAPAN = '', SLASH = '', NULL = '', FLAG = ''] = ODD

let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  const mcpServers = Object.fromEntries(
    NAMES.map(name => [name, { ...sharedFixture('counting'), definitionPolicy: 'pin' }]),
  )
  const env = { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'the-key-of-every-endpoint' }
  ;({ hub, admin } = await startOnline({ settings: { mcpServers }, env }))
  await admin.ok('POST', '/api/groups', { name: 'banks', selector: SELECTOR })
  bob = await hub.user('bob')
  await admin.ok('PUT', '/api/groups/banks/shares/user:bob', { role: 'use' })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

// biome-ignore lint/suspicious/noThenProperty: the word of rules
const DENY = { when: { tools: ['pay'] }, then: 'deny' }
// biome-ignore lint/suspicious/noThenProperty: as above
const ORION = { id: 'orion', match: { pattern: 'orion' }, then: 'refuse' }
const regionsOf = async (of: Client, path = '/mcp/banks', tool = 'pay') => {
  const { tools } = await (await of.mcp(path)).listTools()
  return tools.find(({ name }) => name === tool)?.inputSchema.properties?.region as { enum: string[] } | undefined
}
const paid = async (region: string) => {
  const at = `/api/servers/bank-${ODD.indexOf(region)}/tools/paid/call`
  return Number((await admin.ok('POST', at, {})).result.content[0].text)
}

test('odd values choose their servers for both eras, over REST, behind $smart and for an assistant', async () => {
  expect((await regionsOf(admin))?.enum).toEqual(ODD)
  const { token } = await admin.ok('POST', '/api/assistant/endpoints', {
    ...{ name: 'box', direction: 'inbound', group: 'banks' },
  })
  const device = new Device(hub, token)
  const [legacy, smart] = await Promise.all([admin.mcp('/mcp/banks'), admin.mcp('/mcp/$smart/banks')])
  const modern = new RawModern(hub, '/mcp/banks', await admin.mcpKey())
  for (const region of ODD) {
    const before = await paid(region)
    expect(await callText(legacy, 'pay', { region })).toBe(String(before + 1))
    const { result } = await modern.call('tools/call', { name: 'pay', arguments: { region } })
    expect(result.content[0].text).toBe(String(before + 2))
    expect(await admin.ok('POST', '/api/groups/banks/tools/pay', { region })).toBe(before + 3)
    expect(await callText(smart, 'call_tool', { tool: 'pay', arguments: { region } })).toBe(String(before + 4))
    expect(await device.text('pay', { region })).toBe(String(before + 5))
  }
  // A number is read as its digits, null as no value.
  expect(await callText(legacy, 'paid', { region: 7 })).toBe(String(await paid(SEVEN)))
  expect((await failureOf(legacy.callTool({ name: 'paid', arguments: { region: null } }))).data).toMatchObject({
    ...{ code: 'selector_missing', values: ODD },
  })
  expect(await device.text('pay', { region: 'nowhere' })).toContain('there is no such value; one of 7, the "west" one')
  device.close()
})

test('rules, quotas and approvals of one member hold for its value alone', async () => {
  const before = await Promise.all([WEST, JAPAN, SLASH].map(paid))
  await admin.ok('PUT', '/api/servers/bank-1/guards', {
    rules: [ORION],
  })
  await admin.ok('PUT', '/api/servers/bank-2/quota', { quota: { perDay: 0 } })
  await admin.ok('PUT', '/api/servers/bank-3/approvals', { rules: [DENY] })
  const modern = new RawModern(hub, '/mcp/@admin/banks', await bob.mcpKey())
  const outcome = async (region: string) => {
    const args = { region, token: 'orion' }
    const { result, error } = await modern.call('tools/call', { name: 'pay', arguments: args } as never)
    return result?.isError ? result.content[0].text.split(':')[0] : (error?.data?.code ?? 'passed')
  }
  expect(await Promise.all([WEST, JAPAN, SLASH, SEVEN].map(outcome))).toEqual([
    ...['guard_refused', 'quota_day', 'approval_denied', 'passed'],
  ])
  await admin.ok('PUT', '/api/servers/bank-2/quota', { quota: {} })
  expect(await Promise.all([WEST, JAPAN, SLASH].map(paid))).toEqual(before)
  await admin.ok('PUT', '/api/servers/bank-1/guards', { rules: [] })
  await admin.ok('PUT', '/api/servers/bank-3/approvals', { rules: [] })
})

test('a member whose definition changed is refused until it is approved, and the others are called', async () => {
  const client = await admin.mcp('/mcp/banks')
  await callText(client, 'change', { region: NULL, to: 'Pays twice' })
  await until(
    async () =>
      (await admin.ok('GET', '/api/servers/bank-4/tools')).items.some((one: { waiting?: true }) => one.waiting),
    { what: 'the changed definition' },
  )
  const others = ODD.filter(region => region !== NULL)
  expect((await regionsOf(admin))?.enum).toEqual(others)
  const { message, data } = await failureOf(client.callTool({ name: 'pay', arguments: { region: NULL } }))
  expect(data).toMatchObject({ code: 'approval_required', argument: 'region', values: others })
  expect(message).toContain('"region" was "null", and for "pay" online are 7, the "west" one')
  expect(await callText(client, 'paid', { region: FLAG })).toBe(String(await paid(FLAG)))
})

test('a member of another owner leaves with its share, in lists, calls and calls by REST', async () => {
  for (const name of ['bank-6', 'bank-7'])
    await admin.ok('PUT', `/api/servers/${name}/shares/user:bob`, { role: 'use' })
  const members = { mine: 'admin~bank-7', theirs: 'admin~bank-6' }
  await bob.ok('POST', '/api/groups', { name: 'mixed', selector: { argument: 'at', members, default: 'theirs' } })
  const client = await bob.mcp('/mcp/mixed')
  const at = async () =>
    (await client.listTools()).tools.find(({ name }) => name === 'pay')?.inputSchema.properties?.at as object
  expect(await at()).toMatchObject({ enum: ['mine', 'theirs'], default: 'theirs' })
  expect(await callText(client, 'paid')).toBe(String(await paid(ODD[6] ?? '')))
  await admin.ok('DELETE', '/api/servers/bank-6/shares/user:bob')
  await until(async () => JSON.stringify(await at()).includes('"enum":["mine"]'), { what: 'the list without it' })
  expect((await failureOf(client.callTool({ name: 'paid', arguments: {} }))).data).toMatchObject({
    ...{ code: 'selector_missing', values: ['mine'] },
  })
  const gone = await bob.request('POST', '/api/groups/mixed/tools/paid', { at: 'theirs' })
  expect([gone.status, gone.json.code, gone.json.values]).toEqual([400, 'selector_unknown', ['mine']])
  expect(JSON.stringify(gone.json)).not.toContain('bank-6')
  expect(await callText(client, 'paid', { at: 'mine' })).toBe(String(await paid(ODD[7] ?? '')))
})
