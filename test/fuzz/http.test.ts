import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { HubError } from '../../core/contract/errors.ts'
import { createHostList } from '../../core/http/hosts.ts'
import { Exchange } from '../../core/outbound/exchange.ts'
import { parseHead, renderHead } from '../../core/outbound/head.ts'
import { type ConnectionOwner, Http1Connection } from '../../core/outbound/http1.ts'
import { parseProxyHead } from '../../core/outbound/proxy-head.ts'
import { requireCanonical, targetOf } from '../../core/request/canonical-path.ts'
import { check, cuts, fuzzTimeout, hostileText, pieces } from '../support/fuzz.ts'

interface Read {
  readonly status?: number
  readonly body?: string
  readonly error?: string
  readonly headers?: Readonly<Record<string, string>>
}

const WORDS = [
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.0 200\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 204 No\r\n',
  'HTTP/1.1 304 x\r\n',
  'HTTP/2 200\r\n',
  'HTTP/1.1 099 x\r\n',
  'content-length: 5\r\n',
  'Content-Length: 2\r\n',
  'content-length: +5\r\n',
  'content-length : 5\r\n',
  'content-length: 5, 5\r\n',
  'transfer-encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'transfer-encoding: xchunked\r\n',
  'connection: close\r\n',
  'x: y\r\n',
  ' folded\r\n',
  'x:\u0001\r\n',
  'x: y\n',
  'x:\ry\r\n',
  'content-length: 5\u00a0\r\n',
  '\r\n',
  '\n',
  'hello',
  '5\r\nhello\r\n',
  '0\r\n\r\n',
  'ffffffffff\r\n',
  '-1\r\n',
  '5;a=b\r\nhello\r\n',
  '\0',
]

/** Answers that are nearly right, in bytes. */
const answer = fc
  .tuple(
    fc.constantFrom(...WORDS.slice(0, 7)),
    fc.array(fc.constantFrom(...WORDS.slice(7)), { maxLength: 4 }),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }),
    hostileText(),
  )
  .map(([status, fields, body, rest]) =>
    Buffer.from(`${status}${fields.join('')}\r\n${body.join('')}${rest.slice(0, 5)}`, 'latin1'),
  )

