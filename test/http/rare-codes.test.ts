import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { rawRequest } from '../support/raw-http.ts'
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

/** The answer to a body that is sent slowly: its beginning at once, then one byte a second. */
async function slowBody(path: string, credential: string, [begun, further]: readonly [string, string], length: number) {
  const { host, port } = new URL(hub.url)
  const socket = connect(Number(port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  socket.on('error', () => {})
  const sinceMs = performance.now()
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${credential}`]
  const type = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
  socket.write([...head, ...type, `Content-Length: ${length}`, '', begun].join('\r\n'))
  const left = [...further]
  const sending = setInterval(() => {
    const next = left.shift()
    if (next === undefined) clearInterval(sending)
    else socket.write(next)
  }, 1_000)
  await until(() => text.includes('\r\n\r\n'), { timeoutMs: 60_000, intervalMs: 100 })
  clearInterval(sending)
  noteCodes(text)
  socket.destroy()
  return { text, seconds: (performance.now() - sinceMs) / 1_000 }
}

test('a body without a byte for 15 s is 408 request_timeout, one that comes slowly is accepted', async () => {
  const key = await alice.mcpKey()
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'x'.repeat(5_000) } })
  const group = JSON.stringify({ name: 'slow', description: 'comes slowly' })
  const cut = (text: string, at: number) => [text.slice(0, text.length - at), text.slice(text.length - at)] as const
  const [silent, silentMessage, silentShort, slow, slowMessage] = await Promise.all([
    slowBody('/api/groups', alice.token, ['{"name":', ''], 99),
    slowBody('/mcp', key, [message.slice(0, 4_999), ''], message.length),
    slowBody('/mcp', key, ['{"jsonrpc":', ''], 99),
    slowBody('/api/groups', alice.token, cut(group, 20), group.length),
    slowBody('/mcp', key, cut(message, 20), message.length),
  ])
  for (const { text, seconds } of [silent, silentMessage, silentShort]) {
    expect(text).toStartWith('HTTP/1.1 408 ')
    expect(text).toContain('"code":"request_timeout"')
    expect(seconds).toBeGreaterThan(14)
    expect(seconds).toBeLessThan(29)
  }
  expect(slow.text).toStartWith('HTTP/1.1 201 ')
  expect(slow.seconds).toBeGreaterThan(18)
  expect(slowMessage.text).not.toContain('request_timeout')
  expect(slowMessage.seconds).toBeGreaterThan(18)
  await expectWell(hub)
}, 120_000)

test('GET / is the page of the console, unless JSON alone is accepted', async () => {
  const typeFor = async (accept: string | undefined) => {
    const head = [
      'GET / HTTP/1.1',
      `Host: ${new URL(hub.url).host}`,
      'Connection: close',
      ...(accept ? [`Accept: ${accept}`] : []),
    ]
    const { text } = await rawRequest(hub.url, [...head, '', ''].join('\r\n'))
    return /^content-type: *([^;\r]*)/im.exec(text)?.[1]
  }
  const pages = [undefined, '*/*', 'text/html', 'TEXT/HTML;q=0.9', 'image/*', 'text/plain', 'application/*']
  const mixed = ['application/json, text/plain, */*', 'application/json;q=0.5, text/html']
  for (const accept of [...pages, ...mixed]) expect([accept, await typeFor(accept)]).toEqual([accept, 'text/html'])
  for (const accept of ['application/json', 'application/json;q=0.9', 'application/problem+json, application/json'])
    expect([accept, await typeFor(accept)]).toEqual([accept, 'application/problem+json'])
  const elsewhere = await fetch(`${hub.url}/nothing-here`, { headers: { accept: '*/*' } })
  expect([elsewhere.status, elsewhere.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
}, 30_000)

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
