import { type FieldError, HubError } from '../contract/errors.ts'

/** Wrong fields that one refusal names. */
export const MOST_ERRORS = 50

/** A refusal that names each wrong field, the first 50 of them. */
export function validationError(errors: readonly FieldError[], action = 'Some fields are not valid'): HubError {
  const detail = errors.length === 1 && errors[0] ? errors[0].detail : `${action}: ${errors.length} problems`
  return new HubError('validation_failed', detail, { errors: errors.slice(0, MOST_ERRORS) })
}
