import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { noteCodes } from '../support/seen-codes.ts'
import { until } from '../support/wait.ts'
import { expectProblem, expectWell } from './rows.ts'

let hub: Hub
let admin: Client
let alice: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub({
    env: { ...LOOPBACK, TRUSTED_PROXIES: '127.0.0.1', ADMIN_ADDRESSES: '127.0.0.0/8', LOG_DATABASE: 'false' },
  })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test('a body that stops in the middle is 408 request_timeout after 30 s, and costs nobody else anything', async () => {
  const socket = connect(Number(new URL(hub.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  socket.on('error', () => {})
  const head = ['POST /api/groups HTTP/1.1', `Host: ${new URL(hub.url).host}`, `Authorization: Bearer ${alice.token}`]
  socket.write([...head, 'Content-Type: application/json', 'Content-Length: 99', '', '{"name":'].join('\r\n'))
  await until(() => text.includes('\r\n\r\n'), { timeoutMs: 60_000, intervalMs: 500 })
  noteCodes(text)
  socket.destroy()
  expect(text).toStartWith('HTTP/1.1 408 ')
  expect(text).toContain('"code":"request_timeout"')
  await expectWell(hub)
}, 120_000)

test('a name that fits things of several owners is 409 with their full names', async () => {
  for (const who of [alice, bob]) {
    await who.ok('POST', '/api/groups', { name: 'same', visibility: 'public' })
    await who.ok('POST', '/api/servers', {
      name: 'same',
      visibility: 'public',
      url: 'https://a.example/',
      enabled: false,
    })
  }
  for (const thing of ['group', 'server']) {
    const answer = await admin.request('GET', `/api/${thing}s/same`)
    expect([answer.status, answer.json.code]).toEqual([409, `${thing}_ambiguous`])
    for (const ref of ['alice~same', 'bob~same']) expect(answer.text).toContain(ref)
    expectProblem(answer, { method: 'GET', path: `/api/${thing}s/same` })
  }
})

test('administration from an address that is not listed is 403 address_not_allowed', async () => {
  const answer = await admin.request('GET', '/api/admin/users', undefined, { 'x-forwarded-for': '198.51.100.1' })
  expect([answer.status, answer.json.code]).toEqual([403, 'address_not_allowed'])
  expect((await admin.request('GET', '/api/admin/users')).status).toBe(200)
})

test('without the database of the log a search is 503 history_unavailable', async () => {
  const { status, json } = await admin.request('GET', '/api/logs/search')
  expect([status, json.code]).toEqual([503, 'history_unavailable'])
})

test('an access key without the scope is 403 insufficient_scope on the API', async () => {
  const answer = await alice.request('GET', '/api/servers', undefined, {
    authorization: `Bearer ${await alice.mcpKey()}`,
  })
  expect([answer.status, answer.json.code]).toEqual([403, 'insufficient_scope'])
})

test('a password that an administrator has set must be changed first, here and under /mcp', async () => {
  const carol = await hub.user('carol')
  await admin.ok('PATCH', '/api/admin/users/carol', { password: 'set by an administrator 1' })
  const again = await hub.signIn('carol', 'set by an administrator 1')
  const answer = await again.request('GET', '/api/servers')
  expect([answer.status, answer.json.code]).toEqual([403, 'password_change_required'])
  expect((await carol.request('GET', '/api/servers')).json.code).toBe('token_revoked')
  const wrong = { currentPassword: 'not that one at all', newPassword: 'a long sentence of carol’s' }
  expect((await again.request('POST', '/api/auth/password', wrong)).json.code).toBe('password_mismatch')
})

test('while no plugin resolves groups, /mcp is 503 starting with when to come back', async () => {
  const key = await alice.mcpKey()
  await admin.ok('PATCH', '/api/admin/plugins/groups', { enabled: false })
  const answer = await new RawClient(hub, '/mcp/same', key).send('ping')
  const { error } = (await answer.json()) as { error: { data: object } }
  expect([answer.status, error.data]).toMatchObject([503, { code: 'starting', retryAfter: 5 }])
  expect(answer.headers.get('retry-after')).toBe('5')
  await admin.ok('PATCH', '/api/admin/plugins/groups', { enabled: true })
  await until(async () => (await new RawClient(hub, '/mcp/same', key).send('ping')).status !== 503)
})

test('fields that few bodies get wrong: the hub’s own address, a document that grows, one that names nothing', async () => {
  const ask = async (path: string, body: object) => {
    const answer = await alice.request('POST', path, body)
    return [answer.status, answer.json.errors?.map((error: { code: string }) => error.code) ?? answer.text]
  }
  const loop = { name: 'loop', url: `${hub.url}/mcp`, enabled: false }
  expect(await ask('/api/servers', loop)).toEqual([400, ['loop_detected']])
  const deep = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`)
  const schema = { openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {}, 'x-deep': deep }
  const bomb = { name: 'bomb', openapi: { schema: JSON.stringify(schema), baseUrl: 'https://a.example' } }
  expect(await ask('/api/servers', bomb)).toEqual([400, ['openapi_bomb']])
  bomb.openapi.schema = `# YAML\n${bomb.openapi.schema}`
  expect(await ask('/api/servers', bomb)).toEqual([400, ['openapi_bomb']])
  expect(await ask('/api/servers/import', { document: '' })).toEqual([400, ['import_invalid']])
  await expectWell(hub)
})

test('a server whose transport no plugin offers is offline for that reason', async () => {
  await alice.ok('POST', '/api/servers', { name: 'old', transport: 'sse', url: 'https://a.example/sse' })
  await admin.ok('PATCH', '/api/admin/plugins/transport-sse', { enabled: false })
  const status = await until(async () => {
    const now = (await alice.ok('GET', '/api/servers/old')).status
    return now.reason?.code === 'transport_unavailable' ? now : undefined
  })
  expect(status.state).toBe('offline')
  await admin.ok('PATCH', '/api/admin/plugins/transport-sse', { enabled: true })
})
