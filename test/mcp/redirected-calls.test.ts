/** Upstreams that answer a call with a redirect to another origin: a failed tool in words, and nothing reaches the other one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'

const TOOLS = [{ name: 'move', inputSchema: { type: 'object' } }]
const SERVERS = ['http', 'modern', 'sse', 'api', 'api-post']
const WORDS = /^redirect_blocked: The server redirects.*set its final address.*The other address got nothing/

let web: Server
let elsewhere: Server
let reached = 0
let hub: Hub
let admin: Client
const opened: ModernClient[] = []
let stream: ServerResponse | undefined

const portOf = (server: Server) => (server.address() as AddressInfo).port
const listen = (server: Server) => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

const redirect = (response: ServerResponse) =>
  response.writeHead(307, { location: `http://127.0.0.1:${portOf(elsewhere)}/canary?key=canary` }).end()

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const path = request.url?.split('?')[0] ?? ''
  if (path.startsWith('/api')) return redirect(response)
  if (path === '/sse' && request.method === 'GET') {
    stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
    return response.write('event: endpoint\ndata: /message\n\n')
  }
  if (request.method !== 'POST') return response.writeHead(405).end()
  let text = ''
  for await (const part of request) text += part
  const { id, method } = JSON.parse(text)
  if (method === 'tools/call') return redirect(response)
  const isModern = path === '/modern'
  const serverInfo = { name: 'w', version: '1' }
  const known: Record<string, object> = {
    ...(isModern
      ? { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } }
      : { initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } }),
    'tools/list': { tools: TOOLS },
    ping: {},
  }
  if (id === undefined) return response.writeHead(202).end()
  const result = known[method]
  const body = result
    ? { result: isModern ? { ...result, resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : result }
    : { error: { code: -32601, message: 'no such method' } }
  const message = JSON.stringify({ jsonrpc: '2.0', id, ...body })
  if (path !== '/message') return response.writeHead(200, { 'content-type': 'application/json' }).end(message)
  response.writeHead(202).end()
  return stream?.write(`event: message\ndata: ${message}\n\n`)
}

const operation = (method: string) => ({
  openapi: '3.1.0',
  info: { title: 't', version: '1' },
  paths: { '/api/x': { [method]: { operationId: 'move', responses: { 200: { description: 'ok' } } } } },
})

beforeAll(async () => {
  web = createServer((request, response) => void answer(request, response))
  elsewhere = createServer((_, response) => {
    reached += 1
    response.end('{}')
  })
  await Promise.all([listen(web), listen(elsewhere)])
  const base = `http://127.0.0.1:${portOf(web)}`
  hub = await startHub({
    settings: {
      mcpServers: {
        http: { url: `${base}/http`, transport: 'streamable-http', era: 'legacy' },
        modern: { url: `${base}/modern`, transport: 'streamable-http', era: 'modern' },
        sse: { url: `${base}/sse`, transport: 'sse' },
        api: { openapi: { schema: operation('get'), baseUrl: base } },
        'api-post': { openapi: { schema: operation('post'), baseUrl: base } },
      },
      groups: [{ name: 'all', servers: SERVERS }],
    },
  })
  admin = await hub.setup()
  await online(admin, SERVERS)
}, 120_000)

afterAll(async () => {
  await Promise.allSettled(opened.map(client => client.close()))
  await hub?.stop()
  for (const server of [web, elsewhere]) {
    server?.closeAllConnections()
    server?.close()
  }
}, 120_000)

/** A caller of each kind, by the path. */
const CALLERS: Readonly<
  Record<string, (path: string) => Promise<{ callTool: (params: { name: string }) => Promise<unknown> }>>
> = {
  'streamable HTTP': path => admin.mcp(path),
  SSE: path => admin.mcp(path.replace('/mcp/', '/sse/'), { sse: true }),
  '2026-07-28': async path => {
    const client = new ModernClient(
      { name: 'patchbay-test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    const authorization = `Bearer ${await admin.mcpKey()}`
    await client.connect(
      new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit: { headers: { authorization } } }),
    )
    opened.push(client)
    return client
  },
}

test.each(Object.keys(CALLERS))('a call that is redirected to another origin is a failed tool: %s', async kind => {
  for (const server of SERVERS) {
    const client = await (CALLERS[kind] as (typeof CALLERS)[string])(`/mcp/${server}`)
    const { isError, content } = (await client.callTool({ name: 'move' })) as {
      isError?: boolean
      content: { text: string }[]
    }
    const text = content[0]?.text ?? ''
    expect([server, isError]).toEqual([server, true])
    if (server === 'api-post') expect(text).toBe('HTTP 307 redirect to another origin, which is not followed')
    else expect(text).toMatch(WORDS)
    expect(text).not.toContain('canary')
  }
  expect(reached).toBe(0)
})

test('through a group and over REST as well, and REST has the code', async () => {
  const client = await admin.mcp('/mcp/all')
  const { tools } = await client.listTools()
  expect(tools).toHaveLength(SERVERS.length)
  for (const { name } of tools) {
    const result = (await client.callTool({ name })) as { isError?: boolean }
    expect([name, result.isError]).toEqual([name, true])
  }
  for (const server of ['http', 'modern', 'sse', 'api']) {
    const { status, json } = await admin.request('POST', `/api/servers/${server}/tools/move/call`, { arguments: {} })
    expect([server, status, json.code]).toEqual([server, 502, 'redirect_blocked'])
  }
  expect(reached).toBe(0)
})
