/** A session that is lost while calls are in flight: those end over it, and all later ones use the next session. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { answering } from '../support/answering.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** Time in milliseconds for which calls use the next session while one is in flight over the former. */
const BESIDE_MS = 350

interface Form {
  /** The status for an unknown session. Default 200, with a JSON-RPC error. */
  readonly status?: number
  /** HTTP with server-sent events. */
  readonly sse?: true
  /** Calls are answered on a stream of their own. */
  readonly streams?: true
  /** Requests are accepted with 202, and answered on the server's own stream. */
  readonly accepts?: true
  readonly session?: 'per-session'
}

/** Forms that the whole run has besides. */
const MORE: Readonly<Record<string, Form>> = {
  'http-404': { status: 404 },
  'http-400': { status: 400, streams: true },
  'own-json-rpc': { session: 'per-session' },
  'sse-json-rpc': { sse: true },
}

const FORMS: Readonly<Record<string, Form>> = {
  ...extent({}, MORE),
  'json-rpc': {},
  'streamed-404': { status: 404, streams: true },
  'accepted-404': { status: 404, accepts: true },
  'own-404': { status: 404, streams: true, session: 'per-session' },
  'sse-404': { sse: true, status: 404 },
  'restarted-404': { status: 404 },
}

interface Waiting {
  readonly session: string
  answer(): void
  /** Ends the exchange without an answer. */
  cut(): void
  /** Asks the client, on the stream of the call. */
  ask(): void
}

class Place {
  readonly form: Form
  readonly sessions = new Map<string, ServerResponse | undefined>()
  readonly waiting: Waiting[] = []
  /** Streams of sessions that are open, known or not. */
  streams = 0
  last = 0
  acted = 0

  constructor(form: Form) {
    this.form = form
  }
}

const places = new Map(Object.entries(FORMS).map(([name, form]) => [name, new Place(form)]))
const servers: Server[] = []
let hub: Hub
let admin: Client
let gate: ReturnType<typeof Bun.serve>
let opened = Promise.withResolvers<void>()
let arrived = 0

