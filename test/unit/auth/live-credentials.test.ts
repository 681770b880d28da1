import { expect, test } from 'bun:test'
import { LiveCredentials } from '../../../core/auth/live-credentials.ts'
import type { UserActor } from '../../../core/contract/records.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { until } from '../../support/wait.ts'

const actor = (tokenId: string, role: 'user' | 'admin' = 'user'): UserActor => ({
  kind: 'user',
  userId: 'u',
  name: 'alice',
  role,
  credential: { kind: 'session', tokenId, familyId: tokenId, signedInAtMs: 0, expiresAtMs: Date.now() + 60_000 },
})

function revocable() {
  const bus = new EventBus(error => {
    throw error
  })
  const revoked = new Set<UserActor>()
  const asked: UserActor[] = []
  const credentials = new LiveCredentials(bus, {
    stillValid: async one => {
      asked.push(one)
      return !revoked.has(one)
    },
  })
  const revoke = (one: UserActor): void => {
    revoked.add(one)
    bus.emit('user.updated', null, { userId: 'u', name: 'alice' } as never)
  }
  return { credentials, revoke, asked, [Symbol.dispose]: () => credentials.dispose() }
}

test('watchAll() ends the holders of a source, and asks once for each credential', async () => {
  using one = revocable()
  const ended: string[] = []
  const first = actor('a')
  const holders = [first, first, actor('b')].map(who => ({
    actor: who,
    end: ({ code }: { code: string }) => void ended.push(code),
  }))
  const stop = one.credentials.watchAll(() => holders)
  one.revoke(first)
  await until(() => ended.length === 2)
  expect(ended).toEqual(['token_revoked', 'token_revoked'])
  expect(one.asked).toHaveLength(2)
  stop()
})

test('an actor of an earlier role is not valid because the credential is valid in its new one', async () => {
  using one = revocable()
  const ended: string[] = []
  const [before, after] = [actor('a', 'admin'), actor('a')]
  one.credentials.watch(after, () => void ended.push('after'))
  one.credentials.watch(before, () => void ended.push('before'))
  one.revoke(before)
  await until(() => ended.length > 0)
  expect(ended).toEqual(['before'])
})
