import { Buffer } from 'node:buffer'
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'

/** Context of an encrypted value. It cannot be decrypted in any other context. */
export interface SealContext {
  /** User id. */
  readonly owner: string
  /** Id of the record that holds it. */
  readonly record: string
  /** Name or JSON Pointer of the field. */
  readonly field: string
}

/** Encrypts secrets for the store, each bound to its purpose and context. */
export interface Sealer {
  /** Returns `enc:v1:<kid>:<base64url>`. `purpose` names a kind of use, such as `server`; each has its own subkey. */
  seal(purpose: string, context: SealContext, text: string): string
  /** Throws HubError `config_invalid` for a text that was sealed for another context, or with a key that is not in the
   * ring. */
  open(purpose: string, context: SealContext, sealed: string): string
  /** A short opaque text that only this hub can create, for session ids and cursors. ASCII, base64url. */
  sealToken(purpose: string, value: JsonValue): string
  /** The value, or undefined for anything that this hub did not seal for this purpose. Never throws. */
  openToken(purpose: string, token: string): JsonValue | undefined
  /** 32 bytes derived from each key, the present one first. */
  derive(purpose: string): readonly { readonly kid: string; readonly key: Uint8Array }[]
  sealTokenBytes(purpose: string, bytes: Uint8Array): string
  openTokenBytes(purpose: string, token: string): Uint8Array | undefined
}

const PREFIX = 'enc:v1:'
const KEY_BYTES = 32
/** 96 random bits per value, as NIST SP 800-38D recommends for AES-GCM. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** True when a text has the form of an encrypted value, whether or not it can be decrypted. */
export function isSealed(text: string): boolean {
  return /^enc:v1:[0-9a-f]{8}:[A-Za-z0-9_-]{38,}$/.test(text)
}

/** Id of the key that encrypted a text: 8 hex digits. Undefined for a text that is not encrypted. */
export function sealedBy(text: string): string | undefined {
  return isSealed(text) ? text.slice(PREFIX.length, PREFIX.length + 8) : undefined
}

/** The id of a key, written into the texts that it seals. Reveals nothing about the key. */
export function kidOf(key: Uint8Array): string {
  return createHash('sha256').update('patchbay kid\0').update(key).digest('hex').slice(0, 8)
}

/**
 * AES-256-GCM with a subkey per purpose (HKDF-SHA-256). `keys`: one, or two during a rotation; the first one seals,
 * both open. Throws RangeError for any other number and for keys of other than 32 bytes.
 */
export function createSealer(keys: readonly Uint8Array[]): Sealer {
  if (keys.length < 1 || keys.length > 2) throw new RangeError(`One or two keys are wanted, not ${keys.length}`)
  const ring = keys.map(key => {
    if (key.length !== KEY_BYTES) throw new RangeError(`A key has ${KEY_BYTES} bytes, not ${key.length}`)
    return { kid: kidOf(key), key }
  })
  const subkeys = new Map<string, Buffer>()

  const subkey = (entry: Ring, use: string): Buffer => {
    const name = `${entry.kid}\0${use}`
    const known = subkeys.get(name)
    if (known) return known
    const made = Buffer.from(hkdfSync('sha256', entry.key, 'patchbay', use, KEY_BYTES))
    subkeys.set(name, made)
    return made
  }
  const first = ring[0] as Ring

  return {
    seal(purpose, context, text) {
      const box = encrypt(subkey(first, `value:${purpose}`), associated(purpose, context), Buffer.from(text))
      return `${PREFIX}${first.kid}:${box.toString('base64url')}`
    },
    open(purpose, context, sealed) {
      const [kid = '', text = ''] = sealed.startsWith(PREFIX) ? sealed.slice(PREFIX.length).split(':') : []
      const entry = ring.find(candidate => candidate.kid === kid)
      if (!entry) throw cannotOpen(context, 'the key that sealed it is not in the key ring')
      const key = subkey(entry, `value:${purpose}`)
      const box = onlySpelling(text)
      const opened = box && decrypt(key, associated(purpose, context), box)
      if (!opened) throw cannotOpen(context, 'it was sealed for another place, or changed')
      return opened.toString()
    },
    derive: purpose => ring.map(entry => ({ kid: entry.kid, key: subkey(entry, `derived:${purpose}`) })),
    sealToken(purpose, value) {
      return this.sealTokenBytes(purpose, Buffer.from(JSON.stringify(value)))
    },
    openToken(purpose, token) {
      const bytes = this.openTokenBytes(purpose, token)
      // Only sealToken writes what can be opened here, so it parses.
      return bytes && (JSON.parse(Buffer.from(bytes).toString()) as JsonValue)
    },
    sealTokenBytes(purpose, bytes) {
      return encrypt(subkey(first, `token:${purpose}`), Buffer.from(purpose), Buffer.from(bytes)).toString('base64url')
    },
    openTokenBytes(purpose, token) {
      // Texts of a length that is never sealed are rejected first: the work grows with the length.
      if (token.length > LIMITS.sealedTokenCharacters || !/^[A-Za-z0-9_-]{38,}$/.test(token)) return undefined
      const box = onlySpelling(token)
      if (!box) return undefined
      for (const entry of ring) {
        const bytes = decrypt(subkey(entry, `token:${purpose}`), Buffer.from(purpose), box)
        if (bytes) return bytes
      }
      return undefined
    },
  }
}

interface Ring {
  readonly kid: string
  readonly key: Uint8Array
}

/** Rejects non-canonical base64, whose unused last bits could be changed: that would give one session a second id. */
function onlySpelling(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** JSON separates the parts unambiguously, so no two contexts give the same text. */
function associated(purpose: string, context: SealContext): Buffer {
  return Buffer.from(JSON.stringify([purpose, context.owner, context.record, context.field]))
}

function encrypt(key: Buffer, aad: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(aad)
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

function decrypt(key: Buffer, aad: Buffer, box: Buffer): Buffer | undefined {
  if (box.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(aad).setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    // final() throws only when the authentication tag does not match.
    return undefined
  }
}

function cannotOpen(context: SealContext, why: string): HubError {
  return new HubError('config_invalid', `The stored secret at ${context.field} cannot be opened: ${why}`, {
    hint: 'Enter the secret again, or start the hub with the key that it had before.',
  })
}
