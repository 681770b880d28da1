/** Quotas of calls by every way that leads to a server. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { callText, inFlight } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

const CALLS = 10_000
const QUOTA = 100
const settings = {
  plugins: [{ use: 'quotas', limits: { quotasPerUser: 1 } }],
  mcpServers: { echo: sharedFixture('echo'), slow: sharedFixture('slow') },
  groups: [{ name: 'work', servers: ['echo', 'slow'] }],
}
let hub: Hub
let admin: Client

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings }))
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const set = (path: string, body: object) => admin.ok('PUT', `${path}/quota`, body)
const overRest = (tool: string, args: object = {}) =>
  admin.request('POST', `/api/servers/${tool === 'echo' || tool === 'whoami' ? 'echo' : 'slow'}/tools/${tool}/call`, {
    arguments: args,
  })
const modern = async (path: string, user = admin) => new RawModern(hub, path, await user.mcpKey())
const echo = { name: 'echo', arguments: { text: 'x' } }

test('of 10,000 calls at once, exactly as many pass as the quota has', async () => {
  await set('/api/servers/echo', { quota: { perDay: QUOTA } })
  const client = await modern('/mcp/echo')
  const outcomes = new Map<string, number>()
  const call = async (): Promise<void> => {
    const { result, error } = await client.call('tools/call', echo)
    const word = result ? 'passed' : String(error?.data?.code)
    // The limit of calls in flight comes before; such a call was not judged.
    if (word === 'quota_calls') return call()
    outcomes.set(word, (outcomes.get(word) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: CALLS }, call))
  expect(Object.fromEntries(outcomes)).toEqual({ passed: QUOTA, quota_day: CALLS - QUOTA })
  expect((await admin.ok('GET', '/api/servers/echo/quota')).used).toMatchObject({ perDay: QUOTA, atOnce: 0 })
})

test('a quota that is used up holds on every way to the server, with its status and Retry-After', async () => {
  const inGroup = await modern('/mcp/work')
  const [byRest, atServer, atGroup, byView] = await Promise.all([
    overRest('echo', { text: 'x' }),
    (await modern('/mcp/echo')).send('tools/call', echo),
    inGroup.send('tools/call', echo),
    (await modern('/mcp/$smart/work')).send('tools/call', {
      name: 'call_tool',
      arguments: { tool: 'echo', arguments: { text: 'x' } },
    } as never),
  ])
  expect([byRest.status, byRest.json.code, byRest.json.of, byRest.json.limit]).toEqual([
    429,
    'quota_day',
    'server',
    100,
  ])
  const untilTomorrow = Number(byRest.headers.get('retry-after'))
  expect(untilTomorrow > 0 && untilTomorrow <= 86_400).toBe(true)
  for (const response of [atServer, atGroup, byView]) {
    const { error, id } = (await response.json()) as { error: { code: number; data: { code: string } }; id: unknown }
    expect([response.status, error?.data.code, error?.code, id !== undefined]).toEqual([429, 'quota_day', -32603, true])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  }
})

test('a legacy client gets 429 for one call, and for an array the errors in it', async () => {
  const client = await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open()
  const single = await client.send('tools/call', echo)
  expect([single.status, single.headers.has('retry-after')]).toEqual([429, true])
  expect(((await single.json()) as { error: { data: { code: string } } }).error.data.code).toBe('quota_day')
  const older = await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open('2025-03-26')
  const both = [1, 2].map(id => ({ jsonrpc: '2.0', id, method: 'tools/call', params: echo }))
  const array = await older.post(both)
  const answers = (await array.json()) as { error: { data: { code: string } } }[]
  expect([array.status, answers.map(({ error }) => error.data.code)]).toEqual([200, ['quota_day', 'quota_day']])
})

test('the tightest of several quotas counts, by whatever of tool, group, key and user it is of', async () => {
  await set('/api/servers/echo', { quota: null, tools: { whoami: { perMinute: 3 } } })
  await set('/api/groups/work', { quota: { perMinute: 2 } })
  const client = await modern('/mcp/work')
  const whoami = { name: 'whoami', arguments: {} }
  const words = async (asked: RawModern, times: number) => {
    const said: unknown[] = []
    for (let time = 0; time < times; time += 1) {
      const { result, error } = await asked.call('tools/call', whoami)
      said.push(result ? 'passed' : `${error?.data?.code} ${error?.data?.of}`)
    }
    return said
  }
  expect(await words(client, 3)).toEqual(['passed', 'passed', 'quota_rate group'])
  expect(await words(await modern('/mcp/echo'), 2)).toEqual(['passed', 'quota_rate tool'])
  await set('/api/servers/echo', { tools: {} })
  await set('/api/groups/work', { quota: null })
  const { id, secret } = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: ['mcp'] })
  await set(`/api/keys/${id}`, { quota: { perDay: 1 } })
  expect(await words(new RawModern(hub, '/mcp/echo', secret), 2)).toEqual(['passed', 'quota_day key'])
  expect(await words(await modern('/mcp/echo'), 1)).toEqual(['passed'])
  const { items } = await admin.ok('GET', '/api/quotas')
  const other = await admin.ok('POST', '/api/keys', { label: 'other', scopes: ['mcp'] })
  const tooMany = await admin.request('PUT', `/api/keys/${other.id}/quota`, { quota: { perDay: 1 } })
  expect([tooMany.status, tooMany.json.code]).toEqual([409, 'quota_plans'])
  const ofClient = await admin.request('PUT', '/api/grants/any/quota', { quota: { perDay: 1 } })
  expect([ofClient.status, ofClient.json.code]).toEqual([404, 'quota_client_unknown'])
  await hub.logged('A quota is nearly used up')
  expect(items).toEqual([expect.objectContaining({ of: 'key', id, quota: { perDay: 1 } })])
})

test('an access key raises no quota of its own, nor of a client', async () => {
  const agent = await hub.user('agent')
  const { id, secret } = await agent.ok('POST', '/api/keys', { label: 'agent', scopes: ['api', 'mcp'] })
  await agent.ok('PUT', `/api/keys/${id}/quota`, { quota: { perDay: 1 } })
  const byKey = { authorization: `Bearer ${secret}` }
  for (const path of [`/api/keys/${id}/quota`, '/api/grants/any/quota']) {
    const raised = await agent.request('PUT', path, { quota: null }, byKey)
    expect([path, raised.status, raised.json.code]).toEqual([path, 403, 'insufficient_scope'])
  }
  expect((await agent.request('GET', `/api/keys/${id}/quota`, undefined, byKey)).json.quota).toEqual({ perDay: 1 })
})

test('calls at once are those that have not ended, also where they are cancelled or their client leaves', async () => {
  await set('/api/servers/slow', { quota: { atOnce: 1 } })
  const client = await modern('/mcp/slow')
  const leaving = new AbortController()
  const long = client.call('tools/call', { name: 'wait', arguments: { ms: 60_000 } }, { signal: leaving.signal })
  await inFlight(admin)
  const refused = await overRest('quick')
  expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([429, 'quota_at_once', '1'])
  leaving.abort()
  await long.catch(() => undefined)
  await until(async () => (await overRest('quick')).status === 200, { what: 'the free place' })
  expect((await admin.ok('GET', '/api/servers/slow/quota')).used.atOnce).toBe(0)
  await set('/api/servers/slow', { quota: null })
})

test('tokens of results are counted when a call ends, and refuse the next one', async () => {
  await set('/api/servers/echo', { quota: null, tools: { echo: { resultTokensPerDay: 400 } } })
  const client = await admin.mcp('/mcp/echo')
  await callText(client, 'whoami')
  const { used } = (await admin.ok('GET', '/api/servers/echo/quota')).tools.echo
  const rest = 400 - used.resultTokensPerDay
  if (rest > 0) expect(await callText(client, 'echo', { text: 'x'.repeat(rest * 4) })).toStartWith('x')
  expect((await overRest('echo', { text: 'x' })).json.code).toBe('quota_tokens')
  await set('/api/servers/echo', { tools: {} })
})

test('a quota of a tool holds under the name that its owner gives the tool', async () => {
  await admin.ok('PATCH', '/api/servers/echo', { tools: { whoami: { name: 'who' } } })
  await set('/api/servers/echo', { tools: { whoami: { perDay: 0 } } })
  const { error } = await (await modern('/mcp/echo')).call('tools/call', { name: 'who', arguments: {} })
  expect(error?.data).toMatchObject({ code: 'quota_day', of: 'tool', limit: 0 })
  await set('/api/servers/echo', { tools: {} })
  await admin.ok('PATCH', '/api/servers/echo', { tools: null })
})

test('use is shown to its user, to the owner of a server by person, and to administrators of all', async () => {
  const bo = await hub.user('bo')
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  await bo.ok('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text: 'hello' } })
  const own = await bo.ok('GET', '/api/usage?by=tool&range=1d')
  expect(own.items).toEqual([
    expect.objectContaining({
      server: 'admin~echo',
      tool: 'echo',
      calls: 1,
      failures: 0,
      resultTokens: expect.any(Number),
    }),
  ])
  // The owner of a server sees everybody's calls of it, and none of other servers.
  await admin.ok('POST', '/api/servers/slow/tools/quick/call', { arguments: {} })
  expect((await admin.ok('GET', '/api/usage?by=server&server=echo')).items).toEqual([
    expect.objectContaining({ server: 'admin~echo' }),
  ])
  const byUser = (await admin.ok('GET', '/api/usage?by=user&server=echo')).items
  expect(byUser.find(({ user }: { user: string }) => user === 'bo').calls).toBe(1)
  expect((await admin.ok('GET', '/api/usage?by=user&all=true')).items.length).toBeGreaterThan(1)
  const refused = await Promise.all([
    bo.request('GET', '/api/usage?all=true'),
    bo.request('GET', '/api/usage?by=user&server=admin~echo'),
    bo.request('PUT', '/api/servers/admin~echo/quota', { quota: null }),
    bo.request('PUT', '/api/admin/users/bo/quota', { quota: null }),
  ])
  expect(refused.map(({ status, json }) => [status, json.code])).toEqual([
    [403, 'admin_only'],
    [403, 'not_owner'],
    [403, 'not_owner'],
    [403, 'admin_only'],
  ])
  const { items } = await admin.ok('GET', '/api/keys')
  expect((await bo.request('PUT', `/api/keys/${items[0].id}/quota`, { quota: null })).json.code).toBe('key_not_found')
})

test('the numbers of the day outlast a kill of the hub', async () => {
  const first = await startOnline({ settings: { mcpServers: { echo: sharedFixture('echo') } }, ownProcess: true })
  await first.admin.ok('PUT', '/api/admin/users/admin/quota', { quota: { perDay: 5 } })
  for (let time = 0; time < 4; time += 1)
    await first.admin.ok('POST', '/api/servers/echo/tools/echo/call', { arguments: { text: 'x' } })
  const store = new Database(join(first.hub.dataDir, 'patchbay.db'), { readonly: true })
  const stored = () => store.query<{ calls: number }, []>('SELECT calls FROM plugin_quotas__counter').get()?.calls
  await until(() => stored() === 4, { what: 'the numbers in the store' })
  store.close()
  await first.hub.kill9()
  const second = await startHub({ folder: first.hub.folder })
  try {
    const again = await second.signIn('admin')
    const call = () => again.request('POST', '/api/servers/echo/tools/echo/call', { arguments: { text: 'x' } })
    await until(async () => (await call()).status === 200, { what: 'the fifth call' })
    expect((await call()).json.code).toBe('quota_day')
  } finally {
    await second.stop()
  }
})
