import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { type GrantScope, HubError } from 'patchbay/contract'
import type { PluginSealing } from 'patchbay/features'
import { scopesOf } from './tables.ts'

/** Life of an access token, in seconds. */
export const ACCESS_SECONDS = 3_600
const TYPE = 'at+jwt'
const ALGORITHM = 'HS256'
const PURPOSE = 'access token'

/** The claims of an access token. */
export interface AccessClaims {
  readonly grantId: string
  readonly userId: string
  readonly clientId: string
  readonly issuer: string
  readonly resource: string
  readonly scopes: readonly GrantScope[]
  readonly epoch: number
}

/** Signs and reads access tokens (RFC 9068). The hub alone reads them, so that their key is a secret that it derives. */
export class AccessTokens {
  readonly #sealing: Pick<PluginSealing, 'keys'>

  constructor(sealing: Pick<PluginSealing, 'keys'>) {
    this.#sealing = sealing
  }

  async sign({ grantId, userId, clientId, issuer, resource, scopes, epoch }: AccessClaims): Promise<string> {
    const [present] = this.#sealing.keys(PURPOSE)
    if (!present) throw new Error('The hub has no key')
    return new SignJWT({ client_id: clientId, scope: scopes.join(' '), gid: grantId, epoch })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: present.kid })
      .setIssuer(issuer)
      .setAudience(resource)
      .setSubject(userId)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime(`${ACCESS_SECONDS} s`)
      .sign(present.key)
  }

  /** Undefined for a token that is none of these. Throws `token_invalid`, `token_expired`. */
  async read(token: string): Promise<(AccessClaims & { readonly expiresAtMs: number }) | undefined> {
    const header = headerOf(token)
    if (header?.typ !== TYPE || header.alg !== ALGORITHM) return undefined
    const signer = this.#sealing.keys(PURPOSE).find(({ kid }) => kid === header.kid)
    if (!signer) return undefined
    const claims = await checked(token, signer.key)
    const { sub, aud, iss, exp, client_id: clientId, scope, gid, epoch } = claims
    if (![sub, aud, iss, clientId, scope, gid].every(claim => typeof claim === 'string')) throw invalid()
    if (typeof exp !== 'number' || typeof epoch !== 'number') throw invalid()
    return {
      ...{ grantId: String(gid), userId: String(sub), clientId: String(clientId), issuer: String(iss) },
      ...{ resource: String(aud), scopes: scopesOf(String(scope)), epoch, expiresAtMs: exp * 1_000 },
    }
  }
}

async function checked(token: string, key: Uint8Array): Promise<JWTPayload> {
  try {
    const required = { algorithms: [ALGORITHM], typ: TYPE, maxTokenAge: ACCESS_SECONDS, clockTolerance: 5 }
    return (await jwtVerify(token, key, required)).payload
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new HubError('token_expired', 'The token has expired', { hint: 'The client gets a new one by itself.' })
    throw invalid(error)
  }
}

function headerOf(token: string) {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

function invalid(cause?: unknown): HubError {
  return new HubError('token_invalid', 'The token is not one that this hub made', { cause, hint: 'Sign in again.' })
}
