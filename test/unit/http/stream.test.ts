import { describe, expect, test } from 'bun:test'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { LIMITS } from '../../../core/config/limits.ts'
import type { LogRecord } from '../../../core/features/log-records.ts'
import { LiveFeed } from '../../../core/http/live/live.ts'
import { until } from '../../support/wait.ts'
import { HUB, startHttp, type TestHttp } from './server.ts'

interface Told {
  readonly id?: string
  readonly event: string
  readonly data: {
    id?: string
    at?: string
    owner?: string | null
    data?: Record<string, unknown>
    code?: string
    lost?: number | null
  }
}

/** Reads Server-Sent Events until `stop`; `comments` holds the comments. */
async function listen(hub: TestHttp, token: string, query = '', headers: Record<string, string> = {}) {
  const stop = new AbortController()
  const response = await hub.get(`/api/stream${query}`, token, { signal: stop.signal, headers })
  const told: Told[] = []
  const comments: string[] = []
  let ended = false
  const reading = (async () => {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        if (block.startsWith(':')) comments.push(block)
        else {
          const field = (name: string) =>
            block
              .split('\n')
              .find(line => line.startsWith(`${name}: `))
              ?.slice(name.length + 2)
          const id = field('id')
          told.push({
            ...(id === undefined ? {} : { id }),
            event: field('event') ?? '',
            data: JSON.parse(field('data') ?? ''),
          })
        }
      }
    }
    ended = true
  })().catch(() => {})
  return {
    response,
    told,
    comments,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await reading
    },
  }
}

const names = (told: readonly Told[]) => told.map(each => each.event)
const created = (hub: TestHttp, owner: string | null, name: string, audience?: 'owner' | 'public' | 'internal') =>
  hub.bus.emit('server.created', owner, { serverId: name, name }, audience)

async function twoPeople() {
  const hub = await startHttp()
  const bob = await hub.person('bob')
  const carol = await hub.person('carol')
  return {
    hub,
    bob,
    carol,
    ada: await hub.tokenOf('ada'),
    bobToken: await hub.tokenOf('bob'),
    carolToken: await hub.tokenOf('carol'),
  }
}

