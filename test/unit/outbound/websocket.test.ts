import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import type { HubError } from '../../../core/contract/errors.ts'
import type { AddressRights } from '../../../core/domain/address.ts'
import { createGuardedConnect } from '../../../core/outbound/websocket.ts'
import { FrameReader } from '../../../core/outbound/websocket-frames.ts'
import type { WireError } from '../../../core/transport-kit/wire-error.ts'
import { Authority } from '../../support/certificates.ts'
import { shortlyNamed } from '../../support/short-names.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const ADMIN: AddressRights = { networks: [], admin: true }
const INSTANCE = 'hub-1'
const MASK_BYTES = 4

/** A frame of a server: not masked. */
function frame(first: number, payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload)
  const { length } = bytes
  const header = Buffer.alloc(length < 126 ? 2 : length < 0x1_0000 ? 4 : 10)
  header[0] = first
  header[1] = length < 126 ? length : length < 0x1_0000 ? 126 : 127
  if (header.length === 4) header.writeUInt16BE(length, 2)
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([header, bytes])
}

/** The text of a client's frame, from its mask on. */
function unmasked(bytes: Buffer): string {
  return bytes
    .subarray(MASK_BYTES)
    .map((byte, at) => byte ^ (bytes[at % MASK_BYTES] ?? 0))
    .toString()
}

function read(bytes: Buffer, piece: number, maxBytes = 1_000_000): unknown[] {
  const seen: unknown[] = []
  const reader = new FrameReader({
    maxBytes,
    text: message => seen.push(message.length > 40 ? message.length : message),
    tooLong: message => seen.push(message),
    ping: payload => seen.push(['ping', payload.toString()]),
    pong: () => seen.push('pong'),
    close: code => seen.push(['close', code]),
  })
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece))
  return seen
}

describe('FrameReader', () => {
  const whole = Buffer.concat([
    frame(0x81, '{"a":"grüße"}'),
    frame(0x01, '{"begun":'),
    frame(0x89, 'still there'),
    frame(0x8a, ''),
    frame(0x80, 'true}'),
    frame(0x81, 'x'.repeat(300)),
    frame(0x81, 'y'.repeat(70_000)),
    frame(0x81, ''),
    frame(0x88, Buffer.from([3, 232])),
  ])

  test.each([1, 2, 3, 7, 1_000, 100_000])('reads messages in pieces of %i bytes', piece => {
    expect(read(whole, piece)).toEqual([
      ...['{"a":"grüße"}', ['ping', 'still there'], 'pong', '{"begun":true}', 300, 70_000, '', ['close', 1_000]],
    ])
  })

  test('skips a message that is too long, finds out which request it answers, and continues', () => {
    const long = `{"jsonrpc":"2.0","id":7,"result":{"text":"${'z'.repeat(5_000)}"}}`
    const bytes = Buffer.concat([frame(0x01, long.slice(0, 20)), frame(0x80, long.slice(20)), frame(0x81, 'short')])
    for (const piece of [1, 64, 10_000])
      expect(read(bytes, piece, 1_000)).toEqual([{ answers: [7], requests: [], hasMethod: false }, 'short'])
  })

  test.each([
    ['a binary message', frame(0x82, 'x')],
    ['an extension', frame(0xc1, 'x')],
    ['a continuation of nothing', frame(0x80, 'x')],
    ['a message within a message', Buffer.concat([frame(0x01, 'x'), frame(0x81, 'y')])],
    ['a masked frame', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 65])],
    ['a ping in pieces', frame(0x09, 'x')],
    ['a long ping', frame(0x89, 'x'.repeat(126))],
    ['an unknown control frame', frame(0x8b, 'x')],
    ['text that is not UTF-8', frame(0x81, Buffer.from([0xff]))],
  ])('refuses %s', (_what, bytes) => {
    expect(() => read(bytes, 1_000)).toThrow(/WebSocket cannot be read/)
  })
})

