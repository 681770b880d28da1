import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SYSTEM = '/api/admin/settings'
const CONFIG = '/api/monitoring/config'

let upstream: Program
let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  upstream = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  hub = await startHub({ env: { ...LOOPBACK, LOG_LEVEL: 'info' } })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', { name: 'echo', url: upstream.url })
  await online(ada, ['echo'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await upstream?.stop()
}, 120_000)

const ifMatch = (etag: string | null) => ({ 'if-match': etag ?? '' })

describe('entity tags', () => {
  test('the second of two writers who saw one revision is refused', async () => {
    const created = await ada.request('POST', '/api/servers', { name: 'twice', url: upstream.url })
    const seen = ifMatch(created.headers.get('etag'))
    const body = { name: 'twice', url: upstream.url, description: 'first' }
    const first = await ada.request('PUT', '/api/servers/twice', body, seen)
    expect(first.status).toBe(200)
    expect(first.headers.get('etag')).not.toBe(created.headers.get('etag'))
    const second = await ada.request('PUT', '/api/servers/twice', { ...body, description: 'second' }, seen)
    expect([second.status, second.json.code]).toEqual([412, 'version_conflict'])
    const { updatedAt: changedAt, revision } = first.json
    expect(second.json).toMatchObject({ changedBy: 'ada', changedAt, revision, record: 'ada~twice' })
    expect((await ada.ok('GET', '/api/servers/twice')).description).toBe('first')
    const malformed = await ada.request('DELETE', '/api/servers/twice', undefined, { 'if-match': 'abc' })
    expect(malformed.status).toBe(412)
    const gone = await ada.request('DELETE', '/api/servers/twice', undefined, ifMatch(first.headers.get('etag')))
    expect(gone.status).toBe(204)
    expect((await ada.request('DELETE', '/api/servers/twice')).status).toBe(404)
  })

  test('hold for groups too', async () => {
    const created = await ada.request('POST', '/api/groups', { name: 'tagged', members: ['echo'] })
    const seen = ifMatch(created.headers.get('etag'))
    expect((await ada.request('PATCH', '/api/groups/tagged', { description: 'x' }, seen)).status).toBe(200)
    expect((await ada.request('PATCH', '/api/groups/tagged', { description: 'y' }, seen)).status).toBe(412)
    await admin.ok('PATCH', '/api/groups/ada~tagged', { description: 'by an administrator' })
    const later = await ada.request('PATCH', '/api/groups/tagged', { description: 'y' }, seen)
    expect(later.json).toMatchObject({ code: 'version_conflict', kind: 'group', changedAt: expect.any(String) })
    // A user may not see who the administrators are; an administrator sees both.
    expect(later.text).not.toContain('admin"')
    expect(later.json).not.toHaveProperty('changedBy')
    await ada.ok('PATCH', '/api/groups/tagged', { description: 'by its owner' })
    const theirs = { 'if-match': later.headers.get('etag') ?? seen['if-match'] }
    const mine = await admin.request('PATCH', '/api/groups/ada~tagged', { description: 'z' }, theirs)
    expect(mine.json).toMatchObject({ code: 'version_conflict', changedBy: expect.stringMatching(/^(ada|admin)$/) })
  })

  test('hold for the settings of the system, and say whose change it was and when', async () => {
    const other = await hub.user('second', 'admin')
    const { headers } = await admin.request('GET', SYSTEM)
    const seen = headers.get('etag') ?? ''
    expect(seen).toMatch(/^"\d+"$/)
    const first = await other.request('PATCH', SYSTEM, { logMaxFiles: 7 }, { 'if-match': seen })
    expect(first.status).toBe(200)
    for (const [method, path, body] of [
      ['PATCH', SYSTEM, { logMaxFiles: 9 }],
      ['PUT', CONFIG, { logRotation: { maxFiles: 9 } }],
    ] as const) {
      const late = await admin.request(method, path, body, { 'if-match': seen })
      expect(late.status).toBe(412)
      expect(late.json).toMatchObject({ code: 'version_conflict', changedBy: 'second', changedAt: expect.any(String) })
    }
    expect((await admin.ok('GET', SYSTEM)).logMaxFiles).toBe(7)
    const now = first.headers.get('etag') ?? ''
    expect(now).not.toBe(seen)
    expect((await admin.request('GET', CONFIG)).headers.get('etag')).toBe(now)
    expect((await admin.request('PATCH', SYSTEM, { logMaxFiles: 9 }, { 'if-match': now })).status).toBe(200)
    expect((await admin.ok('PATCH', SYSTEM, { logMaxFiles: 11 })).logMaxFiles).toBe(11)
  })
})

