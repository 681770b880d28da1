import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { atLeast } from '../../support/pace.ts'
import { until } from '../../support/wait.ts'
import { startHttp, type TestHttp } from './server.ts'

/** A WebSocket made of bytes, which answers no ping by itself. */
async function openRaw(hub: TestHttp, token: string) {
  let bytes = Buffer.alloc(0)
  let closed = false
  const socket = connect(hub.port, '127.0.0.1')
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
  })
  const head = [
    ...['GET /api/stream?topics=servers HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`],
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ]
  socket.write([...head, '', ''].join('\r\n'))
  await until(() => bytes.includes('{"type":"ready"}'))
  return {
    socket,
    closed: () => closed,
    bytes: () => bytes,
    /** A text frame, or a pong, of a few bytes with a mask of zeros. */
    send: (opcode: number, text: string) =>
      socket.write(Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])),
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** Number of live streams of a user, as the hub reports it. */
async function streamsOf(hub: TestHttp, token: string): Promise<number> {
  const { items } = (await (await hub.get('/api/limits', token)).json()) as { items: { name: string; used: number }[] }
  return items.find(({ name }) => name === 'liveStreamsPerUser')?.used ?? -1
}

const PING = Buffer.from([0x89, 0x00])
const FAST = { pingMs: atLeast(300), stuckMs: 300 }

describe('a WebSocket', () => {
  test.concurrent('whose peer answers no ping is cut off, and its place is free', async () => {
    await using hub = await startHttp({ live: FAST })
    const token = await hub.tokenOf('ada')
    const openedAt = performance.now()
    using silent = await openRaw(hub, token)
    expect(await streamsOf(hub, token)).toBe(1)
    await until(() => silent.closed(), { timeoutMs: 60_000 })
    // It closes only after two unanswered pings.
    expect(performance.now() - openedAt).toBeGreaterThan(2 * FAST.pingMs)
    expect(silent.bytes().includes(PING)).toBe(true)
    expect(await streamsOf(hub, token)).toBe(0)
  })

  test.concurrent('whose peer answers pings, or says anything, stays', async () => {
    await using hub = await startHttp({ live: FAST })
    const token = await hub.tokenOf('ada')
    using answering = await openRaw(hub, token)
    using talking = await openRaw(hub, token)
    using silent = await openRaw(hub, token)
    const timer = setInterval(() => {
      answering.send(0xa, '')
      talking.send(0x1, '{"type":"ping"}')
    }, FAST.pingMs / 2)
    await until(() => silent.closed(), { timeoutMs: 60_000 })
    await until(() => talking.bytes().toString('latin1').split('pong').length > 10, { timeoutMs: 60_000 })
    clearInterval(timer)
    expect([answering.closed(), talking.closed()]).toEqual([false, false])
  })

  test('whose peer reads too slowly reports how many events were lost, or is closed with 1013', async () => {
    await using hub = await startHttp({ live: { pingMs: atLeast(400), stuckMs: 100 } })
    const token = await hub.tokenOf('ada')
    using slow = await openRaw(hub, token)
    slow.socket.pause()
    const name = 'x'.repeat(20_000)
    // Far more than the buffers of the system and of the server take together.
    for (let sent = 0; sent < 2_000; sent += 1) {
      hub.bus.emit('server.created', null, { serverId: 's', name })
      if (sent % 50 === 0) slow.send(0xa, '')
      if (sent % 100 === 0) await Bun.sleep(0)
    }
    const keepAlive = setInterval(() => slow.send(0xa, ''), 50)
    await until(async () => (await streamsOf(hub, token)) === 0, { timeoutMs: 60_000 })
    slow.socket.resume()
    await until(() => slow.closed(), { timeoutMs: 60_000 })
    clearInterval(keepAlive)
    const last = slow.bytes().subarray(-64).toString('latin1')
    expect(last).toContain('{"code":"overloaded"}')
    expect(
      slow
        .bytes()
        .subarray(-64)
        .includes(Buffer.from([0x03, 0xf5])),
    ).toBe(true)
  }, 120_000)
})
