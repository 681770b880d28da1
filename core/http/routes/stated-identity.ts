import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { formatRef, nameKey, quoteName } from '../../domain/names.ts'
import { validationError } from '../../domain/validation-error.ts'

/** Fields that identify a record. A record of the hub itself has no owner and no id. */
export interface Identity {
  readonly owner?: unknown
  readonly id?: unknown
  readonly ref?: unknown
}

/**
 * Compares identity fields in a body with the record. A body may repeat them, so that an answer can be sent back; they change
 * nothing. Another owner, id or ref means that the body was meant for another record, or to move this one. Names are compared
 * without letter case. Throws `validation_failed` with all wrong fields.
 */
export function refuseOtherIdentity(body: JsonObject, { owner, id, ref }: Identity): void {
  const problems: FieldError[] = []
  const compare = (field: keyof Identity, permitted: readonly unknown[], detail: string): void => {
    const stated = body[field]
    const names = permitted.filter(name => typeof name === 'string')
    if (stated === undefined || names.length === 0) return
    if (typeof stated === 'string' && names.some(name => nameKey(name) === nameKey(stated))) return
    problems.push({ pointer: `#/${field}`, code: 'enum', detail })
  }
  const stays = 'leave it out, or repeat what was answered'
  compare('owner', [owner], `"owner" is ${quoteName(String(owner))}, and cannot be changed here; ${stays}`)
  compare('id', [id], `"id" is that of another record; ${stays}`)
  // After a change of the name either is true.
  const renamed = typeof owner === 'string' && typeof body.name === 'string' ? [formatRef(owner, body.name)] : []
  if (ref !== undefined)
    compare('ref', [ref, ...renamed], `"ref" is ${quoteName(String(ref))}, and follows from owner and name; ${stays}`)
  if (problems.length > 0) throw validationError(problems)
}
