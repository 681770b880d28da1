import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

interface Call {
  readonly id: number
  readonly response: ServerResponse
}

/** A remote server that answers calls as events, when and where the test says. */
const calls = new Map<string, Call>()
let web: Server
let hub: Hub
let admin: Client

const result = (id: number, text: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
const event = (text: string) => `event: message\ndata: ${text}\n\n`
const started = async (name: string): Promise<Call> => {
  await until(() => calls.has(name), { what: `the call of ${name}` })
  return calls.get(name) as Call
}

beforeAll(async () => {
  web = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    const reply = (value: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'initialize')
      return reply({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'w', version: '1' },
      })
    if (method === 'tools/list')
      return reply({ tools: ['first', 'second'].map(name => ({ name, inputSchema: { type: 'object' } })) })
    if (method !== 'tools/call') return reply({})
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    calls.set(params.name, { id, response })
  })
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { web: { url, era: 'legacy' } } } })
  admin = await hub.setup()
  await online(admin, ['web'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  web?.closeAllConnections()
  web?.close()
}, 120_000)

test.each([
  ['a result', (id: number) => result(id, 'forged')],
  ['an error', (id: number) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: 'forged' } })],
  ['a result in an array', (id: number) => `[${result(id, 'forged')}]`],
  ['what cannot be read', (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"forged":}}`],
])('%s for one call on the stream of another does not answer the first', async (_what, forged) => {
  calls.clear()
  const client = await admin.mcp('/mcp/web')
  const first = callText(client, 'first')
  const { id, response } = await started('first')
  const second = callText(client, 'second')
  const other = await started('second')
  other.response.end(event(forged(id)) + event(result(other.id, 'second')))
  expect(await second).toBe('second')
  response.end(event(result(id, 'first')))
  expect(await first).toBe('first')
})
