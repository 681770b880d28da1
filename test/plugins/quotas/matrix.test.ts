/** Each limit of each thing by real calls, and what each kind of client gets for a call that is refused. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import type { Client, Hub } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
import { startOnline } from '../../support/online-hub.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { inFlight } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern, read } from '../../unit/mcp/modern-support.ts'
import { Assistant } from './assistant.ts'

setDefaultTimeout(60_000)

const settings = { mcpServers: { slow: sharedFixture('slow') }, groups: [{ name: 'work', servers: ['slow'] }] }
const env = { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() }
const MANY = 1_000_000
const PARTS = {
  perMinute: { code: 'quota_rate', most: 60 },
  perDay: { code: 'quota_day', most: 86_400 },
  resultTokensPerDay: { code: 'quota_tokens', most: 86_400 },
  atOnce: { code: 'quota_at_once', most: 1 },
} as const
type Part = keyof typeof PARTS

let hub: Hub
let admin: Client
let narrow: { readonly id: string; readonly secret: string }
let token: string
let grantId: string

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings, env }))
  narrow = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: ['mcp'] })
  const app = await new RawOAuth(hub.url).register()
  token = (await app.tokens(admin, '/mcp/slow')).access_token
  grantId = (await admin.ok('GET', '/api/oauth/grants')).items[0].id
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const at = async (path: string, credential?: string) => new RawModern(hub, path, credential ?? (await admin.mcpKey()))
const wait = (ms: number) => ({ name: 'wait', arguments: { ms } })

/** A thing with a quota: how that is set, and a client whose calls count for it. */
interface Thing {
  readonly set: (quota: object | null) => Promise<unknown>
  readonly used: () => Promise<Record<Part, number>>
  readonly client: () => Promise<RawModern>
}

const byPath = (path: () => string, client: Thing['client']): Thing => ({
  set: quota => admin.ok('PUT', `${path()}/quota`, { quota }),
  used: async () => (await admin.ok('GET', `${path()}/quota`)).used,
  client,
})
const ofPlugin = (member: 'quota' | 'users', of: string): Thing => ({
  set: quota => admin.ok('PATCH', '/api/admin/plugins/quotas', { config: quota ? { [member]: quota } : {} }),
  async used() {
    const { items } = await admin.ok('GET', '/api/quotas')
    return items.find((item: { of: string }) => item.of === of).used
  },
  client: () => at('/mcp/slow'),
})
const THINGS: Readonly<Record<string, Thing>> = {
  system: ofPlugin('quota', 'system'),
  user: byPath(
    () => '/api/admin/users/admin',
    () => at('/mcp/slow'),
  ),
  'user by default': ofPlugin('users', 'user'),
  key: byPath(
    () => `/api/keys/${narrow.id}`,
    () => at('/mcp/slow', narrow.secret),
  ),
  grant: byPath(
    () => `/api/grants/${grantId}`,
    () => at('/mcp/slow', token),
  ),
  group: byPath(
    () => '/api/groups/work',
    () => at('/mcp/work'),
  ),
  server: byPath(
    () => '/api/servers/slow',
    () => at('/mcp/slow'),
  ),
  tool: {
    set: quota => admin.ok('PUT', '/api/servers/slow/quota', { tools: quota ? { wait: quota } : {} }),
    used: async () => (await admin.ok('GET', '/api/servers/slow/quota')).tools.wait.used,
    client: () => at('/mcp/slow'),
  },
}

describe.each(Object.entries(THINGS))('a quota of a %s', (kind, thing) => {
  test.each(Object.entries(PARTS))('refuses by %s', async (part, { code, most }) => {
    const client = await thing.client()
    await thing.set({ [part]: MANY })
    const isAtOnce = part === 'atOnce'
    const limit = isAtOnce ? 1 : (await thing.used())[part as Part] + 1
    await thing.set({ [part]: limit })
    const leaving = new AbortController()
    const first = client.call('tools/call', wait(isAtOnce ? 60_000 : 0), { signal: leaving.signal })
    if (isAtOnce) await inFlight(admin)
    else expect((await first).result).toBeDefined()
    const refused = await client.send('tools/call', wait(0))
    const { error } = await read(refused)
    expect([refused.status, error?.data]).toEqual([
      429,
      expect.objectContaining({ code, limit, of: kind.split(' ')[0] as string }),
    ])
    const seconds = Number(refused.headers.get('retry-after'))
    expect([seconds >= 1 && seconds <= most, error?.data?.retryAfter]).toEqual([true, seconds])
    leaving.abort()
    await first.catch(() => undefined)
    await thing.set(null)
    await until(async () => (await client.call('tools/call', wait(0))).result, { what: 'a call without a quota' })
  })
})

