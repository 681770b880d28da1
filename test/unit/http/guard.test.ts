import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import { addressKey } from '../../../core/http/addresses.ts'
import type { Peer } from '../../../core/http/api.ts'
import { createGuard, type GuardConfig } from '../../../core/http/guard.ts'

const config: GuardConfig = {
  basePath: '',
  allowedHosts: ['localhost', '127.0.0.1', '[::1]', 'hub.example'],
  allowedOrigins: ['https://console.example'],
  adminAddresses: [],
  trustedProxies: [],
}

function peer(address = '127.0.0.1'): Peer {
  return { address, keepOpen: () => {} }
}

/** A request as Bun hands it over: its URL is not parsed again, so that odd spellings stay as they are. */
function request(url: string, headers: Record<string, string> = {}): Request {
  return { url, method: 'GET', headers: new Headers({ host: 'localhost:3000', ...headers }) } as Request
}

function outcome(work: () => unknown): string {
  try {
    work()
    return 'admitted'
  } catch (error) {
    if (error instanceof HubError) return error.code
    throw error
  }
}

const admit = (url: string, headers?: Record<string, string>, changes: Partial<GuardConfig> = {}, from?: string) =>
  createGuard({ ...config, ...changes }).admit(request(url, headers), peer(from))

describe('the path', () => {
  test.each([
    '//api/servers',
    '/api//servers',
    '/api/servers;a',
    '/api;x=1/servers',
    '/api\\servers',
    '/api/a%2fb',
    '/api/a%2Fb',
    '/api/a%5cb',
    '/api/%2e%2e/x',
    '/api/a%2Eb',
    '/api/a%00b',
    '/api/a%zz',
    '/api/a%',
    '/api/a%4',
    '/api/%ff',
    '/api/%c0%af',
    '/api/%ed%a0%80',
    '/api/a b',
  ])('admit() refuses %p', path => {
    expect(outcome(() => admit(`http://localhost:3000${path}`))).toBe('path_invalid')
  })

  test.each([
    '/',
    '/api/servers',
    '/api/servers/a%20b',
    '/mcp/@ada/g',
    '/api/servers/ada~time',
    '/x/%E4%B8%AD',
    '/api/',
  ])('admit() takes %p as it is', path => {
    expect(admit(`http://localhost:3000${path}?q=//;`).path).toBe(path)
  })

  test('admit() takes the path that the runtime gives alone when the Host is of no use, and then refuses the Host', () => {
    expect(outcome(() => admit('/api/servers', { host: 'a@b' }))).toBe('host_not_allowed')
    expect(outcome(() => admit('//api/servers', { host: 'a@b' }))).toBe('path_invalid')
  })

  test('admit() serves only what lies below the base path', () => {
    const below = (path: string) => admit(`http://localhost:3000${path}`, {}, { basePath: '/hub' }).path
    expect(below('/hub/api/servers')).toBe('/api/servers')
    expect(below('/hub')).toBe('/')
    expect(below('/hub/')).toBe('/')
    for (const path of ['/', '/api/servers', '/hubx/api', '/HUB/api']) {
      expect(outcome(() => below(path))).toBe('route_not_found')
    }
  })
})

describe('Host', () => {
  test.each([
    'localhost',
    'localhost:3000',
    'LOCALHOST:1',
    '127.0.0.1:3000',
    '[::1]:3000',
    '[0:0:0:0:0:0:0:1]',
    'hub.example',
  ])('admit() takes %p', host => {
    expect(outcome(() => admit('http://x/', { host }))).toBe('admitted')
  })

  test.each([
    'evil.example',
    'localhost.evil.example',
    'evil.example:3000',
    'localhost:3000@evil.example',
    'evil.example@localhost',
    '[::2]',
    '[::1',
    '::1',
    'localhost.',
    'localhost:x',
    'localhost/x',
    '',
    '127.0.0.1.evil.example',
  ])('admit() refuses %p', host => {
    expect(outcome(() => admit('http://x/', { host }))).toBe('host_not_allowed')
  })

  test('admit() refuses two Host headers, which arrive joined', () => {
    expect(outcome(() => admit('http://x/', { host: 'localhost, localhost' }))).toBe('header_duplicate')
  })

  test('admit() gives the same verdict when asked again', () => {
    const guard = createGuard(config)
    for (let round = 0; round < 3; round += 1) {
      expect(outcome(() => guard.admit(request('http://x/', { host: 'evil.example' }), peer()))).toBe(
        'host_not_allowed',
      )
      expect(outcome(() => guard.admit(request('http://x/'), peer()))).toBe('admitted')
    }
  })
})

