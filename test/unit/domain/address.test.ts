import { describe, expect, test } from 'bun:test'
import { BlockList } from 'node:net'
import fc from 'fast-check'
import { type AddressRights, checkAddress, checkHostLiteral } from '../../../core/domain/address.ts'
import { SPELLINGS } from '../../support/address-spellings.ts'

const user: AddressRights = { networks: [], admin: false }
const admin: AddressRights = { networks: [], admin: true }
const opened = (...networks: string[]): AddressRights => ({ networks, admin: false })

describe('checkHostLiteral()', () => {
  test.each(SPELLINGS)(
    'checks http://%s/ as %s for a user and %s for an administrator [CVE-2026-44430 CVE-2026-42449 GHSA-56c3-vfp2-5qqj CVE-2026-79747]',
    (host, forUser, forAdmin) => {
      const { hostname } = new URL(`http://${host}/`)
      expect(checkHostLiteral(hostname, user)).toBe(forUser)
      expect(checkHostLiteral(hostname, admin)).toBe(forAdmin)
    },
  )

  test.each(SPELLINGS)('checks the raw spelling %s like the parsed one', (host, forUser) => {
    expect(checkHostLiteral(host, user)).toBe(forUser)
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
    expect(checkHostLiteral(host, admin)).toBe('blocked')
  })

  test('lets local names pass when loopback is opened by a network entry', () => {
    expect(checkHostLiteral('localhost', opened('127.0.0.0/8'))).toBe('ok')
    expect(checkHostLiteral('localhost', opened('::1'))).toBe('ok')
    expect(checkHostLiteral('localhost', opened('10.0.0.0/8'))).toBe('blocked')
    expect(checkHostLiteral('metadata.google.internal', opened('0.0.0.0/0', '::/0'))).toBe('blocked')
  })
})

describe('checkAddress()', () => {
  test('follows the opened networks, single addresses and both families', () => {
    expect(checkAddress('10.20.3.4', opened('10.20.0.0/16'))).toBe('ok')
    expect(checkAddress('10.21.3.4', opened('10.20.0.0/16'))).toBe('blocked')
    expect(checkAddress('10.20.3.4', opened('10.20.3.4'))).toBe('ok')
    expect(checkAddress('10.20.3.5', opened('10.20.3.4'))).toBe('blocked')
    expect(checkAddress('fd12::5', opened('fd12::/16'))).toBe('ok')
    expect(checkAddress('100.64.1.1', opened('100.64.0.0/10'))).toBe('ok')
  })

  test('keeps link-local and metadata addresses closed inside a wider entry', () => {
    const all = opened('0.0.0.0/0', '::/0', '169.254.0.0/16', 'fe80::/10', '169.254.169.254')
    for (const ip of ['169.254.169.254', '169.254.0.1', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254'])
      expect(checkAddress(ip, all)).toBe('blocked')
    expect(checkAddress('10.0.0.1', all)).toBe('ok')
  })

  test('checks NAT64 addresses by the IPv4 inside once the whole prefix is opened', () => {
    const nat64 = opened('64:ff9b::/96')
    expect(checkAddress('64:ff9b::8.8.8.8', nat64)).toBe('ok')
    expect(checkAddress('64:ff9b::10.0.0.1', nat64)).toBe('blocked')
    expect(checkAddress('64:ff9b::169.254.169.254', nat64)).toBe('blocked')
    expect(checkAddress('64:ff9b::8.8.8.8', opened('64:ff9b::8.8.8.8'))).toBe('blocked')
  })

  test('never opens the other IPv4-carrying forms', () => {
    const all = opened('::/0', '2002::/16', '::ffff:0:0/96')
    for (const ip of ['::ffff:8.8.8.8', '::8.8.8.8', '2002:808:808::', '64:ff9b:1::808:808'])
      expect(checkAddress(ip, all)).toBe('blocked')
  })

  test.each(['', 'x', '10', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/0x8', '0/0', '/0', '010.0.0.0/8'])(
    'opens nothing for the entry %j, which is no network',
    entry => {
      expect(checkAddress('10.0.0.1', opened(entry))).toBe('blocked')
    },
  )

  test.each(['', 'example.com', '8.8.8', '0x8.8.8.8', '08.8.8.8', '8.8.8.8 ', '8.8.8.8:1', '[2606::1]', '2606::1%1'])(
    'blocks %j, which is no address',
    ip => {
      expect(checkAddress(ip, admin)).toBe('blocked')
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
        expect(checkAddress(ip, user)).toBe(refused.check(ip, 'ipv4') ? 'blocked' : 'ok')
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
        expect(checkAddress(ip, user)).toBe(ok ? 'ok' : 'blocked')
      }),
      { numRuns: 2_000 },
    )
  })
})
