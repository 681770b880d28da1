import { describe, expect, test } from 'bun:test'
import { BlockList } from 'node:net'
import fc from 'fast-check'
import { type AddressRights, judgeAddress, judgeHostLiteral } from '../../../core/domain/address.ts'

const user: AddressRights = { networks: [], admin: false }
const admin: AddressRights = { networks: [], admin: true }
const opened = (...networks: string[]): AddressRights => ({ networks, admin: false })

/** Spelling in a URL, verdict for an ordinary user, verdict for an administrator. */
const SPELLINGS: readonly (readonly [string, 'ok' | 'blocked' | 'name', 'ok' | 'blocked' | 'name'])[] = [
  // loopback
  ['127.0.0.1', 'blocked', 'ok'],
  ['127.1', 'blocked', 'ok'],
  ['127.0.1', 'blocked', 'ok'],
  ['2130706433', 'blocked', 'ok'],
  ['0x7f000001', 'blocked', 'ok'],
  ['0x7f.1', 'blocked', 'ok'],
  ['0177.0.0.1', 'blocked', 'ok'],
  ['0177.0x0.0.01', 'blocked', 'ok'],
  ['127.0.0.1.', 'blocked', 'ok'],
  ['127.255.255.254', 'blocked', 'ok'],
  ['%31%32%37.0.0.1', 'blocked', 'ok'],
  ['127。0。0。1', 'blocked', 'ok'],
  ['①②⑦.⓪.⓪.①', 'blocked', 'ok'],
  ['localhost', 'blocked', 'ok'],
  ['LOCALHOST', 'blocked', 'ok'],
  ['localhost.', 'blocked', 'ok'],
  ['a.localhost', 'blocked', 'ok'],
  ['ⓛocalhost', 'blocked', 'ok'],
  ['printer.local', 'blocked', 'ok'],
  ['db.internal', 'blocked', 'ok'],
  ['db.internal.', 'blocked', 'ok'],
  ['[::1]', 'blocked', 'ok'],
  ['[0:0:0:0:0:0:0:1]', 'blocked', 'ok'],
  ['[::0001]', 'blocked', 'ok'],
  // unspecified
  ['0', 'blocked', 'blocked'],
  ['0.0.0.0', 'blocked', 'blocked'],
  ['0x0', 'blocked', 'blocked'],
  ['0.1.2.3', 'blocked', 'blocked'],
  ['[::]', 'blocked', 'blocked'],
  // private
  ['10.0.0.1', 'blocked', 'ok'],
  ['10.1', 'blocked', 'ok'],
  ['0xa.0x1', 'blocked', 'ok'],
  ['172.16.0.1', 'blocked', 'ok'],
  ['172.31.255.255', 'blocked', 'ok'],
  ['172.32.0.1', 'ok', 'ok'],
  ['172.15.255.255', 'ok', 'ok'],
  ['192.168.1.1', 'blocked', 'ok'],
  ['3232235777', 'blocked', 'ok'],
  ['[fc00::1]', 'blocked', 'ok'],
  ['[fd12:3456::1]', 'blocked', 'ok'],
  // link-local and metadata: closed to all
  ['169.254.169.254', 'blocked', 'blocked'],
  ['2852039166', 'blocked', 'blocked'],
  ['0xa9fea9fe', 'blocked', 'blocked'],
  ['169.254.43518', 'blocked', 'blocked'],
  ['169.254.1.1', 'blocked', 'blocked'],
  ['[fe80::1]', 'blocked', 'blocked'],
  ['[febf::1]', 'blocked', 'blocked'],
  ['[fd00:ec2::254]', 'blocked', 'blocked'],
  ['100.100.100.200', 'blocked', 'blocked'],
  ['metadata.google.internal', 'blocked', 'blocked'],
  ['METADATA.google.internal.', 'blocked', 'blocked'],
  ['metadata', 'blocked', 'blocked'],
  // other special-purpose networks
  ['100.64.0.1', 'blocked', 'blocked'],
  ['100.127.255.255', 'blocked', 'blocked'],
  ['100.128.0.1', 'ok', 'ok'],
  ['192.0.0.8', 'blocked', 'blocked'],
  ['192.0.2.1', 'blocked', 'blocked'],
  ['192.88.99.1', 'blocked', 'blocked'],
  ['198.18.0.1', 'blocked', 'blocked'],
  ['198.19.255.255', 'blocked', 'blocked'],
  ['198.51.100.7', 'blocked', 'blocked'],
  ['203.0.113.7', 'blocked', 'blocked'],
  ['224.0.0.1', 'blocked', 'blocked'],
  ['240.0.0.1', 'blocked', 'blocked'],
  ['255.255.255.255', 'blocked', 'blocked'],
  ['4294967295', 'blocked', 'blocked'],
  ['[ff02::1]', 'blocked', 'blocked'],
  ['[fec0::1]', 'blocked', 'blocked'],
  ['[100::1]', 'blocked', 'blocked'],
  ['[2001:db8::1]', 'blocked', 'blocked'],
  ['[2001::1]', 'blocked', 'blocked'],
  ['[2001:1ff:ffff::1]', 'blocked', 'blocked'],
  ['[3fff:fff::1]', 'blocked', 'blocked'],
  ['[4000::1]', 'blocked', 'blocked'],
  ['[5f00::1]', 'blocked', 'blocked'],
  // IPv6 that carries IPv4
  ['[::ffff:127.0.0.1]', 'blocked', 'blocked'],
  ['[::ffff:7f00:1]', 'blocked', 'blocked'],
  ['[::ffff:8.8.8.8]', 'blocked', 'blocked'],
  ['[::127.0.0.1]', 'blocked', 'blocked'],
  ['[::808:808]', 'blocked', 'blocked'],
  ['[64:ff9b::127.0.0.1]', 'blocked', 'blocked'],
  ['[64:ff9b::8.8.8.8]', 'blocked', 'blocked'],
  ['[64:ff9b:1::a9fe:a9fe]', 'blocked', 'blocked'],
  ['[2002:7f00:1::]', 'blocked', 'blocked'],
  ['[::ffff:0:127.0.0.1]', 'blocked', 'blocked'],
  // public
  ['8.8.8.8', 'ok', 'ok'],
  ['134744072', 'ok', 'ok'],
  ['1.1', 'ok', 'ok'],
  ['[2606:4700:4700::1111]', 'ok', 'ok'],
  ['[2001:4860:4860::8888]', 'ok', 'ok'],
  ['[2a00:1450::1]', 'ok', 'ok'],
  ['example.com', 'name', 'name'],
  ['example.com.', 'name', 'name'],
  ['localhost.example.com', 'name', 'name'],
  ['notlocalhost', 'name', 'name'],
  ['mylocal', 'name', 'name'],
  ['bücher.example', 'name', 'name'],
  ['127.0.0.1.nip.io', 'name', 'name'],
]

