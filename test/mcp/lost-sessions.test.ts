import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** A server's answer when it no longer knows a session. */
interface Form {
  /** Default 200. */
  readonly status?: number
  /** A JSON-RPC error; without it the body is `text`. */
  readonly rpc?: { readonly code: number; readonly message: string }
  readonly text?: string
  /** The error names no request. */
  readonly unnamed?: true
  /** The id of the error in place of that of the request. */
  readonly id?: string | number
  /** The content type of `text`. Default text/plain. */
  readonly type?: string
  readonly location?: string
  /** The error comes on a stream of events. */
  readonly stream?: true
  /** A ping is answered in any session, known or not. */
  readonly pings?: true
  /** The server gives no session ids, and allows one client at most. */
  readonly noIds?: true
  /** The server speaks HTTP with server-sent events; an error of JSON-RPC comes on its stream. */
  readonly sse?: true
  /** A client cannot know if the server has acted: a call of a tool is not repeated. */
  readonly mayHaveActed?: true
}

/** Forms that the whole run has besides. */
const MORE: Readonly<Record<string, Form>> = {
  'http-405': { status: 405 },
  'http-502': { status: 502, text: '<html>Bad Gateway</html>', type: 'text/html', mayHaveActed: true },
  'http-204': { status: 204, mayHaveActed: true },
  'id-zero': { rpc: { code: -32_000, message: 'Unknown session' }, id: 0 },
  'http-410': { status: 410, text: 'Gone' },
}

const FORMS: Readonly<Record<string, Form>> = {
  ...extent({}, MORE),
  'not-initialized': { rpc: { code: -32_002, message: 'Server not initialized' } },
  'code-alone': { rpc: { code: -32_005, message: 'Cannot serve this' } },
  expired: { rpc: { code: -32_005, message: 'Session expired' } },
  'invalid-request': { rpc: { code: -32_600, message: 'Invalid Request: Server not initialized' }, noIds: true },
  internal: { rpc: { code: -32_603, message: 'Unknown session' } },
  python: { rpc: { code: -32_602, message: 'Invalid request parameters' }, pings: true },
  'pings-anyway': { rpc: { code: -32_001, message: 'Session not found' }, pings: true },
  unnamed: { rpc: { code: -32_000, message: 'Bad Request: no valid session' }, unnamed: true },
  'on-a-stream': { rpc: { code: -32_001, message: 'Session not found' }, stream: true },
  'http-400': { status: 400, text: 'Bad Request', noIds: true },
  'http-401': { status: 401, rpc: { code: -32_001, message: 'Session terminated' }, unnamed: true },
  'http-403': { status: 403, text: 'invalid session' },
  'http-404': { status: 404, noIds: true },
  'http-409': { status: 409 },
  'http-422': { status: 422, rpc: { code: -32_602, message: 'Unexpected message, expect initialize request' } },
  'http-422-pings': { status: 422, text: 'expected initialize', pings: true },
  'http-302': { status: 302, location: 'http://sign-in.example/' },
  'http-421': { status: 421, text: 'Misdirected session' },
  'http-503': { status: 503, text: 'no available server', mayHaveActed: true },
  'http-503-says': { status: 503, text: 'no such session' },
  'http-202': { status: 202, mayHaveActed: true },
  'a-page': { text: '<html>Sign in</html>', type: 'text/html', mayHaveActed: true },
  'a-page-pings': { text: '<html>Sign in</html>', type: 'text/html', mayHaveActed: true, pings: true },
  'json-of-another-kind': { text: '{"error":"Session expired"}', type: 'application/json' },
  'no-json': { text: '', type: 'application/json', mayHaveActed: true },
  'id-of-its-own': { rpc: { code: -32_600, message: 'Invalid session' }, id: 'server-error' },
  'id-empty-status': { status: 400, rpc: { code: -32_000, message: 'No valid session' }, id: '' },
  'id-of-its-own-streamed': { rpc: { code: -32_600, message: 'Invalid session' }, id: 'server-error', stream: true },
  'http-500': { status: 500, text: 'Internal Server Error', mayHaveActed: true },
  'http-500-says': { status: 500, rpc: { code: -32_603, message: 'Session not found' }, unnamed: true },
  'http-500-text': { status: 500, text: 'Error: no session with this id' },
  'sse-rpc': { sse: true, rpc: { code: -32_002, message: 'Server not initialized' } },
  'sse-400': { sse: true, status: 400, text: 'No transport found for sessionId' },
  'sse-404': { sse: true, status: 404 },
  'sse-409': { sse: true, status: 409 },
  'sse-500': { sse: true, status: 500, text: 'Could not find session' },
}

