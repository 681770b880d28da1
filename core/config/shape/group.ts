import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { GROUP_TABLE, MEMBER_FIELDS } from '../../domain/group-fields.ts'

/** Fields with the same meaning in a file and in the API; the others have readers of their own here. */
const SAME = Object.keys(GROUP_TABLE).filter(field => !['name', 'owner', 'members'].includes(field))

/** Converts a group of the file to the body of `POST /api/groups`. Accepts `members`, `servers` or a bare list of
 * members. */
export function readGroupEntry(name: JsonValue | undefined, entry: JsonValue): JsonObject {
  const body: Record<string, JsonValue> = name === undefined ? {} : { name }
  if (Array.isArray(entry)) return { ...body, members: entry.map(readMember) }
  if (!isJsonObject(entry)) return body
  if (entry.name !== undefined) body.name ??= entry.name
  for (const field of SAME) if (Object.hasOwn(entry, field)) body[field] = entry[field] ?? null
  const members = entry.members ?? entry.servers
  if (body.selector !== undefined) body.selector = withRefs(body.selector, readRef)
  body.members = Array.isArray(members) ? members.map(readMember) : (members ?? [])
  return body
}

/** Reads `name`, `owner::name`, or an object with `name` or `server` and the selected tools, prompts and resources. */
function readMember(member: JsonValue): JsonValue {
  if (typeof member === 'string') return readRef(member)
  if (!isJsonObject(member)) return member
  const server = member.server ?? member.name
  const body: Record<string, JsonValue> = {}
  if (server !== undefined) body.server = typeof server === 'string' ? readRef(server) : server
  for (const field of MEMBER_FIELDS) if (Object.hasOwn(member, field)) body[field] = member[field] ?? null
  return body
}

/** The file uses `owner::name` where everything else uses `owner~name`. */
function readRef(ref: string): string {
  return ref.replace('::', '~')
}

/** The selector in the file's form. */
export function writeSelector(selector: JsonValue): JsonValue {
  return withRefs(selector, ref => ref.replace('~', '::'))
}

/** A selector with each reference in another form; anything else is left for the reader of the body. */
function withRefs(selector: JsonValue, form: (ref: string) => string): JsonValue {
  if (!isJsonObject(selector) || !isJsonObject(selector.members)) return selector
  const members = Object.entries(selector.members)
  return {
    ...selector,
    members: Object.fromEntries(members.map(([value, ref]) => [value, typeof ref === 'string' ? form(ref) : ref])),
  }
}

/** The inverse: members in the file's form, plain names where nothing is filtered. */
export function writeMembers(members: JsonValue | undefined): JsonValue {
  if (!Array.isArray(members)) return []
  return members.map(member => {
    if (typeof member === 'string') return member.replace('~', '::')
    if (!isJsonObject(member)) return member
    const name = typeof member.server === 'string' ? member.server.replace('~', '::') : (member.server ?? null)
    const rest = MEMBER_FIELDS.filter(
      field => member[field] !== undefined && !(field !== 'alias' && member[field] === 'all'),
    )
    if (rest.length === 0) return name
    return Object.fromEntries([['name', name], ...rest.map(field => [field, member[field] ?? null] as const)])
  })
}
