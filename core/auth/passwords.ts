import { Buffer } from 'node:buffer'
import { LIMITS } from '../config/limits.ts'
import { type FieldError, HubError } from '../contract/errors.ts'
import { isBcrypt, isBearableBcrypt } from '../secrets/bcrypt-form.ts'
import { isCommonPassword } from './common-passwords.ts'

/** OWASP's second choice for argon2id: 19 MiB and two passes, 21 to 32 ms, where Bun's default takes up to 280 ms. */
const COST = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
const CURRENT_FORM = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/

/** A hash of an unknown random text, of the same cost: a sign-in with an unknown name takes as long as one with a known name. */
const UNKNOWN_USER_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ePEu1Ti1S9rtu54JZE0WBPTU74viOhOqILyY7TTZ+RU$XGE5NfoBHFLhsh+fKHxQjxk507crfK6TGOWXiU9XoOs'

/** bcrypt reads no more of a password; bcryptjs cuts it there, in the middle of a character too. */
const BCRYPT_BYTES = 72

/** Hashes and verifies passwords in a bounded queue. */
export interface Passwords {
  /** Returns argon2id in the PHC text form. Throws `overloaded` when too many wait. */
  hash(password: string): Promise<string>
  /**
   * Verifies a password. Accepts argon2, and imported bcrypt hashes up to cost 14; a hash of another form matches nothing.
   * Without a hash (unknown user name) the result is false, after the same time. `outdated`: hash it again. Throws `overloaded`.
   */
  verify(
    password: string,
    hash: string | null | undefined,
  ): Promise<{ readonly ok: boolean; readonly outdated: boolean }>
}

/** Limits of the queue. */
export interface PasswordOptions {
  /** Hashes at a time. Default 2: each takes 19 MiB and a thread. */
  readonly atOnce?: number
  /** Number of hashes and verifications that may wait. Default 50. */
  readonly waiting?: number
}

/** Creates a queue of its own; the hub needs one. */
export function createPasswords(options: PasswordOptions = {}): Passwords {
  const gate = createGate(
    options.atOnce ?? LIMITS.passwordHashesAtOnce,
    options.waiting ?? LIMITS.passwordHashesWaiting,
  )
  return {
    hash: password => gate(() => Bun.password.hash(canonical(password), COST)),
    verify: (password, hash) =>
      gate(async () => {
        const usable = typeof hash === 'string' && (!isBcrypt(hash) || isBearableBcrypt(hash)) ? hash : undefined
        const ok = await matches(password, usable ?? UNKNOWN_USER_HASH)
        return { ok: ok && usable !== undefined, outdated: ok && usable !== undefined && !CURRENT_FORM.test(usable) }
      }),
  }
}

/** The problem with a new password, or undefined: 12 to 256 characters, not a common one, without the user's name. */
export function passwordProblem(password: string, userName: string, pointer = '#/password'): FieldError | undefined {
  const problem = (code: 'length' | 'password_weak', detail: string): FieldError => ({ pointer, code, detail })
  const characters = [...password].length
  const { passwordMinCharacters: min, passwordMaxCharacters: max } = LIMITS
  if (characters < min) {
    return problem('password_weak', `The password has ${characters} characters; at least ${min} are needed`)
  }
  if (characters > max) return problem('length', `The password has ${characters} characters; at most ${max} are taken`)
  if (isCommonPassword(password)) {
    return problem('password_weak', 'The password is one of those that are tried first; choose another')
  }
  // Almost every text contains a name of one or two letters.
  const name = fold(userName)
  if (name.length > 2 && fold(password).includes(name)) {
    return problem('password_weak', 'The password contains the user name; choose another')
  }
  return undefined
}

/** Different keyboards may compose the same characters differently. */
function canonical(password: string): string {
  return password.normalize('NFC')
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

async function matches(password: string, hash: string): Promise<boolean> {
  // Longer than any valid password: not hashed in full, but it takes the time of a hash.
  const tried = password.length > 4 * LIMITS.passwordMaxCharacters ? '-' : password || '-'
  try {
    const verified = isBcrypt(hash) ? verifyBcrypt(tried, hash) : Bun.password.verify(canonical(tried), hash)
    return (await verified) && tried === password
  } catch (error) {
    // A hash of unknown form, from an imported file: no password matches it.
    if (error instanceof Error && /UnsupportedAlgorithm|InvalidEncoding/.test(error.message)) return false
    throw error
  }
}

/**
 * Verifies as bcryptjs does. Bun 1.4.5 would hash a password of more than 72 bytes first, which no other program does. Other
 * programs do not normalize, so the password is tried in NFC, and as typed if that differs.
 */
async function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  for (const spelling of new Set([password.normalize('NFC'), password])) {
    if (await Bun.password.verify(Buffer.from(spelling).subarray(0, BCRYPT_BYTES), hash)) return true
  }
  return false
}

/** Limits concurrency: `atOnce` run, `waiting` queue in order, and the rest are rejected at once. */
function createGate(atOnce: number, waiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0
  const turn = (): Promise<void> | undefined => {
    if (running < atOnce) {
      running += 1
      return undefined
    }
    if (queue.length >= waiting) {
      throw new HubError('overloaded', 'Too many sign-ins at this moment', { retryAfterSeconds: 2 })
    }
    return new Promise(resolve => queue.push(resolve))
  }
  return async work => {
    await turn()
    try {
      return await work()
    } finally {
      const next = queue.shift()
      // The slot passes to the next in the queue directly, so that a new caller cannot take it first.
      if (next) next()
      else running -= 1
    }
  }
}