describe('the reader of HTTP/1 answers', () => {
  let listener: Server
  let target: { readonly address: string; readonly port: number; readonly tls: undefined; readonly origin: string }
  const owner: ConnectionOwner = { heads: new Map(), idle: () => {}, lost: () => {} }

  beforeAll(async () => {
    listener = createServer(socket => socket.on('error', () => {}))
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
    const address = listener.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    target = { address: '127.0.0.1', port, tls: undefined, origin: `http://127.0.0.1:${port}` }
  })
  afterAll(() => listener?.close(), 120_000)

  /** Reads an answer that arrives in these pieces and then ends. */
  async function read(parts: readonly Buffer[], method: string): Promise<Read> {
    owner.heads.clear()
    const connection = await new Promise<Http1Connection>((resolve, reject) => {
      const made: Http1Connection = new Http1Connection(target, owner, error => (error ? reject(error) : resolve(made)))
    })
    const text = `${method} / HTTP/1.1\r\nhost: x\r\n\r\n`
    const exchange = new Exchange({
      method,
      origin: target.origin,
      text,
      bytes: text.length,
      maxBytes: 1e6,
      headTimeoutMs: 0,
      idleTimeoutMs: 0,
      signal: undefined,
    } as ConstructorParameters<typeof Exchange>[0])
    const outcome = exchange.answered.then(
      async response => {
        try {
          return {
            status: response.status,
            headers: response.headers,
            body: Buffer.from(await response.bytes()).toString('latin1'),
          }
        } catch (error) {
          return { error: (error as HubError).code }
        }
      },
      (error: unknown) => ({ error: error instanceof HubError ? error.code : String(error) }),
    )
    connection.start(exchange)
    for (const part of parts) if (part.length > 0) connection.receive(part)
    connection.peerEnded()
    connection.closed()
    const result = await outcome
    connection.drop()
    return result
  }

  test(
    'gives the same whatever the cuts, and refuses with a code',
    async () => {
      await check(
        fc.asyncProperty(answer, cuts, fc.constantFrom('GET', 'POST', 'HEAD'), async (bytes, places, method) => {
          const whole = await read([bytes], method)
          expect(await read(pieces(bytes, places), method)).toEqual(whole)
          if (whole.error !== undefined) expect(['upstream_protocol', 'connection_lost']).toContain(whole.error)
        }),
        { share: 0.4 },
      )
    },
    fuzzTimeout(),
  )

  test(
    'takes nothing that node:http refuses or reads otherwise',
    async () => {
      const node = Bun.which('node')
      if (node === null) throw new Error('This test needs Node, whose parser is the one to compare with')
      const child = Bun.spawn([node, join(import.meta.dir, 'fixtures/node-http.cjs')], {
        stdin: 'pipe',
        stdout: 'pipe',
      })
      const reader = child.stdout.getReader()
      const decoder = new TextDecoder()
      let rest = ''
      const ask = async (bytes: Buffer, method: string): Promise<Read> => {
        child.stdin.write(`${JSON.stringify({ bytes: bytes.toString('base64'), method })}\n`)
        child.stdin.flush()
        for (;;) {
          const end = rest.indexOf('\n')
          if (end >= 0) {
            const line = rest.slice(0, end)
            rest = rest.slice(end + 1)
            return JSON.parse(line)
          }
          const { done, value } = await reader.read()
          if (done) throw new Error('Node ended')
          rest += decoder.decode(value, { stream: true })
        }
      }
      try {
        let taken = 0
        await check(
          fc.asyncProperty(answer, fc.constantFrom('GET', 'HEAD'), async (bytes, method) => {
            const own = await read([bytes], method)
            if (own.error !== undefined) return
            taken += 1
            const theirs = await ask(bytes, method)
            expect({ status: theirs.status, error: theirs.error }).toEqual({
              status: own.status,
              error: undefined,
            } as never)
            // Bytes behind the answer end the connection on both sides.
            if (theirs.body !== undefined) expect(theirs.body).toBe(own.body as string)
          }),
          { share: 0.6 },
        )
        expect(taken).toBeGreaterThan(0)
      } finally {
        child.kill()
        await child.exited
      }
    },
    fuzzTimeout(),
  )

  test('parseHead() takes or refuses any text with upstream_protocol', async () => {
    await check(
      fc.property(hostileText(...WORDS, '\r\n', ':', 'a'), text => {
        try {
          const head = parseHead(text)
          expect(head.status).toBeWithin(100, 600)
          for (const name of Object.keys(head.headers)) expect(name).toMatch(/^[!#$%&'*+.^_`|~0-9a-z-]+$/)
        } catch (error) {
          expect((error as HubError).code).toBe('upstream_protocol')
        }
      }),
    )
  })
})

describe('what goes out', () => {
  test('renderHead() writes each header on one line, or refuses: nothing of a value can begin another', async () => {
    const name = fc.oneof(
      hostileText('x', '-', ':', ' ', '\r\n'),
      fc.constantFrom('host', 'Content-Length', 'x-a', 'X-A', 'authorization'),
    )
    const value = hostileText('v', '\r\n', '\n', '\r', 'x: y', '\0', 'é', '\t')
    await check(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 4 }), pairs => {
        const headers = Object.fromEntries(pairs)
        try {
          const head = renderHead('POST', new URL('http://a.example/x?y'), headers, 'hub')
          const lines = head.split('\r\n')
          expect(head).not.toMatch(/[^\r]\n|\r[^\n]/)
          expect(lines.slice(0, 2)).toEqual(['POST /x?y HTTP/1.1', 'host: a.example'])
          expect(lines.filter(line => /^(host|content-length|transfer-encoding)\s*:/i.test(line))).toHaveLength(1)
          const own = Object.keys(headers).filter(
            key => !/^(x-patchbay-instance|user-agent|accept-encoding)$/i.test(key),
          )
          expect(lines).toHaveLength(own.length + 6)
        } catch (error) {
          expect(error).toBeInstanceOf(HubError)
          expect((error as HubError).code).toBe('config_invalid')
        }
      }),
    )
  })

  test('parseProxyHead() takes or refuses, and sends a target nothing that was not a field of the client', async () => {
    const words = [
      'CONNECT ',
      'GET ',
      'http://',
      'a.example',
      ':443',
      ':80',
      '[::1]',
      ' HTTP/1.1',
      '\r\n',
      'Host: b\r\n',
      'x: y',
      'Connection: x',
      ' ',
      '@',
      '/',
      '\n',
      '\0',
    ]
    await check(
      fc.property(hostileText(...words), text => {
        try {
          const request = parseProxyHead(text)
          expect(request.port).toBeWithin(1, 65_536)
          if (request.kind === 'tunnel') return
          expect(request.head.match(/^host:/gim)).toHaveLength(1)
          expect(request.head.endsWith('Connection: close\r\n\r\n')).toBe(true)
        } catch (error) {
          expect((error as HubError).code).toBe('request_invalid')
        }
      }),
    )
  })
})

