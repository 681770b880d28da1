import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { HubError } from '../contract/errors.ts'

/** Request header to upstreams that lists the marks of all hubs it passed through; detects loops. */
export const CHAIN_HEADER = 'x-patchbay-instance'
/** Member of a list's `_meta` with the same marks: also detects loops through proxies that drop headers. */
export const LIST_MARKS = 'patchbay/instances'
/** Limit of hubs in one chain, far above real use. */
export const MOST_MARKS = 16

const SALT_BYTES = 6
const PROOF_BYTES = 9
const MARK_CHARACTERS = 20
const MARK = /^[\w.-]{1,64}$/

/**
 * Marks by which this hub alone recognizes its own requests and lists. Every mark has its own random salt, so two marks do not
 * reveal that they come from the same hub; making or recognizing one needs the key.
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

  /** Throws `loop_detected` when a request's header has a mark of this hub, or more than `MOST_MARKS` marks. */
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

/** The marks in a request's header, at most `MOST_MARKS` + 1, so that the caller sees when there are too many. */
export function chainOf(header: string): readonly string[] {
  return header
    .split(/[\s,]+/, 2 * MOST_MARKS)
    .filter(mark => MARK.test(mark))
    .slice(0, MOST_MARKS + 1)
}

function loop(message: string): HubError {
  return new HubError('loop_detected', message)
}

/** The well-formed marks in the `_meta` of a list. */
export function marksOf(meta: unknown): readonly string[] {
  const marks = typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>)[LIST_MARKS] : undefined
  if (!Array.isArray(marks)) return []
  return marks.filter(mark => typeof mark === 'string' && MARK.test(mark)).slice(0, MOST_MARKS)
}
