import type { JsonObject } from '../../contract/json.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' }

/** A request of which a proof is wanted. */
export interface ProvenRequest {
  readonly method: string
  readonly url: string
  /** The access token that it carries. */
  readonly token: string
  /** The value that the server wants in its proofs, where it named one. */
  readonly nonce?: string | undefined
  /** Seconds by which the server's clock is ahead. Default 0. */
  readonly skew?: number
}

/** A key that signs proofs of its possession, one for each request (DPoP, RFC 9449). */
export class RequestProof {
  readonly #jwk: JsonObject
  #key: Promise<CryptoKey> | undefined

  /** `jwk`: a private key of the curve P-256. */
  constructor(jwk: JsonObject) {
    this.#jwk = jwk
  }

  /** The value of the header `DPoP`. */
  async sign({ method, url, token, nonce, skew = 0 }: ProvenRequest): Promise<string> {
    this.#key ??= crypto.subtle.importKey('jwk', this.#jwk as JsonWebKey, ALGORITHM, false, ['sign'])
    const { kty, crv, x, y } = this.#jwk
    const { origin, pathname } = new URL(url)
    const header = { alg: 'ES256', typ: 'dpop+jwt', jwk: { kty, crv, x, y } }
    const claims = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: `${origin}${pathname}`,
      iat: Math.floor(Date.now() / 1_000) + skew,
      ath: base64url(await crypto.subtle.digest('SHA-256', bytesOf(token))),
      ...(nonce === undefined ? {} : { nonce }),
    }
    const signed = [header, claims].map(part => base64url(bytesOf(JSON.stringify(part)))).join('.')
    const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, await this.#key, bytesOf(signed))
    return `${signed}.${base64url(signature)}`
  }
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function base64url(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  return Buffer.from(bytes as ArrayBuffer).toString('base64url')
}
