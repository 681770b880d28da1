import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor, GroupRecord } from '../../contract/records.ts'
import { groupBodyOf, type ParsedGroupBody, parseGroupBody, parseMemberBody } from '../../domain/group-body.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import { nameKey } from '../../domain/names.ts'
import { roleFor } from '../../domain/ownership.ts'
import { type Reader, read } from '../../store/transact.ts'
import { checkRevision, chooseRow, notFound, owned, refKey, untilUnchanged } from '../access.ts'
import type {
  FormerNames,
  GroupHead,
  GroupRegistry,
  ListQuery,
  Ref,
  Right,
  UsableMember,
  WriteOptions,
  WrittenGroup,
} from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { listedRows } from '../listed-rows.ts'
import { chooseOwner, fileOwner, rowOwner } from '../owners.ts'
import { serverRowsByKey } from '../server-rows.ts'
import { memberView, withUnknown } from './colleague-members.ts'
import { draftGroup } from './draft-group.ts'
import { findMembers, lookUpMembers, ownerActor, refuseSharedAlias, refuseTooManyMembers } from './group-members.ts'
import {
  asNewMember,
  type GroupRow,
  groupHead,
  groupRecord,
  groupRowsByIds,
  type KnownGroup,
  knownById,
  membersOf,
  type NewMember,
  ownTexts,
  rowsByFormerPath,
  selectGroups,
} from './group-rows.ts'
import { type GroupChange, GroupWriter, withPrefixes } from './group-writer.ts'
import { lostMembers } from './lost-members.ts'
import { reselected, withUnseenDefault } from './selected-members.ts'
import { membersFor, usableMembers } from './usable-members.ts'