describe('events', () => {
  test('each event is sent only to those who may see it', async () => {
    const { hub, bob, carol, ada, bobToken, carolToken } = await twoPeople()
    await using _hub = hub
    await using adas = await listen(hub, ada)
    await using bobs = await listen(hub, bobToken)
    await using carols = await listen(hub, carolToken)
    created(hub, bob.id, 'of-bob')
    created(hub, carol.id, 'of-carol')
    created(hub, bob.id, 'open', 'public')
    created(hub, null, 'of-hub')
    created(hub, bob.id, 'secret', 'internal')
    created(hub, bob.id, 'last-bob')
    created(hub, carol.id, 'last-carol')
    const seen = (stream: { told: Told[] }) => stream.told.map(each => each.data.data?.name)
    await until(
      () => seen(adas).includes('last-carol') && seen(bobs).includes('last-bob') && seen(carols).includes('last-carol'),
    )
    expect(seen(bobs)).toEqual(['of-bob', 'open', 'last-bob'])
    expect(seen(carols)).toEqual(['of-carol', 'open', 'last-carol'])
    expect(seen(adas)).toEqual(['of-bob', 'of-carol', 'open', 'of-hub', 'last-bob', 'last-carol'])
    expect(adas.told[0]?.data).toMatchObject({ owner: 'bob', data: { name: 'of-bob' } })
    expect(adas.told[0]?.data.id).toBe(adas.told[0]?.id as string)
    expect(adas.told[0]?.data.at).toMatch(/^\d{4}-.*Z$/)
    expect(adas.told[3]?.data.owner).toBeNull()
  })

  test('the head and ": ok" come at once, as a stream that nobody stores', async () => {
    await using hub = await startHttp()
    await using stream = await listen(hub, await hub.tokenOf('ada'))
    await until(() => stream.comments.length > 0)
    expect(stream.comments[0]).toBe(': ok')
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.response.headers.get('cache-control')).toBe('no-store')
  })

  test('topics choose, and nothing builds log records while nobody wants them', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    const record: LogRecord = {
      timestamp: '2026-11-21T09:30:00.000Z',
      level: 'INFO',
      message: 'hello',
      ownerId: 'somebody',
    }
    await using servers = await listen(hub, ada, '?topics=servers')
    expect(hub.bus.wants('log.record')).toBe(false)
    {
      await using logs = await listen(hub, ada, '?topics=logs')
      expect(hub.bus.wants('log.record')).toBe(true)
      created(hub, null, 'a')
      hub.bus.emit('log.record', null, record)
      await until(() => logs.told.length > 0 && servers.told.length > 0)
      expect([names(logs.told), names(servers.told)]).toEqual([['log.record'], ['server.created']])
      expect(logs.told[0]?.data.data).not.toHaveProperty('ownerId')
    }
    await until(() => !hub.bus.wants('log.record'))
    const wrong = await hub.get('/api/stream?topics=servers,gossip', ada)
    expect((await wrong.json()).errors).toMatchObject([{ pointer: '?topics', code: 'enum' }])
  })

  test('since brings what was missed, and says so when that is not known', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    let last = ''
    {
      await using first = await listen(hub, ada, '?topics=servers')
      created(hub, null, 'a')
      last = (await until(() => first.told[0])).id ?? ''
    }
    created(hub, null, 'b')
    created(hub, null, 'c')
    await using again = await listen(hub, ada, `?topics=servers&since=${last}`)
    await until(() => again.told.length >= 2)
    expect(again.told.map(each => each.data.data?.name)).toEqual(['b', 'c'])
    await using header = await listen(hub, ada, '?topics=servers', { 'last-event-id': last })
    await until(() => header.told.length >= 2)
    await using stranger = await listen(hub, ada, '?topics=servers&since=elsewhere-7')
    await until(() => stranger.told.length >= 4)
    expect(names(stranger.told)).toEqual(['stream.lost', 'server.created', 'server.created', 'server.created'])
    expect(stranger.told[0]?.data.lost).toBeNull()
  })

  test('a reader who is too slow learns how many were lost, and the others lose none', async () => {
    await using hub = await startHttp()
    const ada = await hub.tokenOf('ada')
    await using quick = await listen(hub, ada, '?topics=servers')
    const slow = connect(hub.port, '127.0.0.1')
    let text = ''
    slow.on('data', data => {
      text += data
    })
    slow.write(`GET /api/stream?topics=servers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ada}\r\n\r\n`)
    await until(() => text.includes(': ok'))
    slow.pause()
    const name = 'x'.repeat(20_000)
    const count = 1_500
    for (let sent = 0; sent < count; sent += 1) {
      created(hub, null, name)
      // The readers share this thread: the quick one must get its turn.
      if (sent % 5 === 0) await until(() => quick.told.length >= sent, { intervalMs: 0 })
    }
    await until(() => quick.told.length >= count)
    expect(names(quick.told)).not.toContain('stream.lost')
    slow.resume()
    await until(() => text.includes('stream.lost'))
    created(hub, null, 'the-end')
    await until(() => text.includes('the-end'))
    const lost = [...text.matchAll(/event: stream\.lost\ndata: \{"lost":(\d+)\}/g)].reduce(
      (sum, found) => sum + Number(found[1]),
      0,
    )
    const told = text.split('event: server.created').length - 2
    expect(lost).toBeGreaterThan(0)
    expect(lost + told).toBe(count)
    slow.destroy()
  }, 120_000)

  test('a stream ends when its credential does', async () => {
    const { hub, bobToken } = await twoPeople()
    await using _hub = hub
    await using byToken = await listen(hub, bobToken)
    const { id, secret } = await hub.key('bob', ['api:read'])
    await using byKey = await listen(hub, secret)
    await until(() => byKey.comments.length + byToken.comments.length === 2)
    await hub.registry.keys.remove(HUB, id)
    await until(() => byKey.ended())
    expect(names(byKey.told)).toEqual(['stream.end'])
    expect(byKey.told[0]?.data.code).toBe('token_revoked')
    expect(byToken.ended()).toBe(false)
    await hub.registry.users.update(HUB, 'bob', { disabled: true })
    await until(() => byToken.ended())
  })

  test('one person more than 100 streams is quota_streams', async () => {
    await using hub = await startHttp()
    const actor = await hub.auth.authenticator.authenticateToken(await hub.tokenOf('ada'), 'api', 'GET', {
      addressKey: '127.0.0.1',
      mayAdminister: true,
    })
    const { bus, bytes, registry } = hub
    const { users, shares: roles } = registry
    const feed = new LiveFeed({ bus, bytes, credentials: hub.auth.liveCredentials, users, roles })
    const sink = { waitingBytes: 0, joined() {}, event: () => true, lost: () => true, ping() {}, end() {} }
    const join = () => feed.join(actor, new Set(['servers'] as const), undefined, sink)
    const first = await join()
    for (let joined = 1; joined < 100; joined += 1) await join()
    expect(await join().catch(error => error)).toMatchObject({ code: 'quota_streams', status: 429 })
    first.leave()
    await join()
    feed.dispose()
    expect(feed.readers).toBe(0)
  })
})

