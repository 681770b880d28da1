/** Information that a server of another owner reveals to its callers, and that it receives about them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, ROOT, send, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

/** A text in command, arguments, folder, variables and stderr of servers that do not start. */
const CANARY = 'canary-7f3a91'
const BROKEN = {
  missing: { command: `/opt/${CANARY}/bin/tool`, args: [CANARY] },
  folder: { command: process.execPath, args: ['-e', '0'], cwd: `/srv/${CANARY}` },
  crashing: {
    command: process.execPath,
    args: ['-e', `console.error('${CANARY} no such host db.internal PATH=' + process.env.PATH); process.exit(3)`],
    env: { [`VAR_${CANARY.replaceAll('-', '_')}`]: 'x' },
  },
  alone: {
    command: process.execPath,
    args: ['-e', `console.error('${CANARY}'); process.exit(3)`],
    session: 'per-session',
  },
  dead: { type: 'streamable-http', url: `http://127.0.0.1:9/${CANARY}` },
}

let web: Program
let hub: Hub
let admin: Client
let owner: Client
let stranger: Client

beforeAll(async () => {
  web = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  const mcpServers = Object.fromEntries(
    Object.entries(BROKEN).map(([name, entry]) => [name, { ...entry, visibility: 'public' }]),
  )
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers } })
  admin = await hub.setup()
  owner = await hub.user('owner')
  stranger = await hub.user('stranger')
  const asking = { url: web.url, visibility: 'public', passthroughHeaders: ['X-Tenant', 'x-api-token'] }
  await owner.ok('POST', '/api/servers', { name: 'collector', ...asking })
  await owner.ok('POST', '/api/servers', { name: 'each', ...asking, session: 'per-user' })
  await stranger.ok('POST', '/api/servers', { name: 'own', ...asking, visibility: 'private' })
  const third = await hub.user('third')
  const members = ['owner~collector', 'owner~each']
  await third.ok('POST', '/api/groups', { name: 'bait', visibility: 'public', members })
  await stranger.ok('POST', '/api/groups', { name: 'mixed', members: [...members, 'own'] })
  await online(owner, ['collector', 'each'])
  await online(stranger, ['own'])
  await until(
    async () => (await Promise.all(Object.keys(BROKEN).map(name => statusOf(admin, name)))).every(hasFailed),
    { what: 'the broken servers to have failed', timeoutMs: 60_000 },
  )
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await web?.stop()
}, 120_000)

const hasFailed = ({ state, reason }: { state: string; reason?: unknown }) =>
  state === 'offline' || reason !== undefined
const tellTale = new RegExp(`${CANARY}|canary_7f3a91|db\\.internal|127\\.0\\.0\\.1:9|PATH=|${process.execPath}`)

test('an offline public server tells those who may not edit it a code and a state alone, by every way to ask', async () => {
  const key = await stranger.mcpKey()
  const stream = await openStream(stranger)
  await stranger.ok('POST', '/api/groups', { name: 'all', members: Object.keys(BROKEN).map(name => `admin~${name}`) })
  const answers: string[] = [(await send(hub.url, 'GET', '/api/public/servers')).text]
  const ask = async (method: string, path: string, body?: object, headers?: Record<string, string>) =>
    answers.push((await stranger.request(method, path, body, headers)).text)
  for (const path of ['/api/servers?scope=visible', '/api/groups', '/api/groups/all', '/api/groups/all/tools'])
    await ask('GET', path)
  for (const name of Object.keys(BROKEN)) {
    const ref = `admin~${name}`
    for (const part of ['', '/tools', '/prompts', '/resources', '/logs']) await ask('GET', `/api/servers/${ref}${part}`)
    await ask('POST', `/api/servers/${ref}/restart`)
    await ask('POST', `/api/servers/${ref}/tools/x/call`, { arguments: {} })
    await ask('POST', `/api/servers/${ref}/tools/x/call`, { arguments: {} }, { accept: 'text/event-stream' })
    const path = `/mcp/@admin/${name}`
    const legacy = await new RawClient(hub, path, key).open()
    answers.push(JSON.stringify(await legacy.call('tools/call', { name: 'x', arguments: {} })))
    const modern = new RawModern(hub, path, key)
    answers.push(JSON.stringify(await modern.call('tools/call', { name: 'x', arguments: {} })))
  }
  await admin.ok('POST', '/api/servers/crashing/restart')
  answers.push(stream.text())
  await stream.close()
  expect(answers.filter(text => tellTale.test(text))).toEqual([])
  expect(answers.filter(text => text.includes('server_offline')).length).toBeGreaterThan(Object.keys(BROKEN).length)
})

test('the owner and administrators see why a server is offline', async () => {
  const answer = await admin.request('POST', '/api/servers/missing/tools/x/call', { arguments: {} })
  expect([answer.status, answer.json.code]).toEqual([503, 'server_offline'])
  expect(answer.json.detail).toContain(CANARY)
  expect((await statusOf(admin, 'missing')).reason?.message).toContain(CANARY)
})

const HEADERS = { 'x-tenant': 'acme', 'x-api-token': 'mine' }
const seen = (text: string): (string | undefined)[] => {
  const headers = JSON.parse(text).headers as Record<string, string>
  return [headers['x-tenant'], headers['x-api-token']]
}
const textOf = (result: { content: { text: string }[] }) => result.content[0]?.text ?? ''

