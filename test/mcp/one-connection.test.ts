import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** A server with one transport or one server object for all, as many published examples have. */
interface Form {
  readonly sse?: true
  /** Its answer to a second connection while the first one is open. */
  readonly refuse?: (id: unknown, response: ServerResponse) => void
  /** A second stream: `dies` ends everything, `overwrites` gets the answers of the first one too. */
  readonly second?: 'dies' | 'overwrites'
  /** It takes more connections. */
  readonly several?: true
  /** A refusal for now, which is not remembered. */
  readonly forNow?: true
}

const ALREADY = { code: -32_600, message: 'Invalid Request: Server already initialized' }
const rpcError = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', error: ALREADY, id })
const JSON_TYPE = { 'content-type': 'application/json' }

const FORMS: Readonly<Record<string, Form>> = {
  'http-400': { refuse: (_id, response) => response.writeHead(400, JSON_TYPE).end(rpcError(null)) },
  'http-409': { refuse: (_id, response) => response.writeHead(409).end() },
  'http-200': { refuse: (id, response) => response.writeHead(200, JSON_TYPE).end(rpcError(id)) },
  'http-500': { refuse: (_id, response) => response.writeHead(500).end('Already connected to a transport') },
  'http-silent': { refuse: () => undefined },
  'http-cut': { refuse: (_id, response) => response.destroy() },
  'http-busy': { refuse: (_id, response) => response.writeHead(503).end(), forNow: true },
  'sse-409': { sse: true, refuse: (_id, response) => response.writeHead(409).end() },
  'sse-dies': { sse: true, second: 'dies' },
  'sse-overwrites': { sse: true, second: 'overwrites' },
  'http-several': { several: true },
  'sse-several': { sse: true, several: true },
}
const SINGLE = Object.keys(FORMS).filter(name => !FORMS[name]?.several && !FORMS[name]?.forNow)

interface Place {
  /** Number of connections that were tried. */
  tried: number
  /** Names of the sessions that are open. */
  readonly open: Map<string, ServerResponse | undefined>
  latest: string
}

const places = new Map<string, Place>()
let web: Server
let hub: Hub
let admin: Client
let last = 0

function placeOf(name: string): Place {
  const place = places.get(name) ?? { tried: 0, open: new Map(), latest: '' }
  places.set(name, place)
  return place
}

const serverInfo = { name: 'single', version: '1' }
const tools = ['where'].map(name => ({ name, inputSchema: { type: 'object' } }))
/** Streams of clients with roots, which the server asks for. Others never have a second stream. */
const rooted = new Set<string>()

function resultOf(method: string, session: string): object {
  if (method === 'initialize') return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
  if (method === 'tools/list') return { tools }
  return method === 'tools/call' ? { content: [{ type: 'text', text: session }] } : {}
}

/** The session that a new connection gets; undefined if it was refused. */
function connect(name: string, id: unknown, response: ServerResponse): string | undefined {
  const { refuse, several, second } = FORMS[name]!
  const place = placeOf(name)
  place.tried += 1
  if (!several && place.open.size > 0 && refuse) return void refuse(id, response)
  if (second === 'dies' && place.open.size > 0) {
    // Its process ends, and is started again at once.
    for (const stream of place.open.values()) stream?.destroy()
    place.open.clear()
    return void response.destroy()
  }
  last += 1
  place.latest = `session-${last}`
  return place.latest
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += part
  const url = new URL(request.url ?? '', 'http://any')
  const name = url.pathname.slice(1)
  const { sse } = FORMS[name] ?? {}
  const place = placeOf(name)
  if (request.method === 'GET' && sse) {
    const session = connect(name, undefined, response)
    if (session === undefined) return
    place.open.set(session, response)
    response.on('close', () => place.open.delete(session))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return void response.write(`event: endpoint\ndata: /${name}?session=${session}\n\n`)
  }
  if (request.method === 'DELETE') {
    place.open.delete(String(request.headers['mcp-session-id']))
    return void response.writeHead(200).end()
  }
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method, params } = JSON.parse(body)
  if (sse) {
    const session = url.searchParams.get('session') ?? ''
    if (params?.capabilities?.roots) rooted.add(session)
    const stream = place.open.get(FORMS[name]?.second === 'overwrites' ? place.latest : session)
    response.writeHead(stream ? 202 : 404).end()
    if (method === 'notifications/initialized' && rooted.has(session))
      stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 'r', method: 'roots/list' })}\n\n`)
    if (id === undefined || method === undefined || !stream) return
    return void stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, session) })}\n\n`)
  }
  let session: string | undefined = String(request.headers['mcp-session-id'])
  if (method === 'initialize') {
    session = connect(name, id, response)
    if (session === undefined) return
    place.open.set(session, undefined)
  } else if (!place.open.has(session)) return void response.writeHead(404).end()
  if (id === undefined) return void response.writeHead(202).end()
  response.writeHead(200, { ...JSON_TYPE, 'mcp-session-id': session })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, session) }))
}

