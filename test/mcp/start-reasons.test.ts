import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** Wrong configurations, and the words that the reason must contain. */
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

/** The output of a program before it ends, the line that the reason and a trial must show, and lines that they must not show. */
const CRASHES: Readonly<Record<string, readonly [wrote: string, line: string, not: string]>> = {
  node: [
    "node:internal:1\n  throw err;\n\nError: Cannot find module '/srv/x.js'\n    at f (a.js:1:1)\n  code: 'MODULE_NOT_FOUND',\n}\n\nNode.js v22",
    "Error: Cannot find module '/srv/x.js'",
    'Node.js v22',
  ],
  python: [
    'Traceback (most recent call last):\n  File "x.py"\nModuleNotFoundError: No module named "server"\nbye\nbye\nbye',
    'ModuleNotFoundError: No module named "server"',
    'bye',
  ],
  go: ['panic: no config\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2', 'panic: no config', 'goroutine'],
  npm: [
    'npm error code E404\nnpm error 404 Not Found - GET https://r.example/nope\nnpm error 404\nnpm error A complete log: x',
    'npm error 404 Not Found - GET https://r.example/nope',
    'complete log',
  ],
  port: [
    'Error: listen EADDRINUSE: address already in use :::3000\n    at S (n:1)\n  code: "EADDRINUSE",\n}\n\nNode.js v22',
    'listen EADDRINUSE: address already in use :::3000',
    'Node.js v22',
  ],
}

let web: Server
let hub: Hub
let admin: Client

/** A program that writes to stderr and ends. */
const crashing = (name: string) => ({
  command: 'sh',
  args: ['-c', 'printf "%s\\n" "$1" >&2; exit 1', 'sh', CRASHES[name]?.[0] ?? ''],
})

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
  const programs = Object.keys(CRASHES).map(name => [`p-${name}`, { era: 'legacy', ...crashing(name) }])
  hub = await startHub({ settings: { mcpServers: { ...mcpServers, ...Object.fromEntries(programs) } } })
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

test.each(Object.entries(CRASHES))(
  'the reason of a program that crashes is the line with its error: %s',
  async (name, [, line, not]) => {
    const { code, message } = await until(async () => {
      const { state, reason } = await statusOf(admin, `p-${name}`)
      return state === 'offline' && reason
    })
    expect(['connection_lost', 'crash_loop']).toContain(code)
    expect(message).toContain(line)
    expect(message).not.toContain(not)
    const report = await admin.ok('POST', '/api/servers/test', { name: 'tried', ...crashing(name) })
    expect(report.ok).toBe(false)
    for (const text of [report.error.message, report.steps.at(-1).detail]) {
      expect(text).toContain(line)
      expect(text).not.toContain(not)
    }
  },
)

test('a trial of a program that crashes redacts its secrets in what it wrote', async () => {
  const env = { API_KEY: 'canary-of-the-trial' }
  const body = { name: 'secret', command: 'sh', args: ['-c', 'echo "Error: bad key $API_KEY" >&2; exit 1'], env }
  const { error } = await admin.ok('POST', '/api/servers/test', body)
  expect(error.message).toContain('Error: bad key')
  expect(error.message).not.toContain(env.API_KEY)
})