describe('createGuardedConnect()', () => {
  let raw: Server
  /** The answer to the next connection. */
  let answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
  let asked = ''
  const sockets = new Set<Socket>()
  beforeAll(async () => {
    raw = createServer(socket => {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('data', chunk => {
        asked += chunk.toString('latin1')
        if (asked.includes('\r\n\r\n')) socket.write(answer)
      })
    })
    await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    raw.close()
  })
  const address = (): string => `ws://127.0.0.1:${(raw.address() as { port: number }).port}/mcp`
  const ignore = { message() {}, tooLong() {}, closed() {} }
  const refused = async (url: string, more: object = {}, rights = ADMIN): Promise<HubError> => {
    asked = ''
    const connect = createGuardedConnect({ rights, instanceId: INSTANCE })
    return connect(url, { ...ignore, ...more }).then(
      () => Promise.reject(new Error('it was opened')),
      (error: HubError) => error,
    )
  }

  test('opens nothing at an address that the owner may not reach, nor anything but ws and wss', async () => {
    const plain: AddressRights = { networks: [], admin: false }
    expect(await refused(address(), {}, plain)).toMatchObject({ code: 'url_address_blocked' })
    expect(asked).toBe('')
    expect(await refused(address().replace('ws:', 'http:'))).toMatchObject({ code: 'url_address_blocked' })
    expect(await refused('ws://a:b@example.com/')).toMatchObject({ code: 'url_address_blocked' })
    expect(await refused(address(), { headers: { 'Sec-WebSocket-Key': 'x' } })).toMatchObject({
      code: 'config_invalid',
    })
  })

  test.each(
    shortlyNamed([
      ['HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n', 'authorization_required'],
      ['HTTP/1.1 302 Found\r\nlocation: ws://127.0.0.1/\r\ncontent-length: 0\r\n\r\n', 'redirect_blocked'],
      ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'upstream_http_error'],
      ['HTTP/1.1 101 Go\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n', 'upstream_protocol'],
      [`HTTP/1.1 101 Go\r\n${'x: y\r\n'.repeat(20_000)}\r\n`, 'upstream_protocol'],
    ]),
  )('rejects %s with %s', async (_, code, said) => {
    answer = said
    expect(await refused(address())).toMatchObject({ code })
  })

  /** A server that opens every WebSocket and reads nothing of it. */
  async function deafServer() {
    const peers: Socket[] = []
    const deaf = createServer(socket => {
      peers.push(socket)
      socket.on('error', () => undefined)
      socket.once('data', head => {
        socket.pause()
        const key = /sec-websocket-key: (\S+)/i.exec(String(head))?.[1] ?? ''
        const accept = new Bun.CryptoHasher('sha1')
          .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
          .digest('base64')
        socket.write(
          `HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
        )
      })
    })
    await new Promise<void>(resolve => deaf.listen(0, '127.0.0.1', resolve))
    const ended: WireError[] = []
    const heard: string[] = []
    const url = `ws://127.0.0.1:${(deaf.address() as { port: number }).port}/`
    const request = {
      message: (text: string) => void heard.push(text),
      tooLong() {},
      closed: (why: WireError) => void ended.push(why),
    }
    return {
      ...{ heard, ended },
      open: (more: object = {}) =>
        createGuardedConnect({ rights: ADMIN, instanceId: INSTANCE })(url, { ...request, ...more }),
      peer: () => peers.at(-1) as Socket,
      async [Symbol.asyncDispose]() {
        for (const peer of peers) peer.destroy()
        await new Promise(resolve => deaf.close(resolve))
      },
    }
  }

  test('ends the connection of a server that does not read, and answers the last of its pings', async () => {
    await using server = await deafServer()
    const socket = await server.open()
    const pings = Array.from({ length: 1_000 }, (_, n) => frame(0x89, `ping ${n}`))
    server.peer().write(Buffer.concat([...pings, frame(0x81, 'after the pings')]))
    await until(() => server.heard.length === 1)
    const mark = 'after the answers'
    socket.send(mark)
    let answered = Buffer.alloc(0)
    server.peer().on('data', (bytes: Buffer) => {
      answered = Buffer.concat([answered, bytes])
    })
    server.peer().resume()
    await until(() => unmasked(answered.subarray(-mark.length - MASK_BYTES)) === mark, { what: 'the message' })
    // There is one answer per read of the socket, and fewer reads than pings.
    expect(answered.length).toBeLessThan(300 * (2 + MASK_BYTES + 'ping 999'.length))
    expect(answered.length).toBeGreaterThan(2 + MASK_BYTES + mark.length)
    server.peer().pause()
    await until(() => {
      socket.send('x'.repeat(1024 * 1024))
      return server.ended.length > 0
    })
    expect(server.ended[0]).toMatchObject({
      code: 'connection_lost',
      message: expect.stringContaining('does not read'),
    })
  })

  const pieces = frame(0x01, 'x')
  test.each([
    ['pings', Buffer.alloc(0), frame(0x89, '')],
    ['pongs', Buffer.alloc(0), frame(0x8a, 'p'.repeat(125))],
    ['empty pieces of a message', pieces, frame(0x00, '')],
    ['short pieces of a message', pieces, frame(0x00, 'x')],
  ])('reads a few thousand %s, and ends the connection of a server that sends more', async (_, first, flood) => {
    await using server = await deafServer()
    await server.open()
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => flood))
    server.peer().write(first)
    for (let round = 0; round < 1_000 && server.ended.length === 0; round += 1) {
      server.peer().write(many)
      await new Promise(resolve => setImmediate(resolve))
    }
    await until(() => server.ended.length > 0, { what: 'the end of the connection' })
    expect(server.ended).toMatchObject([{ code: 'upstream_flood' }])
  })

  test('ends the connection at the head of a message that is too long, if none is skipped', async () => {
    await using server = await deafServer()
    const closed: (number | undefined)[] = []
    await server.open({ tooLong: undefined, maxBytes: 1_000, admits: (bytes: number) => closed.push(bytes) > 0 })
    server.peer().write(Buffer.concat([frame(0x81, 'x'.repeat(1_000)), frame(0x01, 'x'.repeat(600))]))
    await until(() => server.heard.length === 1)
    const endless = Buffer.alloc(10)
    endless[0] = 0x00
    endless[1] = 127
    endless.writeBigUInt64BE(1n << 40n, 2)
    server.peer().write(endless)
    await until(() => server.ended.length > 0, { what: 'the end of the connection' })
    expect(server.ended).toMatchObject([{ code: 'result_too_large' }])
    expect(closed).toEqual([1_000, 600, 2 ** 40])
  })

  test('over TLS checks a literal address by the certificate for it', async () => {
    const folder = await makeTemp('websocket')
    const authority = new Authority(folder)
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: authority.issue('ip', 'IP:127.0.0.1'),
      fetch: (request, serving) => (serving.upgrade(request) ? undefined : new Response('no')),
      websocket: { message() {} },
    })
    try {
      const connect = createGuardedConnect({ rights: ADMIN, instanceId: INSTANCE, tls: { ca: authority.certificate } })
      const socket = await connect(`wss://127.0.0.1:${server.port}/`, ignore)
      expect(socket.protocol).toBe('')
      await socket.close()
    } finally {
      await server.stop(true)
      await removeTemp(folder)
    }
  })

  test('over TLS trusts who it must, and closes with its link', async () => {
    const folder = await makeTemp('websocket')
    const authority = new Authority(folder)
    const heard: string[] = []
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: authority.issue('ws', 'DNS:up.example'),
      fetch: (request, serving) =>
        serving.upgrade(request, { headers: { 'sec-websocket-protocol': 'mcp' } }) ? undefined : new Response('no'),
      websocket: {
        open: socket => void socket.send('welcome'),
        message: (socket, text) => void socket.send(`heard ${text}`),
      },
    })
    const link = new AbortController()
    const lookup = async (): Promise<string[]> => ['127.0.0.1']
    const common = { rights: ADMIN, instanceId: INSTANCE, lookup, signal: link.signal }
    const url = `wss://up.example:${server.port}/`
    const ended: WireError[] = []
    const request = {
      protocols: ['mcp'],
      message: (text: string) => heard.push(text),
      tooLong() {},
      closed: (reason: WireError) => ended.push(reason),
    }
    try {
      await expect(createGuardedConnect(common)(url, request)).rejects.toMatchObject({ code: 'upstream_tls_error' })
      const trusting = createGuardedConnect({ ...common, tls: { ca: authority.certificate } })
      const other = url.replace('up.example', 'other.example')
      await expect(trusting(other, request)).rejects.toMatchObject({ code: 'upstream_tls_error' })
      const literal = url.replace('up.example', '127.0.0.1')
      await expect(trusting(literal, request)).rejects.toMatchObject({ code: 'upstream_tls_error' })
      const first = await trusting(url, request)
      expect(first.protocol).toBe('mcp')
      first.send('x'.repeat(70_000))
      await until(() => heard.length === 2)
      expect(heard.map(text => text.length)).toEqual([7, 70_006])
      await first.close()
      expect(ended).toHaveLength(1)
      await trusting(url, request)
      link.abort()
      await until(() => ended.length === 2)
      await expect(trusting(url, request)).rejects.toThrow()
    } finally {
      await server.stop(true)
      await removeTemp(folder)
    }
  })
})
