import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { HubError } from '../../../core/contract/errors.ts'
import type { GuardedFetch } from '../../../core/contract/fetch.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { extent } from '../../support/extent.ts'
import { atMost } from '../../support/pace.ts'
import { rawServer, until } from './raw-server.ts'

const options = { rights: { networks: [], admin: true }, instanceId: 'hub-1' }
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const post = { method: 'POST', headers: {}, body: '{}' }

async function failure(promise: Promise<unknown>): Promise<HubError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof HubError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** Posts until the hub trusts the server's connections to stay open: the next POST uses one of them. */
async function trusted(server: { url: string; connections(): number }, fetch: GuardedFetch): Promise<void> {
  await until(async () => {
    const before = server.connections()
    await (await fetch(server.url, post)).text()
    return server.connections() === before
  }, 'a connection to be used again')
}

function encoded(coding: string, body: Buffer): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ncontent-length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

describe('createGuardedFetch() and short pieces', () => {
  const CHUNKS = extent(500_000, 2_000_000)
  /** Each chunk by itself is a hundred bytes and more. */
  const MOST_BYTES = 30 * CHUNKS

  /** A body in chunks of one byte. */
  const inCrumbs = () =>
    rawServer(async socket => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const block = '1\r\nx\r\n'.repeat(CHUNKS / 100)
      for (let sent = 0; sent < 100; sent += 1) {
        if (!socket.write(block)) await new Promise(resolve => socket.once('drain', resolve))
      }
      socket.end('0\r\n\r\n')
    })

  test('a body in chunks of one byte is held in little more memory than it has bytes', async () => {
    await using server = await inCrumbs()
    // Counts memory after a collection; the size of the whole process depends on when the collector runs.
    const held = (): number => {
      Bun.gc(true)
      const { heapSize, extraMemorySize } = heapStats()
      return heapSize + extraMemorySize
    }
    const before = held()
    let most = 0
    let looks = 0
    const watch = setInterval(() => {
      most = Math.max(most, held() - before)
      looks += 1
    }, 50)
    const response = await createGuardedFetch(options)(server.url, post)
    const whole = await response.text()
    clearInterval(watch)
    expect(whole.length).toBe(CHUNKS)
    console.log(`${looks} looks, at most ${(most / 1e6).toFixed(1)} MB`)
    expect(looks).toBeGreaterThan(2)
    expect(most).toBeLessThan(MOST_BYTES)
  })

  test('a stream receives such chunks together', async () => {
    await using server = await inCrumbs()
    const response = await createGuardedFetch(options)(server.url, post)
    let heard = 0
    let characters = 0
    const done = Promise.withResolvers<unknown>()
    response.stream({
      chunk: text => {
        heard += 1
        characters += text.length
      },
      done: error => done.resolve(error),
    })
    expect(await done.promise).toBeUndefined()
    expect(characters).toBe(CHUNKS)
    expect(heard).toBeLessThan(CHUNKS / 100)
  })
})

describe('createGuardedFetch() times', () => {
  test('gives up on a server that sends no head, or drips it', async () => {
    await using silent = await rawServer(() => {})
    await using dripping = await rawServer(socket => {
      const timer = setInterval(() => socket.write('H'), 20)
      socket.write('HTTP/1.1 200 OK\r\na: ')
      socket.on('close', () => clearInterval(timer))
    })
    for (const server of [silent, dripping]) {
      const since = performance.now()
      const error = await failure(createGuardedFetch(options)(server.url, { ...post, headTimeoutMs: 150 }))
      expect(error.code).toBe('upstream_timeout')
      expect(performance.now() - since).toBeWithin(140, 150 + atMost(250))
      await until(() => server.open() === 0, 'the connection to close')
    }
  })

  test('gives up on a body that falls silent, and not on one that is slow', async () => {
    await using silent = await rawServer(socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'))
    await using slow = await rawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n')
      let sent = 0
      const timer = setInterval(() => {
        socket.write('x')
        sent += 1
        if (sent === 6) clearInterval(timer)
      }, 200)
    })
    const fetch = createGuardedFetch(options)
    const silentRead = async (): Promise<string> => (await fetch(silent.url, { ...post, idleTimeoutMs: 150 })).text()
    expect((await failure(silentRead())).code).toBe('upstream_timeout')
    await until(() => silent.open() === 0, 'the connection to close')
    expect(await (await fetch(slow.url, { ...post, idleTimeoutMs: 1_000 })).text()).toBe('xxxxxx')
  })

  test('gives up on a body without a byte', async () => {
    await using server = await rawServer(socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'))
    const response = await createGuardedFetch(options)(server.url, { ...post, idleTimeoutMs: 100 })
    expect((await failure(response.text())).code).toBe('upstream_timeout')
  })
})

