/** Assistant endpoints of the settings file, endpoints bound to views, and the API behind the console's Test button. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rename, writeFile } from 'node:fs/promises'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const API_KEY = 'the-key-of-every-endpoint'
const ENDPOINTS = '/api/assistant/endpoints'
const TOKEN = 'a-token-of-the-settings-file-0123456789'
const servers = {
  echo: { ...stdioFixture('echo'), session: 'shared' },
  slow: { ...stdioFixture('slow'), session: 'shared' },
}

/** Behaviour of a platform that the hub dials. */
type Manner = 'asks' | 'silent' | 'refuses' | 'closes'

/** A platform whose tokens select its behaviour. */
function startPlatform() {
  const seen: { readonly manner: string; readonly heard: unknown[]; closed: number | undefined }[] = []
  const server = Bun.serve<(typeof seen)[number]>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, serving) {
      const manner = (new URL(request.url).searchParams.get('token') ?? '').split('.')[0] ?? ''
      if (manner === 'refuses') return new Response('no', { status: 401 })
      const data = { manner, heard: [], closed: undefined }
      return serving.upgrade(request, { data }) ? undefined : new Response('no')
    },
    websocket: {
      open(ws) {
        seen.push(ws.data)
        if (ws.data.manner === 'closes') ws.close(4004, 'not here')
        if (ws.data.manner !== 'asks') return
        const initialize = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'p', version: '1' } }
        ws.send(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize }))
        ws.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        ws.send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        ws.send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}')
      },
      message: ({ data }, text) => void data.heard.push(JSON.parse(String(text))),
      close({ data }, code) {
        data.closed = code
      },
    },
  })
  const url = (manner: Manner) => `ws://127.0.0.1:${server.port}/mcp?token=${manner}.0123456789abcdef`
  return { seen, url, stop: () => server.stop(true) }
}