/** Groups in the store. */
export class Groups implements GroupRegistry {
  readonly #deps: RegistryDeps
  readonly #writer: GroupWriter

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    this.#writer = new GroupWriter(deps)
  }

  async list(actor: Actor, query: ListQuery): Promise<readonly GroupHead[]> {
    const text = (row: GroupRow) => `${row.name}\n${row.description ?? ''}`
    const tags = (row: GroupRow) => ownTexts(row).tags
    const { store, shares } = this.#deps
    const source = { ...{ store, shares, rowsOf: groupRowsByIds, text, tags }, table: 'server_group' } as const
    return (await listedRows(source, actor, query)).map(groupHead)
  }

  async resolve(actor: Actor, ref: Ref, right: Right): Promise<GroupRecord> {
    const { row, members } = await this.#known(actor, ref, right)
    return groupRecord(row, members, actor, this.#deps.shares)
  }

  async byId(actor: Actor, id: string): Promise<GroupRecord | undefined> {
    const known = await read(this.#deps.store, db => knownById(db, id))
    return known && roleFor(actor, owned(known.row), this.#deps.shares)
      ? groupRecord(known.row, known.members, actor, this.#deps.shares)
      : undefined
  }

  async find(actor: Actor, owner: string | undefined, name: string): Promise<GroupRecord | undefined> {
    const key = nameKey(name)
    const known = await read(this.#deps.store, async db => {
      const rows = await selectGroups(db).where('server_group.name_key', '=', key).execute()
      const ownerId = actor.kind === 'user' ? actor.userId : (await fileOwner(db)).id
      const wanted = (row: GroupRow) =>
        owner === undefined ? row.owner_id === ownerId : row.owner_key === nameKey(owner)
      const found = (of: readonly GroupRow[]) =>
        of.find(candidate => wanted(candidate) && roleFor(actor, owned(candidate), this.#deps.shares) !== undefined)
      const row = found(rows) ?? found(await rowsByFormerPath(db, key))
      return row && { row, members: await membersOf(db, row.id) }
    })
    return known && groupRecord(known.row, known.members, actor, this.#deps.shares)
  }

  async create(actor: Actor, body: JsonObject, former: FormerNames = {}): Promise<WrittenGroup> {
    return this.#writer.create(actor, parseGroupBody(body), former)
  }

  async draft(actor: Actor, body: JsonObject): Promise<WrittenGroup> {
    const parsed = parseGroupBody(body)
    return read(this.#deps.store, db => draftGroup(db, actor, parsed, this.#deps))
  }

  async replace(
    actor: Actor,
    ref: Ref,
    body: JsonObject,
    options: WriteOptions & Pick<FormerNames, 'formerPrefixes'> = {},
  ): Promise<WrittenGroup> {
    const parsed = parseGroupBody(body)
    return this.#update(actor, ref, options, async (db, known) => {
      const owner = await chooseOwner(db, actor, parsed.owner, rowOwner(known.row))
      const view = memberView(this.#deps, actor, known)
      const named = withPrefixes(await findMembers(db, owner, parsed, view), parsed, options.formerPrefixes)
      return { body: parsed, owner, members: withUnknown(named, known, parsed, view) }
    })
  }

  async patch(actor: Actor, ref: Ref, patch: JsonObject, options: WriteOptions = {}): Promise<WrittenGroup> {
    return this.#update(actor, ref, options, async (db, known) => {
      const { row, members } = known
      const taken = Object.hasOwn(patch, 'owner') ? membersFor(patch.owner, known, this.#deps.shares) : members
      const record = groupRecord(row, taken, actor, this.#deps.shares)
      const { members: seen = [], ...base } = groupBodyOf(record)
      const parsed = parseGroupBody({ ...mergePatch({ ...base, members: seen }, withMembers(patch)) })
      const owner = await chooseOwner(db, actor, parsed.owner, rowOwner(row))
      // A patch without members keeps all of them, including servers that the sender cannot see.
      const changesMembers =
        ['members', 'servers'].some(field => Object.hasOwn(patch, field)) || owner.id !== row.owner_id
      const reselects = Object.hasOwn(patch, 'selector')
      // Without a selector of its own, a patch that takes a member out takes its value out of the selector.
      const view = { ...memberView(this.#deps, actor, known), addsSelected: reselects }
      if (!changesMembers && reselects) {
        const ids = new Set(record.members.map(({ serverId }) => serverId))
        return { body: parsed, owner, members: await reselected(db, owner, parsed, known, { ...view, seen: ids }) }
      }
      if (!changesMembers) return { body: parsed, owner }
      const named = await findMembers(db, owner, parsed, view)
      return { body: parsed, owner, members: withUnknown(named, known, parsed, view) }
    })
  }

  async remove(actor: Actor, ref: Ref, options: WriteOptions & { readonly force?: boolean } = {}): Promise<void> {
    const { row } = await this.#known(actor, ref, 'owner')
    checkRevision('group', row, options)
    await this.#writer.remove(row, ref, options.force === true)
  }

  async putMember(actor: Actor, ref: Ref, server: Ref, body: JsonObject): Promise<WrittenGroup> {
    const input = parseMemberBody(server, body)
    return this.#update(actor, ref, {}, async (db, known) => {
      const owner = rowOwner(known.row)
      const found = await lookUpMembers(db, owner, { members: [input] }, memberView(this.#deps, actor, known))
      const [member] = found.members
      const [wrong] = found.errors
      // The path names the server here, so the error must not point into the body.
      if (wrong?.code === 'ambiguous') throw new HubError('server_ambiguous', wrong.detail)
      if (!member) throw notFound('server', server)
      const members: NewMember[] = known.members.map(asNewMember)
      const at = members.findIndex(candidate => candidate.server_id === member.server_id)
      const selected_by = members[at]?.selected_by ?? null
      members.splice(at < 0 ? members.length : at, at < 0 ? 0 : 1, { ...member, selected_by })
      refuseTooManyMembers(members.length)
      refuseSharedAlias(members.map(({ alias }) => (alias === null ? {} : { alias })))
      return { body: parsedOf(known.row), owner, members }
    })
  }

  async removeMember(actor: Actor, ref: Ref, server: Ref): Promise<WrittenGroup> {
    return this.#update(actor, ref, {}, async (db, known) => {
      const present = new Set(known.members.map(member => member.server_id))
      const candidates = await serverRowsByKey(db, refKey(server))
      const { shares, knows } = memberView(this.#deps, actor, known)
      // Only the members are searched: the same name may also be another server of the actor's own.
      const inside = candidates.filter(row => present.has(row.id) && (knows?.(owned(row)) ?? true))
      const by = knows ? ownerActor(rowOwner(known.row)) : actor
      const { id } = chooseRow('server', inside, by, server, { right: 'use', shares })
      const members = known.members.filter(member => member.server_id !== id).map(asNewMember)
      return { body: parsedOf(known.row), owner: rowOwner(known.row), members }
    })
  }

  lostMembers(groupId: string): Promise<readonly string[]> {
    return read(this.#deps.store, db => lostMembers(db, groupId))
  }

  usableMembers(
    actor: Actor,
    group: GroupRecord,
    { asShared = false }: { readonly asShared?: boolean } = {},
  ): Promise<readonly UsableMember[]> {
    const { shares, store } = this.#deps
    return read(store, db => usableMembers(db, actor, group, shares, asShared))
  }

  publicBody(record: GroupRecord): JsonObject {
    return groupBodyOf(record)
  }

  /** Applies a change to the stored group and saves it; repeats both after a conflict with another save. */
  async #update(
    actor: Actor,
    ref: Ref,
    options: WriteOptions,
    make: (db: Reader, known: KnownGroup) => Promise<GroupChange>,
  ): Promise<WrittenGroup> {
    return untilUnchanged('group', ref, async () => {
      const known = await this.#known(actor, ref, 'change')
      checkRevision('group', known.row, options)
      const change = await read(this.#deps.store, db => make(db, known))
      const seen = groupRecord(known.row, known.members, actor, this.#deps.shares)
      const body = withUnseenDefault(change.body, change.members ?? known.members, seen)
      return this.#writer.save(actor, known, { ...change, body })
    })
  }

  async #known(actor: Actor, ref: Ref, right: Right): Promise<KnownGroup> {
    return read(this.#deps.store, async db => {
      const candidates = await selectGroups(db).where('server_group.name_key', '=', refKey(ref)).execute()
      const row = chooseRow('group', candidates, actor, ref, { right, shares: this.#deps.shares })
      return { row, members: await membersOf(db, row.id) }
    })
  }
}

/** Accepts `servers` in a patch as `members`. */
function withMembers(patch: JsonObject): JsonObject {
  const { servers, ...rest } = patch
  return servers === undefined || Object.hasOwn(rest, 'members') ? patch : { ...rest, members: servers }
}

function parsedOf(row: GroupRow): ParsedGroupBody {
  const { selector, ...texts } = ownTexts(row)
  return {
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    visibility: row.visibility,
    naming: row.naming,
    ...(row.result_limit_bytes === null ? {} : { resultLimitBytes: row.result_limit_bytes }),
    ...texts,
    ...(selector ? { selector: { ...selector, members: [] } } : {}),
    members: [],
  }
}
