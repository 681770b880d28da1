import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const ECHO = join(import.meta.dir, '../support/mcp-servers/echo.ts')
let hub: Hub
let admin: Client

beforeAll(async () => {
  const script = `echo "a line of stderr" >&2; exec "$0" "$1"`
  hub = await startHub({
    env: { ENABLE_REQUEST_LOGS: 'true' },
    settings: { mcpServers: { echo: { command: 'sh', args: ['-c', script, process.execPath, ECHO] } } },
  })
  admin = await hub.setup()
  // Before its list is read, a call of an unknown tool is the server's to refuse.
  await online(admin, ['echo'])
}, 120_000)
afterAll(() => hub.stop(), 120_000)

const records = () =>
  hub
    .log()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
const found = (wanted: Record<string, unknown>) =>
  records().filter(record => Object.entries(wanted).every(([key, value]) => record[key] === value))

test('a line that a server writes to stderr becomes a record of the server', async () => {
  await hub.logged('a line of stderr')
  const [record] = found({ message: 'a line of stderr' })
  expect(record).toMatchObject({ level: 'INFO', component: 'server', server: 'echo', stream: 'stderr' })
  expect(record).not.toHaveProperty('ownerId')
})

test('calls are records, and so are those that the hub refuses', async () => {
  const client = await admin.mcp('/mcp/echo')
  await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
  await client.callTool({ name: 'no_such_tool', arguments: {} }).catch(() => undefined)
  await until(() => found({ message: 'tools/call' }).length >= 2, { what: 'the records of both calls' })
  const [good] = found({ message: 'tools/call', tool: 'echo' })
  expect(good).toMatchObject({ component: 'mcp', server: 'echo', status: 'success', level: 'INFO' })
  expect(good.keyId).toBeString()
  const [refused] = found({ message: 'tools/call', tool: 'no_such_tool' })
  expect(refused).toMatchObject({ status: 'tool_not_found', code: 'tool_not_found', group: 'echo' })
  expect(refused.userId).toBe(good.userId)
})

test('a request is a record with the pattern of its route, its size and its client; frequent ones are DEBUG', async () => {
  await admin.ok('GET', '/api/servers/echo')
  await admin.request('GET', '/health')
  await hub.logged('"path":"/api/servers/{ref}"')
  const [request] = found({ path: '/api/servers/{ref}' })
  expect(request).toMatchObject({ component: 'http', method: 'GET', status: '200', client: '127.0.0.1' })
  expect(found({ path: '/health' })).toEqual([])
  await hub.logged('"path":"/mcp/{path}"')
  const [first] = found({ path: '/mcp/{path}', method: 'POST' })
  expect(first).toMatchObject({ component: 'http', status: '200', client: '127.0.0.1', requestId: expect.any(String) })
})

test('levels change at once, for a component or one server, and go back', async () => {
  const levels = { http: 'debug', 'server:echo': 'error' }
  const set = await admin.ok('PATCH', '/api/admin/logging', { levels, until: '15m' })
  expect(set.levels).toMatchObject([
    { key: 'http', level: 'debug' },
    { key: 'server:admin~echo', level: 'error' },
  ])
  await admin.request('GET', '/health')
  await hub.logged('"path":"/health"')
  const client = await admin.mcp('/mcp/echo')
  const before = found({ message: 'tools/call', tool: 'echo' }).length
  await client.callTool({ name: 'echo', arguments: { text: 'unseen' } })
  await admin.ok('PATCH', '/api/admin/logging', { levels: { http: null, 'server:echo': null } })
  await client.callTool({ name: 'echo', arguments: { text: 'seen' } })
  const { level, levels: left, sinks } = await admin.ok('GET', '/api/admin/logging')
  expect([level, left]).toEqual(['info', []])
  expect(sinks[0]).toMatchObject({ id: 'file', state: 'up', dropped: { full: 0, rejected: 0, late: 0 } })
  await admin.ok('GET', '/api/groups')
  await hub.logged('"path":"/api/groups"')
  expect(found({ message: 'tools/call', tool: 'echo' }).length).toBe(before + 1)
})

test('plugins and sinks have levels too, also a plugin that is off; those that are not there are refused with what is', async () => {
  const path = '/api/admin/logging'
  await admin.ok('PATCH', '/api/admin/plugins/sink-search', { enabled: false })
  const levels = { 'plugin:sink-search': 'debug', 'sink:file': 'warn', assistant: 'debug' }
  const set = await admin.ok('PATCH', path, { levels })
  expect(set.levels.map(({ key }: { key: string }) => key)).toEqual(Object.keys(levels).sort())
  const missing = { 'plugin:nobody': 'debug', 'sink:nothing': 'debug', 'plugin:': null, 'plugin:sink-serch': null }
  const { status, json } = await admin.request('PATCH', path, { levels: missing })
  expect(status).toBe(400)
  expect(json.errors).toEqual([
    ...['plugin:nobody', 'sink:nothing', 'plugin:', 'plugin:sink-serch'].map(key => ({
      pointer: `#/levels/${key}`,
      code: 'enum',
      detail: expect.stringContaining(key.startsWith('sink') ? 'sink:file' : 'plugin:sink-search'),
    })),
  ])
  const none = Object.fromEntries(Object.keys(levels).map(key => [key, null]))
  expect((await admin.ok('PATCH', path, { levels: none })).levels).toEqual([])
})

test('the level of all that has none of its own changes at once', async () => {
  const path = '/api/admin/logging'
  expect(await admin.ok('PATCH', path, { level: 'debug' })).toMatchObject({ level: 'debug', levels: [] })
  await admin.request('GET', '/health')
  await admin.ok('PATCH', path, { level: 'info' })
  expect((await admin.ok('GET', path)).level).toBe('info')
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=1')
  expect(items[0].detail).toEqual({ levels: ['all=info'] })
  for (const empty of [{}, { levels: {} }]) {
    const { status, json } = await admin.request('PATCH', path, empty)
    expect([status, json.errors[0].pointer, json.errors[0].code]).toEqual([400, '#/levels', 'required'])
  }
})

test('wrong levels are refused as a whole', async () => {
  const refusal = async (body: object) => {
    const { status, json } = await admin.request('PATCH', '/api/admin/logging', body)
    return [status, json.errors?.[0]?.pointer ?? json.code, json.errors?.[0]?.code]
  }
  expect(await refusal({ levels: { http: 'loud' } })).toEqual([400, '#/levels/http', 'enum'])
  expect(await refusal({ levels: { htpp: 'info' } })).toEqual([400, '#/levels/htpp', 'enum'])
  expect(await refusal({ levels: { http: 'info' }, until: '25h' })).toEqual([400, '#/until', 'duration'])
  expect(await refusal({ levels: { http: 'debug', 'server:none': 'info' } })).toEqual([
    404,
    'server_not_found',
    undefined,
  ])
  expect((await admin.ok('GET', '/api/admin/logging')).levels).toEqual([])
})