describe('judgeHostLiteral()', () => {
  test.each(SPELLINGS)(
    'judges http://%s/ as %s for a user and %s for an administrator [CVE-2026-44430 CVE-2026-42449 GHSA-56c3-vfp2-5qqj CVE-2026-79747]',
    (host, forUser, forAdmin) => {
      const { hostname } = new URL(`http://${host}/`)
      expect(judgeHostLiteral(hostname, user)).toBe(forUser)
      expect(judgeHostLiteral(hostname, admin)).toBe(forAdmin)
    },
  )

  test.each(SPELLINGS)('judges the raw spelling %s like the parsed one', (host, forUser) => {
    expect(judgeHostLiteral(host, user)).toBe(forUser)
  })

  test.each([
    '',
    '.',
    '..',
    'a b',
    'user@8.8.8.8',
    '8.8.8.8/x',
    '8.8.8.8?x',
    '8.8.8.8#x',
    '8.8.8.8\\x',
    '8.8.8.8:80',
    '1.2.3.4.5',
    '256.1.1.1',
    '[fe80::1%25eth0]',
    '[2606:4700::1%eth0]',
    '2606:4700::1%eth0',
    '[::1',
    '[]',
    '8.8.8.8\n',
  ])('blocks %j, which is no host, for everybody', host => {
    expect(judgeHostLiteral(host, admin)).toBe('blocked')
  })

  test('lets local names pass when loopback is opened by a network entry', () => {
    expect(judgeHostLiteral('localhost', opened('127.0.0.0/8'))).toBe('ok')
    expect(judgeHostLiteral('localhost', opened('::1'))).toBe('ok')
    expect(judgeHostLiteral('localhost', opened('10.0.0.0/8'))).toBe('blocked')
    expect(judgeHostLiteral('metadata.google.internal', opened('0.0.0.0/0', '::/0'))).toBe('blocked')
  })
})

