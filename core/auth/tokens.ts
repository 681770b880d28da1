import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { Role } from '../contract/records.ts'

/** The audience of session tokens: the hub's own API, never an MCP resource. */
const AUDIENCE = 'patchbay-api'
const ALGORITHM = 'HS256'
const LIFE_SECONDS = 12 * 60 * 60
const LEEWAY_SECONDS = 30
const SIGN_IN_SECONDS = LIMITS.signInMs / 1000
/** HMAC-SHA-256 needs a key as long as its output (RFC 7518, section 3.2); jose itself accepts any length. */
const MIN_SECRET_BYTES = 32

/** Options of session tokens. */
export interface TokenOptions {
  /** At least 32 bytes; a string counts in UTF-8. */
  readonly secret: string | Uint8Array
  /** The value of `iss`, so that a hub rejects tokens of another hub with the same secret. */
  readonly instanceId: string
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** A signed session token (JWT) with its claims. */
export interface IssuedToken {
  readonly token: string
  /** ISO 8601 UTC, 12 hours after the issue, but at most 30 days after the sign-in. */
  readonly expiresAt: string
  readonly tokenId: string
  readonly familyId: string
  readonly signedInAtMs: number
}

/** The sign-in that a token belongs to. */
export interface TokenFamily {
  readonly familyId: string
  readonly signedInAtMs: number
}

/** The claims of a valid token. */
export interface TokenClaims {
  readonly userId: string
  readonly tokenId: string
  readonly familyId: string
  readonly signedInAtMs: number
  readonly epoch: number
  readonly expiresAtMs: number
}

/** Issues and verifies session tokens. */
export interface Tokens {
  /** Issues a token for a new sign-in, or for `family`. Throws token_expired when that sign-in is too long ago. */
  issue(
    user: { readonly id: string; readonly role: Role; readonly tokenEpoch: number },
    family?: TokenFamily,
  ): Promise<IssuedToken>
  /** Throws HubError: token_invalid (form, signature, algorithm, claims), token_expired, token_wrong_audience. */
  verify(token: string): Promise<TokenClaims>
}

/** Time after `exp` for which a token is still accepted, in milliseconds, for clock differences. */
export const TOKEN_LEEWAY_MS = LEEWAY_SECONDS * 1000

/**
 * Session tokens: JWT HS256, 12 h, with `iss aud sub jti iat exp role epoch sid auth_time`. The role in it is for
 * display; the user's row is authoritative. `sid` and `auth_time` identify the sign-in, whose tokens all expire 30 days
 * after it at most. Throws RangeError when the secret is under 32 bytes.
 */
export function createTokens({ secret, instanceId, now = Date.now }: TokenOptions): Tokens {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : Uint8Array.from(secret)
  if (bytes.byteLength < MIN_SECRET_BYTES) {
    throw new RangeError(`The token secret has ${bytes.byteLength} bytes; at least ${MIN_SECRET_BYTES} are needed`)
  }
  const issuer = `patchbay/${instanceId}`
  const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])

  return {
    async issue(user, family) {
      const issuedAt = Math.floor(now() / 1000)
      const tokenId = crypto.randomUUID()
      const familyId = family?.familyId ?? tokenId
      const signedInAt = family ? Math.floor(family.signedInAtMs / 1000) : issuedAt
      const expires = Math.min(issuedAt + LIFE_SECONDS, signedInAt + SIGN_IN_SECONDS)
      if (expires <= issuedAt) throw expired()
      const token = await new SignJWT({
        ...{ role: user.role, epoch: user.tokenEpoch },
        ...{ sid: familyId, auth_time: signedInAt },
      })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(user.id)
        .setJti(tokenId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expires)
        .sign(await key)
      return {
        token,
        expiresAt: new Date(expires * 1000).toISOString(),
        tokenId,
        familyId,
        signedInAtMs: signedInAt * 1000,
      }
    },

    async verify(token) {
      const claims = await checked(token, await key, issuer, now())
      const { sub, jti, iat, exp, epoch, role } = claims
      if (typeof sub !== 'string' || sub === '' || typeof jti !== 'string' || jti === '') throw invalid()
      if (typeof exp !== 'number' || !Number.isSafeInteger(epoch)) throw invalid()
      // A longer life can only be signed by another program with the same secret.
      if (exp > Number(iat) + LIFE_SECONDS) throw invalid()
      if (role !== 'admin' && role !== 'user') throw invalid()
      return { userId: sub, tokenId: jti, ...familyOf(claims, jti), epoch: epoch as number, expiresAtMs: exp * 1000 }
    },
  }
}

/** Tokens of earlier versions have no `sid`: each counts as its own sign-in. */
function familyOf({ sid, auth_time: authTime, iat }: JWTPayload, tokenId: string): TokenFamily {
  if (sid === undefined && authTime === undefined) return { familyId: tokenId, signedInAtMs: Number(iat) * 1000 }
  if (typeof sid !== 'string' || sid === '' || !Number.isSafeInteger(authTime)) throw invalid()
  return { familyId: sid, signedInAtMs: (authTime as number) * 1000 }
}

async function checked(token: string, key: CryptoKey, issuer: string, nowMs: number) {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [ALGORITHM],
      issuer,
      audience: AUDIENCE,
      requiredClaims: ['iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'role', 'epoch'],
      clockTolerance: LEEWAY_SECONDS,
      // Also rejects a token with an `exp` too far ahead, or issued in the future.
      maxTokenAge: LIFE_SECONDS,
      currentDate: new Date(nowMs),
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw expired()
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud' && error.reason === 'check_failed') {
      throw new HubError('token_wrong_audience', 'The token was made for something else than this hub’s API')
    }
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw invalid(error)
    throw error
  }
}

function expired(): HubError {
  return new HubError('token_expired', 'The token has expired', { hint: 'Sign in again.' })
}

function invalid(cause?: unknown): HubError {
  return new HubError('token_invalid', 'The token is not one that this hub made', { cause, hint: 'Sign in again.' })
}
