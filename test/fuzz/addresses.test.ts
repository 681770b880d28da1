import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { HubError } from '../../core/contract/errors.ts'
import { type AddressRights, checkAddress, checkHostLiteral } from '../../core/domain/address.ts'
import { checkUrl } from '../../core/domain/server/address.ts'
import { createGuardedFetch } from '../../core/outbound/create.ts'
import { resolveTargets } from '../../core/outbound/targets.ts'
import { check, hostileText } from '../support/fuzz.ts'

const user: AddressRights = { networks: [], admin: false }
const admin: AddressRights = { networks: [], admin: true }

/** Ranges of ipaddr.js that no user's URL may reach, without loopback and the private networks of administrators. */
const OPEN_TO_ADMINS = new Set(['loopback', 'private', 'uniqueLocal'])

const v4 = fc.oneof(
  fc.nat(0xffff_ffff),
  // Addresses near the borders of the special networks.
  fc
    .tuple(
      fc.constantFrom(
        0x0a00_0000,
        0x7f00_0000,
        0xa9fe_0000,
        0xac10_0000,
        0xc0a8_0000,
        0x6440_0000,
        0xe000_0000,
        0,
        0xac20_0000,
        0xc000_0200,
      ),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([base, off]) => (base + off) >>> 0),
)
const parts = (ip: number): number[] => [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255]
const dotted = (ip: number): string => parts(ip).join('.')
const hex = (value: number): string => value.toString(16)

/** Every way that WHATWG URL takes to spell an IPv4 address, and some to hide it in IPv6. */
const SPELLINGS: readonly ((ip: number) => string)[] = [
  dotted,
  ip => String(ip),
  ip => `0x${hex(ip)}`,
  ip => `0X${hex(ip).toUpperCase()}`,
  ip => `0${ip.toString(8)}`,
  ip =>
    parts(ip)
      .map(part => `0x${hex(part)}`)
      .join('.'),
  ip =>
    parts(ip)
      .map(part => `0${part.toString(8)}`)
      .join('.'),
  ip => `${ip >>> 24}.${ip & 0xff_ffff}`,
  ip => `${ip >>> 24}.${(ip >>> 16) & 255}.${ip & 0xffff}`,
  ip => `0x${hex(ip >>> 24)}.0${((ip >>> 16) & 255).toString(8)}.${ip & 0xffff}`,
  ip => `${dotted(ip)}.`,
  ip => dotted(ip).replace(/\d/g, digit => `%3${digit}`),
  ip => dotted(ip).replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
  ip => dotted(ip).replace(/\d/g, digit => String.fromCodePoint(0x1d7ce + Number(digit))),
  ip => dotted(ip).replaceAll('.', '。'),
  ip => dotted(ip).replaceAll('.', '．'),
  ip => dotted(ip).replace(/[1-9]/, digit => String.fromCodePoint(0x245f + Number(digit))),
]
const EMBEDDED: readonly ((ip: number) => string)[] = [
  ip => `[::ffff:${dotted(ip)}]`,
  ip => `[::ffff:${hex(ip >>> 16)}:${hex(ip & 0xffff)}]`,
  ip => `[0:0:0:0:0:FFFF:${dotted(ip)}]`,
  ip => `[::${dotted(ip)}]`,
  ip => `[64:ff9b::${dotted(ip)}]`,
  ip => `[64:ff9b:1::${hex(ip >>> 16)}:${hex(ip & 0xffff)}]`,
  ip => `[2002:${hex(ip >>> 16)}:${hex(ip & 0xffff)}::1]`,
  ip => `[::ffff:0:${hex(ip >>> 16)}:${hex(ip & 0xffff)}]`,
]

function verdicts(address: string): { readonly range: string; readonly forUser: string; readonly forAdmin: string } {
  return {
    range: ipaddr.parse(address).range(),
    forUser: checkAddress(address, user),
    forAdmin: checkAddress(address, admin),
  }
}

