/** Servers whose owner has not signed in: each caller uses them with a sign-in of its own, and nothing of one reaches another. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf, toolNames } from '../../support/servers.ts'
import { Tap } from '../../support/tap.ts'
import { until } from '../../support/wait.ts'

const echo = `${import.meta.dir}/../../support/mcp-servers/echo.ts`
let issuer: Issuer
let server: GuardedServer
let tap: Tap
let hub: Hub
let root: Client
let ada: Client
let bob: Client
let eve: Client

async function signIn(client: Client, person: string, ref = 'ada~notes'): Promise<void> {
  const { authorizeUrl } = await client.ok('POST', `/api/servers/${ref}/connect`, {})
  await client.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, person) })
}

async function signOut(client: Client): Promise<void> {
  const { items } = await client.ok('GET', '/api/connections')
  for (const { id } of items) await client.ok('DELETE', `/api/connections/${id}`)
}

async function modern(client: Client, path: string): Promise<ModernClient> {
  const opened = new ModernClient(
    { name: 'newer', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const headers = { authorization: `Bearer ${await client.mcpKey()}` }
  await opened.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}${path}`), { requestInit: { headers } }))
  return opened
}

const ownerWaits = (name = 'notes') =>
  until(async () => (await statusOf(ada, name)).reason?.code === 'sign_in_needed', { what: 'the owner to be asked' })
const call = (client: Client, tool: string, ref = 'ada~notes') =>
  client.request('POST', `/api/servers/${ref}/tools/${tool}/call`, { arguments: {} })

async function expectUsable(client: Client, person: string, tool: string): Promise<void> {
  const old = await client.mcp('/mcp/@ada/notes')
  await until(async () => (await toolNames(old)).includes(tool), { what: `the tools of ${person}` })
  expect(await toolNames(old)).toEqual(['whoami', tool])
  expect(await callText(old, tool)).toBe(person)
}

beforeAll(async () => {
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  tap = await Tap.start(Number(new URL(server.url).port))
  server.front = `http://127.0.0.1:${tap.port}/mcp`
  for (const name of ['ada', 'bob', 'eve']) server.tools.set(`${name}-there`, ['whoami', `${name}_only`])
  hub = await startHub({ env: LOOPBACK })
  root = await hub.setup()
  ;[ada, bob, eve] = await Promise.all([hub.user('ada'), hub.user('bob'), hub.user('eve')])
  await ada.ok('POST', '/api/servers', { name: 'notes', url: server.front, visibility: 'public', oauth: {} })
  await ownerWaits()
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await tap?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

test('a caller lists and calls at each path, by both protocols and by REST, before the owner has signed in', async () => {
  await signIn(bob, 'bob-there')
  await expectUsable(bob, 'bob-there', 'bob_only')
  await bob.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'ada~notes' }] })
  for (const path of ['/mcp/work', '/mcp/@ada/notes']) {
    const newer = await modern(bob, path)
    expect((await newer.listTools()).tools.map(({ name }) => name)).toEqual(['whoami', 'bob_only'])
    expect(JSON.stringify(await newer.callTool({ name: 'bob_only' }))).toContain('bob-there')
    expect(JSON.stringify(await newer.getPrompt({ name: 'greet' }))).toContain('bob-there')
    expect(JSON.stringify(await newer.readResource({ uri: 'guarded://who' }))).toContain('bob-there')
    await newer.close()
  }
  const old = await bob.mcp('/mcp/work')
  expect((await old.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet'])
  expect(JSON.stringify(await old.readResource({ uri: 'guarded://who' }))).toContain('bob-there')
  expect((await call(bob, 'bob_only')).json.result.content[0].text).toBe('bob-there')
  const { mine, status, tools } = await bob.ok('GET', '/api/servers/ada~notes')
  expect([mine.state, status.state, status.counts.tools, tools.length]).toEqual(['active', 'online', 2, 2])
  const { items, live } = await bob.ok('GET', '/api/servers/ada~notes/tools')
  expect([items.length, live]).toEqual([2, true])
  expect((await bob.ok('GET', '/api/groups/work')).status).toMatchObject({ total: 1, online: 1 })
})

test('the owner and a caller without a sign-in are asked for one', async () => {
  expect((await statusOf(ada, 'notes')).reason).toMatchObject({ code: 'sign_in_needed', ofOwner: true })
  expect((await ada.ok('GET', '/api/servers/notes')).mine).toMatchObject({ state: 'sign_in_needed' })
  for (const [client, path] of [
    [ada, '/mcp/notes'],
    [eve, '/mcp/@ada/notes'],
  ] as const) {
    const mcp = await client.mcp(path)
    expect(await toolNames(mcp)).toEqual(['notes_sign_in'])
    const refused = await mcp.callTool({ name: 'whoami' }).catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ code: -32603, data: { code: 'authorization_required' } })
  }
  expect(await call(eve, 'whoami')).toMatchObject({ status: 503, json: { code: 'authorization_required' } })
  expect((await eve.ok('GET', '/api/servers/ada~notes')).tools).toEqual([])
})

test('it is no outage: no alert, and nothing that administrators must attend to', async () => {
  const rule = { name: 'down', condition: 'server_status{server="ada~notes"} == offline', severity: 'critical' }
  await ada.ok('POST', '/api/monitoring/rules', rule)
  const { subjects } = await ada.ok('POST', '/api/monitoring/test-alert', { rule: 'down' })
  expect(subjects).toMatchObject([{ subject: 'ada~notes', value: 'resting', holds: false }])
  const attention = async (client: Client) => (await client.ok('GET', '/api/monitoring/overview')).attention
  expect(await attention(ada)).toMatchObject([{ subject: 'ada~notes', code: 'sign_in_needed' }])
  expect(await attention(root)).toEqual([])
})

test('the owner signs in, signs out and is refused, and no call of another is lost', async () => {
  const bobs = await bob.mcp('/mcp/@ada/notes')
  await toolNames(bobs)
  const { length } = tap.sent
  let ends = false
  const calls = (async () => {
    while (!ends) {
      expect(await callText(bobs, 'bob_only')).toBe('bob-there')
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  })()
  await signIn(ada, 'ada-there')
  await online(ada, ['notes'])
  await signOut(ada)
  await ownerWaits()
  await ada.ok('PATCH', '/api/servers/notes', { description: 'Changed meanwhile' })
  await signIn(ada, 'ada-there')
  await online(ada, ['notes'])
  const token = server.calls.findLast(({ authorization }) => authorization !== bobsToken())?.authorization?.slice(7)
  // Within 5 s of the sign-in the hub asks for no other token.
  server.refused.add(token ?? '')
  await ada.ok('POST', '/api/servers/notes/refresh')
  await ownerWaits()
  ends = true
  await calls
  // The connection of bob was opened once: none of this has ended it.
  const ofBob = tap.sent
    .slice(length)
    .filter(bytes => bytes.includes('"method":"initialize"') && bytes.includes(bobsToken()))
  expect(ofBob).toEqual([])
})

function bobsToken(): string {
  const [, token = ''] =
    /authorization: (Bearer \S+)/i.exec(tap.sent.find(bytes => bytes.includes('bob_only')) ?? '') ?? []
  return token
}

test('after a restart of the hub a caller uses it at once', async () => {
  await hub.stop({ keep: true })
  hub = await startHub({ env: LOOPBACK, folder: hub.folder })
  ;[root, ada, bob, eve] = await Promise.all([
    hub.signIn('admin'),
    hub.signIn('ada'),
    hub.signIn('bob'),
    hub.signIn('eve'),
  ])
  expect((await call(bob, 'bob_only')).json.result?.content[0].text).toBe('bob-there')
  await expectUsable(bob, 'bob-there', 'bob_only')
})

test('without the network a caller gets the ordinary error, and uses the server when it is back', async () => {
  tap.cut()
  const refused = await until(async () => {
    const answer = await call(bob, 'bob_only')
    return answer.json.code === 'server_offline' && answer
  })
  expect(refused.text).not.toContain('sign_in')
  expect((await bob.ok('GET', '/api/servers/ada~notes')).status.state).toBe('offline')
  tap.down = false
  await until(async () => (await call(bob, 'bob_only')).status === 200, { what: 'the server to be back' })
})

test('stopped by its owner, or with the account of the owner disabled, it serves nobody', async () => {
  await ada.ok('POST', '/api/servers/notes/stop')
  expect((await call(bob, 'bob_only')).json.code).toBe('server_offline')
  expect((await bob.ok('GET', '/api/servers/ada~notes')).status.state).toBe('offline')
  await ada.ok('POST', '/api/servers/notes/start')
  await until(async () => (await call(bob, 'bob_only')).status === 200, { what: 'the call after the start' })
  await root.ok('PATCH', '/api/admin/users/ada', { disabled: true })
  await until(async () => (await call(bob, 'bob_only')).status !== 200, { what: 'the end of the server' })
  await root.ok('PATCH', '/api/admin/users/ada', { disabled: false })
  ada = await hub.signIn('ada')
  await until(async () => (await call(bob, 'bob_only')).status === 200, { what: 'the call after the return' })
})

test('the bytes of each connection carry one token, and none the name of another', () => {
  const tokensOf = (bytes: string) =>
    new Set([...bytes.matchAll(/authorization: (\S+ \S+)/gi)].map(([, token]) => token))
  for (const bytes of tap.sent) expect(tokensOf(bytes).size).toBeLessThan(2)
  const ofBob = tap.sent.filter(bytes => bytes.includes('"bob_only"'))
  expect(new Set(ofBob.flatMap(bytes => [...tokensOf(bytes)])).size).toBe(1)
})

test('a server that wants a sign-in for calls alone serves each caller with its own', async () => {
  const open = await GuardedServer.start(issuer)
  open.isOpen = true
  await ada.ok('POST', '/api/servers', { name: 'lists', url: open.url, visibility: 'public', oauth: {} })
  await ownerWaits('lists')
  await signIn(bob, 'bob-there', 'ada~lists')
  const bobs = await bob.mcp('/mcp/@ada/lists')
  await until(async () => (await toolNames(bobs)).includes('whoami'), { what: 'the tools' })
  expect(await callText(bobs, 'whoami')).toBe('bob-there')
  expect(await toolNames(await eve.mcp('/mcp/@ada/lists'))).toEqual(['lists_sign_in'])
  expect(
    open.calls.filter(({ method, authorization }) => method !== 'initialize' && authorization === undefined),
  ).toEqual([])
  await open.stop()
})

test('a server of which only `credentials: caller` is set turns out to want sign-ins', async () => {
  const plain = { name: 'plain', url: server.front, visibility: 'public', credentials: 'caller' }
  await ada.ok('POST', '/api/servers', plain)
  await ownerWaits('plain')
  await until(async () => (await bob.ok('GET', '/api/servers/ada~plain')).mine !== undefined, { what: 'the mark' })
  await signIn(bob, 'bob-there', 'ada~plain')
  const bobs = await bob.mcp('/mcp/@ada/plain')
  await until(async () => (await toolNames(bobs)).includes('bob_only'), { what: 'the tools' })
  expect(await callText(bobs, 'bob_only')).toBe('bob-there')
})

describe('values that each user brings', () => {
  const key = { name: 'key', in: 'header', key: 'Authorization', format: 'Bearer {value}', label: 'Key' }
  const enter = (client: Client, ref: string, values: object) =>
    client.ok('PUT', `/api/servers/${ref}/connections/me`, { values })

  test('serve at once, also at a server of the newer protocol', async () => {
    const seen: string[] = []
    const handler = createMcpHandler(
      () => {
        const mcp = new McpServer({ name: 'newer', version: '1' }, { capabilities: { tools: {} } })
        mcp.registerTool('newer_tool', {}, () => ({ content: [{ type: 'text', text: 'done' }] }))
        return mcp
      },
      { legacy: 'reject' },
    )
    const newer = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const authorization = request.headers.get('authorization')
        if (authorization === null) return new Response(null, { status: 401 })
        seen.push(authorization)
        return handler.fetch(request)
      },
    })
    const url = `http://127.0.0.1:${newer.port}/mcp`
    await ada.ok('POST', '/api/servers', { name: 'newer', url, visibility: 'public', bring: [key] })
    await enter(bob, 'ada~newer', { key: 'of-bob' })
    const bobs = await modern(bob, '/mcp/@ada/newer')
    await until(async () => (await bobs.listTools()).tools.some(({ name }) => name === 'newer_tool'), { what: 'tools' })
    expect(JSON.stringify(await bobs.callTool({ name: 'newer_tool' }))).toContain('done')
    const old = await bob.mcp('/mcp/@ada/newer')
    expect(await callText(old, 'newer_tool')).toBe('done')
    expect(new Set(seen)).toEqual(new Set(['Bearer of-bob']))
    expect(await toolNames(await eve.mcp('/mcp/@ada/newer'))).toEqual(['newer_sign_in'])
    await bobs.close()
    await newer.stop(true)
  })

  test('serve by a process of the user, and none runs for the owner', async () => {
    const token = { name: 'token', in: 'env', key: 'THEIR_TOKEN', label: 'Token' }
    await root.ok('POST', '/api/servers', {
      ...{ name: 'program', command: process.execPath, args: [echo], visibility: 'public', bring: [token] },
    })
    await enter(bob, `${root.name}~program`, { token: 'bobs-value' })
    const bobs = await bob.mcp(`/mcp/@${root.name}/program`)
    await until(async () => (await toolNames(bobs)).includes('env'), { what: 'the tools' })
    expect(await callText(bobs, 'env', { name: 'THEIR_TOKEN' })).toBe('bobs-value')
    expect((await statusOf(root, 'program')).connections).toMatchObject({ shared: 0, user: 1 })
  })
})