describe('lists', () => {
  test.each([
    ['limit=0', 'range'],
    ['limit=1001', 'range'],
    ['limit=abc', 'type'],
    ['offset=-1', 'range'],
    ['state=up', 'enum'],
    ['stat=online', 'unknown_field'],
  ])('refuse ?%s with %s at that parameter', async (query, code) => {
    const answer = await ada.request('GET', `/api/servers?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.json.errors).toMatchObject([{ pointer: `?${query.split('=')[0]}`, code }])
  })

  test('filter by state, transport, text and group, and give all only to administrators', async () => {
    await ada.ok('POST', '/api/groups', { name: 'filtered', members: ['echo'] })
    const names = async (query: string) =>
      (await ada.ok('GET', `/api/servers?${query}`)).items.map((item: { name: string }) => item.name)
    expect(await names('state=online&transport=streamable-http&q=ECH&group=filtered')).toEqual(['echo'])
    expect(await names('state=connecting')).toEqual([])
    expect((await ada.request('GET', '/api/servers?scope=all')).status).toBe(403)
    const all = await admin.ok('GET', '/api/servers?scope=all&owner=ada&q=echo')
    expect(all.items).toMatchObject([{ ref: 'ada~echo' }])
  })
})

describe('a tool call over REST', () => {
  const path = '/api/servers/echo/tools/echo/call'

  test('answers the MCP result, how long it took and the id under which it is logged', async () => {
    const answer = await ada.request('POST', path, { arguments: { text: 'hello' } })
    expect(answer.json.result.content).toEqual([{ type: 'text', text: 'hello' }])
    expect(answer.json.durationMs).toBeGreaterThan(0)
    expect(answer.json.requestId).toBe(answer.headers.get('x-request-id'))
    await until(() => hub.log().includes(answer.json.requestId), { what: 'the record of the call in the log' })
  })

  test('as a stream begins with a comment and ends with the result', async () => {
    const answer = await ada.request('POST', path, { arguments: { text: 'hi' } }, { accept: 'text/event-stream' })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.text.startsWith(': ok\n\n')).toBe(true)
    expect(answer.text).toMatch(/event: result\ndata: \{"result":\{"content":\[\{"type":"text","text":"hi"\}\]\}/)
  })

  test('finds no tool that its owner switched off or renamed away', async () => {
    await ada.ok('PATCH', '/api/servers/echo/tools/whoami', { enabled: false })
    const answer = await ada.request('POST', '/api/servers/echo/tools/whoami/call', {})
    expect([answer.status, answer.json.code]).toEqual([404, 'tool_not_found'])
    await ada.ok('PATCH', '/api/servers/echo/tools/whoami', { enabled: null })
    expect((await ada.request('POST', '/api/servers/echo/tools/whoami/call', {})).status).toBe(200)
  })

  test('of a server that is switched off says so', async () => {
    await ada.ok('POST', '/api/servers', { name: 'off', url: upstream.url, enabled: false })
    const answer = await ada.request('POST', '/api/servers/off/tools/echo/call', {})
    expect([answer.status, answer.json.code]).toEqual([503, 'server_offline'])
  })
})

test('a stop lasts over a restart of the server’s record, and start with wait answers once it is online', async () => {
  await ada.ok('POST', '/api/servers', { name: 'switched', url: upstream.url })
  const stopped = await ada.ok('POST', '/api/servers/switched/stop?wait=30s')
  expect(stopped).toMatchObject({ enabled: false, status: { state: 'offline', reason: { code: 'stopped' } } })
  const refused = await ada.request('POST', '/api/servers/switched/refresh')
  expect([refused.status, refused.json.code]).toEqual([503, 'server_offline'])
  const started = await ada.ok('POST', '/api/servers/switched/start?wait=30s')
  expect(started).toMatchObject({ enabled: true, status: { state: 'online' } })
  const wrong = await ada.request('POST', '/api/servers/switched/stop?wait=2h')
  expect(wrong.json.errors).toMatchObject([{ pointer: '?wait', code: 'range' }])
})

test('a batch reports each entry, and an import takes over what is new', async () => {
  const entries = [
    { name: 'batch-1', url: upstream.url },
    { name: 'a/b', url: upstream.url },
  ]
  const batch = await ada.request('POST', '/api/servers/batch', { servers: entries })
  expect(batch.status).toBe(207)
  expect(batch.json.results).toMatchObject([
    { status: 201, server: { ref: 'ada~batch-1' } },
    { status: 400, error: { code: 'validation_failed', errors: [{ code: 'name_invalid' }] } },
  ])
  const document = { mcpServers: { 'batch-1': { url: upstream.url }, fresh: { type: 'http', url: upstream.url } } }
  const verdicts = async (query: string) => {
    const { entries: found } = await ada.ok('POST', `/api/servers/import${query}`, document)
    return found.map((entry: { name: string; verdict: string }) => `${entry.name} ${entry.verdict}`)
  }
  expect(await verdicts('?dryRun=true')).toEqual(['batch-1 exists', 'fresh new'])
  expect(await verdicts('')).toEqual(['batch-1 exists', 'fresh created'])
  expect(await verdicts('')).toEqual(['batch-1 exists', 'fresh exists'])
})

test('a trial connects once and leaves nothing behind', async () => {
  const before = (await ada.ok('GET', '/api/servers')).total
  const report = await ada.ok('POST', '/api/servers/test', { name: 'echo', url: upstream.url })
  expect(report.ok).toBe(true)
  expect(report.tools.map((tool: { name: string }) => tool.name)).toContain('echo')
  expect((await ada.ok('GET', '/api/servers')).total).toBe(before)
})

describe('settings', () => {
  test('show of a hosted key only that it is set, to its owner', async () => {
    const secret = 'sk-very-secret-1f3c'
    const changed = await ada.request('PATCH', '/api/settings', { language: 'zh', hostedKeys: { modelscope: secret } })
    expect(changed.status).toBe(200)
    expect(changed.json).toMatchObject({ language: 'zh', hostedKeys: { modelscope: { set: true, last4: '1f3c' } } })
    expect(changed.text).not.toContain(secret)
    expect((await admin.ok('GET', '/api/settings')).hostedKeys).toEqual({})
    await ada.ok('PATCH', '/api/settings', { language: null, hostedKeys: { modelscope: null } })
    expect(await ada.ok('GET', '/api/settings')).toMatchObject({ language: 'en', hostedKeys: {} })
    expect((await ada.request('PATCH', '/api/settings', { theme: 'pink' })).json.errors).toMatchObject([
      { code: 'enum' },
    ])
  })

  test('of the system held by the environment are locked, others wait for the next start', async () => {
    const locked = await admin.request('PATCH', '/api/admin/settings', { logLevel: 'debug' })
    expect([locked.status, locked.json.code]).toEqual([409, 'setting_locked'])
    expect(locked.json.detail).toContain('LOG_LEVEL')
    const wrong = await admin.request('PATCH', '/api/admin/settings', { trustedProxies: ['*'] })
    expect(wrong.json.errors).toMatchObject([{ pointer: '#/trustedProxies', code: 'format' }])
    await admin.ok('PATCH', '/api/admin/settings', { workers: 3 })
    const sources = await admin.ok('GET', '/api/admin/settings/sources')
    expect(sources.workers).toMatchObject({ locked: false, pending: true, type: 'number', text: '3' })
    expect(sources.marketOffline).toMatchObject({ type: 'boolean', text: 'false' })
    expect(sources.marketUsers).toMatchObject({ type: 'choice', choices: ['all', 'admin'] })
    expect(sources.allowedHosts).toMatchObject({ type: 'list', text: expect.stringContaining('localhost,') })
    expect(sources.logMaxSizeBytes).toMatchObject({ type: 'bytes', text: expect.stringMatching(/^\d+MB$/) })
    expect(sources.logRetentionMs).toMatchObject({ type: 'duration', text: expect.stringMatching(/^\d+[wd]/) })
    expect((await admin.ok('GET', '/api/admin/settings')).workers).toBe(3)
    await admin.ok('PATCH', '/api/admin/settings', { workers: null })
  })
})

test('an administrator sees the connection and the session of a user, and can end the session', async () => {
  const client = await ada.mcp('/mcp/echo')
  const { items: live } = await admin.ok('GET', '/api/admin/processes')
  expect(live).toContainEqual(expect.objectContaining({ kind: 'connection', server: 'ada~echo', owner: 'ada' }))
  const { items } = await admin.ok('GET', '/api/admin/sessions?user=ada')
  expect(items).toHaveLength(1)
  expect((await admin.request('DELETE', `/api/admin/sessions/${items[0].id}`)).status).toBe(204)
  expect((await admin.ok('GET', '/api/admin/sessions?user=ada')).items).toEqual([])
  await expect(client.callTool({ name: 'echo', arguments: {} })).rejects.toThrow()
})

test('the audit names who did what, by the id of the request', async () => {
  const created = await ada.request('POST', '/api/servers', { name: 'noted', url: upstream.url })
  const { items } = await admin.ok('GET', '/api/admin/audit?action=server.create&user=ada&limit=1')
  expect(items).toMatchObject([
    { action: 'server.create', target: 'ada~noted', user: 'ada', requestId: created.headers.get('x-request-id') },
  ])
})

test('the public list can be cached, everything else is not stored', async () => {
  await ada.ok('POST', '/api/servers', { name: 'open', url: upstream.url, visibility: 'public' })
  const list = await fetch(`${hub.url}/api/public/servers`)
  expect(list.headers.get('cache-control')).toBe('public, max-age=60')
  const { items } = await list.json()
  expect(items.map((item: { name: string }) => item.name)).toEqual(['open'])
  expect(JSON.stringify(items)).not.toContain(upstream.url)
  expect((await ada.request('GET', '/api/servers')).headers.get('cache-control')).toBe('no-store')
})

test('health needs no credential, and counts the servers', async () => {
  const answer = await fetch(`${hub.url}/health`)
  expect(answer.status).toBe(200)
  const { servers, checks, version } = await answer.json()
  expect(version).toBe('1.1.0')
  expect(servers.online).toBeGreaterThan(0)
  expect(checks.store).toBe('ok')
})
