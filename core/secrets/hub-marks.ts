import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { HubError } from '../contract/errors.ts'

/** The header by which requests to upstreams tell the hubs that they came through. */
export const CHAIN_HEADER = 'x-patchbay-instance'
/** The member of a list's `_meta` that tells the hubs that it came through: of forwarders that drop headers too. */
export const LIST_MARKS = 'patchbay/instances'
/** More hubs than anybody puts one behind another. */
export const MOST_MARKS = 16

const SALT_BYTES = 6
const PROOF_BYTES = 9
const MARK_CHARACTERS = 20
const MARK = /^[\w.-]{1,64}$/

/**
 * Marks by which this hub, and nobody else, recognises what came back to it. Each one has a salt of its own, so that two of them
 * tell nobody that they are of the same hub; nothing but the key makes or recognises one.
 */
export class HubMarks {
  readonly #key: string | Uint8Array

  constructor(key: string | Uint8Array) {
    this.#key = key
  }

  make(): string {
    const salt = randomBytes(SALT_BYTES)
    return Buffer.concat([salt, this.#proof(salt)]).toString('base64url')
  }

  isOwn(mark: string): boolean {
    if (mark.length !== MARK_CHARACTERS) return false
    const bytes = Buffer.from(mark, 'base64url')
    if (bytes.length !== SALT_BYTES + PROOF_BYTES) return false
    return timingSafeEqual(bytes.subarray(SALT_BYTES), this.#proof(bytes.subarray(0, SALT_BYTES)))
  }

  /** Throws `loop_detected` where a request's header has a mark of this hub, or more of them than anybody means. */
  validate(header: string | null): void {
    if (header === null) return
    const marks = chainOf(header)
    if (marks.some(mark => this.isOwn(mark))) throw loop('The request came from this hub itself')
    if (marks.length > MOST_MARKS) throw loop(`The request came through more than ${MOST_MARKS} hubs`)
  }

  #proof(salt: Buffer): Buffer {
    return createHmac('sha256', this.#key).update('hub mark').update(salt).digest().subarray(0, PROOF_BYTES)
  }
}

/** The marks of a request's header; one more than there may be where there are more. */
export function chainOf(header: string): readonly string[] {
  return header
    .split(/[\s,]+/, 2 * MOST_MARKS)
    .filter(mark => MARK.test(mark))
    .slice(0, MOST_MARKS + 1)
}

function loop(message: string): HubError {
  return new HubError('loop_detected', message)
}

/** The marks in the `_meta` of a list, as far as they can be such. */
export function marksOf(meta: unknown): readonly string[] {
  const marks = typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>)[LIST_MARKS] : undefined
  if (!Array.isArray(marks)) return []
  return marks.filter(mark => typeof mark === 'string' && MARK.test(mark)).slice(0, MOST_MARKS)
}
