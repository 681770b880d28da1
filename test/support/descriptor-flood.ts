/** A hub with few file descriptors, and clients that take all of them. */
import { expect } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { known } from '../failure/fixtures/known.ts'
import { type Client, type Hub, send, startHub } from './hub.ts'
import { alive } from './processes.ts'
import { rawRequest } from './raw-http.ts'
import { online } from './servers.ts'
import { until } from './wait.ts'

/** Data that one kind of client writes. */
interface Kind {
  /** Text sent once it is connected; undefined: none. */
  readonly text: (host: string, client: Client | undefined) => string | undefined
  /** Written by and by, one byte at a time. */
  readonly drips?: boolean
}

const head = (line: string, host: string, client: Client | undefined, lines: readonly string[] = []) =>
  [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    ...(client ? [`Authorization: Bearer ${client.token}`] : []),
    ...lines,
    '',
    '',
  ].join('\r\n')

const STREAM = ['Accept: text/event-stream']
const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const BODY = ['Content-Type: application/json', 'Accept: application/json, text/event-stream', 'Content-Length: 1000']

/** Clients that hold a connection each. */
export const KINDS = {
  'event streams': { text: (host, client) => head('GET /api/stream', host, client, STREAM) },
  WebSockets: { text: (host, client) => head('GET /api/stream', host, client, UPGRADE) },
  'streams of MCP': { text: (host, client) => head('GET /mcp', host, client, STREAM) },
  'requests to MCP without their bodies': { text: (host, client) => head('POST /mcp', host, client, BODY) },
  'requests to MCP whose bodies drip': { text: (host, client) => head('POST /mcp', host, client, BODY), drips: true },
  'connections without a request': { text: () => undefined },
  'half requests': { text: () => 'GET /health HTTP/1.1\r\nHost' },
  'requests whose heads drip': { text: () => 'GET /health HTTP/1.1\r\nX-', drips: true },
  'requests that keep their connection': { text: host => head('GET /health', host, undefined) },
} as const satisfies Record<string, Kind>

/** A name of {@link KINDS}. */
export type KindName = keyof typeof KINDS

const DRIP_MS = 200

function flood(hub: Hub, count: number, { text, drips }: Kind, client: Client | undefined): AsyncDisposable {
  const { hostname, port, host } = new URL(hub.url)
  const first = text(host, client)
  const sockets: Socket[] = []
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      if (first !== undefined) socket.write(first)
    })
    // The hub may refuse or end any of them.
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    sockets.push(socket)
  }
  const timer = setInterval(() => {
    if (drips) for (const socket of sockets) if (socket.writable) socket.write('x')
  }, DRIP_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}

const openOf = (hub: Hub) => readdirSync(`/proc/${hub.pid}/fd`).length

/** On a separate connection: the hub closes idle ones, and a client cannot know that before it sends. */
const ONCE = { connection: 'close' }

/** Makes the hub start a thread for a large body, which would end a process without descriptors. Resolves with the code. */
async function startThread(client: Client): Promise<string> {
  const body = { name: 'large', command: 'true', args: ['x'.repeat(150_000)] }
  const { json } = await client.request('POST', '/api/servers', body, ONCE)
  return json.code
}

/**
 * Opens half as many connections again as the hub has descriptors: the hub keeps running and answers other clients, starts
 * threads and programs or rejects that, and all works as before once the connections are closed.
 */
export async function survives(limit: number, kind: KindName, isSignedIn: boolean): Promise<void> {
  const echoes = Object.fromEntries([1, 2].map(n => [`echo-${n}`, known('echo')]))
  // Nothing has been read or written yet that would start threads or open files.
  const hub = await startHub({
    wrap: ['prlimit', `--nofile=${limit}`, '--'],
    env: { WORKERS: '1' },
    settings: { mcpServers: echoes },
  })
  try {
    const before = isSignedIn ? await hub.setup() : undefined
    const flooder = isSignedIn ? await hub.user('flooder') : undefined
    const started = openOf(hub)
    {
      await using _ = flood(hub, Math.ceil(1.5 * limit), KINDS[kind], flooder)
      // Others are answered on connections of their own, once idle ones have been closed.
      expect((await send(hub.url, 'GET', '/health', undefined, ONCE)).json.status).toBeOneOf(['ok', 'degraded'])
      const admin = before ?? (await hub.setup())
      expect(await startThread(admin)).toBeOneOf(['validation_failed', 'overloaded'])
      const server = await admin.request('POST', '/api/servers', { name: 'late', ...known('echo') }, ONCE)
      expect(server.status).toBe(201)
      expect(openOf(hub)).toBeLessThanOrEqual(limit)
      expect(alive(hub.pid)).toBe(true)
    }
    const admin = await hub.setup()
    await until(() => openOf(hub) <= started + 50, { what: 'the descriptors to be given back', timeoutMs: 30_000 })
    expect(await startThread(admin)).toBe('validation_failed')
    await admin.ok('POST', '/api/groups', { name: 'after', members: [] })
    expect((await admin.request('GET', '/api/logs/search?limit=1')).status).toBe(200)
    // Servers that were refused descriptors are tried again.
    await online(admin, [...Object.keys(echoes), 'late'])
    const stream = await until(async () => {
      const answer = await rawRequest(hub.url, head('GET /api/stream', new URL(hub.url).host, admin, STREAM))
      return answer.status === 200 && answer
    })
    expect(stream.status).toBe(200)
    expect(hub.unhandled()).toEqual([])
  } finally {
    await hub.stop()
  }
}