test('each kind of client gets the code, the limit and the seconds to wait, also where the answer has begun', async () => {
  const endpoint = { name: 'kitchen', direction: 'inbound', group: 'slow' }
  const assistant = await Assistant.open(hub.url, (await admin.ok('POST', '/api/assistant/endpoints', endpoint)).token)
  await admin.ok('PUT', '/api/servers/slow/quota', { quota: { atOnce: 1 } })
  const leaving = new AbortController()
  const held = (await at('/mcp/slow')).call('tools/call', wait(60_000), { signal: leaving.signal })
  await inFlight(admin)
  const expected = { code: 'quota_at_once', of: 'server', limit: 1, retryAfter: 1 }
  const called = { arguments: { ms: 0 } }

  const byRest = await admin.request('POST', '/api/servers/slow/tools/wait/call', called)
  expect([byRest.status, byRest.json.code, byRest.headers.get('retry-after')]).toEqual([429, expected.code, '1'])
  const inGroup = await admin.request('POST', '/api/groups/work/tools/wait', called.arguments)
  expect([inGroup.status, inGroup.json.code, inGroup.headers.get('retry-after')]).toEqual([429, expected.code, '1'])
  const events = await admin.request('POST', '/api/servers/slow/tools/wait/call', called, {
    accept: 'text/event-stream',
  })
  const [, data = ''] = /^event: error\ndata: (.*)$/m.exec(events.text) ?? []
  expect(JSON.parse(data)).toMatchObject({ ...{ code: expected.code, of: 'server', limit: 1 }, retryAfter: 1 })

  const modern = await (await at('/mcp/slow')).send('tools/call', wait(0), { meta: { progressToken: 'p' } })
  expect([modern.status, (await read(modern)).error?.data]).toEqual([429, expect.objectContaining(expected)])

  const legacy = await new RawClient(hub, '/mcp/slow', await admin.mcpKey()).open('2025-03-26')
  const single = await legacy.send('tools/call', wait(0))
  expect([single.status, single.headers.get('retry-after')]).toEqual([429, '1'])
  const both = [1, 2].map(id => ({ jsonrpc: '2.0', id, method: 'tools/call', params: wait(0) }))
  const array = await legacy.post(both)
  const answers = (await array.json()) as { error: { data: object } }[]
  expect([array.status, answers.map(({ error }) => error.data)]).toEqual([
    200,
    [expect.objectContaining(expected), expect.objectContaining(expected)],
  ])

  const older = await admin.mcp('/sse/slow', { sse: true })
  const overSse = await older.callTool(wait(0)).then(
    () => undefined,
    (error: { data?: object }) => error.data,
  )
  expect(overSse).toMatchObject(expected)

  const spoken = await assistant.call('wait', { ms: 0 })
  expect(spoken.error?.data).toMatchObject(expected)

  leaving.abort()
  await held.catch(() => undefined)
  // A place is free when its call has ended in the hub, which may be later than its answer.
  const free = () =>
    until(async () => (await admin.ok('GET', '/api/servers/slow/quota')).used.atOnce === 0, { what: 'a free place' })
  await free()
  expect((await admin.request('POST', '/api/servers/slow/tools/wait/call', called)).status).toBe(200)
  await free()
  expect((await (await at('/mcp/slow')).call('tools/call', wait(0))).result).toBeDefined()
  await free()
  expect((await legacy.call('tools/call', wait(0))).result).toBeDefined()
  await free()
  expect((await older.callTool(wait(0))).isError).not.toBe(true)
  await free()
  expect(JSON.stringify(await assistant.call('wait', { ms: 0 }))).not.toContain('quota')
  assistant.close()
  await admin.ok('PUT', '/api/servers/slow/quota', { quota: null })
})

test('a call that a person has allowed is refused in the stream that has begun', async () => {
  await admin.ok('PUT', '/api/servers/slow/quota', { quota: { perDay: 0 } })
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { tools: ['wait'] }, then: 'ask', by: ['console'], timeout: '1m' }]
  await admin.ok('PUT', '/api/servers/slow/approvals', { rules })
  const legacy = await new RawClient(hub, '/mcp/slow', await admin.mcpKey()).open()
  const asked = legacy.send('tools/call', { ...wait(0), _meta: { progressToken: 'p' } })
  const [{ id }] = await until(async () => {
    const { items } = await admin.ok('GET', '/api/approvals?state=pending')
    return items.length > 0 && items
  })
  const response = await asked
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  await admin.ok('POST', `/api/approvals/${id}`, { decision: 'approve' })
  const reader = new SseReader(response)
  const error = await until(async () => (await reader.message())?.error)
  expect(error.code).toBe(-32603)
  expect(error.data).toMatchObject({ code: 'quota_day', of: 'server', limit: 0 })
  expect(Number(error.data?.retryAfter)).toBeWithin(1, 86_401)
  await admin.ok('PUT', '/api/servers/slow/approvals', { rules: [] })
  await admin.ok('PUT', '/api/servers/slow/quota', { quota: null })
})

test('an alert about a client says its name', async () => {
  await admin.ok('PUT', `/api/grants/${grantId}/quota`, { quota: { perDay: 1_000 } })
  await (await at('/mcp/slow', token)).call('tools/call', wait(0))
  const rule = { condition: 'quotas.used{kind="grant"} >= 0%', duration: '0s' }
  const { now } = await admin.ok('POST', '/api/monitoring/rule-preview', rule)
  expect(now.map(({ subject }: { subject: string }) => subject)).toEqual(['client "Raw" of user admin: calls'])
  await admin.ok('PUT', `/api/grants/${grantId}/quota`, { quota: null })
})