const place = (name: string): Place => places.get(name) as Place
const event = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`
const textResult = (text: string) => ({ content: [{ type: 'text', text }] })
const INFO = { capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'forgetful', version: '1' } }
const RESULTS: Readonly<Record<string, object>> = {
  'tools/list': { tools: ['act', 'slow'].map(name => ({ name, inputSchema: { type: 'object' } })) },
  'resources/list': { resources: [{ uri: 'memo://slow', name: 'slow' }] },
  'resources/templates/list': { resourceTemplates: [] },
}

function openStream(at: Place, session: string, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
  at.sessions.set(session, response)
  at.streams += 1
  response.on('close', () => {
    at.streams -= 1
  })
}

function refuse({ form }: Place, id: unknown, response: ServerResponse, stream: ServerResponse | undefined): void {
  const error = { jsonrpc: '2.0', id, error: { code: -32_001, message: 'Session not found' } }
  if (form.status !== undefined) return void response.writeHead(form.status).end()
  if (stream) {
    response.writeHead(202).end()
    return void stream.write(event(error))
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(error))
}

/** Answers a call of `slow`, or a read of it, when the test says so. */
function hold(at: Place, session: string, id: unknown, result: object, response: ServerResponse, sse?: ServerResponse) {
  const answer = { jsonrpc: '2.0', id, result }
  const elsewhere = at.form.accepts ? at.sessions.get(session) : sse
  if (elsewhere) response.writeHead(202).end()
  else if (at.form.streams) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n')
  const question = { mode: 'form', message: 'Really?', requestedSchema: { type: 'object', properties: {} } }
  at.waiting.push({
    session,
    answer() {
      if (elsewhere) elsewhere.write(event(answer))
      else if (at.form.streams) response.end(event(answer))
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    },
    cut: () => void response.destroy(),
    ask: () => void response.write(event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: question })),
  })
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += part
  const url = new URL(request.url ?? '/', 'http://any.example')
  const at = places.get(url.pathname.slice(1))
  if (!at) return void response.writeHead(404).end()
  const { form, sessions } = at
  if (request.method === 'GET' && form.sse) {
    at.last += 1
    openStream(at, String(at.last), response)
    return void response.write(`event: endpoint\ndata: ${url.pathname}?session=${at.last}\n\n`)
  }
  const session = (form.sse ? url.searchParams.get('session') : request.headers['mcp-session-id']) as string
  if (request.method === 'GET' && form.accepts && sessions.has(session)) return openStream(at, session, response)
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const message = JSON.parse(body)
  const { id, method, params } = message
  if (method === undefined) {
    // The answer of a client to `ask`: taken whatever the session is.
    for (const one of at.waiting.splice(0)) one.answer()
    return void response.writeHead(202).end()
  }
  const stream = form.sse ? (sessions.get(session) ?? lostStreams.get(`${url.pathname}${session}`)) : undefined
  const reply = (result: object, headers = {}): void => {
    const text = { jsonrpc: '2.0', id, result }
    if (stream) {
      response.writeHead(202).end()
      return void stream.write(event(text))
    }
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(text))
  }
  if (method === 'initialize') {
    if (form.sse) return reply({ protocolVersion: '2025-06-18', ...INFO })
    at.last += 1
    sessions.set(String(at.last), undefined)
    return reply({ protocolVersion: '2025-06-18', ...INFO }, { 'mcp-session-id': String(at.last) })
  }
  if (id === undefined) return void response.writeHead(202).end()
  if (!sessions.has(session)) return refuse(at, id, response, stream)
  if (params?.name === 'slow') return hold(at, session, id, textResult(`slow in ${session}`), response, stream)
  if (method === 'resources/read') {
    const contents = [{ uri: 'memo://slow', text: `read in ${session}` }]
    return hold(at, session, id, { contents }, response, stream)
  }
  if (method !== 'tools/call') return reply(RESULTS[method] ?? {})
  at.acted += 1
  reply(textResult(`act in ${session}`))
}

/** Streams of SSE sessions that are no longer known. */
const lostStreams = new Map<string, ServerResponse>()

/** The server loses its sessions, and answers what it has begun. */
function forget(name: string): void {
  const { sessions } = place(name)
  for (const [session, stream] of sessions) if (stream) lostStreams.set(`/${name}${session}`, stream)
  sessions.clear()
}

async function listen(port = 0): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  servers.push(server)
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

beforeAll(async () => {
  gate = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch() {
      arrived += 1
      await opened.promise
      return new Response('go on')
    },
  })
  const { origin } = await listen()
  const mcpServers: Record<string, object> = {}
  for (const [name, { sse, session = 'shared' }] of Object.entries(FORMS)) {
    const transport = sse ? 'sse' : 'streamable-http'
    mcpServers[name] = { url: `${origin}/${name}`, era: 'legacy', session, transport }
  }
  mcpServers.program = { ...stdioFixture('forgetful'), era: 'legacy', session: 'shared' }
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  opened.resolve()
  await hub?.stop()
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await gate?.stop(true)
}, 120_000)

/** Begins a call of `slow`, and gives its answer once it is with the server. */
async function begun<T>(at: Place, call: () => Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  const before = at.waiting.length
  const answer = call()
  answer.catch(() => undefined)
  await until(() => at.waiting.length > before, { what: 'the call to be with the server' })
  return { answer }
}

/** Calls for a while, and gives the different answers. */
async function callsBeside(client: McpClient, tool = 'act'): Promise<ReadonlySet<string>> {
  const sinceMs = performance.now()
  const said = new Set<string>()
  while (performance.now() - sinceMs < BESIDE_MS) said.add(await callText(client, tool))
  return said
}

test.each(Object.keys(FORMS).filter(name => name !== 'restarted-404'))(
  'a call in flight gets its answer over the lost session, and others use the next one: %s',
  async name => {
    await online(admin, [name])
    const at = place(name)
    const isOwn = at.form.session === 'per-session'
    const client = await admin.mcp(`/mcp/${name}`)
    const { answer } = await begun(at, () => callText(client, 'slow'))
    const former = at.waiting[0]?.session
    forget(name)
    const opens = at.last + 1
    expect(await callsBeside(client)).toEqual(new Set([`act in ${opens}`]))
    expect([(await statusOf(admin, name)).state, at.last]).toEqual(['online', opens])
    at.waiting.shift()?.answer()
    expect(await answer).toBe(`slow in ${former}`)
    // The connection of the former session ends with it.
    if (at.form.sse) await until(() => at.streams === 1, { what: 'the former stream to end' })
    if (isOwn) expect((await statusOf(admin, name)).connections).toMatchObject({ session: 1 })
    expect(await callText(client, 'act')).toBe(`act in ${opens}`)
  },
  60_000,
)

test('a call whose stream ends over the lost session is lost, and a read is made once more', async () => {
  const at = place('streamed-404')
  const client = await admin.mcp('/mcp/streamed-404')
  const call = await begun(at, () => callText(client, 'slow'))
  const read = await begun(at, () => client.readResource({ uri: 'memo://slow' }))
  forget('streamed-404')
  const acted = at.acted
  const [now] = await callsBeside(client)
  for (const one of at.waiting.splice(0)) one.cut()
  expect((await failureOf(call.answer)).data?.code).toBe('connection_lost')
  await until(() => at.waiting.length === 1, { what: 'the read to be repeated' })
  at.waiting.shift()?.answer()
  expect(await read.answer).toMatchObject({ contents: [{ text: String(now).replace('act', 'read') }] })
  expect(at.acted).toBeGreaterThan(acted)
})

test('a call over the lost session may still ask its client', async () => {
  await online(admin, ['own-404'])
  const at = place('own-404')
  const client = await admin.mcp('/mcp/own-404', answering('ada').options)
  const { answer } = await begun(at, () => callText(client, 'slow'))
  const former = at.waiting[0]?.session
  forget('own-404')
  await callsBeside(client)
  at.waiting[0]?.ask()
  expect(await answer).toBe(`slow in ${former}`)
})

test('a second loss while the first drains: each call has the answer of its session', async () => {
  const at = place('streamed-404')
  const client = await admin.mcp('/mcp/streamed-404')
  const first = await begun(at, () => callText(client, 'slow'))
  forget('streamed-404')
  await callText(client, 'act')
  const second = await begun(at, () => callText(client, 'slow'))
  forget('streamed-404')
  await callsBeside(client)
  const sessions = at.waiting.map(({ session }) => `slow in ${session}`)
  for (const one of at.waiting.splice(0)) one.answer()
  expect(new Set(sessions).size).toBe(2)
  expect([await first.answer, await second.answer]).toEqual(sessions)
})

test('a server that stops listening ends its calls in flight, and its successor gets the new ones', async () => {
  const { server, origin } = await listen()
  await admin.ok('PATCH', '/api/servers/restarted-404', { url: `${origin}/restarted-404` })
  await online(admin, ['restarted-404'])
  const at = place('restarted-404')
  const client = await admin.mcp('/mcp/restarted-404')
  const { answer } = await begun(at, () => callText(client, 'slow'))
  const former = at.waiting[0]?.session
  server.close()
  server.closeIdleConnections()
  forget('restarted-404')
  const next = failureOf(callText(client, 'act'))
  await Promise.race([next, until(async () => (await statusOf(admin, 'restarted-404')).state !== 'online')])
  await listen(Number(new URL(origin).port))
  await online(admin, ['restarted-404'])
  await callsBeside(client)
  at.waiting.shift()?.answer()
  expect(await answer).toBe(`slow in ${former}`)
}, 60_000)

test('a program that says that it is not initialized ends its call in flight', async () => {
  await online(admin, ['program'])
  const client = await admin.mcp('/mcp/program')
  const former = await callText(client, 'pid')
  opened = Promise.withResolvers()
  const before = arrived
  const answer = callText(client, 'held', { url: gate.url.href })
  answer.catch(() => undefined)
  await until(() => arrived > before, { what: 'the call to be with the program' })
  await callText(client, 'forget')
  const said = await callsBeside(client, 'pid')
  expect(said.has(former)).toBe(false)
  opened.resolve()
  expect(await answer).toBe(former)
})