/** Servers that refuse every session, and what the reason says. */
const BROKEN: Readonly<Record<string, Form & { readonly says: string }>> = {
  broken: { rpc: { code: -32_002, message: 'Server not initialized' }, says: 'Server not initialized' },
  'broken-503': { status: 503, says: 'HTTP 503' },
  'broken-202': { status: 202, says: 'HTTP 202' },
  'broken-page': { text: '<html>', type: 'text/html', says: 'text/html' },
}

interface Place {
  readonly sessions: Set<string>
  initialized: number
  acted: number
  pings: number
  /** The latest stream of a server that speaks SSE. */
  events?: ServerResponse
}

const places = new Map<string, Place>()
let lastSession = 0
let web: Server
let base: string
let hub: Hub
let admin: Client

function placeOf(name: string): Place {
  const place = places.get(name) ?? { sessions: new Set(), initialized: 0, acted: 0, pings: 0 }
  places.set(name, place)
  return place
}

/** The server at `/<form>` loses every session when `forget` is called on it. */
function forget(name: string): void {
  placeOf(name).sessions.clear()
}

const INFO = { capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'forgetful', version: '1' } }
const RESULTS: Readonly<Record<string, object>> = {
  ping: {},
  'tools/list': { tools: ['act', 'bank', 'gateway'].map(name => ({ name, inputSchema: { type: 'object' } })) },
  'resources/list': { resources: [{ uri: 'memo://one', name: 'one' }] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [{ uri: 'memo://one', text: 'read' }] },
}

function resultOf(place: Place, { method, params }: { method: string; params?: { name?: string } }): object {
  if (method !== 'tools/call') return { result: RESULTS[method] ?? {} }
  if (params?.name === 'bank') return { error: { code: -32_002, message: 'Your session at the bank has expired' } }
  place.acted += 1
  return { result: { content: [{ type: 'text', text: `acted ${place.acted}` }] } }
}

const isOnly = ({ noIds, sse }: Form): boolean => noIds === true || sse === true

