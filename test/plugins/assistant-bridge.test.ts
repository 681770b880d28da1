/** A hub and assistants on both sides: platforms that it dials, devices that dial it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { rawRequest } from '../support/raw-http.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const API_KEY = 'the-key-of-every-endpoint'
const ENDPOINTS = '/api/assistant/endpoints'

interface Message {
  readonly id?: unknown
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into it as they expect it
  readonly result?: any
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly error?: any
}

/** One end of a socket, as an assistant has it. */
interface Assistant {
  readonly heard: Message[]
  readonly texts: string[]
  closed: number | undefined
  send(message: object | string): void
  ping(): void
  close(code?: number): void
}

function answerTo(assistant: Assistant, id: unknown): Promise<Message> {
  return until(() => assistant.heard.find(message => message.id === id), { what: `an answer to ${String(id)}` })
}

async function ask(assistant: Assistant, id: number | string, method: string, params: object = {}): Promise<Message> {
  assistant.send({ jsonrpc: '2.0', id, method, params })
  return answerTo(assistant, id)
}

/** A platform to which the hub dials. */
function startPlatform() {
  const sockets: Assistant[] = []
  const addresses: string[] = []
  const refuse = { status: 0 }
  const server = Bun.serve<{ assistant: Assistant | undefined }>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, serving) {
      addresses.push(request.url)
      if (refuse.status !== 0) return new Response('no', { status: refuse.status })
      return serving.upgrade(request, { data: { assistant: undefined } }) ? undefined : new Response('no')
    },
    websocket: {
      open(ws) {
        const assistant: Assistant = {
          ...{ heard: [], texts: [], closed: undefined },
          send: message => void ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
          ping: () => void ws.ping(),
          close: code => ws.close(code),
        }
        ws.data.assistant = assistant
        sockets.push(assistant)
      },
      message: ({ data }, text) => note(data.assistant, String(text)),
      close({ data }, code) {
        if (data.assistant) data.assistant.closed = code
      },
    },
  })
  return { sockets, addresses, refuse, url: `ws://127.0.0.1:${server.port}/mcp/?token=`, stop: () => server.stop(true) }
}

function note(assistant: Assistant | undefined, text: string): void {
  assistant?.texts.push(text)
  assistant?.heard.push(JSON.parse(text) as Message)
}

