import type { FieldError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { flattenServerBody, readServerBody, serverInvalid } from '../../../core/domain/server/body.ts'
import { bundledTransports } from '../../support/transports.ts'

/** Reads a whole body as the registry does. Throws `validation_failed` with every wrong field. */
export function parseServerBody(body: JsonObject, options: Parameters<typeof readServerBody>[3] = {}) {
  const errors: FieldError[] = []
  const parsed = readServerBody(bundledTransports(), flattenServerBody(body, errors), errors, options)
  if (!parsed) throw serverInvalid(errors, body)
  return parsed
}
