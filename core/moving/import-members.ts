import { type FieldError, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../contract/json.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'

/** Positions of the members for which a group's body was refused because there is no such server; none for other errors. */
export function absentMembers(error: unknown): ReadonlySet<number> {
  const errors: readonly FieldError[] = error instanceof HubError ? (error.errors ?? []) : []
  if (errors.some(({ code }) => code !== 'member_not_found')) return new Set()
  return new Set(errors.map(({ pointer }) => Number(/^#\/members\/(\d+)/.exec(pointer)?.[1] ?? -1)))
}

/** The selector without the values of servers that are not there; undefined when none is left. */
export function presentSelector(error: unknown, selector: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(selector) || !isJsonObject(selector.members)) return selector
  const errors: readonly FieldError[] = error instanceof HubError ? (error.errors ?? []) : []
  const absent = new Set(errors.map(({ pointer }) => pointer))
  const left = Object.entries(selector.members).filter(
    ([value]) => !absent.has(`#/selector/members/${pointerToken(value)}`),
  )
  const { default: preset, ...rest } = selector
  const kept = left.some(([value]) => value === preset) && preset !== undefined ? { default: preset } : {}
  return left.length === 0 ? undefined : { ...rest, ...kept, members: Object.fromEntries(left) }
}

/** Quoted, for a warning. */
export function memberName(member: JsonValue): string {
  const name = isJsonObject(member) ? member.server : member
  return JSON.stringify(typeof name === 'string' ? name.slice(0, 64) : '')
}