function sayBySse({ events }: Place, message: object, response: ServerResponse): void {
  response.writeHead(202).end()
  events?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

function refuse(form: Form, id: unknown, response: ServerResponse, place: Place): void {
  if (form.sse && form.rpc) return sayBySse(place, { jsonrpc: '2.0', id, error: form.rpc }, response)
  const { status = 200, rpc, text = '', unnamed, stream, type = 'text/plain', location } = form
  const error = JSON.stringify({ jsonrpc: '2.0', id: unnamed ? null : (form.id ?? id), error: rpc })
  const headers = { 'content-type': rpc ? 'application/json' : type, ...(location ? { location } : {}) }
  if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${error}\n\n`)
  else response.writeHead(status, headers).end(rpc ? error : text)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += part
  const name = (request.url ?? '').slice(1)
  if (request.method === 'GET' && FORMS[name]?.sse) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    placeOf(name).events = response
    return void response.write(`event: endpoint\ndata: /${name}\n\n`)
  }
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const message = JSON.parse(body)
  const { id, method } = message
  const form = FORMS[name] ?? BROKEN[name] ?? { rpc: { code: -32_002, message: 'Server not initialized' } }
  const place = placeOf(name)
  const json = { 'content-type': 'application/json' }
  if (method === 'initialize') {
    lastSession += 1
    const session = isOnly(form) ? 'only' : `session-${lastSession}`
    place.initialized += 1
    place.sessions.add(session)
    const initialized = { jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', ...INFO } }
    if (form.sse) return sayBySse(place, initialized, response)
    response.writeHead(200, form.noIds ? json : { ...json, 'mcp-session-id': session })
    return void response.end(JSON.stringify(initialized))
  }
  const known = place.sessions.has(isOnly(form) ? 'only' : String(request.headers['mcp-session-id']))
  if (id === undefined) return void response.writeHead(202).end()
  if (method === 'ping') place.pings += 1
  if (message.params?.name === 'gateway' && known) return void response.writeHead(502).end()
  // Refuses every session as soon as its lists were read, for ever.
  const broken = name in BROKEN && !String(method).endsWith('/list')
  if (broken || (!known && !(form.pings && method === 'ping'))) return refuse(form, id, response, place)
  if (form.sse) return sayBySse(place, { jsonrpc: '2.0', id, ...resultOf(place, message) }, response)
  response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, ...resultOf(place, message) }))
}

beforeAll(async () => {
  web = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const settings = { era: 'legacy', session: 'shared', passthroughHeaders: ['x-any'] }
  const mcpServers: Record<string, object> = {}
  for (const name of [...Object.keys(FORMS), ...Object.keys(BROKEN), 'own']) {
    const transport = FORMS[name]?.sse ? 'sse' : 'streamable-http'
    mcpServers[name] = { url: `${base}/${name}`, ...settings, transport }
  }
  mcpServers.own = { ...mcpServers.own, session: 'per-session' }
  mcpServers.program = { ...stdioFixture('forgetful'), era: 'legacy', session: 'shared' }
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  web?.closeAllConnections()
  web?.close()
}, 120_000)

test.each(Object.entries(FORMS))(
  'a lost session costs a handshake, and a read nothing: %s',
  async (name, { mayHaveActed }) => {
    await online(admin, [name])
    const client = await admin.mcp(`/mcp/${name}`)
    const place = placeOf(name)
    expect(await callText(client, 'act')).toBe('acted 1')
    forget(name)
    expect((await client.readResource({ uri: 'memo://one' })).contents).toEqual([{ uri: 'memo://one', text: 'read' }])
    expect(place.initialized).toBe(2)
    forget(name)
    const again = await callText(client, 'act').catch(() => 'failed')
    expect(again).toBe(mayHaveActed ? 'failed' : 'acted 2')
    expect(await callText(client, 'act')).toBe(mayHaveActed ? 'acted 2' : 'acted 3')
    expect(place.initialized).toBe(3)
  },
  60_000,
)

test('several calls on one lost session cost one handshake', async () => {
  const name = 'not-initialized'
  const client = await admin.mcp(`/mcp/${name}`)
  const before = placeOf(name).initialized
  await callText(client, 'act')
  const { acted } = placeOf(name)
  forget(name)
  await Promise.all(Array.from({ length: 8 }, () => callText(client, 'act')))
  expect(placeOf(name)).toMatchObject({ initialized: before + 1, acted: acted + 8 })
})

test('a lost session of a connection of its own costs a handshake, and a call nothing', async () => {
  await online(admin, ['own'])
  const client = await admin.mcp('/mcp/own')
  expect(await callText(client, 'act')).toBe('acted 1')
  const before = placeOf('own').initialized
  forget('own')
  expect(await callText(client, 'act')).toBe('acted 2')
  expect(placeOf('own').initialized).toBe(before + 1)
})

test('an error of a tool that speaks of a session of its own reaches the caller, and ends nothing', async () => {
  const name = 'expired'
  const client = await admin.mcp(`/mcp/${name}`)
  const before = placeOf(name).initialized
  const failure = await failureOf(callText(client, 'bank'))
  expect(failure).toMatchObject({ code: -32_002, message: expect.stringContaining('Your session at the bank') })
  await callText(client, 'act')
  expect(placeOf(name).initialized).toBe(before)
})

test('a program that says that it is not initialized is started again, and the call reaches it', async () => {
  await online(admin, ['program'])
  const client = await admin.mcp('/mcp/program')
  const first = await callText(client, 'pid')
  await callText(client, 'forget')
  const second = await callText(client, 'pid')
  expect(second).not.toBe(first)
})

test.each(Object.entries(BROKEN).filter(([name]) => extent(name !== 'broken-202', true)))(
  'a server that knows no session right after its handshake goes offline with that reason: %s',
  async (name, { says }) => {
    await online(admin, [name])
    const client = await admin.mcp(`/mcp/${name}`)
    const { message } = await until(async () => {
      await failureOf(callText(client, 'act'))
      const { state, reason } = await statusOf(admin, name)
      return state === 'offline' && reason
    })
    expect(message).toContain('has ended the session')
    expect(message).toContain(says)
  },
)

test('a tool that always fails with a status costs few checks, and ends no session', async () => {
  const name = 'http-421'
  const client = await admin.mcp(`/mcp/${name}`)
  await callText(client, 'act')
  const place = placeOf(name)
  const { initialized, pings } = place
  for (let call = 0; call < 30; call += 1) await failureOf(callText(client, 'gateway'))
  expect(place.initialized).toBe(initialized)
  expect(place.pings - pings).toBeLessThanOrEqual(20)
  await callText(client, 'act')
})
