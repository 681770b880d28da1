/** Streams over a long time: they stay open while their reader lives, and end when it is only half there. */
import { expect } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atMost } from '../support/pace.ts'
import { callText, online } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { until } from '../support/wait.ts'

const SECOND = 1_000
const OPEN_FOR_MS = 60 * SECOND
/** A sign of life each 15 s. */
const LONGEST_SILENCE_MS = 15 * SECOND

/** A reader of raw bytes: when something came, and when it ended. */
interface Reader {
  readonly at: readonly number[]
  readonly text: () => string
  readonly ended: () => number | undefined
  close(): void
}

function raw(hub: Hub, head: readonly string[]): Reader {
  const { hostname, port } = new URL(hub.url)
  const at: number[] = []
  let text = ''
  let ended: number | undefined
  const socket = connect({ host: hostname, port: Number(port) }, () => socket.write([...head, '', ''].join('\r\n')))
  socket.on('data', chunk => {
    at.push(performance.now())
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    ended = performance.now()
  })
  return { at, text: () => text, ended: () => ended, close: () => socket.destroy() }
}

function upgrade(client: Client, hub: Hub): string[] {
  return [
    ...['GET /api/stream HTTP/1.1', `Host: ${new URL(hub.url).host}`, `Authorization: Bearer ${client.token}`],
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ]
}

function longestSilence({ at }: Reader, endMs: number): number {
  const times = [...at, endMs]
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))
}

/** SSE, WebSocket and MCP are silent for a minute and stay open; one that is half open is closed. */
export async function openStreams(): Promise<void> {
  const hub = await startHub({ countTimers: true, settings: { mcpServers: { echo: stdioFixture('echo') } } })
  const admin = await hub.setup()
  await online(admin, ['echo'])
  const unharmed = await watchFor(hub, admin)
  const host = `Host: ${new URL(hub.url).host}`
  const bearer = `Authorization: Bearer ${admin.token}`

  // A client that opens its stream of notices by itself.
  const mcp = await admin.mcp('/mcp/echo')
  const older = await admin.mcp('/sse/echo', { sse: true })
  let lost = 0
  for (const client of [mcp, older]) client.onerror = client.onclose = () => (lost += 1)
  const live = await openStream(admin)
  const events = raw(hub, ['GET /api/stream HTTP/1.1', host, bearer])
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, {
    headers: { authorization: `Bearer ${admin.token}` },
  } as unknown as string[])
  let closed = 0
  socket.onclose = () => (closed += 1)
  await new Promise(resolve => {
    socket.onmessage = resolve
  })
  // It has completed the handshake and never sends anything again, not even a pong.
  const halfOpen = raw(hub, upgrade(admin, hub))
  await until(() => halfOpen.text().includes('"ready"') && events.at.length > 0)
  const began = performance.now()

  await until(() => performance.now() - began > OPEN_FOR_MS, { timeoutMs: OPEN_FOR_MS + SECOND, intervalMs: 250 })
  const ended = halfOpen.ended()
  expect(ended).toBeDefined()
  expect((ended ?? 0) - began).toBeGreaterThan(16 * SECOND)
  expect([lost, closed, live.ended(), events.ended()]).toEqual([0, 0, false, undefined])
  expect(longestSilence(events, performance.now())).toBeLessThan(LONGEST_SILENCE_MS + atMost(3 * SECOND))
  // They are not only open: events arrive.
  const told = new Promise<string>(resolve => {
    socket.onmessage = event => resolve(String(event.data))
  })
  await admin.ok('POST', '/api/groups', { name: 'late', members: ['echo'] })
  await live.next(({ event }) => event.startsWith('group.'))
  expect(await told).toContain('group.')
  expect(await callText(mcp, 'echo', { text: 'still' })).toBe('still')
  expect(await callText(older, 'echo', { text: 'here' })).toBe('here')

  socket.close()
  events.close()
  await live.close()
  await admin.close()
  await unharmed()
  await hub.stop()
}