const ASKABLE = { capabilities: { roots: {}, sampling: {}, elicitation: {} } }

beforeAll(async () => {
  web = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const mcpServers = Object.fromEntries(
    Object.entries(FORMS).map(([name, { sse }]) => [
      name,
      {
        ...{ url: `${base}/${name}`, transport: sse ? 'sse' : 'streamable-http', era: 'legacy' },
        ...(name === 'http-silent' ? { startTimeout: 4_000 } : {}),
      },
    ]),
  )
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
  await online(admin, Object.keys(FORMS))
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  web?.closeAllConnections()
  web?.close()
}, 120_000)

test.each(Object.keys(FORMS))('without a client that can be asked there is one connection: %s', async name => {
  const client = await admin.mcp(`/mcp/${name}`)
  expect(await callText(client, 'where')).toBe(placeOf(name).latest)
  expect(placeOf(name).tried).toBe(1)
})

test.each(SINGLE)(
  'clients that can be asked share it, and it says so: %s',
  async name => {
    const clients = await Promise.all([1, 2, 3].map(() => admin.mcp(`/mcp/${name}`, ASKABLE)))
    // A call in flight when the first connection breaks may fail with it.
    await callText(clients[0]!, 'where').catch(() => undefined)
    await until(async () => (await statusOf(admin, name)).state === 'online')
    const sessions = await Promise.all(clients.map(client => callText(client, 'where')))
    expect(new Set(sessions).size).toBe(1)
    expect((await statusOf(admin, name)).session?.kind).toBe('shared')
    const { warnings } = (await admin.ok('GET', `/api/servers/${name}`)).status
    expect(warnings.map(({ code }: { code: string }) => code)).toContain('one_connection_only')
    await admin.ok('POST', '/api/groups', { name: `g-${name}`, members: [{ server: name }] })
    const group = await admin.ok('GET', `/api/groups/g-${name}`)
    expect(group.warnings.map(({ code }: { code: string }) => code)).toContain('one_connection_only')
    const { tried } = placeOf(name)
    const late = await admin.mcp(`/mcp/${name}`, ASKABLE)
    expect((await late.listTools()).tools).toHaveLength(1)
    expect(await callText(late, 'where')).toBe(sessions[0]!)
    expect(placeOf(name).tried).toBe(tried)
  },
  60_000,
)

test('a server that refuses a second connection for now is shared for now', async () => {
  const client = await admin.mcp('/mcp/http-busy', ASKABLE)
  expect(await callText(client, 'where')).toBe(placeOf('http-busy').latest)
  const { warnings } = (await admin.ok('GET', '/api/servers/http-busy')).status
  expect(warnings.map(({ code }: { code: string }) => code)).toEqual(['own_connection_refused'])
})

test.each(['http-several', 'sse-several'])('a server that takes several gives each client its own: %s', async name => {
  const clients = await Promise.all([1, 2].map(() => admin.mcp(`/mcp/${name}`, ASKABLE)))
  const sessions = await Promise.all(clients.map(client => callText(client, 'where')))
  expect(new Set(sessions).size).toBe(2)
  expect((await admin.ok('GET', `/api/servers/${name}`)).status.warnings).toBeUndefined()
})

test('a refresh forgets it, and the next client that can be asked finds it again', async () => {
  const name = 'http-400'
  await admin.ok('POST', `/api/servers/${name}/refresh`)
  const { tried } = placeOf(name)
  await until(async () => (await statusOf(admin, name)).session?.kind !== 'shared')
  expect(await callText(await admin.mcp(`/mcp/${name}`, ASKABLE), 'where')).toBe(placeOf(name).latest)
  // A refused handshake is tried with each version of the protocol.
  expect(placeOf(name).tried).toBeGreaterThan(tried)
  expect((await statusOf(admin, name)).session?.kind).toBe('shared')
})

test('the finding is kept over a restart of the hub', async () => {
  await hub.stop({ keep: true })
  for (const { open } of places.values()) open.clear()
  const before = new Map([...places].map(([name, { tried }]) => [name, tried]))
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, SINGLE)
  for (const name of SINGLE) {
    expect(await callText(await admin.mcp(`/mcp/${name}`, ASKABLE), 'where')).toBe(placeOf(name).latest)
    expect(placeOf(name).tried - before.get(name)!).toBe(1)
  }
}, 120_000)
