import { isAccessKey, mayBeAdoptedKey } from '../auth/access-keys.ts'
import { wellFormed } from '../auth/credentials.ts'
import { validationError } from '../domain/validation-error.ts'
import { isBcrypt, isBearableBcrypt } from '../secrets/bcrypt-form.ts'

/** A key that is shorter can be guessed. */
const KEY_CHARACTERS = 32
const SHORT_KEY_MS = 30 * 86_400_000

/**
 * When a key of another hub ends here: undefined for one of 32 characters and more, in 30 days for a shorter one that the
 * user accepts. Throws `validation_failed` for a text that cannot be a key here.
 */
export function adoptedUntil(
  { secret, pointer }: { readonly secret: string; readonly pointer: string },
  isAccepted: boolean,
): string | undefined {
  const refused = (detail: string) => validationError([{ pointer, code: 'import_invalid', detail }])
  try {
    wellFormed(secret)
  } catch {
    throw refused('The key has characters that no header can carry; make a new one')
  }
  if (isAccessKey(secret)) return undefined
  if (!mayBeAdoptedKey(secret)) {
    throw refused('The key has fewer than 8 or more than 256 characters, or the form of a token; make a new one')
  }
  if (secret.length >= KEY_CHARACTERS) return undefined
  if (isAccepted) return new Date(Date.now() + SHORT_KEY_MS).toISOString()
  throw refused(
    `The key has ${secret.length} characters and could be guessed; make a new one, or choose "accept" to keep it for 30 days`,
  )
}

/** The hash with which a user signs in here, or null; then a warning says why. */
export function usableHash(hash: string | undefined, warnings: string[]): string | null {
  if (hash === undefined) warnings.push('There is no password that can be carried: an administrator sets a new one')
  if (hash === undefined) return null
  if (!isBcrypt(hash) || isBearableBcrypt(hash)) return hash
  warnings.push('The hash of the password takes too long to verify: an administrator sets a new password')
  return null
}