describe('Origin', () => {
  test.each([
    'http://localhost:3000',
    'HTTP://LOCALHOST:3000',
    'https://console.example',
    'HTTPS://Console.Example',
    'https://console.example:443',
  ])('admit() takes %p', origin => {
    expect(outcome(() => admit('http://x/', { origin }))).toBe('admitted')
  })

  test.each([
    'http://evil.example',
    'null',
    '',
    'http://localhost',
    'http://localhost:3001',
    'https://localhost:3000',
    'https://hub.example',
    'http://[::1]:3000',
    'http://console.example',
    'https://console.example:8443',
    'https://console.example.evil',
    'http://localhost@evil.example',
    'http://localhost/path',
    'file://localhost',
    'localhost',
    'http://localhost.evil.example:3000',
  ])('admit() refuses %p', origin => {
    expect(outcome(() => admit('http://x/', { origin }))).toBe('origin_not_allowed')
  })

  test('admit() refuses two Origin headers and takes none', () => {
    expect(outcome(() => admit('http://x/', { origin: 'http://localhost, http://localhost' }))).toBe('header_duplicate')
    expect(outcome(() => admit('http://x/'))).toBe('admitted')
  })

  test('admit() takes the origin of PUBLIC_URL', () => {
    expect(
      outcome(() => admit('http://x/', { origin: 'https://p.example' }, { publicUrl: 'https://p.example/hub' })),
    ).toBe('admitted')
  })
})

describe('credentials in the URL', () => {
  test.each(['?token=a', '?a=1&access_token=b', '?TOKEN=a', '?%74oken=a', '?token'])('admit() refuses %p', query => {
    expect(outcome(() => admit(`http://x/api/servers${query}`))).toBe('token_in_url')
    expect(outcome(() => admit(`http://x/mcp/g${query}`))).toBe('token_in_url')
  })

  test('admit() takes names that only resemble a credential', () => {
    expect(outcome(() => admit('http://x/api/servers?tokens=a&mytoken=b'))).toBe('admitted')
  })
})

describe('what is known of a request', () => {
  const proxied = { trustedProxies: ['10.0.0.0/8', '::1'] }

  test('clientAddress is the rightmost hop that no trusted proxy is', () => {
    const client = (forwarded: string, from: string) =>
      admit('http://x/', { 'x-forwarded-for': forwarded }, proxied, from).info.clientAddress
    expect(client('1.1.1.1, 2.2.2.2', '10.0.0.1')).toBe('2.2.2.2')
    expect(client('1.1.1.1, 2.2.2.2, 10.0.0.9', '10.0.0.1')).toBe('2.2.2.2')
    expect(client('10.0.0.7, 10.0.0.9', '10.0.0.1')).toBe('10.0.0.7')
    expect(client('2.2.2.2', '::ffff:10.0.0.1')).toBe('2.2.2.2')
    expect(client('[2001:db8::5]:443', '::1')).toBe('2001:db8::5')
    expect(client('1.1.1.1:55', '10.0.0.1')).toBe('1.1.1.1')
    expect(client(`fe80::1%${'a'.repeat(4_000)}`, '10.0.0.1')).toBe('fe80::1')
    expect(client('1.1.1.1, '.repeat(20), '10.0.0.1')).toBe('10.0.0.1')
    expect(client(`${'10.0.0.9, '.repeat(20)}10.0.0.8`, '10.0.0.1')).toBe('10.0.0.9')
    expect(client('1.1.1.1, not an address', '10.0.0.1')).toBe('10.0.0.1')
  })

  test('clientAddress is the peer where the peer is no trusted proxy, whatever it forwards', () => {
    const headers = { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' }
    expect(admit('http://x/', headers, proxied, '9.9.9.9').info.clientAddress).toBe('9.9.9.9')
    expect(admit('http://x/', headers, {}, '::ffff:9.9.9.9').info.clientAddress).toBe('9.9.9.9')
  })

  test('untrustedForwarding tells forwarding headers of a stranger', () => {
    expect(admit('http://x/', { 'x-forwarded-for': '1.1.1.1' }, {}, '127.0.0.1').info.untrustedForwarding).toBe(true)
    expect(admit('http://x/', { forwarded: 'for=1.1.1.1' }, proxied, '9.9.9.9').info.untrustedForwarding).toBe(true)
    expect(admit('http://x/', { 'x-forwarded-for': '1.1.1.1' }, proxied, '10.0.0.1').info.untrustedForwarding).toBe(
      false,
    )
    expect(admit('http://x/', {}, {}, '9.9.9.9').info.untrustedForwarding).toBe(false)
  })

  test('baseUrl is PUBLIC_URL, else the listed Host; forwarded parts count from trusted proxies only', () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'hub.example' }
    const base = (headers: Record<string, string>, changes: Partial<GuardConfig>, from: string) =>
      admit('http://x/hub/', headers, { basePath: '/hub', ...changes }, from).info.baseUrl
    expect(base({}, {}, '9.9.9.9')).toBe('http://localhost:3000/hub')
    expect(base(forwarded, {}, '9.9.9.9')).toBe('http://localhost:3000/hub')
    expect(base(forwarded, proxied, '10.0.0.1')).toBe('https://hub.example/hub')
    expect(base({ 'x-forwarded-host': 'evil.example' }, proxied, '10.0.0.1')).toBe('http://localhost:3000/hub')
    expect(base(forwarded, { publicUrl: 'https://p.example/' }, '9.9.9.9')).toBe('https://p.example/hub')
    expect(base(forwarded, { publicUrl: 'https://p.example/hub' }, '9.9.9.9')).toBe('https://p.example/hub')
  })

  test('requestId is another one for each request and each process', () => {
    const guard = createGuard(config)
    const ids = new Set(Array.from({ length: 1000 }, () => guard.admit(request('http://x/'), peer()).info.requestId))
    expect(ids.size).toBe(1000)
    expect(ids.has(createGuard(config).admit(request('http://x/'), peer()).info.requestId)).toBe(false)
  })
})