/** A device that dials the hub; `closed` is set when it is turned away too. */
async function dial(hub: Hub, query: string, headers: Record<string, string> = {}): Promise<Assistant> {
  const ws = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws${query}`, { headers } as never)
  const assistant: Assistant = {
    ...{ heard: [], texts: [], closed: undefined },
    send: message => ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
    // Only Bun's WebSocket has this method.
    ping: () => (ws as WebSocket & { ping(): void }).ping(),
    close: code => ws.close(code),
  }
  ws.onmessage = ({ data }) => note(assistant, String(data))
  ws.onclose = ({ code }) => {
    assistant.closed = code
  }
  await until(() => ws.readyState === WebSocket.OPEN || assistant.closed !== undefined, { what: 'the socket' })
  return assistant
}

const upgrade = (query: string, more = '') =>
  `GET /api/assistant/ws${query} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  `sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

describe('a hub that serves assistants', () => {
  let hub: Hub
  let admin: Client
  let bob: Client
  const platform = startPlatform()

  beforeAll(async () => {
    hub = await startHub({
      env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: API_KEY },
      settings: {
        mcpServers: {
          echo: { ...stdioFixture('echo'), session: 'shared' },
          slow: { ...stdioFixture('slow'), session: 'shared' },
        },
      },
    })
    admin = await hub.setup()
    bob = await hub.user('bob')
    await admin.ok('POST', '/api/groups', { name: 'home', members: ['echo', 'slow'] })
    await online(admin, ['echo', 'slow'])
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await platform.stop()
  }, 120_000)

  const outbound = (name: string, more: object = {}) => ({
    ...{ name, direction: 'outbound', url: `${platform.url}a-secret-token-${name}`, group: 'home', ...more },
  })
  const state = async (name: string, client = admin) => (await client.ok('GET', `${ENDPOINTS}/${name}`)).status
  const make = (body: object, client = admin) => client.ok('POST', ENDPOINTS, body)

  test('dials a platform, which lists and calls tools; ids come back as they were', async () => {
    const made = await make(outbound('kitchen'))
    expect(made).toMatchObject({ group: 'admin~home', url: `${platform.url}••••chen`, enabled: true })
    const socket = await until(() => platform.sockets.at(-1))
    const hello = await ask(socket, 0, 'initialize', { protocolVersion: '2024-11-05' })
    expect(hello.result).toMatchObject({ protocolVersion: '2024-11-05', serverInfo: { name: 'patchbay' } })
    const listed = await ask(socket, 'list', 'tools/list')
    expect(listed.result.tools.map(({ name }: { name: string }) => name)).toContain('echo')
    const called = await ask(socket, 7, 'tools/call', { name: 'echo', arguments: { text: 'hello' } })
    expect(called.result).toEqual({ content: [{ type: 'text', text: 'hello' }], isError: false })
    socket.send('{"jsonrpc":"2.0","id":12345678901234567890.0,"method":"ping"}')
    await until(() => socket.texts.includes('{"jsonrpc":"2.0","id":12345678901234567890.0,"result":{}}'))
    expect((await ask(socket, 8, 'tools/call', { name: 'nobody' })).error.code).toBe(-32_602)
    expect((await ask(socket, 9, 'resources/list')).error.code).toBe(-32_601)
    const long = await ask(socket, 10, 'tools/call', { name: 'echo', arguments: { text: '€'.repeat(5_000) } })
    expect([...long.result.content[0].text]).toHaveLength(2_000)
    expect(await state('kitchen')).toMatchObject({ state: 'connected', connects: 1, leftOut: [] })
    const { items } = await admin.ok('GET', `${ENDPOINTS}/kitchen/messages`)
    expect(items).toContainEqual(expect.objectContaining({ direction: 'in', method: 'tools/call', tool: 'echo' }))
    expect(JSON.stringify(items)).not.toContain('hello')
  })

  test('shows the token of the address to nobody, and keeps it where the mask comes back', async () => {
    const before = platform.addresses.length
    const shown = await admin.ok('GET', `${ENDPOINTS}/kitchen`)
    await admin.ok('PATCH', `${ENDPOINTS}/kitchen`, { limits: { tools: 1 } })
    await until(() => platform.addresses.length > before, { what: 'another connection' })
    expect(platform.addresses.at(-1)).toEndWith('token=a-secret-token-kitchen')
    const elsewhere = await admin.request('PATCH', `${ENDPOINTS}/kitchen`, {
      url: shown.url.replace('127.0.0.1', '127.0.0.9'),
    })
    expect(elsewhere.json.errors).toMatchObject([{ pointer: '#/url', code: 'secret_mask' }])
    const text = `${JSON.stringify(await admin.ok('GET', ENDPOINTS))}${hub.log()}`
    expect(text).not.toContain('a-secret-token')
    const limited = await until(async () => {
      const now = await state('kitchen')
      return now.tools?.length === 1 && now
    })
    expect(limited.leftOut.length).toBeGreaterThan(1)
  })

  beyondCore(() => {
    test('a changed list connects again once no call is in flight', async () => {
      // The connection before the last change may still look open: the one that answers is the present one.
      const socket = await until(
        async () => {
          const last = platform.sockets.at(-1)
          if (!last || last.closed !== undefined || (await state('kitchen')).state !== 'connected') return undefined
          last.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } })
          return (await until(() => last.heard.some(({ id }) => id === 1), { timeoutMs: 1_000 })) && last
        },
        { what: 'a connection that answers', timeoutMs: 60_000 },
      )
      socket.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      await ask(socket, 2, 'tools/list')
      await admin.ok('PATCH', '/api/groups/home', { members: ['slow'] })
      // Changes that follow one another within 3 s count as one, and a new connection waits up to 10 s for lists.
      const within = (what: string) => ({ what, timeoutMs: 60_000 })
      const isTold = () => socket.heard.some(({ method }) => method === 'notifications/tools/list_changed')
      await until(isTold, within('the notification'))
      await until(() => socket.closed === 1_000, within('the end of the first connection'))
      await until(() => platform.sockets.at(-1) !== socket, within('the second connection'))
      await admin.ok('PATCH', '/api/groups/home', { members: ['echo', 'slow'] })
    }, 300_000)
  })

  test('a platform that refuses the token is left alone for ten minutes', async () => {
    platform.refuse.status = 401
    await make(outbound('refused'))
    const now = await until(async () => {
      const is = await state('refused')
      return is.state === 'refused' && is
    })
    platform.refuse.status = 0
    expect(now.code).toBe('token_refused')
    expect(Date.parse(now.nextTryAt) - Date.parse(now.since)).toBeGreaterThan(595_000)
    await admin.ok('POST', `${ENDPOINTS}/refused/reconnect`)
    await until(async () => (await state('refused')).state === 'connected')
    await admin.ok('DELETE', `${ENDPOINTS}/refused`)
  })

  test('a device dials in by its token; a newer connection takes over', async () => {
    const { token } = await make({ name: 'box', direction: 'inbound', group: 'home' })
    expect(JSON.stringify(await admin.ok('GET', `${ENDPOINTS}/box`))).not.toContain(token)
    const first = await dial(hub, `?token=${token}`)
    expect((await ask(first, 1, 'tools/call', { name: 'echo', arguments: { text: 'x' } })).result.isError).toBe(false)
    const second = await dial(hub, '', { authorization: `Bearer ${token}` })
    await until(() => first.closed === 4_001)
    expect((await ask(second, 1, 'ping')).result).toEqual({})
    const third = await dial(hub, '?endpoint=admin~box', { authorization: `Bearer ${API_KEY}` })
    await until(() => second.closed === 4_001)
    const renewed = await admin.ok('POST', `${ENDPOINTS}/box/token`)
    await until(() => third.closed !== undefined)
    expect((await rawRequest(hub.url, upgrade(`?token=${token}`))).status).toBe(401)
    const fourth = await dial(hub, `?token=${renewed.token}`)
    expect(fourth.closed).toBeUndefined()
    for (const text of ['no', '[]', '{}']) fourth.send(text)
    await until(() => fourth.closed === 1_008)
    expect(fourth.heard.map(({ error }) => error.code)).toEqual([-32_700, -32_600, -32_600])
  })

  test('turns away who has no credential of an endpoint, before the upgrade', async () => {
    await make({ name: 'shut', direction: 'inbound', group: 'home' })
    const cases: readonly (readonly [string, string, number, string])[] = [
      ['', '', 401, 'unauthenticated'],
      ['?token=nonsense', '', 401, 'token_invalid'],
      [`?token=${API_KEY}&endpoint=admin~shut`, '', 401, 'token_invalid'],
      ['', `authorization: Bearer ${API_KEY}\r\n`, 401, 'token_invalid'],
      ['?endpoint=admin~kitchen', `authorization: Bearer ${API_KEY}\r\n`, 401, 'token_invalid'],
      ['?endpoint=admin~shut', `authorization: Bearer ${admin.token}\r\n`, 401, 'token_invalid'],
      ['?token=x', 'origin: https://evil.example\r\n', 403, 'origin_not_allowed'],
    ]
    for (const [query, headers, status, code] of cases) {
      const answer = await rawRequest(hub.url, upgrade(query, headers))
      expect([query, answer.status, JSON.parse(answer.body || '{}').code]).toEqual([query, status, code])
    }
    const plain = await admin.request('GET', '/api/assistant/ws?token=whatever-it-is')
    expect([plain.status, plain.json.code, plain.text.includes('whatever')]).toEqual([426, 'upgrade_required', false])
    expect((await admin.request('GET', '/api/servers?token=x')).json.code).toBe('token_in_url')
  })

  beyondCore(() => {
    test('wrong credentials from the same address do not keep an assistant out', async () => {
      const { token } = await make({ name: 'shared', direction: 'inbound', group: 'home' })
      const wrong = () =>
        rawRequest(hub.url, `GET /api/servers HTTP/1.1\r\nhost: 127.0.0.1\r\nx-auth-token: wrong\r\n\r\n`)
      // Repeated, since the budget may come back meanwhile on a slow machine.
      await until(async () =>
        (await Promise.all(Array.from({ length: 150 }, wrong))).some(({ status }) => status === 429),
      )
      const device = await dial(hub, `?token=${token}`)
      expect((await ask(device, 1, 'ping')).result).toEqual({})
    })

    test('one user’s assistants together cannot keep the hub busy: who sends too much is closed', async () => {
      const mallory = await hub.user('mallory')
      await mallory.ok('POST', '/api/groups', { name: 'own', members: [] })
      const devices: Assistant[] = []
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const { token } = await make({ name, direction: 'inbound', group: 'own' }, mallory)
        devices.push(await dial(hub, `?token=${token}`))
      }
      const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
      const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none","arguments":{"a":${nested}}}}`
      // 24 frames of 60,000 characters are 360 of the 400; none of the six devices sends more than 100 a second.
      for (let sent = 0; sent < 60; sent += 1) devices[sent % devices.length]?.send(deep)
      await until(() => devices.some(({ closed }) => closed === 1_008), { what: 'the end of a connection' })
      const answered = devices.reduce((sum, { texts }) => sum + texts.length, 0)
      // On a slow machine the sending itself takes more than the second for which frames are counted.
      expect(answered).toBeLessThan(60)
      expect((await admin.request('GET', '/health')).status).toBe(200)
    })

    test('a platform or a device that pings without end is closed', async () => {
      const before = platform.sockets.length
      await make(outbound('pinging'))
      const pinging = await until(() => platform.sockets[before], { what: 'the platform to be dialled' })
      await until(() => {
        for (let sent = 0; sent < 500; sent += 1) pinging.ping()
        return pinging.closed !== undefined
      })
      expect(pinging.closed).toBe(1_008)
      await admin.ok('DELETE', `${ENDPOINTS}/pinging`)
      const { token } = await make({ name: 'pinged', direction: 'inbound', group: 'home' })
      const device = await dial(hub, `?token=${token}`)
      await until(() => {
        for (let sent = 0; sent < 200; sent += 1) device.ping()
        return device.closed !== undefined
      })
      expect(device.closed).toBe(1_008)
    })
  })

  test('is each user’s own: what is not one’s is missing, and a group must be usable', async () => {
    await expect(bob.ok('GET', `${ENDPOINTS}/admin~kitchen`)).rejects.toThrow('endpoint_not_found')
    const foreign = await bob.request('POST', ENDPOINTS, { ...outbound('mine'), group: 'admin~home' })
    expect(foreign.json.errors).toMatchObject([{ pointer: '#/group', code: 'member_not_found' }])
    await admin.ok('PATCH', '/api/groups/home', { visibility: 'public' })
    await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
    const { token } = await make({ name: 'mine', direction: 'inbound', group: 'admin~home' }, bob)
    const device = await dial(hub, `?token=${token}`)
    const tools = (await ask(device, 1, 'tools/list')).result.tools as { readonly name: string }[]
    expect(tools.map(({ name }) => name)).toContain('echo')
    await admin.ok('PATCH', '/api/groups/home', { visibility: 'private' })
    expect((await ask(device, 2, 'tools/list')).error.message).toMatch(/that you may use|is bound to is gone/)
    expect((await bob.ok('GET', `${ENDPOINTS}/mine`)).group).toBeNull()
    await admin.ok('PATCH', '/api/admin/users/bob', { disabled: true })
    await until(() => device.closed === 1_000)
  })

  test('a bound group is deleted by force alone', async () => {
    await admin.ok('POST', '/api/groups', { name: 'bound', members: ['echo'] })
    await make({ name: 'holder', direction: 'inbound', group: 'bound' })
    const refused = await admin.request('DELETE', '/api/groups/bound')
    expect([refused.status, refused.json.code]).toEqual([409, 'group_in_use'])
    await admin.ok('DELETE', '/api/groups/bound?force=true')
    expect(await admin.ok('GET', `${ENDPOINTS}/holder`)).toMatchObject({ group: null, status: { state: 'waiting' } })
    await admin.ok('PATCH', `${ENDPOINTS}/holder`, { enabled: false })
    expect((await state('holder')).state).toBe('off')
  })

  test('one may have twenty', async () => {
    const eve = await hub.user('eve')
    await eve.ok('POST', '/api/groups', { name: 'own', members: [] })
    for (let made = 0; made < 20; made += 1)
      await make({ name: `n${made}`, direction: 'inbound', group: 'own', enabled: false }, eve)
    const more = await eve.request('POST', ENDPOINTS, { name: 'more', direction: 'inbound', group: 'own' })
    expect(more.json.code).toBe('quota_endpoints')
    const { items } = await eve.ok('GET', '/api/limits')
    expect(items).toContainEqual({ name: 'assistantEndpointsPerUser', value: 20, unit: 'count', used: 20 })
  })
})

test('a hub without ASSISTANT_ENABLED keeps endpoints and serves none', async () => {
  const hub = await startHub({ settings: { mcpServers: { echo: { ...stdioFixture('echo'), enabled: false } } } })
  try {
    const admin = await hub.setup()
    const made = await admin.ok('POST', ENDPOINTS, { name: 'box', direction: 'inbound', group: 'echo' })
    expect(made).toMatchObject({ kind: 'server', status: { state: 'off', code: 'assistant_disabled' } })
    const answer = await rawRequest(hub.url, upgrade(`?token=${made.token}`))
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([404, 'assistant_disabled'])
    expect((await admin.ok('GET', '/api/public/info')).features.assistant).toBe(false)
  } finally {
    await hub.stop()
  }
})
