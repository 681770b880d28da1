import { type FieldError, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../contract/json.ts'

/** Positions of the members for which a group's body was refused because there is no such server; none for other errors. */
export function absentMembers(error: unknown): ReadonlySet<number> {
  const errors: readonly FieldError[] = error instanceof HubError ? (error.errors ?? []) : []
  if (errors.some(({ code }) => code !== 'member_not_found')) return new Set()
  return new Set(errors.map(({ pointer }) => Number(/^#\/members\/(\d+)/.exec(pointer)?.[1] ?? -1)))
}

/** Quoted, for a warning. */
export function memberName(member: JsonValue): string {
  const name = isJsonObject(member) ? member.server : member
  return JSON.stringify(typeof name === 'string' ? name.slice(0, 64) : '')
}