describe('the address guard', () => {
  test('lets ordinary users reach nothing that ipaddr.js does not call unicast, and all of that by IPv4', async () => {
    await check(
      fc.property(v4, ip => {
        const { range, forUser, forAdmin } = verdicts(dotted(ip))
        // Names of providers' metadata services among public addresses.
        if (dotted(ip) === '168.63.129.16') return
        // Special-purpose networks that ipaddr.js calls by several names, of which only unicast and its own list are open.
        if (range === 'unicast')
          expect(forUser).toBe(['198.18', '198.19'].includes(parts(ip).slice(0, 2).join('.')) ? 'blocked' : 'ok')
        else expect(forUser).toBe('blocked')
        if (forAdmin === 'ok' && forUser === 'blocked') expect(OPEN_TO_ADMINS.has(range)).toBe(true)
      }),
    )
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    const first = fc.constantFrom(
      0,
      0x64,
      0x100,
      0x2000,
      0x2001,
      0x2002,
      0x3ffe,
      0x3fff,
      0x4000,
      0xfc00,
      0xfd00,
      0xfe80,
      0xfec0,
      0xff02,
      0x2620,
      0x5f00,
    )
    await check(
      fc.property(
        fc.oneof(
          groups,
          fc.tuple(first, groups).map(([head, rest]) => [head, ...rest.slice(1)]),
        ),
        values => {
          const address = new ipaddr.IPv6(values).toString()
          const { range, forUser, forAdmin } = verdicts(address)
          if (forUser === 'ok') expect(range).toBe('unicast')
          if (forAdmin === 'ok' && forUser === 'blocked') expect(OPEN_TO_ADMINS.has(range)).toBe(true)
          if (range !== 'unicast') expect(forUser).toBe('blocked')
        },
      ),
    )
  })

  test('checks every spelling like the address that URL makes of it, and no address inside IPv6 is open', async () => {
    await check(
      fc.property(v4, fc.constantFrom(...SPELLINGS), (ip, spell) => {
        const text = spell(ip)
        const url = URL.parse(`http://${text}/`)
        expect(url?.hostname.replace(/\.$/, '')).toBe(dotted(ip))
        for (const rights of [user, admin]) {
          expect(checkHostLiteral(url?.hostname ?? '', rights)).toBe(checkAddress(dotted(ip), rights))
          expect(checkHostLiteral(text, rights)).toBe(checkAddress(dotted(ip), rights))
        }
      }),
    )
    await check(
      fc.property(v4, fc.constantFrom(...EMBEDDED), (ip, spell) => {
        const { hostname } = new URL(`http://${spell(ip)}/`)
        for (const rights of [user, admin]) {
          if (hostname !== '[::1]') expect(checkHostLiteral(hostname, rights)).toBe('blocked')
        }
      }),
    )
  })

  test('an opened network opens itself and nothing else', async () => {
    await check(
      fc.property(v4, fc.integer({ min: 1, max: 32 }), v4, (base, bits, ip) => {
        const rights: AddressRights = { networks: [`${dotted(base)}/${bits}`], admin: false }
        const inside = ipaddr.IPv4.parse(dotted(ip)).match(ipaddr.IPv4.parse(dotted(base)), bits)
        const checked = checkAddress(dotted(ip), rights)
        if (!inside) return expect(checked).toBe(checkAddress(dotted(ip), user))
        const closed = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32'].some(network =>
          ipaddr.IPv4.parse(dotted(ip)).match(ipaddr.parseCIDR(network) as [ipaddr.IPv4, number]),
        )
        expect(checked).toBe(closed ? 'blocked' : 'ok')
      }),
    )
    await check(
      fc.property(hostileText('10.0.0.0', '/', '8', '::1', '%eth0', '127.1', '*', '0x7f', ' ', ','), entry => {
        const rights: AddressRights = { networks: [entry], admin: false }
        if (checkAddress('127.0.0.1', rights) !== 'ok') return
        expect(ipaddr.isValidCIDR(entry.trim()) || ipaddr.isValid(entry.trim())).toBe(true)
      }),
    )
  })
})

