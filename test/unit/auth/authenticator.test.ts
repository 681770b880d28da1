import { describe, expect, test } from 'bun:test'
import { createAuthenticator } from '../../../core/auth/authenticator.ts'
import { createFailedCredentials } from '../../../core/auth/failed-credentials.ts'
import { createTokens } from '../../../core/auth/tokens.ts'
import { HubError } from '../../../core/contract/errors.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { People } from './people.ts'

/** An address that is no matter to the test. */
const HERE = { addressKey: '192.0.2.1', mayAdminister: true }
const secret = 'a secret of more than thirty-two bytes'

function setUp() {
  const clock = { ms: Date.now() }
  const now = () => clock.ms
  const bus = new EventBus(error => {
    throw error
  })
  const people = new People(bus)
  const revoked = new Set<string>()
  const open = new Set<string>()
  const tokens = createTokens({ secret, instanceId: 'one', now })
  const authenticator = createAuthenticator({
    tokens,
    revocations: { isRevoked: async id => revoked.has(id) },
    signIns: { used() {}, isOpen: async id => open.has(id) },
    registry: people.registry(),
    bus,
    failedCredentials: createFailedCredentials(() => clock.ms),
    now,
  })
  return { clock, bus, people, revoked, open, tokens, authenticator }
}

const bearer = (token: string, more: Record<string, string> = {}) =>
  new Headers({ authorization: `Bearer ${token}`, ...more })

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work()
    return 'taken'
  } catch (error) {
    return error instanceof HubError ? error.code : String(error)
  }
}

