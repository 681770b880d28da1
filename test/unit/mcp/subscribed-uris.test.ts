import { expect, test } from 'bun:test'
import { SubscribedUris } from '../../../core/mcp/changes/subscribed-uris.ts'

function subscribed(...uris: readonly string[]): SubscribedUris<string> {
  const all = new SubscribedUris<string>()
  for (const uri of uris) all.set(uri, uri)
  return all
}

test('covering() finds the URI itself and those that contain it, whole segments only', () => {
  const all = subscribed('a://b', 'a://b/', 'a://b/c', 'a://bc', 'a://b/c/d', 'a://')
  expect([...all.covering('a://b/c')].sort()).toEqual(['a://', 'a://b', 'a://b/', 'a://b/c'])
  expect([...all.covering('a://bc')].sort()).toEqual(['a://', 'a://bc'])
  expect([...all.covering('a://b?x')].sort()).toEqual(['a://', 'a://b'])
  expect([...all.covering('a://b#x')].sort()).toEqual(['a://', 'a://b'])
  expect([...all.covering('other')]).toEqual([])
})

test('a deleted URI is not found any more, and others of the same length still are', () => {
  const all = subscribed('a://b', 'a://c')
  all.set('a://b', 'again')
  all.delete('a://b')
  all.delete('a://b')
  expect([...all.covering('a://b')]).toEqual([])
  expect([...all.covering('a://c/d')]).toEqual(['a://c'])
  all.delete('a://c')
  expect([...all.covering('a://c')]).toEqual([])
  expect(all.size).toBe(0)
})
