/** Clients that take all descriptors: the hub keeps some back from the first moment, and answers others. */
import { afterEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { alive } from '../support/processes.ts'
import { rawRequest } from '../support/raw-http.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

let hub: Hub
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await hub?.stop()
}, 120_000)

/** What a client writes once it is connected; undefined: nothing at all. */
type Opening = (client: Client | undefined) => string | undefined

const get = (path: string, lines: readonly string[], client?: Client) =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${new URL(hub.url).host}`,
    ...(client ? [`Authorization: Bearer ${client.token}`] : []),
    ...lines,
    '',
    '',
  ].join('\r\n')

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

const OPENINGS: Readonly<Record<string, Opening>> = {
  'event streams': client => get('/api/stream', ['Accept: text/event-stream'], client),
  WebSockets: client => get('/api/stream', UPGRADE, client),
  'streams of MCP': client => get('/mcp', ['Accept: text/event-stream'], client),
  'connections without a request': () => undefined,
  'half requests': () => 'GET /health HTTP/1.1\r\nHost',
  'requests that keep their connection': () => get('/health', []),
}

function flood(count: number, text: string | undefined): void {
  const { hostname, port } = new URL(hub.url)
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      if (text !== undefined) socket.write(text)
    })
    // The hub may refuse or end any of them.
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    sockets.push(socket)
  }
}

const open = () => readdirSync(`/proc/${hub.pid}/fd`).length

/** Has the hub start a thread for a large body, which would end a process without descriptors. */
async function startThread(client: Client): Promise<void> {
  const args = ['x'.repeat(150_000)]
  // The flood has used up what this user may ask for in a second.
  await until(async () => {
    const { json } = await client.request('POST', '/api/servers', { name: 'large', command: 'true', args })
    return json.code === 'validation_failed'
  })
}

async function survives(limit: number, opening: Opening, isSignedIn: boolean): Promise<void> {
  const echoes = Object.fromEntries([1, 2, 3].map(n => [`echo-${n}`, known('echo')]))
  // Nothing has been read or written yet that would start threads or open files.
  hub = await startHub({
    wrap: ['prlimit', `--nofile=${limit}`, '--'],
    env: { WORKERS: '1' },
    settings: { mcpServers: echoes },
  })
  const admin = isSignedIn ? await hub.setup() : undefined
  const started = open()
  flood(Math.ceil(1.6 * limit), opening(admin))
  // Others are answered meanwhile, on connections of their own, once idle ones have been closed.
  for (let turn = 0; turn < 2; turn += 1) {
    expect((await send(hub.url, 'GET', '/health')).json.status).toBeOneOf(['ok', 'degraded'])
  }
  const client = admin ?? (await hub.setup())
  await startThread(client)
  expect(open()).toBeLessThan(limit)
  expect(alive(hub.pid)).toBe(true)
  for (const socket of sockets.splice(0)) socket.destroy()
  await until(() => open() <= started + 60, { what: 'the descriptors to be given back', timeoutMs: 30_000 })
  await client.ok('POST', '/api/groups', { name: 'after', members: [] })
  expect((await client.request('GET', '/api/logs/search?limit=1')).status).toBe(200)
  // Those that were refused descriptors are offline until they are started again.
  for (const name of Object.keys(echoes)) await client.request('POST', `/api/servers/${name}/start`)
  await online(client, Object.keys(echoes), 60_000)
  const stream = await rawRequest(hub.url, get('/api/stream', [], client))
  expect(stream.status).toBe(200)
  expect(hub.unhandled()).toEqual([])
}

const LIMITS = extent([256], [128, 256, 512, 1024])
const CORE = ['event streams', 'connections without a request']

for (const limit of LIMITS) {
  describe(`with ${limit} descriptors`, () => {
    for (const [what, opening] of Object.entries(OPENINGS).filter(([name]) => extent(CORE.includes(name), true))) {
      test(
        `${what} of somebody signed in take them: the hub lives, and answers others`,
        () => survives(limit, opening, true),
        120_000,
      )
    }
    for (const what of extent(
      [],
      ['connections without a request', 'half requests', 'requests that keep their connection'],
    )) {
      test(
        `${what} take them before the first sign-in: the same`,
        () => survives(limit, OPENINGS[what] as Opening, false),
        120_000,
      )
    }
  })
}
