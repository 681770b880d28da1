import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import type { GroupRecord } from '../contract/records.ts'
import { formatRef, nameKey, parseRef } from '../domain/names.ts'
import type { UserRecord } from '../registry/api.ts'
import { absentMembers, memberName, presentSelector } from './import-members.ts'
import type { ImportResult, ImportScope, Of } from './import-scope.ts'
import { withFittingTags } from './import-servers.ts'

/** Makes a group, or compares it with the existing one. Throws the registry's errors. */
export async function importGroup(
  scope: ImportScope,
  item: Of<'group'>,
  name: string,
  owner: UserRecord,
  warnings: string[],
): Promise<ImportResult> {
  const { groups } = scope.parts.registry
  const { selector } = item.body
  const chosen = selector === undefined ? {} : { selector: scope.selectorOf(selector) }
  const named = { ...chosen, members: scope.membersOf(item.body.members ?? []) }
  const body = { ...withFittingTags(item.body, warnings), name, owner: owner.name, ...named }
  const former = { formerPaths: item.formerPaths, formerPrefixes: formerPrefixes(item, body.members) }
  const create = (written: JsonObject) => groups.create(scope.actor, written, former)
  const found = await groups.find(scope.actor, owner.name, name)
  if (found && nameKey(found.name) === nameKey(name)) {
    const isSame = await scope.probe(async probe => {
      const made = await writeGroup(scope, { ...body, name: probe }, [], written => groups.create(scope.actor, written))
      const [one, other] = [groups.publicBody(made), groups.publicBody(found)]
      return isDeepStrictEqual({ ...one, name: '' }, { ...other, name: '' })
    })
    if (isSame) return { verdict: 'same' }
    if (!scope.replaces(item, found, warnings)) return { verdict: 'exists' }
    return replaceGroup(scope, found, body, former.formerPrefixes, warnings)
  }
  const made = await scope.attempt('group', owner, () => writeGroup(scope, body, warnings, create))
  scope.made.push({ kind: 'group', id: made.id, name, owner: owner.id, revision: made.revision })
  return { verdict: 'new' }
}

/** The prefix that the other hub put before the names of each server's tools, by name of the member's server here. */
function formerPrefixes({ body, formerSeparator }: Of<'group'>, members: JsonValue): ReadonlyMap<string, string> {
  const prefixes = new Map<string, string>()
  if (formerSeparator === undefined || !Array.isArray(body.members) || !Array.isArray(members)) return prefixes
  body.members.forEach((member, at) => {
    const [former, now] = [serverOf(member), serverOf(members[at])]
    if (former !== undefined && now !== undefined) prefixes.set(now, `${parseRef(former).name}${formerSeparator}`)
  })
  return prefixes
}

function serverOf(member: JsonValue | undefined): string | undefined {
  const server = isJsonObject(member) ? member.server : member
  return typeof server === 'string' ? server : undefined
}

function replaceGroup(
  scope: ImportScope,
  present: GroupRecord,
  body: JsonObject,
  formerPrefixes: ReadonlyMap<string, string>,
  warnings: string[],
): Promise<ImportResult> {
  const { groups } = scope.parts.registry
  const { id, name, ownerId: owner, revision: ifRevision } = present
  const ref = formatRef(present.ownerName, name)
  return scope.replace({ kind: 'group', id, name, owner }, { body: groups.publicBody(present) }, async () => {
    const write = (written: JsonObject) => groups.replace(scope.actor, ref, written, { ifRevision, formerPrefixes })
    return (await writeGroup(scope, body, warnings, write)).revision
  })
}

/** Returns the members that exist: the file of another hub may name servers that were removed. */
async function writeGroup(
  { parts }: ImportScope,
  body: JsonObject,
  warnings: string[],
  write: (body: JsonObject) => Promise<GroupRecord>,
): Promise<GroupRecord> {
  try {
    return await parts.attempt(() => write(body))
  } catch (error) {
    const absent = absentMembers(error)
    if (absent.size === 0 || !Array.isArray(body.members)) throw error
    const members = body.members.filter((_, at) => !absent.has(at))
    const names = body.members.filter((_, at) => absent.has(at)).map(memberName)
    warnings.push(`Left out, since there is no such server: ${names.join(', ')}`)
    const { selector, ...rest } = body
    const left = presentSelector(error, selector)
    return write({ ...rest, ...(left === undefined ? {} : { selector: left }), members })
  }
}
