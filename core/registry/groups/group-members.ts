import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { type MemberInput, type ParsedGroupBody, sharedAlias } from '../../domain/group-body.ts'
import type { SelectedMember } from '../../domain/groups/selector.ts'
import { formatRef, parseRef, quoteName } from '../../domain/names.ts'
import { canUse, type SharedRoles, type Thing } from '../../domain/ownership.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { Reader } from '../../store/transact.ts'
import { chooseRow, type OwnedRow, owned, refKey } from '../access.ts'
import type { Owner } from '../owners.ts'
import { OWNER_COLUMNS, ownerName } from '../rows.ts'
import type { NewMember } from './group-rows.ts'

/** The parts of a body that name members. */
type NamedMembers = Pick<ParsedGroupBody, 'members' | 'selector'>

/** The view by which members are looked up. */
export interface MemberView {
  readonly shares: SharedRoles
  /** Default: all servers that the group's owner may use. */
  readonly knows?: (server: Thing) => boolean
  /** Servers that only the selector names become members, after the others. Default true. */
  readonly addsSelected?: boolean
}

/**
 * Looks up the servers of a group's members as its owner sees them: own ones first, then public and shared ones. Throws
 * `quota_members`, `name_taken` for a duplicate alias, and `validation_failed` with `member_not_found` (also for an
 * invisible server), `ambiguous` and `duplicate`.
 */
export async function findMembers(
  db: Reader,
  owner: Owner,
  named: NamedMembers,
  view: MemberView,
): Promise<NewMember[]> {
  const { members, errors } = await lookUpMembers(db, owner, named, view)
  if (errors.length > 0) throw validationError(errors, 'The group cannot be saved')
  refuseSharedAlias(named.members)
  return members
}

/** Throws `quota_members`. */
export function refuseTooManyMembers(count: number): void {
  if (count <= LIMITS.membersPerGroup) return
  throw new HubError('quota_members', `A group has at most ${LIMITS.membersPerGroup} members, not ${count}`)
}

/** Limit of the selections of one group's members, in characters of JSON: they are read whenever the group is. */
const SELECTION_CHARACTERS = 1024 * 1024

/** Throws `quota_members` when members that were added one by one select more than one body could. */
export function refuseLargeSelections(members: readonly NewMember[]): void {
  const characters = members.reduce(
    (sum, { tools, prompts, resources }) => sum + tools.length + prompts.length + resources.length,
    0,
  )
  if (characters <= SELECTION_CHARACTERS) return
  throw new HubError(
    'quota_members',
    `The members of a group select tools, prompts and resources in at most ${SELECTION_CHARACTERS} characters of JSON, not ${characters}`,
  )
}

/** Throws `name_taken` when two members have the same alias. */
export function refuseSharedAlias(members: readonly { readonly alias?: string }[]): void {
  const alias = sharedAlias(members)
  if (alias !== undefined) {
    throw new HubError('name_taken', `Two members of the group have the alias ${quoteName(alias)}`)
  }
}

/** The same, but returns the errors together with the members that were found. */
export async function lookUpMembers(
  db: Reader,
  owner: Owner,
  { members: inputs, selector }: NamedMembers,
  view: MemberView,
): Promise<{ readonly members: NewMember[]; readonly errors: readonly FieldError[] }> {
  refuseTooManyMembers(inputs.length)
  const selected = selector?.members ?? []
  const errors: FieldError[] = []
  const members = new Map<string, NewMember>()
  const named = Map.groupBy(await namedServers(db, [...inputs, ...selected]), row => row.name_key)
  for (const input of inputs) {
    const { pointer } = input
    const found = lookUp(named.get(refKey(input.server)) ?? [], owner, input.server, view)
    if ('code' in found) errors.push({ pointer, ...found })
    else if (members.has(found.id)) {
      errors.push({ pointer, code: 'duplicate', detail: `The server ${quoteName(input.server)} is a member twice` })
    } else members.set(found.id, newMember(found.id, input))
  }
  for (const one of selected) {
    const found = lookUp(named.get(refKey(one.server)) ?? [], owner, one.server, view)
    if ('code' in found) errors.push({ pointer: one.pointer, ...found })
    else if (view.addsSelected !== false || members.has(found.id)) select(members, found.id, one, errors)
  }
  refuseTooManyMembers(members.size)
  return { members: [...members.values()], errors }
}

function select(
  members: Map<string, NewMember>,
  serverId: string,
  { value, server, pointer }: SelectedMember,
  errors: FieldError[],
): void {
  const member = members.get(serverId) ?? newMember(serverId, EVERYTHING)
  if (member.selected_by === null) members.set(serverId, { ...member, selected_by: value })
  else {
    const detail = `The server ${quoteName(server)} already has the value ${quoteName(member.selected_by)}`
    errors.push({ pointer, code: 'duplicate', detail })
  }
}

const EVERYTHING = { tools: 'all', prompts: 'all', resources: 'all' } as const

function newMember(serverId: string, input: Omit<MemberInput, 'server' | 'pointer'>): NewMember {
  return {
    server_id: serverId,
    alias: input.alias ?? null,
    tools: JSON.stringify(input.tools),
    prompts: JSON.stringify(input.prompts),
    resources: JSON.stringify(input.resources),
    selected_by: null,
  }
}

/** All owners' servers with these names, without their configuration, which may be large and is not needed here. */
function namedServers(db: Reader, inputs: readonly Pick<MemberInput, 'server'>[]): Promise<readonly OwnedRow[]> {
  const keys = [...new Set(inputs.map(({ server }) => refKey(server)))]
  if (keys.length === 0) return Promise.resolve([])
  return db
    .selectFrom('server')
    .innerJoin('user', 'user.id', 'server.owner_id')
    .select(['server.id', 'server.owner_id', 'server.name', 'server.name_key', 'server.visibility'])
    .select(['server.created_at', 'server.updated_at', ...OWNER_COLUMNS])
    .where('server.name_key', 'in', keys)
    .execute()
}

function lookUp(
  candidates: readonly OwnedRow[],
  owner: Owner,
  ref: string,
  { shares, knows = () => true }: MemberView,
): OwnedRow | Omit<FieldError, 'pointer'> {
  const missing = { code: 'member_not_found', detail: `There is no server ${quoteName(ref)}` } as const
  // Only servers that the group's owner may use can be members, no matter who writes the group.
  const usable = candidates.filter(row => canUse(owner.id, owned(row), shares) && knows(owned(row)))
  if (parseRef(ref).owner === undefined && !usable.some(row => row.owner_id === owner.id) && usable.length > 1) {
    const refs = usable.map(row => formatRef(ownerName(row), row.name)).sort()
    return { code: 'ambiguous', detail: `Several servers are called ${quoteName(ref)}: ${refs.join(', ')}` }
  }
  try {
    return chooseRow('server', usable, ownerActor(owner), ref, { right: 'use', shares })
  } catch (error) {
    if (error instanceof HubError && error.code === 'server_not_found') return missing
    throw error
  }
}

/** The owner of a group. Its members are chosen from the servers that this user may use. */
export function ownerActor(owner: Pick<Owner, 'id' | 'name' | 'role'>) {
  return { kind: 'user', userId: owner.id, name: owner.name, role: owner.role, credential: { kind: 'local' } } as const
}
