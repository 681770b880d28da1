import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { type Answer, HEADERS, RawClient } from '../support/raw-mcp.ts'
import { inFlight, online } from '../support/servers.ts'
import { sharedFixture } from './shared-fixture.ts'

let hub: Hub
let admin: Client
let bert: Client
const keys: Record<string, string> = {}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: { varied: sharedFixture('varied'), slow: sharedFixture('slow') },
      groups: [
        { name: 'g', servers: ['varied', 'slow'] },
        { name: 'h', servers: ['slow'] },
      ],
    },
  })
  admin = await hub.setup()
  bert = await hub.user('bert')
  await bert.ok('POST', '/api/groups', { name: 'g', members: [] })
  keys.admin = await admin.mcpKey()
  keys.bert = await bert.mcpKey()
  await online(admin, ['varied', 'slow'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const raw = (path: string, who = 'admin'): RawClient => new RawClient(hub, path, keys[who] ?? who)

interface Refusal {
  readonly status: number
  readonly text: string
  readonly body: Answer
  readonly headers: Headers
}

async function refusal(work: Promise<Response>): Promise<Refusal> {
  const response = await work
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers }
}

const withoutIds = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, '"requestId":""')

/** Number of messages that the upstream has received, without the hub's own housekeeping. */
async function heard(): Promise<number> {
  const client = await raw('/mcp/varied').open()
  const { result } = await client.call('tools/call', { name: 'seen', arguments: {} })
  await client.delete()
  return (JSON.parse(result.content[0].text) as { method: string }[]).filter(
    ({ method, params }: { method: string; params?: { name?: string } }) =>
      method === 'tools/call' && params?.name !== 'seen',
  ).length
}

describe('P-01 a session id', () => {
  test('P-01 is visible ASCII of at most 256 characters, never the same, and tells nothing', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => raw('/mcp/g').open()))
    const ids = clients.map(client => client.sessionId)
    expect(new Set(ids).size).toBe(20)
    for (const id of ids) {
      expect(id).toMatch(/^[\x21-\x7e]{32,256}$/)
      expect(Buffer.from(id, 'base64url').toString('latin1')).not.toContain('mcp/g')
    }
  })

  test('P-01 of another principal, or on another path, gets the 404 of an unknown one, for every method [CVE-2025-6515 CVE-2026-33946]', async () => {
    const own = await raw('/mcp/g').open()
    const unknown = raw('/mcp/g')
    unknown.headers['mcp-session-id'] = `${own.sessionId.slice(0, -2)}AA`
    const elsewhere = ['/mcp/h', '/mcp', '/mcp/varied'].map(path => raw(path))
    const foreign = raw('/mcp/g', 'bert')
    for (const client of [...elsewhere, foreign]) client.headers['mcp-session-id'] = own.sessionId
    const expected = await refusal(unknown.post(LIST))
    expect([expected.status, expected.body.error?.code, expected.body.error?.data?.code]).toEqual([
      404,
      -32600,
      'session_not_found',
    ])
    for (const client of [...elsewhere, foreign]) {
      const posted = await refusal(client.post(LIST))
      expect([posted.status, withoutIds(posted.text)]).toEqual([404, withoutIds(expected.text)])
      for (const work of [client.get(), client.delete()]) expect((await refusal(work)).status).toBe(404)
    }
    // Nothing of that ended or moved the session.
    expect((await own.call('tools/list')).result.tools.length).toBeGreaterThan(3)
  })

  test('P-01 of one key is not for another key of the same user with other scopes', async () => {
    const narrow = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: [{ group: 'g' }] })
    const own = await raw('/mcp/g').open()
    const other = raw('/mcp/g', narrow.secret)
    other.headers['mcp-session-id'] = own.sessionId
    expect((await refusal(other.post(LIST))).status).toBe(404)
  })
})

