import { expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import type { Credential, UserActor } from '../../../core/contract/records.ts'
import { addressesIn, hasRecentSignIn, refuseMovedSecrets } from '../../../core/domain/server/moved-secrets.ts'

const MINUTE_MS = 60_000

function actor(credential: Credential): UserActor {
  return { kind: 'user', userId: 'u', name: 'ada', role: 'user', credential }
}

function session(ageMs: number): UserActor {
  const times = { signedInAtMs: Date.now() - ageMs, expiresAtMs: Date.now() + MINUTE_MS }
  return actor({ kind: 'session', tokenId: 't', familyId: 'f', ...times })
}

const key = actor({ kind: 'key', keyId: 'k', label: 'k', scopes: [] })

function refused(who: UserActor, { moved = true, isOwn = true, kept = ['#/env/KEY'] } = {}): readonly string[] {
  try {
    refuseMovedSecrets(who, { kept, moved, isOwn }, Date.now())
    return []
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return (error.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`)
  }
}

test('only a sign-in of the last five minutes moves the own secrets', () => {
  expect(refused(session(4 * MINUTE_MS))).toEqual([])
  expect(refused(session(6 * MINUTE_MS))).toEqual(['secret_required #/env/KEY'])
  expect(refused(key)).toEqual(['secret_required #/env/KEY'])
  expect([session(0), session(6 * MINUTE_MS), key].map(who => hasRecentSignIn(who, Date.now()))).toEqual([
    true,
    false,
    false,
  ])
})

test('somebody else moves none, and who moves nothing or keeps nothing is not asked', () => {
  expect(refused(session(0), { isOwn: false })).toEqual(['secret_required #/env/KEY'])
  expect(refused(key, { moved: false })).toEqual([])
  expect(refused(key, { kept: [] })).toEqual([])
})

test('addressesIn() has every field that can say where something is sent, and no secret', () => {
  const config = { host: 'a', port: 25, list: [{ url: 'x' }], text: 'see https://b', token: 'secret', from: 'me' }
  expect(addressesIn(config).split('\n')).toEqual(['host="a"', 'list/0/url="x"', 'port=25', 'text="see https://b"'])
  expect(addressesIn({ ...config, token: 'other', from: 'you' })).toBe(addressesIn(config))
})