describe('the WebSocket', () => {
  async function open(hub: TestHttp, options: { token?: string; query?: string } = {}) {
    const headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
    const url = `${hub.url.replace('http', 'ws')}/api/stream${options.query ?? ''}`
    const socket = new WebSocket(url, { headers } as unknown as string[])
    const messages: Record<string, unknown>[] = []
    let closed: { code: number; reason: string } | undefined
    let opened = false
    socket.onopen = () => {
      opened = true
    }
    socket.onmessage = ({ data }) => messages.push(JSON.parse(String(data)))
    socket.onclose = ({ code, reason }) => {
      closed = { code, reason }
    }
    await until(() => opened || closed)
    return {
      socket,
      messages,
      opened: () => opened,
      closed: () => until(() => closed, { timeoutMs: 60_000 }),
      isClosed: () => closed !== undefined,
      [Symbol.dispose]: () => socket.close(),
    }
  }

  test('a reader known by the header gets events', async () => {
    await using hub = await startHttp()
    using socket = await open(hub, { token: await hub.tokenOf('ada'), query: '?topics=servers' })
    await until(() => socket.messages.length > 0)
    created(hub, null, 'a')
    await until(() => socket.messages.length > 1)
    expect(socket.messages).toMatchObject([
      { type: 'ready' },
      { event: 'server.created', owner: null, data: { name: 'a' } },
    ])
  })

  test('the first message may bring the token, and nothing is sent before it', async () => {
    await using hub = await startHttp()
    using socket = await open(hub)
    created(hub, null, 'before', 'public')
    socket.socket.send(JSON.stringify({ type: 'auth', token: await hub.tokenOf('ada') }))
    await until(() => socket.messages.length > 0)
    created(hub, null, 'after')
    await until(() => socket.messages.length > 1)
    expect(socket.messages).toMatchObject([{ type: 'ready' }, { data: { name: 'after' } }])
  })

  test('a wrong token in the first message ends with 1008 and the code', async () => {
    await using hub = await startHttp()
    using socket = await open(hub)
    socket.socket.send(JSON.stringify({ type: 'auth', token: 'a.b.c' }))
    expect(await socket.closed()).toEqual({ code: 1008, reason: '{"code":"token_invalid"}' })
  })

  test('a wrong token or a foreign Origin in the head is refused before the upgrade', async () => {
    await using hub = await startHttp()
    using socket = await open(hub, { token: 'a.b.c' })
    expect(socket.opened()).toBe(false)
    const upgrade = {
      upgrade: 'websocket',
      connection: 'Upgrade',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    }
    const wrong = await hub.get('/api/stream', 'a.b.c', { headers: upgrade })
    expect(wrong.status).toBe(401)
    const foreign = await hub.get('/api/stream', await hub.tokenOf('ada'), {
      headers: { ...upgrade, origin: 'http://evil.example' },
    })
    expect(foreign.status).toBe(403)
  })

  test('a client that sends nothing for 5 s is closed with 1008', async () => {
    await using hub = await startHttp()
    const start = performance.now()
    using socket = await open(hub)
    expect(await socket.closed()).toEqual({ code: 1008, reason: '{"code":"unauthenticated"}' })
    expect(performance.now() - start).toBeGreaterThan(4_900)
    expect(socket.messages).toEqual([])
  }, 120_000)

  test('frames over 64 KiB, binary ones, the third bad message and the 101st of a second end it', async () => {
    await using hub = await startHttp()
    const token = await hub.tokenOf('ada')
    const after = async (act: (socket: WebSocket) => void) => {
      using socket = await open(hub, { token })
      await until(() => socket.messages.length > 0)
      act(socket.socket)
      return { ...(await socket.closed()), errors: socket.messages.filter(message => message.type === 'error').length }
    }
    expect(await after(socket => socket.send('x'.repeat(65_537)))).toMatchObject({ code: 1009 })
    expect(await after(socket => socket.send(new Uint8Array(3)))).toMatchObject({ code: 1003 })
    expect(
      await after(socket => {
        for (const text of ['x', '[]', '{"type":"dance"}']) socket.send(text)
      }),
    ).toEqual({ code: 1008, reason: '{"code":"request_invalid"}', errors: 2 })
    expect(
      await after(socket => {
        for (let sent = 0; sent < 101; sent += 1) socket.send('{"type":"ping"}')
      }),
    ).toMatchObject({ code: 1008, reason: '{"code":"rate_limited"}' })
  })

  test('it ends when the credential does, and when the hub stops', async () => {
    const hub = await startHttp()
    await hub.person('bob')
    using bobs = await open(hub, { token: await hub.tokenOf('bob') })
    using adas = await open(hub, { token: await hub.tokenOf('ada') })
    await until(() => bobs.messages.length + adas.messages.length === 2)
    await hub.registry.users.setPassword((await hub.registry.users.byName(HUB, 'bob')).id, '')
    expect(await bobs.closed()).toEqual({ code: 1008, reason: '{"code":"token_revoked"}' })
    expect(adas.isClosed()).toBe(false)
    await hub[Symbol.asyncDispose]()
    expect(await adas.closed()).toEqual({ code: 1001, reason: '{"code":"draining"}' })
  })
})

