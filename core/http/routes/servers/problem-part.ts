import { type FieldError, HubError } from '../../../contract/errors.ts'
import { remedyOf } from '../../../contract/remedies.ts'

/** The error of one entry of a batch or an import; the request's own members are in the whole response. */
export interface ProblemPart {
  readonly code: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly hint?: string
  readonly errors?: readonly FieldError[]
}

/**
 * An error that is not a HubError becomes `internal` without details, which only the log shows. `mapPointer` converts
 * pointers into the entry to pointers into the request body.
 */
export function problemPart(error: unknown, mapPointer = (pointer: string) => pointer): ProblemPart {
  const known = error instanceof HubError ? error : new HubError('internal', 'The entry could not be handled')
  const hint = remedyOf(known)
  return {
    code: known.code,
    title: known.title,
    status: known.status,
    detail: known.message,
    ...(hint === undefined ? {} : { hint }),
    ...(known.errors && { errors: known.errors.map(each => ({ ...each, pointer: mapPointer(each.pointer) })) }),
  }
}

/** The error of a stream that has begun: with its data, and with the seconds to wait, for which there is no header any more. */
export function streamedProblem(error: unknown): ProblemPart & { readonly retryAfter?: number } {
  const part = problemPart(error)
  if (!(error instanceof HubError)) return part
  const { data, retryAfter } = error
  return { ...data, ...part, ...(retryAfter === undefined ? {} : { retryAfter }) }
}
