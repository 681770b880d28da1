import { isDeepStrictEqual } from 'node:util'
import type { Actor, GroupMember } from '../../contract/records.ts'
import type { ParsedGroupBody } from '../../domain/group-body.ts'
import { isPublic, roleFor, type Thing } from '../../domain/ownership.ts'
import { read } from '../../store/transact.ts'
import { notOwner, owned } from '../access.ts'
import type { RegistryDeps } from '../context.ts'
import type { Owner } from '../owners.ts'
import { selectServers } from '../server-rows.ts'
import { type MemberView, refuseSharedAlias, refuseTooManyMembers } from './group-members.ts'
import { asNewMember, type KnownGroup, type NewMember, serverOf } from './group-rows.ts'
import { refuseSharedValue } from './selected-members.ts'

/** A change of a group, as its rights depend on it. */
interface Change {
  readonly body: { readonly name: string; readonly visibility: 'private' | 'public' }
  readonly owner: Pick<Owner, 'id'>
  readonly members?: readonly NewMember[]
}

/**
 * Checks a change by a user with the role `change`. Name, visibility and owner are the owner's to change: by its name a group has its
 * addresses, and another one could be that of a server. All users of a shared group can
 * use its owner's private servers, so such a user may neither add one nor select more of its tools. Throws `not_owner`.
 */
export async function refuseColleague(
  { shares, store }: Pick<RegistryDeps, 'shares' | 'store'>,
  actor: Actor,
  { row, members: stored }: KnownGroup,
  change: Change,
): Promise<void> {
  const role = roleFor(actor, owned(row), shares)
  if (role === 'owner') return
  const refused = () => notOwner('group', row.name, row, role)
  const { name, visibility } = change.body
  if (role === undefined || name !== row.name || visibility !== row.visibility || change.owner.id !== row.owner_id)
    throw refused()
  const members = change.members ?? []
  if (members.length === 0) return
  const ids = members.map(member => member.server_id)
  const servers = await read(store, db => selectServers(db).where('server.id', 'in', ids).execute())
  for (const server of servers) {
    const before = stored.find(member => member.server_id === server.id)
    const after = members.find(member => member.server_id === server.id)
    const thing = owned(server)
    if (thing.ownerId !== row.owner_id || !after) continue
    const isAllowed = isPublic(thing) ? !addsVariables(before, after) : before && isWithin(before, after)
    if (!isAllowed) throw refused()
  }
}

/**
 * The view by which the members that an actor names are found: the owner's, and of a colleague only those members and servers
 * that it knows of: private ones of the owner, and those that it may use. No answer shows which other servers there are.
 */
export function memberView(
  { shares }: Pick<RegistryDeps, 'shares'>,
  actor: Actor,
  { row, members }: KnownGroup,
): MemberView {
  if (roleFor(actor, owned(row), shares) === 'owner') return { shares }
  const present = new Set(members.map(member => member.server_id))
  const isBrought = ({ ownerId, id }: Thing) => ownerId === row.owner_id && present.has(id)
  return { shares, knows: server => isBrought(server) || roleFor(actor, server, shares) !== undefined }
}

/** Members that a colleague does not know of stay when it names the others, after which they stand. */
export function withUnknown(
  members: readonly NewMember[],
  { members: stored }: KnownGroup,
  { selector }: Pick<ParsedGroupBody, 'selector'>,
  { knows = () => true }: MemberView,
): readonly NewMember[] {
  const unknown = stored.filter(member => !knows(serverOf(member))).map(asNewMember)
  if (unknown.length === 0) return members
  const all = [...members, ...unknown.map(member => (selector ? member : { ...member, selected_by: null }))]
  refuseTooManyMembers(all.length)
  refuseSharedAlias(all.map(({ alias }) => (alias === null ? {} : { alias })))
  refuseSharedValue(all)
  return all
}

type Selection = Pick<NewMember, 'tools' | 'prompts' | 'resources'>

/** True when a selection offers nothing that the stored one does not offer. */
function isWithin(before: Selection, after: Selection): boolean {
  return (
    (['prompts', 'resources'] as const).every(kind => areNamesWithin(before[kind], after[kind])) &&
    areToolsWithin(JSON.parse(before.tools) as GroupMember['tools'], JSON.parse(after.tools) as GroupMember['tools'])
  )
}

function areNamesWithin(before: string, after: string): boolean {
  const [known, wanted] = [before, after].map(text => JSON.parse(text) as 'all' | readonly string[])
  if (known === 'all' || known === undefined) return true
  return wanted !== 'all' && wanted !== undefined && wanted.every(name => known.includes(name))
}

/** Arguments that the stored selection changes must be changed in the same way: a pin may be what keeps callers in bounds. */
function areToolsWithin(known: GroupMember['tools'], wanted: GroupMember['tools']): boolean {
  if (known === 'all') return wanted === 'all' || wanted.every(tool => !hasVariables(tool.arguments))
  if (wanted === 'all') return false
  return wanted.every(tool =>
    known.some(
      one =>
        one.name === tool.name &&
        (isDeepStrictEqual(one.arguments, tool.arguments) || (!one.arguments && !hasVariables(tool.arguments))),
    ),
  )
}

type Tool = Exclude<GroupMember['tools'], 'all'>[number]

/**
 * True for a changed argument with a variable that the stored selection does not have: variables of the owner's servers may be
 * secret, and a server may repeat its arguments in a result.
 */
function addsVariables(before: Selection | undefined, after: Selection): boolean {
  const [known, wanted] = [before?.tools ?? '"all"', after.tools].map(text => JSON.parse(text) as GroupMember['tools'])
  if (wanted === 'all' || wanted === undefined) return false
  const isKnown = ({ name, arguments: given }: Tool) =>
    Array.isArray(known) && known.some(one => one.name === name && isDeepStrictEqual(one.arguments, given))
  return wanted.some(tool => hasVariables(tool.arguments) && !isKnown(tool))
}

function hasVariables(given: Tool['arguments']): boolean {
  return JSON.stringify(given ?? {}).includes('${')
}