describe('readers that take nothing', () => {
  /** Connections that read until they are answered, and nothing after that. */
  async function stubborn(hub: TestHttp, token: string, upgrade: boolean) {
    const socket = connect(hub.port, '127.0.0.1')
    let text = ''
    socket.on('error', () => {})
    socket.on('data', data => {
      text += data
    })
    const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13'
    const more = upgrade ? `Upgrade: websocket\r\nConnection: Upgrade\r\n${key}\r\n` : ''
    const head = `GET /api/stream?topics=servers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
    socket.write(head)
    await until(() => text.includes(upgrade ? 'ready' : ': ok'))
    socket.pause()
    return { socket, [Symbol.dispose]: () => socket.destroy() }
  }

  function sockets(): number {
    const targets = readdirSync('/proc/self/fd').map(fd => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        // This descriptor was open only for the listing.
        return ''
      }
    })
    return targets.filter(target => target.startsWith('socket:')).length
  }

  /** Sends events until `enough`: at first, the system's own buffers take them. */
  async function tell(hub: TestHttp, owner: string, enough: () => boolean) {
    const name = 'x'.repeat(20_000)
    for (let sent = 0; sent < 3_000 && !enough(); sent += 1) {
      created(hub, owner, name)
      if (sent % 5 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect(enough()).toBe(true)
  }

  test('bytes that wait for them count for their user, within the user’s limit, until they have gone', async () => {
    const { hub, bob, bobToken } = await twoPeople()
    await using _hub = hub
    const account = hub.bytes.user(bob.id)
    const readers = await Promise.all([false, false, true, true].map(upgrade => stubborn(hub, bobToken, upgrade)))
    await tell(hub, bob.id, () => account.used > 4 * 200 * 1024)
    const { used } = account
    // Something else uses up the rest of the account. Then nothing more is kept for them, except one event for a reader that
    // has taken everything before.
    account.add(LIMITS.bytesInFlightPerUser - used)
    for (let sent = 0; sent < 50; sent += 1) created(hub, bob.id, 'x'.repeat(20_000))
    expect(account.used).toBeLessThan(LIMITS.bytesInFlightPerUser + readers.length * 20_500)
    account.give(LIMITS.bytesInFlightPerUser - used)
    for (const { socket } of readers) socket.destroy()
    await until(() => account.used === 0, { what: 'all bytes given back' })
  }, 120_000)

  test('a stream that ended while its reader took nothing is not held for as long as that pleases', async () => {
    const times = { live: { pingMs: 50, stuckMs: 100 }, streamIdleSeconds: 4 }
    await using hub = await startHttp(times)
    const bob = await hub.person('bob')
    using reader = await stubborn(hub, await hub.tokenOf('bob'), false)
    const account = hub.bytes.user(bob.id)
    await tell(hub, bob.id, () => account.used > 200 * 1024)
    for (let sent = 0; sent < 20; sent += 1) created(hub, bob.id, 'x'.repeat(20_000))
    const left = sockets() - 1
    await until(() => account.used === 0, { what: 'the feed to end it' })
    expect(sockets()).toBe(left + 1)
    await until(() => sockets() <= left, { what: 'the connection to be cut off', timeoutMs: 60_000 })
    expect(reader.socket.destroyed).toBe(false)
  }, 120_000)
})
