import type { FieldCode } from '../../contract/errors.ts'
import { validationError } from '../../domain/validation-error.ts'

/** A refusal of one field of a query or body. */
export function wrong(pointer: string, code: FieldCode, detail: string): Error {
  return validationError([{ pointer, code, detail }])
}