describe('mayAdminister', () => {
  const may = (adminAddresses: readonly string[], from: string, headers = {}, changes = {}) =>
    admit('http://x/', headers, { adminAddresses, ...changes }, from).info.mayAdminister
  const LISTED = ['10.0.0.0/8', '2001:db8::/32', '127.0.0.1']

  test('mayAdminister holds for listed networks and for nobody who was forwarded by a stranger', () => {
    expect(may(LISTED, '10.1.2.3')).toBe(true)
    expect(may(LISTED, '::ffff:10.1.2.3')).toBe(true)
    expect(may(LISTED, '2001:db8::9')).toBe(true)
    expect(may(LISTED, '11.0.0.1')).toBe(false)
    expect(may(LISTED, '127.0.0.1', { 'x-forwarded-for': '10.0.0.1' })).toBe(false)
    const throughProxy = { trustedProxies: ['127.0.0.1'] }
    expect(may(LISTED, '127.0.0.1', { 'x-forwarded-for': '10.0.0.1' }, throughProxy)).toBe(true)
    expect(may(LISTED, '127.0.0.1', { 'x-forwarded-for': '9.9.9.9' }, throughProxy)).toBe(false)
  })

  test('mayAdminister holds everywhere without a list, and an unreadable list is refused at the start', () => {
    expect(may([], '9.9.9.9')).toBe(true)
    for (const entry of ['*', '10.0.0.0/33', 'hub.example', '10.0.0', '10.0.0.0/8/8', '']) {
      expect(() => createGuard({ ...config, adminAddresses: [entry] })).toThrow(RangeError)
    }
  })
})

test('addressKey() counts IPv6 by its /64 network and IPv4 by itself', () => {
  expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe(addressKey('2001:db8:1:2::1'))
  expect(addressKey('2001:db8:1:2::1')).not.toBe(addressKey('2001:db8:1:3::1'))
  expect(addressKey('10.0.0.1')).toBe('10.0.0.1')
})

test('a request may have 64 headers, and not one more', () => {
  const guard = createGuard(config)
  const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-header-${at}`, 'v']))
  expect(outcome(() => guard.admit(request('http://localhost:3000/', some(63)), peer()))).toBe('admitted')
  expect(outcome(() => guard.admit(request('http://localhost:3000/', some(64)), peer()))).toBe('headers_too_large')
})