describe('authenticate()', () => {
  test('authenticate() answers at once for a credential that was verified before, without reading a row', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('ada', 'admin'))
    const first = await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    const reads = people.reads
    const again = authenticator.authenticate(bearer(token), 'mcp', 'POST', HERE)
    expect(again).toBe(first)
    expect(first).toMatchObject({ kind: 'user', name: 'ada', role: 'admin' })
    expect(people.reads).toBe(reads)
  })

  test('authenticate() looks again after 30 s', async () => {
    const { people, tokens, authenticator, clock } = setUp()
    const { token } = await tokens.issue(people.add('ada'))
    await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    clock.ms += 29_999
    expect(authenticator.authenticate(bearer(token), 'api', 'GET', HERE)).not.toBeInstanceOf(Promise)
    clock.ms += 1
    expect(authenticator.authenticate(bearer(token), 'api', 'GET', HERE)).toBeInstanceOf(Promise)
  })

  test('authenticate() asks the store once for many that come together', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('ada'))
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(bearer(token), 'api', 'GET', HERE)))
    expect(people.reads).toBe(1)
  })

  test.each([
    ['disabled', { disabled: true }, 'token_revoked'],
    ['given another epoch', { tokenEpoch: 2 }, 'token_revoked'],
  ])('authenticate() refuses the next request of a user who was %s', async (_what, change, code) => {
    const { people, tokens, authenticator } = setUp()
    const row = people.add('ada')
    const { token } = await tokens.issue(row)
    await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    people.change(row, change)
    expect(await codeOf(() => authenticator.authenticate(bearer(token), 'api', 'GET', HERE))).toBe(code)
  })

  test('authenticate() sees a demotion at the next request, by the row and not by the token', async () => {
    const { people, tokens, authenticator } = setUp()
    const row = people.add('ada', 'admin')
    const { token } = await tokens.issue(row)
    await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    people.change(row, { role: 'user' })
    expect((await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)).role).toBe('user')
  })

  test('authenticate() keeps nothing of a verification that a change of rights overtook', async () => {
    const { people, tokens, authenticator } = setUp()
    const row = people.add('ada')
    const { token } = await tokens.issue(row)
    people.duringRead = async () => {
      people.duringRead = async () => {}
      people.change(row, { disabled: true })
    }
    expect(await codeOf(() => authenticator.authenticate(bearer(token), 'api', 'GET', HERE))).toBe('token_revoked')
  })

  test('authenticate() refuses a token that was signed out, at once', async () => {
    const { people, tokens, authenticator, bus, revoked } = setUp()
    const { token, familyId } = await tokens.issue(people.add('ada'))
    await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    revoked.add(familyId)
    bus.emit('token.revoked', 'u1', { familyId, userId: 'u1' }, 'internal')
    expect(await codeOf(() => authenticator.authenticate(bearer(token), 'api', 'GET', HERE))).toBe('token_revoked')
  })

  test.each([
    ['nothing', {}, 'unauthenticated'],
    ['Bearer with nothing', { authorization: 'Bearer ' }, 'unauthenticated'],
    ['an empty x-auth-token', { 'x-auth-token': '' }, 'unauthenticated'],
    ['text that is no token', { authorization: 'Bearer a b' }, 'token_invalid'],
    ['an unknown key', { authorization: `Bearer pb_${'a'.repeat(43)}` }, 'token_revoked'],
    ['a cut key', { authorization: 'Bearer pb_abc' }, 'token_invalid'],
    ['two Authorization headers', { authorization: 'Bearer a, Bearer b' }, 'header_duplicate'],
    ['two different credentials', { authorization: 'Bearer a', 'x-auth-token': 'b' }, 'credentials_conflict'],
  ])('authenticate() refuses %s', async (_what, headers, code) => {
    const { authenticator } = setUp()
    const given = new Headers(headers as Record<string, string>)
    expect(await codeOf(() => authenticator.authenticate(given, 'api', 'GET', HERE))).toBe(code)
  })

  test('authenticate() refuses Basic even with a valid token behind it', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('ada'))
    const basic = new Headers({ authorization: `Basic ${token}` })
    expect(await codeOf(() => authenticator.authenticate(basic, 'api', 'GET', HERE))).toBe('unauthenticated')
  })

  test('authenticate() takes x-auth-token on the API alone, and either scheme case', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('ada'))
    const plain = new Headers({ 'x-auth-token': token })
    expect(await codeOf(() => authenticator.authenticate(plain, 'api', 'GET', HERE))).toBe('taken')
    expect(await codeOf(() => authenticator.authenticate(plain, 'mcp', 'GET', HERE))).toBe('unauthenticated')
    const both = bearer(token, { 'x-auth-token': token })
    expect(await codeOf(() => authenticator.authenticate(both, 'api', 'GET', HERE))).toBe('taken')
    const shouted = new Headers({ authorization: `BEARER ${token}` })
    expect(await codeOf(() => authenticator.authenticate(shouted, 'api', 'GET', HERE))).toBe('taken')
  })

  test('authenticate() opens the API to keys with its scopes only, api:read for reading', async () => {
    const { people, authenticator } = setUp()
    const { id } = people.add('ada')
    const codes = async (scopes: Parameters<People['addKey']>[1]) => {
      const { secret: key } = people.addKey(id, scopes)
      const call = (audience: 'api' | 'mcp', method: string) =>
        codeOf(() => authenticator.authenticate(bearer(key), audience, method, HERE))
      return [await call('mcp', 'POST'), await call('api', 'GET'), await call('api', 'POST')]
    }
    expect(await codes(['mcp'])).toEqual(['taken', 'insufficient_scope', 'insufficient_scope'])
    expect(await codes(['api:read'])).toEqual(['taken', 'taken', 'insufficient_scope'])
    expect(await codes(['api'])).toEqual(['taken', 'taken', 'taken'])
  })

  test('authenticate() refuses a key that was removed or has expired', async () => {
    const { people, authenticator, clock } = setUp()
    const { id } = people.add('ada')
    const { key, secret: removed } = people.addKey(id, ['api'])
    const { secret: ending } = people.addKey(id, ['api'], new Date(clock.ms + 1_000).toISOString())
    for (const each of [removed, ending]) await authenticator.authenticate(bearer(each), 'api', 'GET', HERE)
    people.removeKey(key.id)
    clock.ms += 1_000
    expect(await codeOf(() => authenticator.authenticate(bearer(removed), 'api', 'GET', HERE))).toBe('token_revoked')
    expect(await codeOf(() => authenticator.authenticate(bearer(ending), 'api', 'GET', HERE))).toBe('token_expired')
  })

  test('authenticate() lets somebody who must change the password do only that', async () => {
    const { people, tokens, authenticator } = setUp()
    const row = people.add('ada')
    people.change(row, { mustChangePassword: true })
    const { token } = await tokens.issue(row)
    expect(await codeOf(() => authenticator.authenticate(bearer(token), 'api', 'GET', HERE))).toBe(
      'password_change_required',
    )
    expect(await codeOf(() => authenticator.authenticate(bearer(token), 'api', 'GET', HERE, true))).toBe('taken')
  })
})