describe('assistants of a hub', () => {
  const platform = startPlatform()
  let hub: Hub
  let admin: Client
  let bob: Client

  const inFile = (endpoints: readonly object[]) => ({
    mcpServers: servers,
    groups: [{ name: 'home', members: ['echo'] }],
    assistant: { endpoints },
  })
  const box = { name: 'box', direction: 'inbound', group: 'home', token: TOKEN }
  const edit = async (settings: object): Promise<void> => {
    await writeFile(`${hub.settingsFile}.tmp`, JSON.stringify(settings), { mode: 0o600 })
    await rename(`${hub.settingsFile}.tmp`, hub.settingsFile)
  }
  const names = async (client = admin): Promise<string[]> =>
    (await client.ok('GET', ENDPOINTS)).items.map(({ name }: { name: string }) => name)
  const make = (name: string, more: object, client = admin) =>
    client.ok('POST', ENDPOINTS, { name, direction: 'inbound', group: 'home', ...more })
  const steps = async (name: string) => {
    const report = await admin.ok('POST', `${ENDPOINTS}/${name}/test`)
    const told = report.steps.map(({ name: step, outcome, code = '' }: Record<string, string>) => [step, outcome, code])
    return { ok: report.ok, told, report }
  }

  beforeAll(async () => {
    hub = await startHub({
      env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: API_KEY },
      settings: inFile([
        box,
        { name: 'kitchen', direction: 'outbound', group: '$smart/home', url: platform.url('asks'), enabled: false },
        { name: 'wrong', direction: 'sideways', group: 'home' },
        { name: 'his', direction: 'inbound', group: '$smart', owner: 'bob' },
      ]),
    })
    admin = await hub.setup()
    await online(admin, ['echo', 'slow'])
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await platform.stop()
  }, 120_000)

  test('are listed with their source, and changed in the file alone', async () => {
    expect(await names()).toEqual(['box', 'kitchen'])
    const endpoint = await admin.ok('GET', `${ENDPOINTS}/box`)
    expect([endpoint.origin, endpoint.group, endpoint.last4]).toEqual(['file', `${admin.name}~home`, TOKEN.slice(-4)])
    expect(JSON.stringify(endpoint)).not.toContain(TOKEN)
    for (const [method, path, body] of [
      ['PATCH', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/token', undefined],
    ] as const) {
      const answer = await admin.request(method, `${ENDPOINTS}/box${path}`, body)
      expect([answer.status, answer.json.code]).toEqual([409, 'setting_locked'])
    }
    const { fileProblems } = await admin.ok('GET', '/api/assistant')
    expect(fileProblems.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/assistant/endpoints/3/owner',
      '/assistant/endpoints/2/direction',
    ])
  })

  test('of a user who comes later are that user’s', async () => {
    bob = await hub.user('bob')
    await until(async () => (await names(bob)).includes('his'), { what: 'the endpoint of bob' })
    const { group, kind, view } = await bob.ok('GET', `${ENDPOINTS}/his`)
    expect([group, kind, view]).toEqual(['$smart', 'all', 'smart'])
    // These are the tools that bob may use, not those of the author of the file.
    expect((await bob.ok('GET', `${ENDPOINTS}/his/tools`)).items.map(({ name }: { name: string }) => name)).toEqual([
      ...['search_tools', 'describe_tool', 'call_tool'],
    ])
  })

  test('are opened by the token of the file until it is another one', async () => {
    const dial = async (token: string): Promise<boolean> => {
      const ws = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${token}`)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      ws.onopen = () => resolve(true)
      ws.onclose = () => resolve(false)
      const isOpen = await promise
      ws.close()
      return isOpen
    }
    expect(await dial(TOKEN)).toBe(true)
    const { id } = await admin.ok('GET', `${ENDPOINTS}/box`)
    await edit(inFile([{ ...box, token: `${TOKEN}-new` }]))
    // The endpoints of the file are changed one after the other.
    const changed = async () => (await admin.ok('GET', `${ENDPOINTS}/box`)).last4 === '-new'
    await until(async () => (await names()).length === 1 && (await changed()), { what: 'the edit' })
    expect((await admin.ok('GET', `${ENDPOINTS}/box`)).id).toBe(id)
    // The store has the edit before connections use it.
    await until(async () => !(await dial(TOKEN)), { what: 'the earlier token to open nothing' })
    await until(() => dial(`${TOKEN}-new`), { what: 'the new one to open it' })
    await edit(inFile([{ ...box, token: undefined }]))
    await until(async () => (await admin.ok('GET', `${ENDPOINTS}/box`)).last4 === undefined, { what: 'the edit' })
    await until(async () => !(await dial(`${TOKEN}-new`)), { what: 'the token that was taken out to open nothing' })
    await edit(inFile([]))
    await until(async () => (await names()).length === 0, { what: 'the edit' })
  })

  test('shows where it is switched on, and where devices dial in', async () => {
    const { enabled, source, apiKey, hasBridge, socket } = await admin.ok('GET', '/api/assistant')
    expect([enabled, source, hasBridge]).toEqual([true, 'env', true])
    expect(apiKey).toEqual({ set: true, source: 'env', variable: 'ASSISTANT_API_KEY' })
    expect(socket).toBe(`${hub.url.replace('http', 'ws')}/api/assistant/ws`)
    expect((await admin.request('GET', '/api/assistant')).text).not.toContain(API_KEY)
    expect(await bob.ok('GET', '/api/assistant')).not.toHaveProperty('fileProblems')
  })

  test('a view of a group, or of all: three tools, of which a search is whole hits within the limit', async () => {
    const made = await make('finder', { group: '$SMART/home', limits: { resultCharacters: 300 } })
    expect([made.group, made.kind, made.view]).toEqual([`$smart/${admin.name}~home`, 'group', 'smart'])
    for (const group of ['$smart/none', '$other', '$smart/', '$']) {
      const refused = await admin.request('POST', ENDPOINTS, { name: 'x', direction: 'inbound', group })
      expect([refused.status, refused.json.errors?.[0]?.code]).toEqual([400, 'member_not_found'])
    }
    const ws = new WebSocket(`${hub.url.replace('http', 'ws')}/api/assistant/ws?token=${made.token}`)
    const heard: string[] = []
    ws.onmessage = ({ data }) => void heard.push(String(data))
    await until(() => ws.readyState === WebSocket.OPEN, { what: 'the socket' })
    const params = { name: 'search_tools', arguments: { query: 'echo text', limit: 20 } }
    ws.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))
    const text = await until(() => heard[0], { what: 'the hits' })
    const shown = JSON.parse(text).result.content[0].text
    expect(shown.length).toBeLessThanOrEqual(300)
    const { hits, more } = JSON.parse(shown)
    expect(hits.length + more).toBeGreaterThan(0)
    ws.send(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"call_tool","arguments":{"tool":"echo","arguments":{"text":"through"}}}}',
    )
    expect(await until(() => heard[1], { what: 'the result' })).toContain('through')
    ws.close()
    // An endpoint bound through a view uses the group too.
    expect((await admin.request('DELETE', '/api/groups/home')).json.code).toBe('group_in_use')
  })

  test('lists the tools as the assistant gets them, connected or not', async () => {
    await make('short', { group: 'slow', enabled: false, limits: { tools: 1 } })
    const { items, total, leftOut, tokens } = await admin.ok('GET', `${ENDPOINTS}/short/tools`)
    expect([total, items.length, leftOut.length > 0, tokens > 0]).toEqual([1, 1, true, true])
    expect(Object.keys(items[0])).toEqual(['name', 'description', 'inputSchema', 'tokens'])
  })

  test('a test goes the way of a connection, calls no tool and leaves nothing behind', async () => {
    await make('tried', { direction: 'outbound', url: platform.url('asks'), enabled: false })
    const before = await admin.ok('GET', `${ENDPOINTS}/tried`)
    const { ok, told } = await steps('tried')
    expect([ok, told]).toEqual([
      true,
      Object.entries({
        ...{ target: '', tools: 'tools_read', address: '', dial: '', handshake: '', list: 'tools_asked' },
      }).map(([step, code]) => [step, 'ok', code]),
    ])
    const connection = platform.seen.at(-1)
    await until(() => connection?.closed === 1000, { what: 'the end of the test' })
    expect(JSON.stringify(connection?.heard)).toContain('no tool is called')
    expect(await admin.ok('GET', `${ENDPOINTS}/tried`)).toEqual(before)
    expect((await admin.ok('GET', `${ENDPOINTS}/tried/messages`)).items).toEqual([])
  })

  test('a test says where it fails, and what was not tried', async () => {
    const skipped = (...names: string[]) => names.map(name => [name, 'skipped', 'earlier_step_failed'])
    const first = [
      ['target', 'ok', ''],
      ['tools', 'ok', 'tools_read'],
      ['address', 'ok', ''],
    ]
    await make('refused', { direction: 'outbound', url: platform.url('refuses'), enabled: false })
    expect((await steps('refused')).told).toEqual([
      ...[...first, ['dial', 'failed', 'token_refused']],
      ...skipped('handshake', 'list'),
    ])
    await make('closed', { direction: 'outbound', url: platform.url('closes'), enabled: false })
    const closed = await steps('closed')
    expect(closed.told).toEqual([
      ...[...first, ['dial', 'ok', ''], ['handshake', 'failed', 'connection_lost']],
      ...skipped('list'),
    ])
    expect(closed.report.steps[4].detail).toContain('4004')
    await admin.ok('POST', '/api/groups', { name: 'brief', members: ['echo'] })
    await make('lost', { group: 'brief', enabled: false })
    await admin.request('DELETE', '/api/groups/brief?force=true')
    expect((await steps('lost')).told).toEqual([
      ['target', 'failed', 'group_not_found'],
      ...skipped('tools', 'connection'),
    ])
  })

  test('a test opens no second connection beside a live one, and one of a user runs at a time', async () => {
    await make('live', { direction: 'outbound', url: platform.url('asks') })
    await until(async () => (await admin.ok('GET', `${ENDPOINTS}/live`)).status.state === 'connected', { what: 'it' })
    const connections = platform.seen.length
    const { ok, told } = await steps('live')
    expect([ok, told.slice(2)]).toEqual([
      true,
      [['address', 'ok', ''], ...['dial', 'handshake', 'list'].map(step => [step, 'skipped', 'connected_already'])],
    ])
    expect(platform.seen.length).toBe(connections)
    await make('mute', { direction: 'outbound', url: platform.url('silent'), enabled: false })
    const running = steps('mute')
    await until(() => platform.seen.at(-1)?.manner === 'silent', { what: 'the dialled platform' })
    const second = await admin.request('POST', `${ENDPOINTS}/mute/test`)
    expect([second.status, second.json.code]).toEqual([429, 'rate_limited'])
    // Switched on while it is tested: it is not dialled beside the test.
    await admin.ok('PATCH', `${ENDPOINTS}/mute`, { enabled: true })
    expect(platform.seen.filter(({ manner }) => manner === 'silent').length).toBe(1)
    expect((await running).told[4]).toEqual(['handshake', 'failed', 'upstream_timeout'])
    await until(() => platform.seen.filter(({ manner }) => manner === 'silent').length === 2, { what: 'its own dial' })
    expect(platform.seen.find(({ manner }) => manner === 'silent')?.closed).toBe(1000)
  }, 120_000)

  test('an ordinary user’s test reaches no address that the user may not', async () => {
    const inside = { name: 'inside', direction: 'outbound', group: '$smart', enabled: false }
    const closed = await bob.request('POST', ENDPOINTS, { ...inside, url: 'ws://169.254.169.254/x?token=0123456789' })
    expect([closed.status, closed.json.code]).toEqual([403, 'url_address_blocked'])
    // A name that does not resolve gets the same answer when it is dialled.
    const { text } = await bob.request('POST', ENDPOINTS, { ...inside, url: 'ws://nowhere.invalid/x?token=0123456789' })
    expect(text).toContain('inside')
    const { steps: all } = await bob.ok('POST', `${ENDPOINTS}/inside/test`)
    expect(all[2]).toMatchObject({ name: 'address', outcome: 'failed', code: 'url_address_blocked' })
    expect((await bob.request('POST', `${ENDPOINTS}/${admin.name}~live/test`)).status).toBe(404)
    expect((await bob.request('GET', `${ENDPOINTS}/${admin.name}~live/tools`)).status).toBe(404)
  })
})
