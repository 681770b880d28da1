import { ERROR_CODES } from '../../../contract/codes.ts'
import { type FieldError, HubError } from '../../../contract/errors.ts'
import { remedyOf } from '../../../contract/remedies.ts'

/** What is told about one entry of a batch or an import; the request's own members stay with the whole answer. */
export interface ProblemPart {
  readonly code: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly hint?: string
  readonly errors?: readonly FieldError[]
}

/**
 * An error that is not the hub's own tells nothing of itself, as everywhere outside the log. Pointers into the entry become
 * what `led` makes of them: pointers into the whole that holds it.
 */
export function problemPart(error: unknown, led = (pointer: string) => pointer): ProblemPart {
  const known = error instanceof HubError ? error : new HubError('internal', 'The entry could not be handled')
  const hint = remedyOf(known)
  return {
    code: known.code,
    title: ERROR_CODES[known.code].title,
    status: known.status,
    detail: known.message,
    ...(hint === undefined ? {} : { hint }),
    ...(known.errors && { errors: known.errors.map(each => ({ ...each, pointer: led(each.pointer) })) }),
  }
}
