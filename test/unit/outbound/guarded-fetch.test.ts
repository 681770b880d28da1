import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import type { GuardedFetch, GuardedResponse } from '../../../core/contract/fetch.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { rawServer, until } from './raw-server.ts'

const ADMIN = { networks: [], admin: true }
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const post = { method: 'POST', headers: {}, body: '{}' }

function admin(options: Partial<Parameters<typeof createGuardedFetch>[0]> = {}): GuardedFetch {
  return createGuardedFetch({ rights: ADMIN, instanceId: 'hub-1', ...options })
}

async function failure(promise: Promise<unknown>): Promise<HubError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof HubError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** Reads a stream to its end: the text, and the error if it ended with one. */
function streamed(response: GuardedResponse): Promise<{ chunks: string[]; error: unknown }> {
  const chunks: string[] = []
  return new Promise(resolve => {
    response.stream({ chunk: text => chunks.push(text), done: error => resolve({ chunks, error }) })
  })
}

describe('createGuardedFetch() requests', () => {
  test('writes method, path, host, length and instance id, and returns the answer', async () => {
    await using server = await rawServer(socket => {
      socket.write('HTTP/1.1 201 Made\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 8\r\n\r\n{"ü":1}')
    })
    const response = await admin()(`http://127.0.0.1:${server.port}/a%20b?q=1#part`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Patchbay-Instance': 'other-hub' },
      body: '{"text":"grün"}',
    })
    expect(response.status).toBe(201)
    expect(response.headers['x-a']).toBe('1, 2')
    expect(await response.text()).toBe('{"ü":1}')
    const [head = '', body] = server.requests[0]?.split('\r\n\r\n') ?? []
    const lines = head.split('\r\n')
    expect(lines[0]).toBe('POST /a%20b?q=1 HTTP/1.1')
    expect(lines).toContain(`host: 127.0.0.1:${server.port}`)
    expect(lines).toContain('x-patchbay-instance: other-hub, hub-1')
    expect(lines).toContain('content-length: 16')
    expect(Buffer.from(body ?? '', 'latin1').toString()).toBe('{"text":"grün"}')
  })

  test('renders a frozen headers object again for another URL or method', async () => {
    await using server = await rawServer(socket => socket.write(OK))
    const fetch = admin()
    const headers = Object.freeze({ 'x-one': '1' })
    for (const [method, path] of [
      ['POST', '/a'],
      ['POST', '/a'],
      ['POST', '/b'],
      ['GET', '/b'],
    ] as const) {
      await (await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers })).text()
    }
    expect(server.requests.map(request => request.split(' HTTP')[0])).toEqual([
      'POST /a',
      'POST /a',
      'POST /b',
      'GET /b',
    ])
    const changing: Record<string, string> = { 'x-two': 'a' }
    await (await fetch(server.url, { method: 'GET', headers: changing })).text()
    changing['x-two'] = 'b'
    await (await fetch(server.url, { method: 'GET', headers: changing })).text()
    expect(server.requests[5]).toContain('x-two: b')
  })

  test('sends a body larger than the socket takes at once', async () => {
    await using server = await rawServer((socket, _index, request) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${String(request.length).length}\r\n\r\n${request.length}`)
    })
    const body = 'x'.repeat(8_000_000)
    const response = await admin()(server.url, { method: 'POST', headers: {}, body })
    expect(Number(await response.text())).toBeGreaterThan(8_000_000)
    expect(server.requests[0]?.endsWith('xxx')).toBe(true)
  })

  test.each([
    ['line end in a value', { 'x-a': 'b\r\nx-evil: 1' }],
    ['NUL in a value', { 'x-a': 'b\0' }],
    ['space in a name', { 'x a': 'b' }],
    ['colon in a name', { 'x:a': 'b' }],
    ['Host', { Host: 'other' }],
    ['Content-Length', { 'Content-Length': '1' }],
    ['Transfer-Encoding', { 'transfer-encoding': 'chunked' }],
    ['one name in two spellings', { 'x-a': '1', 'X-A': '2' }],
  ])('refuses a header with %s and sends nothing', async (_what, headers) => {
    await using server = await rawServer(socket => socket.write(OK))
    const error = await failure(
      admin()(server.url, { method: 'POST', headers: headers as unknown as Record<string, string> }),
    )
    expect(error.code).toBe('config_invalid')
    expect(server.connections()).toBe(0)
  })
})

describe('createGuardedFetch() addresses', () => {
  const user = createGuardedFetch({ rights: { networks: [], admin: false }, instanceId: 'i' })

  test('connects to no blocked literal', async () => {
    await using server = await rawServer(socket => socket.write(OK))
    for (const host of ['127.0.0.1', '127.1', '2130706433', 'localhost', '[::ffff:127.0.0.1]', '0']) {
      const error = await failure(user(`http://${host}:${server.port}/`, post))
      expect([host, error.code, error.data?.sent]).toEqual([host, 'url_address_blocked', false])
    }
    expect(server.connections()).toBe(0)
  })

  test('blocks a name when one of its addresses is blocked', async () => {
    await using server = await rawServer(socket => socket.write(OK))
    const fetch = createGuardedFetch({
      rights: { networks: ['127.0.0.1/32'], admin: false },
      instanceId: 'i',
      lookup: async () => ['127.0.0.1', '10.0.0.1'],
    })
    const error = await failure(fetch(`http://mixed.example:${server.port}/`, post))
    expect(error.code).toBe('url_address_blocked')
    expect(error.message).not.toContain('10.0.0.1')
    expect(server.connections()).toBe(0)
  })

  test('connects to the checked address and keeps the name as Host; asks again for each connection', async () => {
    await using server = await rawServer(socket => socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n`))
    const asked: string[] = []
    const answers = [['127.0.0.1'], ['169.254.169.254']]
    const fetch = createGuardedFetch({
      rights: { networks: ['127.0.0.0/8'], admin: false },
      instanceId: 'i',
      lookup: async name => {
        asked.push(name)
        return answers[asked.length - 1] ?? []
      },
    })
    const url = `http://rebind.example:${server.port}/`
    expect(await (await fetch(url, post)).text()).toBe('')
    expect(server.requests[0]).toContain(`host: rebind.example:${server.port}\r\n`)
    expect((await failure(fetch(url, post))).code).toBe('url_address_blocked')
    expect((await failure(fetch(url, post))).code).toBe('url_address_blocked')
    expect(asked).toEqual(['rebind.example', 'rebind.example', 'rebind.example'])
    expect(server.connections()).toBe(1)
  })

  test('tells an ordinary user no difference between a name that does not exist and one of an internal network', async () => {
    const lookup = async (name: string): Promise<readonly string[]> => {
      if (name === 'internal.example') return ['10.0.0.1']
      if (name === 'empty.example') return []
      throw new Error('ENOTFOUND')
    }
    const fetch = createGuardedFetch({ rights: { networks: [], admin: false }, instanceId: 'i', lookup })
    const outcomes = await Promise.all(
      ['internal', 'empty', 'unknown'].map(async name => {
        const startMs = performance.now()
        const { code, message, data, status } = await failure(fetch(`http://${name}.example/`, post))
        expect(performance.now() - startMs).toBeGreaterThanOrEqual(149)
        return { code, message: message.replace(name, 'x'), data, status }
      }),
    )
    expect(outcomes).toEqual([outcomes[0]!, outcomes[0]!, outcomes[0]!])
    expect((await failure(admin({ lookup })('http://unknown.example/', post))).code).toBe('upstream_dns_error')
  })

  test('tries the next address when the first refuses', async () => {
    await using server = await rawServer(socket => socket.write(OK))
    const fetch = admin({ lookup: async () => ['::1', '127.0.0.1'] })
    expect(await (await fetch(`http://two.example:${server.port}/`, post)).text()).toBe('ok')
  })

  test('reports a name that cannot be resolved', async () => {
    const fetch = admin({ lookup: () => Promise.reject(new Error('ENOTFOUND secret-resolver')) })
    const error = await failure(fetch('http://nowhere.example/path?token=s3cret', post))
    expect(error.code).toBe('upstream_dns_error')
    expect(error.data?.sent).toBe(false)
    expect(error.message).not.toMatch(/s3cret|secret-resolver/)
  })

  test.each([
    'file:///etc/passwd',
    'data:text/plain,x',
    'ftp://8.8.8.8/',
    'http://u:p@8.8.8.8/',
    'not a url',
    'ws://8.8.8.8/',
  ])('refuses %s', async url => {
    expect((await failure(admin()(url, post))).code).toBe('url_address_blocked')
  })

  test('reports a refused connection as not sent', async () => {
    let port = 0
    {
      await using server = await rawServer(() => {})
      port = server.port
    }
    const error = await failure(admin()(`http://127.0.0.1:${port}/`, post))
    expect([error.code, error.data?.sent]).toEqual(['connection_lost', false])
  })

  test('follows no redirect [CVE-2026-79747]', async () => {
    await using server = await rawServer(socket => {
      socket.write('HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n')
    })
    const response = await admin()(server.url, post)
    expect(response.status).toBe(302)
    expect(server.requests.length).toBe(1)
  })
})

describe('createGuardedFetch() answers', () => {
  const CASES: readonly (readonly [string, readonly string[], string])[] = [
    ['a content length', ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'], 'hello'],
    ['a length of 0', ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'], ''],
    ['a head and body in pieces', ['HTT', 'P/1.1 200 OK\r', '\ncontent-length: 5\r\n\r', '\nhe', 'll', 'o'], 'hello'],
    ['204 without length', ['HTTP/1.1 204 No Content\r\n\r\n'], ''],
    ['interim answers', ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n', OK], 'ok'],
    ['chunks', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n'], 'abcde'],
    [
      'chunks cut anywhere',
      [
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n',
        '3',
        '\r',
        '\nab',
        'c',
        '\r\n',
        'A',
        '\r\n0123456789\r',
        '\n0\r',
        '\nx: y\r\n',
        '\r\n',
      ],
      'abc0123456789',
    ],
    ['a reason phrase that is missing', ['HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nx'], 'x'],
  ]
  test.each(CASES)('reads %s', async (_what, parts, expected) => {
    await using server = await rawServer(async socket => {
      for (const part of parts) {
        socket.write(part)
        await new Promise(resolve => setTimeout(resolve, 2))
      }
    })
    const fetch = admin()
    const get = { method: 'GET', headers: {} }
    expect(await (await fetch(server.url, post)).text()).toBe(expected)
    expect(await (await fetch(server.url, get)).text()).toBe(expected)
    expect(server.connections()).toBe(1)
  })

  test('reads a body that the end of the connection ends', async () => {
    await using server = await rawServer(socket => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))
    expect(await (await admin()(server.url, post)).text()).toBe('all of it')
  })

  const MALFORMED: readonly (readonly [string, string])[] = [
    ['a banner', 'SSH-2.0-OpenSSH_9.2 canary\r\n'],
    ['an SMTP banner', '220 mail canary ESMTP\r\n'],
    ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
    ['bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
    ['a bare LF between fields', 'HTTP/1.1 200 OK\r\na: b\nc: d\r\ncontent-length: 2\r\n\r\nok'],
    ['a folded field', 'HTTP/1.1 200 OK\r\na: b\r\n c\r\ncontent-length: 2\r\n\r\nok'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok'],
    ['a field without a name', 'HTTP/1.1 200 OK\r\n: 2\r\n\r\nok'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok'],
    ['two equal lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok'],
    ['a signed length', 'HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok'],
    ['a hexadecimal length', 'HTTP/1.1 200 OK\r\ncontent-length: 0x2\r\n\r\nok'],
    [
      'length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['another transfer coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a chunk size that is no number', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\nok\r\n0\r\n\r\n'],
    ['a negative chunk size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n'],
    ['a chunk size with 0x', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n'],
    ['a huge chunk size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n100000002\r\nok\r\n0\r\n\r\n'],
    ['a chunk longer than said', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n'],
    ['a bare LF after a chunk size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a NUL in a value', 'HTTP/1.1 200 OK\r\na: \0\r\ncontent-length: 2\r\n\r\nok'],
    ['an unknown content coding', 'HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 2\r\n\r\nok'],
    ['layers of content coding', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip, br\r\ncontent-length: 2\r\n\r\nok'],
    ['a head of more than 64 KiB', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}\r\n\r\n`],
    ['an endless head', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}`],
    ['endless interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3_000)],
  ]
  test.each(MALFORMED)('refuses %s, closes the connection and quotes nothing', async (_what, bytes) => {
    await using server = await rawServer(socket => socket.write(bytes))
    const read = async (): Promise<string> => (await admin()(server.url, post)).text()
    const error = await failure(read())
    expect(error.code).toBe('upstream_protocol')
    expect(error.message).not.toContain('canary')
    await until(() => server.open() === 0, 'the connection to close')
  })

  test('does not hand surplus bytes to the next request', async () => {
    await using server = await rawServer(socket =>
      socket.write(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`),
    )
    const fetch = admin()
    expect(await (await fetch(server.url, post)).text()).toBe('ok')
    expect(await (await fetch(server.url, post)).text()).toBe('ok')
    expect(server.connections()).toBe(2)
  })

  test('closes an idle connection on which the server speaks up', async () => {
    await using server = await rawServer(socket => {
      socket.write(OK)
      setTimeout(() => socket.write('HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n'), 10)
    })
    const fetch = admin()
    expect(await (await fetch(server.url, post)).text()).toBe('ok')
    await until(() => server.open() === 0, 'the connection to close')
    expect(await (await fetch(server.url, post)).text()).toBe('ok')
  })

  test('delivers a stream as it comes, without cutting a character', async () => {
    const bytes = Buffer.from('aü€😀z')
    await using server = await rawServer(async socket => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      for (const byte of bytes) {
        socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
        await new Promise(resolve => setTimeout(resolve, 2))
      }
      socket.write('0\r\n\r\n')
    })
    const { chunks, error } = await streamed(await admin()(server.url, post))
    expect(error).toBeUndefined()
    expect(chunks.join('')).toBe('aü€😀z')
    expect(chunks.length).toBeGreaterThan(1)
    expect(chunks.join('|')).not.toContain('\ufffd')
  })

  test('ends a stream with connection_lost when the connection breaks', async () => {
    await using server = await rawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart')
      setTimeout(() => socket.destroy(), 20)
    })
    const { chunks, error } = await streamed(await admin()(server.url, post))
    expect(chunks).toEqual(['part'])
    expect(error).toMatchObject({ code: 'connection_lost' })
  })
})
