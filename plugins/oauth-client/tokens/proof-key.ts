import { clockSkew, DPoP, type DPoPHandle } from 'oauth4webapi'
import type { JsonObject } from 'patchbay/contract'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' }
/** The signature of proofs by such a key, as issuers list it. */
export const PROOF_ALGORITHM = 'ES256'

/** A new private key, as JWK, to which an issuer binds tokens (DPoP, RFC 9449). */
export async function newProofKey(): Promise<JsonObject> {
  const { privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { kty = '', crv = '', x = '', y = '', d = '' } = await crypto.subtle.exportKey('jwk', privateKey)
  return { kty, crv, x, y, d }
}

/** Proofs of the key for requests to an issuer, whose clock is ahead by `skew` seconds. */
export async function proofsOf(key: JsonObject, skew = 0): Promise<DPoPHandle> {
  const { kty, crv, x, y } = key
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('jwk', key as JsonWebKey, ALGORITHM, false, ['sign']),
    crypto.subtle.importKey('jwk', { kty, crv, x, y } as JsonWebKey, ALGORITHM, true, ['verify']),
  ])
  return DPoP({ [clockSkew]: skew }, { privateKey, publicKey })
}
