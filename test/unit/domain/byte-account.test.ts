import { expect, test } from 'bun:test'
import { type ByteAccount, BytesInFlight } from '../../../core/domain/byte-account.ts'

const LIMITS = { perUser: 100, perAddress: 10, total: 150 }

test('take() refuses what is more than the account has left, and give() makes room again', () => {
  const account = new BytesInFlight(LIMITS).user('ada')
  account.take(60)
  expect(() => account.take(41)).toThrow(expect.objectContaining({ code: 'quota_bytes' }))
  expect(account.used).toBe(60)
  account.give(60)
  account.take(100)
  expect(account.used).toBe(100)
})

test('take() refuses what is more than all accounts may hold, as a fault of the hub and not of the user', () => {
  const bytes = new BytesInFlight(LIMITS)
  bytes.user('ada').take(100)
  const other = bytes.user('bob')
  expect(() => other.take(51)).toThrow(expect.objectContaining({ code: 'overloaded' }))
  other.take(50)
  expect(bytes.used).toBe(150)
})

test('take() of more than the limit by itself does not ask to repeat it', () => {
  const account = new BytesInFlight(LIMITS).user('ada')
  expect(() => account.take(101)).toThrow(
    expect.objectContaining({ code: 'quota_bytes', hint: expect.stringContaining('Ask for less') }),
  )
})

test('user() gives one account to all who ask for the same user', () => {
  const bytes = new BytesInFlight(LIMITS)
  bytes.user('ada').take(70)
  expect(bytes.user('ada').used).toBe(70)
})

test('an address is forgotten when it holds nothing and no request of it is open', () => {
  const bytes = new BytesInFlight(LIMITS)
  const first = bytes.enterAddress('192.0.2.7')
  const second = bytes.enterAddress('192.0.2.7')
  expect(second).toBe(first)
  first.take(10)
  expect(() => second.take(1)).toThrow(expect.objectContaining({ code: 'quota_bytes' }))
  first.leave()
  second.leave()
  expect(bytes.addresses).toBe(1)
  first.give(10)
  expect(bytes.addresses).toBe(0)
})

test('fits() drops what can be dropped before it refuses, and nothing for what could never fit', () => {
  const account = new BytesInFlight(LIMITS).user('ada')
  let entries = 3
  const dropOldest = (): boolean => {
    if (entries === 0) return false
    entries -= 1
    account.give(30)
    return true
  }
  account.reclaimable = { dropOldest }
  account.take(90)
  expect(account.fits(101)).toBe(false)
  expect(entries).toBe(3)
  expect(account.fits(50)).toBe(true)
  expect(entries).toBe(1)
})

test('taken bytes are reported in sums', () => {
  const told: number[] = []
  const bytes = new BytesInFlight({ perUser: 1e9, perAddress: 1e9, total: 1e9 }, taken => told.push(taken))
  const account: ByteAccount = bytes.user('ada')
  for (let index = 0; index < 5; index += 1) account.take(500_000)
  expect(told).toEqual([1_500_000])
})
