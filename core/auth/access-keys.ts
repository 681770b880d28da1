import { createHash } from 'node:crypto'

/** `pb_` and the base64url form of 256 random bits. */
const FORM = /^pb_[A-Za-z0-9_-]{43}$/

/** Whether a credential says of itself that it is an access key; a session token never begins so. */
export function looksLikeAccessKey(credential: string): boolean {
  return credential.startsWith('pb_')
}

export function isAccessKey(credential: string): boolean {
  return FORM.test(credential)
}

/**
 * SHA-256 of a key, lower-case hex: the form in which keys are kept. A plain hash is enough for 256 random bits, and since
 * the look-up goes by the hash, its time says nothing about a key that exists.
 */
export function hashAccessKey(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}