describe('what comes in', () => {
  test('a path that is canonical means the same to URL, to a decoder and to a router that splits it', async () => {
    const words = [
      '/',
      'api',
      '%2f',
      '%2F',
      '%5c',
      '%2e',
      '.',
      '..',
      '%',
      '%c3%a9',
      '%c3',
      ';',
      '\\',
      'é',
      '#',
      '?',
      '//',
      '%00',
      'A',
      ' ',
    ]
    await check(
      fc.property(hostileText(...words), text => {
        // The runtime passes paths on in this form: parsed, with dot segments resolved.
        const path = URL.parse(`http://x/${text}`)?.pathname ?? '/'
        try {
          requireCanonical(path)
        } catch (error) {
          return expect((error as HubError).code).toBe('path_invalid')
        }
        const decoded = path.split('/').map(segment => decodeURIComponent(segment))
        expect(decoded.join('/').split('/')).toEqual(decoded)
        expect(decoded.some(segment => segment.includes('\\') || segment.includes('\0'))).toBe(false)
        expect(decoded.slice(1, -1)).not.toContain('')
      }),
    )
    await check(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: false }), url => {
        const parsed = new URL(url)
        const { path, query } = targetOf(parsed.href)
        expect(path).toBe(parsed.pathname)
        expect(query).toBe(parsed.search.slice(1))
      }),
    )
  })

  test('a host or origin is served only when its name is one of the list', async () => {
    const list = createHostList(['hub.example', '127.0.0.1', '[::1]'], ['https://app.example:8443'])
    const words = [
      'hub.example',
      '127.0.0.1',
      '[::1]',
      ':80',
      ':',
      '.',
      ':3000',
      'http://',
      'https://',
      'app.example',
      ':8443',
      '@',
      '/',
      ',',
      '#',
      '?',
      '\\',
      'evil',
      '[0:0::1]',
      'HUB.',
      ' ',
      '%00',
      '\t',
    ]
    await check(
      fc.property(hostileText(...words), text => {
        const outcome = (work: () => void): string => {
          try {
            work()
            return 'taken'
          } catch (error) {
            return (error as HubError).code
          }
        }
        const host = outcome(() => list.requireHost(text))
        if (host === 'taken') expect(text.toLowerCase()).toMatch(/^(hub\.example|127\.0\.0\.1|\[[0:]*:1\])(:\d{1,5})?$/)
        else expect(['host_not_allowed', 'header_duplicate']).toContain(host)
        const origin = outcome(() => list.requireOrigin(text, ['http://hub.example:3000']))
        if (origin === 'taken')
          expect(['http://hub.example:3000', 'https://app.example:8443']).toContain(new URL(text).origin)
        else expect(['origin_not_allowed', 'header_duplicate']).toContain(origin)
      }),
    )
  })
})