async function expectEnded(client: RawClient): Promise<void> {
  const uses = [
    client.post(LIST),
    client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    client.post({ jsonrpc: '2.0', id: 1, result: {} }),
    client.get(),
    client.get({ 'last-event-id': 'x.1.1' }),
    client.delete(),
  ]
  for (const use of uses) {
    const { status, body } = await refusal(use)
    expect([status, body.jsonrpc, body.error?.code, body.error?.data?.code]).toEqual([
      404,
      '2.0',
      -32600,
      'session_not_found',
    ])
  }
}

describe('P-02 every use of a session that has ended is 404 with a JSON-RPC body', () => {
  test('P-02 after DELETE, which is 204', async () => {
    const client = await raw('/mcp/g').open()
    const deleted = await client.delete()
    expect([deleted.status, await deleted.text()]).toEqual([204, ''])
    await expectEnded(client)
  })

  test('P-02 after an administrator ended it', async () => {
    const client = await raw('/mcp/h').open()
    const { items } = await admin.ok('GET', '/api/admin/sessions')
    const shown = items.filter((item: { scope: string }) => item.scope === '/mcp/h')
    expect(JSON.stringify(items)).not.toContain(client.sessionId)
    for (const { id } of shown) await admin.ok('DELETE', `/api/admin/sessions/${id}`)
    await expectEnded(client)
  })
})

describe('P-04 a wrong Host or Origin', () => {
  test('P-04 is 403 before authentication, and nothing reaches the upstream', async () => {
    const before = await heard()
    const client = await raw('/mcp/varied').open()
    const call = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'raw', arguments: {} } }
    const wrong = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { host: 'evil.example' },
      { host: `evil.example:${new URL(hub.url).port}` },
    ]
    for (const headers of wrong) {
      expect((await client.post(call, headers)).status).toBe(403)
      const anonymous = await fetch(`${hub.url}/mcp/varied`, {
        method: 'POST',
        headers: { ...HEADERS, ...headers },
        body: JSON.stringify(INITIALIZE),
      })
      expect(anonymous.status).toBe(403)
      expect((await client.get(headers)).status).toBe(403)
    }
    expect(await heard()).toBe(before)
  })

  test('P-04 no Origin passes, and the hub’s own does', async () => {
    const client = await raw('/mcp/g').open()
    expect((await client.post(LIST)).status).toBe(200)
    expect((await client.post({ ...LIST, id: 3 }, { origin: hub.url })).status).toBe(200)
  })
})