describe('createGuardedFetch() sizes', () => {
  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ] as const)('decodes %s', async (coding, compress) => {
    const text = JSON.stringify(Array.from({ length: 500 }, (_, index) => `ü${index * 7919}`))
    await using server = await rawServer(socket => socket.write(encoded(coding, compress(Buffer.from(text)))))
    const fetch = createGuardedFetch(options)
    expect(await (await fetch(server.url, post)).text()).toBe(text)
    const chunks: string[] = []
    const response = await fetch(server.url, post)
    await new Promise<void>((resolve, reject) => {
      response.stream({ chunk: piece => chunks.push(piece), done: error => (error ? reject(error) : resolve()) })
    })
    expect(chunks.join('')).toBe(text)
    expect(server.requests[0]).toContain('accept-encoding: gzip, deflate, br')
  })

  test('stops at a body that expands more than 100 times', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    await using server = await rawServer(socket => socket.write(encoded('gzip', bomb)))
    const fetch = createGuardedFetch(options)
    const read = async (): Promise<string> => (await fetch(server.url, post)).text()
    const before = process.memoryUsage.rss()
    const error = await failure(read())
    expect(error.code).toBe('upstream_protocol')
    expect(error.message).toContain('100 times')
    expect(process.memoryUsage.rss() - before).toBeLessThan(40_000_000)
  })

  test.each([
    ['damaged', Buffer.from('not gzip at all')],
    ['cut short', gzipSync(Buffer.from('some text that is long enough')).subarray(0, 20)],
  ])('refuses a compressed body that is %s', async (_what, body) => {
    await using server = await rawServer(socket => socket.write(encoded('gzip', body)))
    const read = async (): Promise<string> => (await createGuardedFetch(options)(server.url, post)).text()
    expect((await failure(read())).code).toBe('upstream_protocol')
  })

  test.each([
    ['announced', 'content-length: 11000000'],
    ['unannounced', 'x-a: b'],
  ])('stops reading an %s body of more than 10 MiB', async (_what, field) => {
    const piece = Buffer.alloc(100_000, 120)
    let written = 0
    await using server = await rawServer(socket => {
      socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`)
      const more = (): void => {
        while (written < 30_000_000 && socket.writable) {
          written += piece.length
          if (!socket.write(piece)) {
            socket.once('drain', more)
            return
          }
        }
      }
      more()
    })
    const read = async (): Promise<string> => (await createGuardedFetch(options)(server.url, post)).text()
    const error = await failure(read())
    expect(error.code).toBe('result_too_large')
    expect(error.message).toContain('10485760 bytes')
    await until(() => server.open() === 0, 'the connection to close')
    expect(written).toBeLessThan(25_000_000)
  })
})

describe('createGuardedFetch() connections', () => {
  test('keeps one connection for requests one after the other, and opens more for those at once', async () => {
    await using server = await rawServer(socket => setTimeout(() => socket.write(OK), 5))
    const fetch = createGuardedFetch(options)
    for (let index = 0; index < 5; index++) await (await fetch(server.url, { method: 'GET', headers: {} })).text()
    expect(server.connections()).toBe(1)
    await trusted(server, fetch)
    const before = server.connections()
    for (let index = 0; index < 5; index++) await (await fetch(server.url, post)).text()
    expect(server.connections()).toBe(before)
    const many = before + 20
    await Promise.all(Array.from({ length: many }, async () => (await fetch(server.url, post)).text()))
    expect(server.connections()).toBe(many)
  })

  test.each([
    ['says nothing and closes with the answer', OK, (socket: Socket) => socket.end()],
    ['says nothing and closes a little later', OK, (socket: Socket) => setTimeout(() => socket.end(), 5)],
    [
      'promises to keep it, and cuts it',
      `HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nok`,
      (socket: Socket) => setImmediate(() => socket.destroy()),
    ],
    [
      'says that it closes',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok',
      (socket: Socket) => socket.end(),
    ],
  ])(
    '500 POSTs to a server that %s after each answer: none is lost, none is sent twice',
    async (_what, answer, close) => {
      await using server = await rawServer(socket => {
        socket.write(answer, () => close(socket))
      })
      const fetch = createGuardedFetch(options)
      let left = 500
      const caller = async (): Promise<void> => {
        for (; left > 0; ) {
          left -= 1
          expect(await (await fetch(server.url, post)).text()).toBe('ok')
        }
      }
      await Promise.all(Array.from({ length: 20 }, caller))
      expect(server.requests.length).toBe(500)
    },
  )

  test('does not use a connection that has rested for more than half of what the server allows', async () => {
    const closedBy: string[] = []
    await using server = await rawServer(socket => {
      socket.write(OK)
      // Shorter than the hub's own limit for an idle connection (4 s), on any machine.
      const timer = setTimeout(() => {
        closedBy.push('server')
        socket.end()
      }, 1_500)
      socket.once('close', () => {
        clearTimeout(timer)
        if (closedBy.length === 1) closedBy.push('hub')
      })
    })
    const fetch = createGuardedFetch(options)
    for (let times = 0; times < 2; times += 1) {
      await (await fetch(server.url, post)).text()
      await until(() => server.open() === 0, 'the connection to close')
      if (times === 0) closedBy.length = 1
    }
    expect(closedBy).toEqual(['server', 'hub'])
  })

  test.each([
    ['connection: close', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    ['Connection: x, Close', 'HTTP/1.1 200 OK\r\nConnection: x, Close\r\ncontent-length: 2\r\n\r\nok'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
    ['keep-alive of a second', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'],
  ])('does not reuse a connection after %s', async (_what, answer) => {
    await using server = await rawServer(socket => socket.write(answer))
    const fetch = createGuardedFetch(options)
    for (let index = 0; index < 3; index++) expect(await (await fetch(server.url, post)).text()).toBe('ok')
    expect(server.connections()).toBe(3)
  })

  test('does not reuse a connection whose answer came before the request was written', async () => {
    let connections = 0
    // The server answers at the first bytes and reads no further.
    const server = createServer(socket => {
      connections += 1
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const abort = new AbortController()
    const fetch = createGuardedFetch({ ...options, signal: abort.signal })
    const big = { method: 'POST', headers: {}, body: 'x'.repeat(20_000_000) }
    expect((await fetch(`http://127.0.0.1:${port}/`, big)).status).toBe(413)
    expect((await fetch(`http://127.0.0.1:${port}/`, post)).status).toBe(413)
    expect(connections).toBe(2)
    abort.abort()
    await new Promise<void>(resolve => server.close(() => resolve()))
  })

  test('opens a new connection when the idle one was closed in between', async () => {
    await using server = await rawServer(socket => socket.end(OK))
    const fetch = createGuardedFetch(options)
    for (let index = 0; index < 3; index++) {
      expect(await (await fetch(server.url, post)).text()).toBe('ok')
      await until(() => server.open() === 0, 'the server to close')
    }
    expect(server.connections()).toBe(3)
  })

  test('never repeats a POST that was written, and repeats a GET once', async () => {
    let dying = false
    await using server = await rawServer(socket => {
      if (dying) socket.destroy()
      else socket.write(OK)
    })
    const fetch = createGuardedFetch(options)
    await trusted(server, fetch)
    const before = server.requests.length
    dying = true
    const error = await failure(fetch(server.url, post))
    expect([error.code, error.data?.sent]).toEqual(['connection_lost', undefined])
    expect(server.requests.length).toBe(before + 1)

    await using second = await rawServer((socket, index) => {
      if (index === 1) socket.destroy()
      else socket.write(OK)
    })
    await (await fetch(second.url, post)).text()
    expect(await (await fetch(second.url, { method: 'GET', headers: {} })).text()).toBe('ok')
    expect(second.requests.map(request => request.slice(0, 4))).toEqual(['POST', 'GET ', 'GET '])
  })

  test('does not repeat a GET on a fresh connection, nor after the first byte of an answer', async () => {
    await using dead = await rawServer(socket => socket.destroy())
    const fetch = createGuardedFetch(options)
    expect((await failure(fetch(dead.url, { method: 'GET', headers: {} }))).code).toBe('connection_lost')
    expect(dead.requests.length).toBe(1)
    await using half = await rawServer((socket, index) => {
      if (index === 0) socket.write(OK)
      else socket.end('HTTP/1.1 2')
    })
    await (await fetch(half.url, post)).text()
    expect((await failure(fetch(half.url, { method: 'GET', headers: {} }))).code).toBe('connection_lost')
    expect(half.requests.length).toBe(2)
  })

  test('closes idle connections some seconds before common servers do', async () => {
    await using server = await rawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nok')
    })
    const since = performance.now()
    await (await createGuardedFetch(options)(server.url, post)).text()
    await until(() => server.open() === 0, 'the idle connection to close')
    expect(performance.now() - since).toBeWithin(900, atMost(1_800))
  })

  test('closes everything when its signal aborts', async () => {
    await using server = await rawServer((socket, index) => {
      if (index !== 1) socket.write(OK)
    })
    const abort = new AbortController()
    const fetch = createGuardedFetch({ ...options, signal: abort.signal })
    await (await fetch(server.url, post)).text()
    const waiting = failure(fetch(server.url, post))
    await until(() => server.requests.length === 2, 'the second request')
    await (await fetch(server.url, post)).text()
    expect(server.open()).toBeGreaterThan(1)
    abort.abort()
    expect((await waiting).code).toBe('connection_lost')
    await until(() => server.open() === 0, 'all connections to close')
    expect((await failure(fetch(server.url, post))).data?.sent).toBe(false)
  })

  test('ends a request with the reason of its own signal, before and after the head', async () => {
    await using server = await rawServer((socket, index) => {
      if (index === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
    })
    const fetch = createGuardedFetch(options)
    const reason = new Error('the caller gave up')
    for (const afterHead of [false, true]) {
      const abort = new AbortController()
      const request = fetch(server.url, { ...post, signal: abort.signal })
      const outcome = afterHead ? (await request).text() : request
      await until(() => server.requests.length === (afterHead ? 2 : 1), 'the request')
      abort.abort(reason)
      await expect(outcome).rejects.toBe(reason)
      await until(() => server.open() === 0, 'the connection to close')
    }
    await expect(fetch(server.url, { ...post, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(server.requests.length).toBe(2)
  })

  test('drops the connection of a cancelled answer, and keeps that of a complete one', async () => {
    await using server = await rawServer((socket, index) => {
      if (index === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
      else socket.write(OK)
    })
    const fetch = createGuardedFetch(options)
    const first = await fetch(server.url, post)
    first.cancel()
    await until(() => server.open() === 0, 'the connection to close')
    const second = await fetch(server.url, post)
    await until(() => server.requests.length === 2, 'the second request')
    await second.text()
    second.cancel()
    await (await fetch(server.url, { method: 'GET', headers: {} })).text()
    expect(server.connections()).toBe(2)
  })

  test('refuses more than 512 connections to one origin', async () => {
    await using server = await rawServer(() => {})
    const abort = new AbortController()
    const fetch = createGuardedFetch({ ...options, signal: abort.signal })
    const calls = Array.from({ length: 513 }, () => failure(fetch(server.url, post)))
    const last = await calls[512]
    expect([last?.code, last?.data?.sent]).toEqual(['overloaded', false])
    abort.abort()
    await Promise.all(calls)
  })
})
