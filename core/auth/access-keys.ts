import { createHash } from 'node:crypto'

/** `pb_` and the base64url form of 256 random bits. */
const FORM = /^pb_[A-Za-z0-9_-]{43}$/

/** Three parts of base64url. */
const TOKEN_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/
const SHORTEST = 8
const LONGEST = 256

/** True when a credential has the prefix of an access key of this hub; a session token never has it. */
export function looksLikeAccessKey(credential: string): boolean {
  return credential.startsWith('pb_')
}

/** True when it may be an access key from another hub: 8 to 256 characters, and not a session token. */
export function mayBeAdoptedKey(credential: string): boolean {
  const { length } = credential
  return length >= SHORTEST && length <= LONGEST && !looksLikeAccessKey(credential) && !TOKEN_FORM.test(credential)
}

/** True when a credential has the form of an access key: `pb_` and 43 characters. */
export function isAccessKey(credential: string): boolean {
  return FORM.test(credential)
}

/**
 * SHA-256 of a key, lower-case hex: the stored form of keys. A plain hash is enough for 256 random bits (and keys of
 * other hubs are taken over only when they are long, or for a short time), and because
 * the look-up is by hash, its duration reveals nothing about existing keys.
 */
export function hashAccessKey(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}