describe('an administrator outside ADMIN_ADDRESSES', () => {
  const OUTSIDE = { addressKey: '192.0.2.2', mayAdminister: false }

  test('authenticate() makes it an ordinary user there, by the kept verification too, and only there', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('ada', 'admin'))
    const outside = await authenticator.authenticate(bearer(token), 'api', 'GET', OUTSIDE)
    expect([outside.role, outside.restricted]).toEqual(['user', true])
    expect(authenticator.authenticate(bearer(token), 'mcp', 'GET', OUTSIDE)).toBe(outside)
    const inside = await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    expect([inside.role, inside.restricted]).toEqual(['admin', undefined])
    expect(authenticator.stillValid(outside)).toBe(true)
  })

  test('stillValid() ends it with its token', async () => {
    const { people, tokens, authenticator, bus, revoked } = setUp()
    const { token, familyId } = await tokens.issue(people.add('ada', 'admin'))
    const actor = await authenticator.authenticateToken(token, 'api', 'GET', OUTSIDE)
    revoked.add(familyId)
    bus.emit('token.revoked', 'u1', { familyId, userId: 'u1' }, 'internal')
    expect(await authenticator.stillValid(actor)).toBe(false)
  })

  test('an ordinary user is the same everywhere', async () => {
    const { people, tokens, authenticator } = setUp()
    const { token } = await tokens.issue(people.add('bob'))
    expect((await authenticator.authenticate(bearer(token), 'api', 'GET', OUTSIDE)).restricted).toBeUndefined()
  })
})

describe('stillValid()', () => {
  test('stillValid() is true at once for what was just verified, and false after demotion, revocation and expiry', async () => {
    const { people, tokens, authenticator, clock } = setUp()
    const row = people.add('ada', 'admin')
    const { token } = await tokens.issue(row)
    const actor = await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    expect(authenticator.stillValid(actor)).toBe(true)
    people.change(people.add('bob'), { disabled: true })
    expect(await authenticator.stillValid(actor)).toBe(true)
    people.change(row, { role: 'user' })
    expect(await authenticator.stillValid(actor)).toBe(false)
    people.change(row, { role: 'admin' })
    expect(await authenticator.stillValid(actor)).toBe(true)
    clock.ms += 12 * 3600_000 + 31_000
    expect(await authenticator.stillValid(actor)).toBe(false)
  })
})

describe('continues()', () => {
  test.each([
    ['disabled', { disabled: true }],
    ['given another epoch', { tokenEpoch: 2 }],
  ])('continues() is false for a user who was %s', async (_what, change) => {
    const { people, tokens, authenticator } = setUp()
    const row = people.add('ada', 'admin')
    const actor = await authenticator.authenticate(bearer((await tokens.issue(row)).token), 'api', 'GET', HERE)
    people.change(row, { role: 'user' })
    expect(await authenticator.continues(actor)).toBe(true)
    people.change(row, change)
    expect(await authenticator.continues(actor)).toBe(false)
  })

  test('continues() holds as long as the sign-in has a later token, unless that was revoked', async () => {
    const { people, tokens, authenticator, clock, open, revoked } = setUp()
    const { token, familyId } = await tokens.issue(people.add('ada'))
    const actor = await authenticator.authenticate(bearer(token), 'api', 'GET', HERE)
    open.add(familyId)
    clock.ms += 13 * 3600_000
    expect([await authenticator.stillValid(actor), await authenticator.continues(actor)]).toEqual([false, true])
    revoked.add(familyId)
    expect(await authenticator.continues(actor)).toBe(false)
    revoked.clear()
    open.clear()
    expect(await authenticator.continues(actor)).toBe(false)
  })

  test('continues() ends with a key', async () => {
    const { people, authenticator, clock } = setUp()
    const { id } = people.add('ada')
    const { key, secret: removed } = people.addKey(id, ['api'])
    const { secret: ending } = people.addKey(id, ['api'], new Date(clock.ms + 1_000).toISOString())
    const actors = await Promise.all(
      [removed, ending].map(each => authenticator.authenticate(bearer(each), 'api', 'GET', HERE)),
    )
    const all = () => Promise.all(actors.map(actor => authenticator.continues(actor)))
    expect(await all()).toEqual([true, true])
    people.removeKey(key.id)
    clock.ms += 1_000
    expect(await all()).toEqual([false, false])
  })
})