describe('P-05 401', () => {
  test('P-05 is a Bearer challenge that names the metadata, the same for names that do not exist', async () => {
    const ask = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${hub.url}${path}`, {
        method: 'POST',
        headers: { ...HEADERS, ...headers },
        body: JSON.stringify(INITIALIZE),
      })
    for (const path of ['/mcp', '/mcp/g', '/mcp/@bert/g', '/mcp/no-such']) {
      const { status, headers, body } = await refusal(ask(path))
      expect([status, body.error?.code, body.error?.data?.code]).toEqual([401, -32600, 'unauthenticated'])
      expect(headers.get('www-authenticate')).toBe(
        `Bearer realm="patchbay", scope="mcp:tools", resource_metadata="${hub.url}/.well-known/oauth-protected-resource${path}"`,
      )
    }
    const refused = await refusal(ask('/mcp/g', { authorization: 'Bearer pb_wrong' }))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
    for (const authorization of ['Bearer ', `Basic ${keys.admin}`, `Bearer ${keys.admin?.slice(0, -1)}`])
      expect((await ask('/mcp/g', { authorization })).status).toBe(401)
    const inQuery = await refusal(ask(`/mcp/g?token=${keys.admin}`, { authorization: `Bearer ${keys.admin}` }))
    expect([inQuery.status, inQuery.body.error?.data?.code]).toEqual([400, 'token_in_url'])
  })

  test('P-05 one’s credential opens the own group of a name and never the other’s', async () => {
    expect((await (await raw('/mcp/g').open()).call('tools/list')).result.tools.length).toBeGreaterThan(3)
    expect((await (await raw('/mcp/g', 'bert').open()).call('tools/list')).result.tools).toEqual([])
    const foreign = await refusal(raw('/mcp/@admin/g', 'bert').post(INITIALIZE))
    const missing = await refusal(raw('/mcp/@admin/x', 'bert').post(INITIALIZE))
    expect([foreign.status, withoutIds(foreign.text)]).toEqual([
      404,
      withoutIds(missing.text).replace('\\"@admin/x\\"', '\\"@admin/g\\"'),
    ])
  })
})

describe('P-06 an array', () => {
  const calls = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ jsonrpc: '2.0', id: index, method: 'ping' }))

  test('P-06 is answered in full for 2025-03-26: requests, notifications, answers and broken messages', async () => {
    const client = await raw('/mcp/g').open('2025-03-26')
    const batch = [
      { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
      { jsonrpc: '2.0', method: 'notifications/whatever' },
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'quick' } },
      { jsonrpc: '2.0', id: 8, method: 'no/such' },
      { jsonrpc: '1.0', id: 9, method: 'ping' },
      { jsonrpc: '2.0', id: 77, result: {} },
    ]
    const response = await client.post(batch)
    const answers = (await response.json()) as Answer[]
    expect(response.status).toBe(200)
    expect(answers.map(({ id }) => id).sort()).toEqual([7, 8, 9, 'a'])
    const errors = Object.fromEntries(answers.map(({ id, error }) => [String(id), error?.code]))
    expect(errors).toEqual({ a: undefined, '7': undefined, '8': -32601, '9': -32600 })
    expect((await client.post(calls(100))).status).toBe(200)
    expect((await client.post([{ jsonrpc: '2.0', method: 'notifications/x' }])).status).toBe(202)
  })

  test('P-06 that is empty, of 101, or has an initialize is 400, and so is any for later versions', async () => {
    const old = await raw('/mcp/g').open('2025-03-26')
    for (const body of [[], calls(101), [INITIALIZE]]) {
      const { status, body: answer } = await refusal(old.post(body))
      expect([status, answer.error?.code, 'id' in answer]).toEqual([400, -32600, false])
    }
    for (const version of ['2025-06-18', '2025-11-25']) {
      const client = await raw('/mcp/g').open(version)
      const { status, body } = await refusal(client.post(calls(1)))
      expect([status, body.error?.code]).toEqual([400, -32600])
    }
  })
})

describe('P-07 the version', () => {
  test('P-07 told is the client’s if the hub speaks it, else the latest, whatever the upstreams speak', async () => {
    for (const [asked, told] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['1999-01-01', '2025-11-25'],
      ['2099-01-01', '2025-11-25'],
    ]) {
      const response = await raw('/mcp/g').post({
        ...INITIALIZE,
        params: { ...INITIALIZE.params, protocolVersion: asked },
      })
      expect(((await response.json()) as Answer).result.protocolVersion).toBe(told)
    }
  })

  test('P-07 header unlike the session’s, or unknown, is 400 for POST, GET and DELETE; none passes', async () => {
    const client = await raw('/mcp/g').open('2025-06-18')
    for (const version of ['2025-11-25', '1999-01-01', 'x']) {
      client.headers['mcp-protocol-version'] = version
      for (const work of [client.post(LIST), client.get(), client.delete()]) {
        const { status, body } = await refusal(work)
        expect([status, body.error?.code]).toEqual([400, -32600])
      }
    }
    delete client.headers['mcp-protocol-version']
    expect((await client.post(LIST)).status).toBe(200)
  })
})

describe('P-12 a second request with an id in flight', () => {
  test('P-12 is -32600, the first completes, the process lives, and the id is free again afterwards [CVE-2025-53365 CVE-2025-53366]', async () => {
    const client = await raw('/mcp/g').open()
    const ms = atLeast(500)
    for (const id of extent([1, ''], [1, 'one', 0, ''])) {
      const first = client.send('tools/call', { name: 'wait', arguments: { ms } }, id)
      await inFlight(admin)
      const second = await refusal(client.send('tools/call', { name: 'quick' }, id))
      expect([second.status, second.body.error?.code, second.body.id]).toEqual([400, -32600, id])
      const answer = (await (await first).json()) as Answer
      expect([answer.id, answer.result?.content[0].text]).toEqual([id, `waited ${ms}`])
      expect(((await (await client.send('tools/call', { name: 'quick' }, id)).json()) as Answer).id).toBe(id)
    }
    // A number and a text are two ids.
    const both = [1, '1'].map(id => client.send('tools/call', { name: 'wait', arguments: { ms: 100 } }, id))
    const ids = await Promise.all(both.map(async work => ((await (await work).json()) as Answer).id))
    expect(ids).toEqual([1, '1'])
  })
})

describe('refusals at /mcp', () => {
  test('each by its status, its JSON-RPC code and the code of the hub, and nothing is sent upstream', async () => {
    const client = await raw('/mcp/g').open()
    const text = JSON.stringify(LIST)
    const deep = `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":${'{"a":'.repeat(65)}1${'}'.repeat(65)}}`
    const message = (more: object) => client.post({ jsonrpc: '2.0', id: 5, method: 'tools/list', ...more })
    const withoutSession = raw('/mcp/g')
    const before = await heard()
    const bytes = fetch(`${hub.url}/mcp/g`, {
      method: 'POST',
      headers: client.headers,
      body: Buffer.from(text.replace('tools', 't\u00ffools'), 'latin1'),
    })
    const cases: [string, Promise<Response>, number, number, string][] = [
      ['no session id', withoutSession.post(LIST), 400, -32600, 'session_required'],
      ['no session id on GET', withoutSession.get(), 400, -32600, 'session_required'],
      ['no session id on DELETE', withoutSession.delete(), 400, -32600, 'session_required'],
      ['initialize again', client.post(INITIALIZE), 400, -32600, 'request_invalid'],
      ['not JSON', client.post('{'), 400, -32700, 'json_invalid'],
      ['nothing', client.post(''), 400, -32700, 'json_empty'],
      ['not UTF-8', bytes, 400, -32700, 'json_encoding'],
      ['jsonrpc 1.0', message({ jsonrpc: '1.0' }), 400, -32600, 'request_invalid'],
      ['method 5', message({ method: 5 }), 400, -32600, 'request_invalid'],
      ['method missing', message({ method: undefined }), 400, -32600, 'request_invalid'],
      ['Method', message({ method: undefined, Method: 'ping' }), 400, -32600, 'request_invalid'],
      ['id null', message({ id: null }), 400, -32600, 'request_invalid'],
      ['id an object', message({ id: {} }), 400, -32600, 'request_invalid'],
      ['params a text', message({ params: 'x' }), 400, -32600, 'request_invalid'],
      ['depth 65', client.post(deep), 400, -32600, 'json_too_deep'],
      ['null', client.post('null'), 400, -32600, 'request_invalid'],
      ['unknown method', message({ method: 'no/such' }), 200, -32601, 'method_not_found'],
      ['unknown tool', message({ method: 'tools/call', params: { name: 'quikc' } }), 200, -32602, 'tool_not_found'],
      ['no name', message({ method: 'tools/call', params: {} }), 200, -32602, 'params_invalid'],
      [
        'arguments a text',
        message({ method: 'tools/call', params: { name: 'raw', arguments: 'x' } }),
        200,
        -32602,
        'params_invalid',
      ],
      ['bad cursor', message({ params: { cursor: 'x' } }), 200, -32602, 'cursor_invalid'],
      ['cursor 5', message({ params: { cursor: 5 } }), 200, -32602, 'params_invalid'],
      ['bad level', message({ method: 'logging/setLevel', params: { level: 'x' } }), 200, -32601, 'method_not_found'],
      ['unknown prompt', message({ method: 'prompts/get', params: { name: 'x' } }), 200, -32602, 'prompt_not_found'],
      [
        'unknown resource',
        message({ method: 'resources/read', params: { uri: 'x://y' } }),
        200,
        -32002,
        'resource_not_found',
      ],
      ['Accept', client.post(LIST, { accept: 'text/html' }), 406, -32600, 'not_acceptable'],
      ['Accept of streams alone', client.post(LIST, { accept: 'text/event-stream' }), 406, -32600, 'not_acceptable'],
      ['Accept of a GET', client.get({ accept: 'application/json' }), 406, -32600, 'not_acceptable'],
      ['text/plain', client.post(LIST, { 'content-type': 'text/plain' }), 415, -32600, 'content_type'],
      ['gzip', client.post(LIST, { 'content-encoding': 'gzip' }), 415, -32600, 'encoding_not_supported'],
      ['over 4 MiB', client.post(`"${'x'.repeat(4 * 1024 * 1024)}"`), 413, -32600, 'body_too_large'],
      [
        'PUT',
        fetch(`${hub.url}/mcp/g`, { method: 'PUT', headers: client.headers, body: text }),
        405,
        -32600,
        'method_not_allowed',
      ],
    ]
    for (const [what, work, status, code, name] of cases) {
      const seen = await refusal(work)
      const { error } = seen.body
      expect([what, seen.status, error?.code, error?.data?.code]).toEqual([what, status, code, name])
      expect([what, typeof error?.data?.requestId]).toEqual([what, 'string'])
      if (seen.status === 405) expect(seen.headers.get('allow')).toBe('GET, POST, DELETE')
    }
    expect(await heard()).toBe(before)
  })

  test('a foreign, an unknown and a nonsensical path are the same 404', async () => {
    const texts = new Set<string>()
    for (const path of ['/mcp/nothing', '/mcp/@bert/g', '/mcp/@nobody/g', '/mcp/@/g', '/mcp/a/b/c']) {
      const { status, text, body } = await refusal(raw(path).post(INITIALIZE))
      expect([path, status, body.error?.data?.code]).toEqual([path, 404, 'group_not_found'])
      texts.add(withoutIds(text).replaceAll(/\\"[^"]*\\"/g, '?'))
    }
    expect(texts.size).toBeLessThanOrEqual(2)
  })

  test('an unknown tool is answered with near names of this group only', async () => {
    const client = await raw('/mcp/h').open()
    const { error } = await client.call('tools/call', { name: 'quikc' })
    expect(String(error?.data?.hint)).toContain('quick')
    const other = await client.call('tools/call', { name: 'emitt' })
    expect(JSON.stringify(other.error)).not.toContain('\\"emit\\"')
  })

  test('a cancellation of an unknown id, an unknown notification and an answer to nothing are 202', async () => {
    const client = await raw('/mcp/g').open()
    const messages = [
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 404 } },
      { jsonrpc: '2.0', method: 'notifications/cancelled' },
      { jsonrpc: '2.0', method: 'notifications/unheard' },
      { jsonrpc: '2.0', id: 404, result: {} },
      { jsonrpc: '2.0', id: 404, error: { code: 1, message: 'no' } },
    ]
    for (const message of messages) {
      const response = await client.post(message)
      expect([response.status, await response.text()]).toEqual([202, ''])
    }
    expect((await client.call('ping')).result).toEqual({})
  })
})

// Last, since the hub is another one afterwards.
test('P-02 a session that ended before a restart of the hub stays ended; others continue', async () => {
  const client = await raw('/mcp/varied').open()
  const other = await raw('/mcp/varied').open()
  expect((await client.delete()).status).toBe(204)
  expect(await hub.stop({ keep: true })).toBe(0)
  hub = await startHub({ folder: hub.folder, env: LOOPBACK })
  const again = raw('/mcp/varied')
  again.headers['mcp-session-id'] = client.sessionId
  await expectEnded(again)
  const going = raw('/mcp/varied')
  going.headers['mcp-session-id'] = other.sessionId
  expect((await going.call('tools/list')).result.tools.length).toBeGreaterThan(3)
  const reopened = await raw('/mcp/varied').open()
  expect((await reopened.call('tools/list')).result.tools.length).toBeGreaterThan(3)
}, 120_000)
