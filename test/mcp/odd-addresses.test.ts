import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { callText, failureOf, online, type Status, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SECRET = 'Bearer canary-of-this-server'

/** The beginning of the stream of a server for SSE; `path`: the path at which it takes messages. */
const STREAMS: Readonly<
  Record<string, { readonly begins: (path: string) => string; readonly warns: string | undefined }>
> = {
  plain: { begins: path => `event: endpoint\ndata: ${path}\n\n`, warns: undefined },
  localhost: { begins: path => `event: endpoint\ndata: http://localhost:1${path}\n\n`, warns: 'http://localhost:1' },
  any: { begins: path => `event: endpoint\ndata: http://0.0.0.0:${port()}${path}\n\n`, warns: 'http://0.0.0.0' },
  six: { begins: path => `event: endpoint\ndata: http://[::1]:8000${path}\n\n`, warns: 'http://[::1]:8000' },
  https: {
    begins: path => `event: endpoint\ndata: https://127.0.0.1:${port()}${path}\n\n`,
    warns: 'https://127.0.0.1',
  },
  inner: {
    begins: path => `event: endpoint\ndata: http://mcp-server:8000${path}\n\n`,
    warns: 'http://mcp-server:8000',
  },
  quoted: { begins: path => `event: endpoint\ndata: "${path}"\n\n`, warns: 'no plain address' },
  json: { begins: path => `event: endpoint\ndata: {"uri":"${path}"}\n\n`, warns: 'no plain address' },
  relative: { begins: path => `event: endpoint\ndata: ${path.slice(1)}\n\n`, warns: undefined },
  capital: { begins: path => `event: Endpoint\ndata: ${path}\n\n`, warns: undefined },
  unnamed: { begins: path => `data: ${path}\n\n`, warns: 'in place of "endpoint"' },
  'other-name': { begins: path => `event: session\ndata: ${path}?sessionId=1\n\n`, warns: 'in place of "endpoint"' },
  greeting: {
    begins: path => `event: ping\ndata: 1\n\ndata: hello\n\nevent: endpoint\ndata: ${path}\n\n`,
    warns: undefined,
  },
}

/** Answers to a POST whose result is `json`, and a part of the warning. */
const ANSWERS: Readonly<
  Record<string, { readonly type?: string; readonly body: (json: string) => string; readonly warns?: string }>
> = {
  'another-event': {
    type: 'text/event-stream',
    body: json => `event: response\ndata: ${json}\n\n`,
    warns: 'events of the type "response"',
  },
  'no-last-line': { type: 'text/event-stream', body: json => `event: message\ndata: ${json}` },
  'no-type': { body: json => json, warns: 'no content type' },
  text: { type: 'text/plain', body: json => json, warns: 'text/plain' },
  html: { type: 'text/html; charset=utf-8', body: json => `${json}\n`, warns: 'text/html' },
  bytes: { type: 'application/octet-stream', body: json => json, warns: 'application/octet-stream' },
  events: { type: 'text/plain', body: json => `event: message\ndata: ${json}\n\n`, warns: 'stream of events' },
  'events-as-json': { type: 'application/json', body: json => `data: ${json}\n\n`, warns: 'stream of events' },
  'no-version': {
    type: 'application/json',
    body: json => json.replace('"jsonrpc":"2.0",', ''),
    warns: 'lack "jsonrpc"',
  },
  'a-number': { type: 'application/json', body: json => json.replace('"2.0"', '2.0'), warns: 'lack "jsonrpc"' },
}

interface Warned extends Status {
  readonly warnings?: readonly { readonly code: string; readonly message: string }[]
}

/** Outcomes of a call in other forms than JSON-RPC and MCP have, with the words that its caller gets. */
const OUTCOMES: Readonly<Record<string, { readonly outcome: object; readonly says: string; readonly warns: string }>> =
  {
    'error-text': { outcome: { error: 'The disk is full' }, says: 'The disk is full', warns: 'its errors' },
    'error-code': { outcome: { error: { code: '-32000', message: 'No room' } }, says: 'No room', warns: 'its errors' },
    'error-object': { outcome: { error: { reason: 'no such city' } }, says: 'no such city', warns: 'its errors' },
    'error-message': { outcome: { error: { code: 7, message: { text: 'late' } } }, says: 'late', warns: 'its errors' },
    'result-text': { outcome: { result: 'Sunny' }, says: 'Sunny', warns: 'its results' },
    'result-list': { outcome: { result: [{ type: 'text', text: 'Rain' }] }, says: 'Rain', warns: 'its results' },
  }
const REFUSED = 'error: Internal error: Unhandled rejection'
/** The servers whose list of tools was asked for once, and refused. */
const refused = new Set<string>()

const streams = new Map<string, ServerResponse>()
/** The `host` of every POST, and its credential. */
const posts: { readonly url: string; readonly authorization: string | undefined }[] = []
/** Calls that were accepted and get no answer. */
let held = 0
let web: Server
let hub: Hub
let admin: Client

const port = (): number => (web.address() as AddressInfo).port

function resultOf(method: string): object {
  const serverInfo = { name: 'odd', version: '1' }
  if (method === 'initialize') return { protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo }
  if (method === 'tools/list') return { tools: [{ name: 'any', inputSchema: { type: 'object' } }] }
  return method === 'tools/call' ? { content: [{ type: 'text', text: 'here' }] } : {}
}

/** Streams at `/sse/{name}`, their messages at `/take/{name}`; addresses of Streamable HTTP at `/mcp/{name}`. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += part
  const [, kind, name = ''] = (request.url ?? '').split(/[/?]/)
  if (request.method === 'GET' && kind === 'sse') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    streams.set(name, response)
    const begins = STREAMS[name]?.begins ?? (() => 'event: endpoint\ndata: /nowhere\n\n')
    return void response.write(begins(`/take/${name}`))
  }
  if (request.method === 'GET' && name === 'on-its-stream') {
    streams.set(name, response)
    return void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }
  if (request.method !== 'POST' || (kind !== 'take' && kind !== 'mcp')) return void response.writeHead(405).end()
  posts.push({ url: request.url ?? '', authorization: request.headers.authorization })
  const { id, method } = JSON.parse(body)
  if (id === undefined) return void response.writeHead(202).end()
  if (body.includes('"wait":true')) {
    held += 1
    return void response.writeHead(202).end()
  }
  const refusal = { code: -32_603, message: name === 'long' ? 'x'.repeat(3_000_000) : REFUSED }
  const isBusy = name === 'busy' && method === 'tools/list' && !refused.has(name)
  if (isBusy) refused.add(name)
  const given = method === 'tools/call' ? OUTCOMES[name]?.outcome : undefined
  const isLong = name === 'long' && method === 'tools/list'
  const outcome = given ?? (name === 'failing' || isBusy || isLong ? { error: refusal } : { result: resultOf(method) })
  const json = JSON.stringify({ jsonrpc: '2.0', id, ...outcome })
  if (kind === 'take' || (name === 'on-its-stream' && method !== 'initialize')) {
    response.writeHead(202).end()
    return void streams.get(name)?.write(`data: ${json}\n\n`)
  }
  const form = ANSWERS[name]
  response.writeHead(
    200,
    form?.type ? { 'content-type': form.type } : form ? {} : { 'content-type': 'application/json' },
  )
  response.end(form ? form.body(json) : json)
}

async function warningOf(name: string): Promise<string | undefined> {
  const { warnings = [] } = (await statusOf(admin, name)) as Warned
  return warnings.find(({ code }) => code === 'transport_deviates')?.message
}

beforeAll(async () => {
  web = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  const mcpServers: Record<string, object> = {}
  const base = `http://127.0.0.1:${port()}`
  const known = { era: 'legacy', session: 'shared', headers: { authorization: SECRET } }
  for (const name of [...Object.keys(STREAMS), 'lost'])
    mcpServers[`sse-${name}`] = { url: `${base}/sse/${name}`, transport: 'sse', ...known }
  for (const name of [...Object.keys(ANSWERS), ...Object.keys(OUTCOMES), 'failing', 'on-its-stream', 'busy', 'long'])
    mcpServers[name] = { url: `${base}/mcp/${name}`, transport: 'streamable-http', ...known }
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  web?.closeAllConnections()
  web?.close()
}, 120_000)

test.each(Object.entries(STREAMS))(
  'an address for messages is used at the configured origin, in whatever form it is named: %s',
  async (name, { warns }) => {
    await online(admin, [`sse-${name}`])
    expect(await callText(await admin.mcp(`/mcp/sse-${name}`), 'any')).toBe('here')
    const warning = await warningOf(`sse-${name}`)
    if (warns === undefined) expect(warning).toBeUndefined()
    else expect(warning).toContain(warns)
    const own = posts.filter(({ url }) => url.includes(`/take/${name}`))
    expect(own.every(({ authorization }) => authorization === SECRET)).toBe(true)
  },
)

test('an address for messages that is not there is named in the reason', async () => {
  const { message } = await until(async () => (await statusOf(admin, 'sse-lost')).reason)
  expect(message).toContain('HTTP 405 at /nowhere')
})

test.each(Object.entries(ANSWERS))(
  'an answer under a wrong content type, in an odd stream, or without its version, is used: %s',
  async (name, { warns }) => {
    await online(admin, [name])
    expect(await callText(await admin.mcp(`/mcp/${name}`), 'any')).toBe('here')
    if (warns === undefined) expect(await warningOf(name)).toBeUndefined()
    else expect(await warningOf(name)).toContain(warns)
  },
)

test.each(Object.entries(OUTCOMES))(
  'an error or a result in another form says to its caller what the server said: %s',
  async (name, { says, warns }) => {
    await online(admin, [name])
    const client = await admin.mcp(`/mcp/${name}`)
    const isError = name.startsWith('error')
    const said = isError
      ? (await failureOf(client.callTool({ name: 'any', arguments: {} }))).message
      : await callText(client, 'any')
    if (isError) expect(said).toContain(says)
    else expect(said).toBe(says)
    expect(await warningOf(name)).toContain(warns)
  },
)

test('of megabytes of an error of a list the beginning is shown', async () => {
  const reason = await until(async () => (await statusOf(admin, 'long')).reason)
  expect(reason.message).toContain('xxx')
  expect(reason.message.length).toBeLessThan(5_000)
})

test('a list that the server refuses once is read again later, without a restart', async () => {
  await online(admin, ['busy'])
  const list = () => admin.ok('GET', '/api/servers/busy/tools')
  await until(async () => (await list()).items.length === 1, { what: 'the tool in the list' })
  expect(refused).toContain('busy')
  expect((await statusOf(admin, 'busy')).reason).toBeUndefined()
})

test('a server that answers HTTP 202 and sends its answers on its own stream is used with a warning', async () => {
  const name = 'on-its-stream'
  await online(admin, [name])
  const client = await admin.mcp(`/mcp/${name}`)
  expect(await Promise.all([1, 2, 3].map(() => callText(client, 'any')))).toEqual(['here', 'here', 'here'])
  expect(await warningOf(name)).toContain('HTTP 202')
  const stream = streams.get(name)
  const lost = failureOf(client.callTool({ name: 'any', arguments: { wait: true } }))
  await until(() => held > 0)
  stream?.destroy()
  expect((await lost).data?.code).toBe('connection_lost')
  await until(() => streams.get(name) !== stream)
  expect(await callText(client, 'any')).toBe('here')
})

test('the words of a server in the log are no failure of the hub', async () => {
  await until(async () => (await statusOf(admin, 'failing')).state === 'offline')
  await hub.logged('Unhandled rejection')
  expect(hub.unhandled()).toEqual([])
})