describe('what is connected to', () => {
  let listener: Server
  let port = 0
  let reached = 0

  beforeAll(async () => {
    listener = createServer(socket => {
      reached += 1
      socket.destroy()
    })
    await new Promise<void>(resolve => listener.listen(0, '::', resolve))
    const address = listener.address()
    port = typeof address === 'object' ? (address?.port ?? 0) : 0
  })
  afterAll(() => listener?.close())

  test('every address that a name resolves to must pass: one that does not refuses all', async () => {
    await check(
      fc.asyncProperty(fc.array(v4, { minLength: 1, maxLength: 4 }), async ips => {
        const addresses = ips.map(dotted)
        const good = addresses.every(address => checkAddress(address, user) === 'ok')
        const outcome = await resolveTargets(new URL('https://some.example/'), {
          rights: user,
          lookup: async () => addresses,
          refusalMs: 0,
        }).catch((error: unknown) => error)
        if (good) expect((outcome as { address: string }[]).map(target => target.address)).toEqual(addresses)
        else expect((outcome as HubError).code).toBe('url_address_blocked')
      }),
    )
  })

  test('no URL for this machine, however it is written, reaches a listener that waits for it', async () => {
    const guarded = createGuardedFetch({ rights: user, instanceId: 'fuzz', lookup: async () => ['127.0.0.1', '::1'] })
    const own = fc.constantFrom(
      ...[...SPELLINGS, ...EMBEDDED].flatMap(spell => [spell(0x7f00_0001), spell(0x7f01_0203), spell(0)]),
      '[::1]',
      '[::]',
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      'loopback.example',
    )
    const scheme = fc.constantFrom('http', 'https', 'HTTP', 'hTTps')
    const around = fc.tuple(
      fc.constantFrom('', 'user@', 'example.com@', 'example.com:80@'),
      fc.constantFrom('/', '/mcp', '\\@example.com/', '?@example.com', '#@example.com'),
    )
    await check(
      fc.asyncProperty(scheme, own, around, async (name, host, [before, behind]) => {
        const error = await guarded(`${name}://${before}${host}:${port}${behind}`, {
          method: 'POST',
          headers: {},
          body: '{}',
        }).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(HubError)
        expect((error as HubError).code).toBe('url_address_blocked')
      }),
      { share: 0.5 },
    )
    const anything = hostileText(
      'http://',
      'https:',
      '//',
      '127.0.0.1',
      '[::1]',
      'localhost',
      '@',
      ':',
      String(port),
      '/',
      '\\',
      '?',
      '#',
      '%31',
      '。',
      '\t',
      '0',
    )
    await check(
      fc.asyncProperty(anything, async text => {
        const withPort = text.replace(/\d{4,5}/g, String(port))
        const answer = await guarded(withPort, { method: 'GET', headers: {} }).catch((thrown: unknown) => thrown)
        expect(answer).toBeInstanceOf(HubError)
      }),
      { share: 0.5 },
    )
    expect(reached).toBe(0)
  })

  test('checkUrl() lets through only http and https URLs without credentials, and never throws', async () => {
    const words = [
      'http://',
      'https://',
      'file:///',
      'javascript:',
      'data:',
      '@',
      ':',
      '/',
      '\\',
      'a.example',
      '[::1]',
      '%00',
      '\n',
      ' ',
      'é',
      '99999',
      '?',
      '#',
    ]
    await check(
      fc.property(hostileText(...words), text => {
        const problems: string[] = []
        const url = checkUrl(text, '#/url', problem => problems.push(problem.code))
        if (!url) return expect(problems).toHaveLength(1)
        expect(problems).toEqual([])
        expect(['http:', 'https:']).toContain(url.protocol)
        expect(url.username + url.password).toBe('')
        expect(new URL(url.href).host).toBe(url.host)
      }),
    )
  })
})
