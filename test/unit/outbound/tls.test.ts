import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { HubError } from '../../../core/contract/errors.ts'
import type { GuardedFetch } from '../../../core/contract/fetch.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { Authority, type Certificate } from '../../support/certificates.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { rawServer } from './raw-server.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const post = { method: 'POST', headers: { 'x-secret': 'canary' }, body: 'canary' }
let folder = ''
let authority: Authority
let ca = ''
beforeAll(async () => {
  folder = await makeTemp('tls')
  authority = new Authority(folder)
  ca = authority.certificate
})
afterAll(() => removeTemp(folder))

const certificate = (name: string, altNames: string, days?: number): Certificate =>
  authority.issue(name, altNames, days)

function trusting(trusted: string | undefined): GuardedFetch {
  return createGuardedFetch({
    rights: { networks: [], admin: true },
    instanceId: 'i',
    lookup: async () => ['127.0.0.1'],
    ...(trusted === undefined ? {} : { tls: { ca: trusted } }),
  })
}

async function outcome(fetch: GuardedFetch, url: string): Promise<unknown> {
  try {
    return await (await fetch(url, post)).text()
  } catch (error) {
    return error
  }
}

describe('createGuardedFetch() over TLS', () => {
  test('answers when the certificate is of a trusted issuer and for the name, and reuses the connection', async () => {
    await using server = await rawServer(socket => socket.write(OK), certificate('good', 'DNS:up.example'))
    const fetch = trusting(ca)
    expect(await outcome(fetch, `https://up.example:${server.port}/mcp`)).toBe('ok')
    for (let index = 0; index < 2; index++) {
      const again = await fetch(`https://up.example:${server.port}/mcp`, { method: 'GET', headers: {} })
      expect(await again.text()).toBe('ok')
    }
    expect(server.connections()).toBe(1)
    expect(server.requests[0]).toContain(`host: up.example:${server.port}\r\n`)
  })

  test('checks the certificate of a literal address by that address', async () => {
    await using server = await rawServer(socket => socket.write(OK), certificate('ip', 'IP:127.0.0.1'))
    expect(await outcome(trusting(ca), `https://127.0.0.1:${server.port}/`)).toBe('ok')
    expect(await outcome(trusting(ca), `https://up.example:${server.port}/`)).toMatchObject({
      code: 'upstream_tls_error',
    })
  })

  test('takes a large answer and a large request', async () => {
    const body = 'y'.repeat(3_000_000)
    await using server = await rawServer(
      socket => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      },
      certificate('large', 'DNS:up.example'),
    )
    const request = { method: 'POST', headers: {}, body: 'x'.repeat(3_000_000) }
    const response = await trusting(ca)(`https://up.example:${server.port}/`, request)
    expect((await response.text()).length).toBe(3_000_000)
    expect(server.requests[0]?.length).toBeGreaterThan(3_000_000)
  })

  test.each([
    ['an untrusted issuer', 'DNS:up.example', undefined, 'issuer'],
    ['another name', 'DNS:canary.example', 'ca', 'another name'],
  ])('refuses a certificate of %s and sends nothing', async (what, names, trusted, why) => {
    await using server = await rawServer(socket => socket.write(OK), certificate(what.replace(/ /g, '-'), names))
    const error = await outcome(trusting(trusted && ca), `https://up.example:${server.port}/`)
    expect(error).toMatchObject({ code: 'upstream_tls_error', data: { sent: false } })
    expect(String(error)).toContain(why)
    expect(String(error)).not.toContain('canary')
    expect(server.requests).toEqual([])
  })

  test('refuses a certificate that has expired', async () => {
    await using server = await rawServer(socket => socket.write(OK), certificate('old', 'DNS:up.example', -1))
    const error = await outcome(trusting(ca), `https://up.example:${server.port}/`)
    expect(error).toMatchObject({ code: 'upstream_tls_error' })
    expect(String(error)).toContain('expired')
    expect(server.requests).toEqual([])
  })

  test.each([
    ['speaks another protocol', (socket: Socket) => socket.write('220 canary\r\n'), 'upstream_tls_error'],
    ['hangs up', (socket: Socket) => socket.destroy(), /^(upstream_tls_error|connection_lost)$/],
  ] as const)('sends nothing to a server that %s', async (_what, greet, code) => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      greet(socket)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const error = await outcome(trusting(ca), `https://up.example:${port}/`)
    expect(error).toMatchObject({ data: { sent: false } })
    expect((error as HubError).code).toMatch(code)
    expect(String(error)).not.toContain('canary')
    await new Promise<void>(resolve => server.close(() => resolve()))
  })
})
