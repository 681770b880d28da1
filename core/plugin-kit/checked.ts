import type { z } from 'zod'
import { validationError } from '../domain/validation-error.ts'
import { check, closed } from '../http/validate.ts'

/** A value as its schema reads it. Throws `validation_failed` with pointers from `#`, as a body of a route does. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = check(closed(schema), value, 'body')
  if ('errors' in result) throw validationError(result.errors)
  return result.value as z.infer<Schema>
}
