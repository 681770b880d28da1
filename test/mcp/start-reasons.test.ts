import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** How a server is configured wrongly, and what its reason must say. */
const CASES: Readonly<Record<string, { readonly body: object; readonly says: readonly string[] }>> = {
  'a command line as command': { body: { command: 'npx -y some-server' }, says: ['"args"', '-y some-server'] },
  'a path of Windows': { body: { command: 'C:\\Tools\\server.exe' }, says: ['Windows'] },
  'a shell of Windows': { body: { command: 'cmd', args: ['/c', 'npx', 'x'] }, says: ['Windows'] },
  'an address without a path': { body: { path: '/' }, says: ['HTTP 404', '/mcp'] },
  'an address without a path, by a fixed transport': {
    body: { path: '', transport: 'streamable-http' },
    says: ['HTTP 404', '/mcp'],
  },
  'a web page': { body: { path: '/page' }, says: ['text/html', 'MCP endpoint'] },
  'JSON under another type': { body: { path: '/plain' }, says: ['text/plain'] },
  'an endpoint of SSE that is not there': {
    body: { path: '/sse', transport: 'sse' },
    says: ['/gone', 'HTTP 404'],
  },
}

let web: Server
let hub: Hub
let admin: Client

beforeAll(async () => {
  web = createServer((request, response) => {
    request.resume()
    if (request.url === '/page') response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
    else if (request.url === '/plain') response.writeHead(200, { 'content-type': 'text/plain' }).end('{}')
    else if (request.url === '/sse' && request.method === 'GET')
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write('event: endpoint\ndata: /gone?session=canary\n\n')
    else response.writeHead(404).end()
  })
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const mcpServers = Object.fromEntries(
    Object.values(CASES).map(({ body }, at) => {
      const { path, ...more } = body as { path?: string }
      return [`s${at}`, { era: 'legacy', ...(path === undefined ? {} : { url: `${base}${path}` }), ...more }]
    }),
  )
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  web?.closeAllConnections()
  web?.close()
}, 120_000)

test.each(Object.entries(CASES))('the reason says what is wrong: %s', async (name, { says }) => {
  const { message } = await until(async () => {
    const { state, reason } = await statusOf(admin, `s${Object.keys(CASES).indexOf(name)}`)
    return state === 'offline' && reason
  })
  for (const text of says) expect(message).toContain(text)
  expect(message).not.toContain('canary')
})
