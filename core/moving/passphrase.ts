import { Buffer } from 'node:buffer'
import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt } from 'node:crypto'

/** A text that only its passphrase opens. All in base64url. */
export interface PassphraseSealed {
  readonly kdf: 'scrypt'
  readonly n: number
  readonly r: number
  readonly p: number
  readonly salt: string
  readonly nonce: string
  readonly sealed: string
}

/** Fewest characters of a passphrase. */
export const PASSPHRASE_CHARACTERS = 12

/** OWASP's first choice for scrypt: 128 MiB, 0.4 s. */
const COST = { n: 131_072, r: 8, p: 1 } as const
const MAXMEM_BYTES = 192 * 1024 * 1024
const TAG_BYTES = 16

/** Seals with AES-256-GCM under a key of scrypt; bound to `purpose`. */
export async function sealWithPassphrase(text: string, passphrase: string, purpose: string): Promise<PassphraseSealed> {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt), nonce)
  cipher.setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  const texts = [salt, nonce, sealed].map(bytes => bytes.toString('base64url'))
  return { kdf: 'scrypt', ...COST, salt: texts[0] ?? '', nonce: texts[1] ?? '', sealed: texts[2] ?? '' }
}

/** Returns the text; undefined for another passphrase or purpose, and for a text that was not sealed this way. */
export async function openWithPassphrase(
  from: PassphraseSealed,
  passphrase: string,
  purpose: string,
): Promise<string | undefined> {
  const { kdf, n, r, p } = from
  // Other costs could take all memory of the machine.
  if (kdf !== 'scrypt' || n !== COST.n || r !== COST.r || p !== COST.p) return undefined
  try {
    const bytes = Buffer.from(from.sealed, 'base64url')
    const key = await keyOf(passphrase, Buffer.from(from.salt, 'base64url'))
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(from.nonce, 'base64url'))
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  const options: ScryptOptions = { N: COST.n, r: COST.r, p: COST.p, maxmem: MAXMEM_BYTES }
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 32, options, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