/** Headers that reach a server by REST, and by both wires at a path. */
async function reaching(server: string, path: string, tool = 'whoami') {
  const rest = await stranger.request('POST', `/api/servers/${server}/tools/whoami/call`, {}, HEADERS)
  const key = await stranger.mcpKey()
  const legacy = new RawClient(hub, path, key)
  Object.assign(legacy.headers, HEADERS)
  const modern = new RawModern(hub, path, key)
  const params = { name: tool, arguments: {} }
  return {
    rest: seen(textOf(rest.json.result)),
    legacy: seen(textOf((await (await legacy.open()).call('tools/call', params)).result)),
    modern: seen(textOf((await modern.call('tools/call', params, { headers: HEADERS })).result)),
  }
}

const NONE = { rest: [undefined, undefined], legacy: [undefined, undefined], modern: [undefined, undefined] }

/** Each server is tried once, and each kind of path once: its own, a public group's and one of the caller's groups. */
const PATHS = [
  ['owner~each', '/mcp/@owner/each', 'whoami'],
  ['owner~collector', '/mcp/@third/bait', 'collector_whoami'],
  ['owner~collector', '/mcp/mixed', 'collector_whoami'],
] as const
const MORE_PATHS = [
  ['owner~collector', '/mcp/@owner/collector', 'whoami'],
  ['owner~each', '/mcp/@third/bait', 'each_whoami'],
] as const

test.each(extent([...PATHS], [...PATHS, ...MORE_PATHS]).map(row => [...row] as const))(
  'headers of a caller do not reach %s at %s without the caller’s word',
  async (server, path, tool) => {
    expect(await reaching(server, path, tool)).toEqual(NONE)
  },
)

test('an own server gets what it asks for, also beside others in an own group', async () => {
  const all = ['acme', 'mine']
  expect(await reaching('own', '/mcp/own')).toEqual({ rest: all, legacy: all, modern: all })
  expect((await reaching('own', '/mcp/mixed', 'own_whoami')).legacy).toEqual(all)
})

test('the caller’s settings name the headers for one server, and take them back for open sessions too', async () => {
  const view = await stranger.ok('GET', '/api/servers/owner~collector')
  expect(view.passthroughHeaders).toEqual(['x-tenant', 'x-api-token'])
  const agreed = { 'owner~collector': ['X-Tenant', 'x-never-asked'] }
  const settings = await stranger.ok('PATCH', '/api/settings', { passthroughHeaders: agreed })
  expect(settings.passthroughHeaders).toEqual({ 'owner~collector': ['x-tenant', 'x-never-asked'] })
  const some = ['acme', undefined]
  expect(await reaching('owner~collector', '/mcp/@third/bait', 'collector_whoami')).toEqual({
    rest: some,
    legacy: some,
    modern: some,
  })
  expect(await reaching('owner~each', '/mcp/@third/bait', 'each_whoami')).toEqual(NONE)
  const open = new RawClient(hub, '/mcp/@owner/collector', await stranger.mcpKey())
  Object.assign(open.headers, HEADERS)
  await open.open()
  const call = async () => seen(textOf((await open.call('tools/call', { name: 'whoami', arguments: {} })).result))
  expect(await call()).toEqual(some)
  await stranger.ok('PATCH', '/api/settings', { passthroughHeaders: { 'owner~collector': null } })
  expect(await call()).toEqual([undefined, undefined])
})

test('a consent does not pass to the next owner of the server', async () => {
  await owner.ok('POST', '/api/servers', {
    name: 'sold',
    url: web.url,
    visibility: 'public',
    passthroughHeaders: ['x-tenant'],
  })
  await stranger.ok('PATCH', '/api/settings', { passthroughHeaders: { 'owner~sold': ['x-tenant'] } })
  await online(owner, ['sold'])
  expect((await reaching('owner~sold', '/mcp/@owner/sold')).rest).toEqual(['acme', undefined])
  await admin.ok('PATCH', '/api/servers/owner~sold', { owner: 'third' })
  await admin.ok('PATCH', '/api/servers/third~sold', { enabled: true })
  await online(admin, ['third~sold'])
  expect(await reaching('third~sold', '/mcp/@third/sold')).toEqual(NONE)
  expect((await stranger.ok('GET', '/api/settings')).passthroughHeaders).toEqual({})
})

test('consents are checked: server, header names and their number', async () => {
  const codes = async (passthroughHeaders: unknown) => {
    const { json } = await stranger.request('PATCH', '/api/settings', { passthroughHeaders })
    return json.errors?.map((error: { pointer: string; code: string }) => `${error.code} ${error.pointer}`)
  }
  expect(await codes({ 'owner~nothing': ['x-a'] })).toEqual(['member_not_found #/passthroughHeaders/owner~0nothing'])
  expect(await codes({ 'owner~collector': ['x-a', 'a b', 'Authorization'] })).toEqual([
    'header_name #/passthroughHeaders/owner~0collector/1',
    'header_reserved #/passthroughHeaders/owner~0collector/2',
  ])
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`s${n}`, ['x-a']]))
  expect(await codes(many)).toEqual(['length #/passthroughHeaders'])
  expect(await codes({ own: 'x-a' })).toEqual(['type #/passthroughHeaders/own'])
})