describe('judgeAddress()', () => {
  test('follows the opened networks, single addresses and both families', () => {
    expect(judgeAddress('10.20.3.4', opened('10.20.0.0/16'))).toBe('ok')
    expect(judgeAddress('10.21.3.4', opened('10.20.0.0/16'))).toBe('blocked')
    expect(judgeAddress('10.20.3.4', opened('10.20.3.4'))).toBe('ok')
    expect(judgeAddress('10.20.3.5', opened('10.20.3.4'))).toBe('blocked')
    expect(judgeAddress('fd12::5', opened('fd12::/16'))).toBe('ok')
    expect(judgeAddress('100.64.1.1', opened('100.64.0.0/10'))).toBe('ok')
  })

  test('keeps link-local and metadata addresses closed inside a wider entry', () => {
    const all = opened('0.0.0.0/0', '::/0', '169.254.0.0/16', 'fe80::/10', '169.254.169.254')
    for (const ip of ['169.254.169.254', '169.254.0.1', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254'])
      expect(judgeAddress(ip, all)).toBe('blocked')
    expect(judgeAddress('10.0.0.1', all)).toBe('ok')
  })

  test('judges NAT64 addresses by the IPv4 inside once the whole prefix is opened', () => {
    const nat64 = opened('64:ff9b::/96')
    expect(judgeAddress('64:ff9b::8.8.8.8', nat64)).toBe('ok')
    expect(judgeAddress('64:ff9b::10.0.0.1', nat64)).toBe('blocked')
    expect(judgeAddress('64:ff9b::169.254.169.254', nat64)).toBe('blocked')
    expect(judgeAddress('64:ff9b::8.8.8.8', opened('64:ff9b::8.8.8.8'))).toBe('blocked')
  })

  test('never opens the other IPv4-carrying forms', () => {
    const all = opened('::/0', '2002::/16', '::ffff:0:0/96')
    for (const ip of ['::ffff:8.8.8.8', '::8.8.8.8', '2002:808:808::', '64:ff9b:1::808:808'])
      expect(judgeAddress(ip, all)).toBe('blocked')
  })

  test.each(['', 'x', '10', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/0x8', '0/0', '/0', '010.0.0.0/8'])(
    'opens nothing for the entry %j, which is no network',
    entry => {
      expect(judgeAddress('10.0.0.1', opened(entry))).toBe('blocked')
    },
  )

  test.each(['', 'example.com', '8.8.8', '0x8.8.8.8', '08.8.8.8', '8.8.8.8 ', '8.8.8.8:1', '[2606::1]', '2606::1%1'])(
    'blocks %j, which is no address',
    ip => {
      expect(judgeAddress(ip, admin)).toBe('blocked')
    },
  )

  test('agrees with node:net BlockList on random addresses', () => {
    const refused = new BlockList()
    const special: readonly (readonly [string, number])[] = [
      ['0.0.0.0', 8],
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['127.0.0.0', 8],
      ['169.254.0.0', 16],
      ['172.16.0.0', 12],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['192.88.99.0', 24],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 4],
      ['240.0.0.0', 4],
      ['168.63.129.16', 32],
    ]
    for (const [base, bits] of special) refused.addSubnet(base, bits, 'ipv4')
    const octet = fc.integer({ min: 0, max: 255 })
    const first = fc.oneof(octet, fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224))
    const second = fc.oneof(octet, fc.constantFrom(0, 16, 18, 31, 51, 64, 88, 127, 168, 254))
    const third = fc.oneof(octet, fc.constantFrom(0, 2, 99, 100, 113))
    fc.assert(
      fc.property(first, second, third, octet, (...parts) => {
        const ip = parts.join('.')
        expect(judgeAddress(ip, user)).toBe(refused.check(ip, 'ipv4') ? 'blocked' : 'ok')
      }),
      { numRuns: 2_000 },
    )

    const globalV6 = new BlockList()
    globalV6.addSubnet('2000::', 3, 'ipv6')
    const refusedV6 = new BlockList()
    for (const [base, bits] of [
      ['2001::', 23],
      ['2001:db8::', 32],
      ['3fff::', 20],
      ['2002::', 16],
    ] as const)
      refusedV6.addSubnet(base, bits, 'ipv6')
    const word = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xdb8, 0xffff, 0xff9b, 0x1ff))
    const head = fc.oneof(word, fc.integer({ min: 0x2000, max: 0x3fff }), fc.constantFrom(0x2001, 0x2002, 0x3fff, 0x64))
    fc.assert(
      fc.property(head, fc.array(word, { minLength: 7, maxLength: 7 }), (start, rest) => {
        const ip = [start, ...rest].map(part => part.toString(16)).join(':')
        const ok = globalV6.check(ip, 'ipv6') && !refusedV6.check(ip, 'ipv6')
        expect(judgeAddress(ip, user)).toBe(ok ? 'ok' : 'blocked')
      }),
      { numRuns: 2_000 },
    )
  })
})
