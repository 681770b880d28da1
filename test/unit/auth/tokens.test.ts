import { describe, expect, test } from 'bun:test'
import { generateKeyPair, SignJWT } from 'jose'
import { createTokens } from '../../../core/auth/tokens.ts'
import { HubError } from '../../../core/contract/errors.ts'

const secret = 'a secret of more than thirty-two bytes'
const key = new TextEncoder().encode(secret)
const ada = { id: 'u1', role: 'admin', tokenEpoch: 3 } as const
const NOW = Date.parse('2026-11-21T09:30:00Z')
const tokens = createTokens({ secret, instanceId: 'one', now: () => NOW })
const seconds = Math.floor(NOW / 1000)

const claims = {
  iss: 'patchbay/one',
  aud: 'patchbay-api',
  sub: 'u1',
  jti: 'j1',
  iat: seconds,
  exp: seconds + 3600,
  role: 'admin',
  epoch: 3,
}

function signed(payload: Record<string, unknown>, alg = 'HS256'): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg }).sign(key)
}

async function codeOf(token: string, verifier = tokens): Promise<string> {
  try {
    await verifier.verify(token)
    return 'taken'
  } catch (error) {
    return error instanceof HubError ? error.code : String(error)
  }
}

describe('verify()', () => {
  test('verify() takes what issue() made, and knows user, epoch and end', async () => {
    const { token, tokenId, expiresAt } = await tokens.issue(ada)
    expect(await tokens.verify(token)).toEqual({
      ...{ userId: 'u1', tokenId, familyId: tokenId, signedInAtMs: NOW },
      ...{ epoch: 3, expiresAtMs: NOW + 12 * 3600_000 },
    })
    expect(expiresAt).toBe('2026-11-21T21:30:00.000Z')
  })

  test('verify() takes the claims of this file when all are right', async () => {
    expect(await codeOf(await signed(claims))).toBe('taken')
  })

  test.each(['iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'role', 'epoch'] as const)(
    'verify() refuses a token without %s',
    async name => {
      const { [name]: _gone, ...rest } = claims
      expect(await codeOf(await signed(rest))).toBe('token_invalid')
    },
  )

  test.each([
    ['role', 'root'],
    ['epoch', '3'],
    ['epoch', 1.5],
    ['sub', ''],
    ['jti', ''],
    ['iss', 'patchbay/two'],
  ])('verify() refuses %s %p', async (name, value) => {
    expect(await codeOf(await signed({ ...claims, [name]: value }))).toBe('token_invalid')
  })

  test('verify() refuses another audience by its own code', async () => {
    expect(await codeOf(await signed({ ...claims, aud: 'http://hub/mcp/g' }))).toBe('token_wrong_audience')
  })

  test('verify() refuses other algorithms with the same key [CVE-2026-22817 CVE-2026-29087]', async () => {
    expect(await codeOf(await signed(claims, 'HS512'))).toBe('token_invalid')
    expect(await codeOf(await signed(claims, 'HS384'))).toBe('token_invalid')
  })

  test('verify() refuses alg none, with and without a signature', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${part({ alg: 'none' })}.${part(claims)}.`
    const [, , signature] = (await signed(claims)).split('.')
    for (const token of [unsigned, unsigned + signature, `${part({ alg: 'None' })}.${part(claims)}.`]) {
      expect(await codeOf(token)).toBe('token_invalid')
    }
  })

  test('verify() refuses a token signed with RS256', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
    expect(await codeOf(token)).toBe('token_invalid')
  })

  test('verify() refuses a changed payload, cut tokens and no tokens', async () => {
    const [head, , signature] = (await signed(claims)).split('.')
    const admin = Buffer.from(JSON.stringify({ ...claims, sub: 'u2' })).toString('base64url')
    for (const token of [`${head}.${admin}.${signature}`, `${head}.${admin}`, '', 'x', 'a.b.c', '...']) {
      expect(await codeOf(token)).toBe('token_invalid')
    }
  })

  test('verify() takes an ended token for 30 s more, then says expired', async () => {
    expect(await codeOf(await signed({ ...claims, exp: seconds - 29 }))).toBe('taken')
    expect(await codeOf(await signed({ ...claims, exp: seconds - 31 }))).toBe('token_expired')
  })

  test('verify() refuses a token issued over 12 h ago whatever its exp, and one from the future', async () => {
    const old = { ...claims, iat: seconds - 12 * 3600 - 60, exp: seconds + 1e9 }
    expect(await codeOf(await signed(old))).toBe('token_expired')
    expect(await codeOf(await signed({ ...claims, iat: seconds + 120 }))).not.toBe('taken')
  })

  test('verify() refuses a token that lives for over 12 h, however fresh it is', async () => {
    const life = 12 * 3600
    expect(await codeOf(await signed({ ...claims, iat: seconds, exp: seconds + life }))).toBe('taken')
    expect(await codeOf(await signed({ ...claims, iat: seconds, exp: seconds + life + 1 }))).toBe('token_invalid')
    expect(await codeOf(await signed({ ...claims, iat: seconds, exp: seconds + 1e9 }))).toBe('token_invalid')
  })

  test('verify() refuses a token of another hub that has the same secret [CVE-2026-44428]', async () => {
    const other = createTokens({ secret, instanceId: 'two', now: () => NOW })
    expect(await codeOf((await tokens.issue(ada)).token, other)).toBe('token_invalid')
  })
})

test('createTokens() refuses a secret under 32 bytes', () => {
  expect(() => createTokens({ secret: 'short', instanceId: 'one' })).toThrow(RangeError)
  expect(() => createTokens({ secret: 'é'.repeat(16), instanceId: 'one' })).not.toThrow()
})

describe('a family of tokens', () => {
  const DAY_MS = 24 * 3600_000

  test('issue() keeps the sign-in over refreshes, and gives no token past 30 days after it', async () => {
    const clock = { ms: NOW }
    const at = createTokens({ secret, instanceId: 'one', now: () => clock.ms })
    const first = await at.issue(ada)
    clock.ms += 29.8 * DAY_MS
    const last = await at.issue(ada, first)
    expect(last.familyId).toBe(first.familyId)
    expect(last.tokenId).not.toBe(first.tokenId)
    expect(last.expiresAt).toBe(new Date(NOW + 30 * DAY_MS).toISOString())
    expect(await at.verify(last.token)).toMatchObject({ familyId: first.tokenId, signedInAtMs: NOW })
    clock.ms = NOW + 30 * DAY_MS
    expect(await at.issue(ada, first).catch(error => error)).toMatchObject({ code: 'token_expired' })
  })

  test('verify() takes a token of an earlier version as a sign-in of its own', async () => {
    const { familyId, signedInAtMs, tokenId } = await tokens.verify(await signed(claims))
    expect([familyId, signedInAtMs]).toEqual([tokenId, claims.iat * 1000])
  })

  test.each([{ sid: '' }, { sid: 7, auth_time: 1 }, { sid: 'a' }, { sid: 'a', auth_time: '1' }])(
    'verify() refuses a token with the family %j',
    async family => {
      expect(await codeOf(await signed({ ...claims, ...family }))).toBe('token_invalid')
    },
  )
})
