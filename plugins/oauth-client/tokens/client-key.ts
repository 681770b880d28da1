import { createPrivateKey, webcrypto } from 'node:crypto'

const HASH = { name: 'SHA-256' }

/** A client's private key, in PEM, as WebCrypto signs with it; undefined for a text that is none, or of a kind that does not sign. */
export async function signingKey(pem: string): Promise<CryptoKey | undefined> {
  try {
    const key = createPrivateKey(pem)
    const algorithm = algorithmOf(key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve)
    if (!algorithm) return undefined
    const der = key.export({ format: 'der', type: 'pkcs8' })
    return (await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])) as CryptoKey
  } catch {
    return undefined
  }
}

function algorithmOf(kind: string | undefined, curve: string | undefined) {
  if (kind === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: HASH }
  if (kind === 'ed25519') return { name: 'Ed25519' }
  const namedCurve = CURVES[curve ?? '']
  return kind === 'ec' && namedCurve !== undefined ? { name: 'ECDSA', namedCurve } : undefined
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }
