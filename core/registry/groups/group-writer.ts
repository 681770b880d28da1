import { randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { groupBodyOf, type ParsedGroupBody } from '../../domain/group-body.ts'
import type { SelectorInput } from '../../domain/groups/selector.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { formatRef, nameKey, quoteName } from '../../domain/names.ts'
import type { SharedRoles } from '../../domain/ownership.ts'
import type { GroupSelector } from '../../features/groups.ts'
import { isUniqueViolation } from '../../store/errors.ts'
import type { GroupTable } from '../../store/tables.ts'
import { type AfterCommit, type Reader, read, type Writer, write } from '../../store/transact.ts'
import { mayStillChange, notFound } from '../access.ts'
import type { FormerNames, WrittenGroup } from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { chooseOwner, type Owner } from '../owners.ts'
import type { RecordKinds } from '../record-kinds.ts'
import { ownerName } from '../rows.ts'
import { selectServers } from '../server-rows.ts'
import { dropOwnShare } from '../share-map.ts'
import { withinStoredBytes } from '../stored-bytes.ts'
import { refuseColleague } from './colleague-members.ts'
import { checkSelected } from './draft-group.ts'
import { FILE_OWNERS, groupOwnerInFile } from './file-groups.ts'
import { emitGroupEvent } from './group-events.ts'
import { findMembers, refuseLargeSelections } from './group-members.ts'
import {
  asNewMember,
  type GroupRow,
  groupRecord,
  type KnownGroup,
  knownById,
  type NewMember,
  selectGroups,
  writeMembers,
} from './group-rows.ts'
import { lostMembers } from './lost-members.ts'
import { asWritten } from './usable-members.ts'

/** A change of a group; `members` absent: unchanged. */
export interface GroupChange {
  readonly body: ParsedGroupBody
  readonly owner: Owner
  readonly members?: readonly NewMember[]
}

/** Members with their former prefixes. `members`: those of the body, in its order. */
export function withPrefixes(
  members: readonly NewMember[],
  { members: inputs }: ParsedGroupBody,
  prefixes: FormerNames['formerPrefixes'],
): readonly NewMember[] {
  return members.map((member, at) => {
    const prefix = prefixes?.get(inputs[at]?.server ?? '')
    return prefix === undefined ? member : { ...member, former_prefix: prefix }
  })
}

/** Writes groups; those of the settings file are written to the file first. The caller checks the rights. */
export class GroupWriter {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  create(
    actor: Actor,
    parsed: ParsedGroupBody,
    { formerPaths = [], formerPrefixes }: FormerNames,
  ): Promise<WrittenGroup> {
    const id = randomUUID()
    const at = timestamp(this.#deps)
    return this.#write(parsed.name, async (trx, after) => {
      const owner = await chooseOwner(trx, actor, parsed.owner, undefined)
      await checkGroupQuota(trx, owner)
      const members = withPrefixes(await findMembers(trx, owner, parsed, this.#deps), parsed, formerPrefixes)
      refuseLargeSelections(members)
      await checkSelected(this.#deps, trx, owner, parsed, members)
      await withinStoredBytes(trx, owner, async () => {
        await trx
          .insertInto('server_group')
          .values({
            ...groupColumns(parsed),
            ...{ id, owner_id: owner.id, origin: 'store', revision: 1, created_at: at, updated_at: at },
          })
          .execute()
        await writeMembers(trx, id, members)
        const paths = formerPaths.map(path => ({ group_id: id, path_key: nameKey(path) }))
        if (paths.length > 0) await trx.insertInto('group_former_path').values(paths).execute()
      })
      const { row, members: rows } = await written(trx, id)
      after(() => emitGroupEvent(this.#deps, 'group.created', row))
      return this.#asWritten(trx, actor, { row, members: rows })
    })
  }

  /** Undefined when, since it was read, the row has changed or the actor has lost the right to change it. */
  async save(actor: Actor, known: KnownGroup, change: GroupChange): Promise<WrittenGroup | undefined> {
    const { row } = known
    await refuseColleague(this.#deps, actor, known, change)
    if (change.members) refuseLargeSelections(change.members)
    // Writing the members again, even unchanged ones, clears the list of lost members.
    const noted = change.members !== undefined && (await this.#lost(row.id)).length > 0
    if (!noted && !differs(known, change)) {
      return read(this.#deps.store, db => this.#asWritten(db, actor, known))
    }
    const { members: wanted } = change
    // A group whose servers have become unlike can still be changed elsewhere.
    if (wanted && selects(known, change.body, wanted))
      await read(this.#deps.store, db => checkSelected(this.#deps, db, change.owner, change.body, wanted))
    const { shares } = this.#deps
    if (!mayStillChange(actor, row, shares)) return undefined
    if (row.origin === 'file') await this.#writeFile(known, change)
    return this.#write(change.body.name, async (trx, after) => {
      if (!mayStillChange(actor, row, shares)) return undefined
      if (change.owner.id !== row.owner_id) await checkGroupQuota(trx, change.owner)
      const saved = await withinStoredBytes(trx, change.owner, async () => {
        const { numUpdatedRows } = await trx
          .updateTable('server_group')
          .set({
            ...groupColumns(change.body),
            ...{ owner_id: change.owner.id, revision: row.revision + 1, updated_at: timestamp(this.#deps) },
          })
          .where('id', '=', row.id)
          .where('revision', '=', row.revision)
          .executeTakeFirst()
        if (Number(numUpdatedRows) === 0) return false
        if (change.members) await writeMembers(trx, row.id, change.members)
        if (change.owner.id !== row.owner_id)
          await dropOwnShare(shares, trx, after, { kind: 'group', id: row.id, ownerId: change.owner.id })
        return true
      })
      if (!saved) return undefined
      const { row: now, members } = await written(trx, row.id)
      const seen = row.visibility === 'public' || now.visibility === 'public' ? 'public' : 'owner'
      after(() => {
        // To the former owner, the group appears removed, unless it is public.
        const lost = now.owner_id !== row.owner_id && now.visibility !== 'public'
        const gone = { groupId: row.id, name: row.name, transferred: true } as const
        if (lost) this.#deps.bus.emit('group.removed', row.owner_id, gone)
        emitGroupEvent(this.#deps, 'group.updated', now, seen)
      })
      return this.#asWritten(trx, actor, { row: now, members })
    })
  }

  #asWritten(db: Reader, actor: Actor, { row, members }: KnownGroup): Promise<WrittenGroup> {
    const { shares } = this.#deps
    return asWritten(db, actor, groupRecord(row, members, actor, shares), shares)
  }

  #lost(groupId: string): Promise<string[]> {
    return read(this.#deps.store, db => lostMembers(db, groupId))
  }

  async remove(row: GroupRow, ref: string, force: boolean): Promise<void> {
    if (!force) await read(this.#deps.store, db => refuseBound(db, row, this.#deps.kinds))
    if (row.origin === 'file') await this.#fileWriter(row).writeGroup(await this.#ownerInFile(row), row.name, null)
    await write(this.#deps.store, async (trx, after) => {
      if (!force) await refuseBound(trx, row, this.#deps.kinds)
      const gone = await trx
        .deleteFrom('server_group')
        .where('id', '=', row.id)
        .where('owner_id', '=', row.owner_id)
        .executeTakeFirst()
      if (Number(gone.numDeletedRows) === 0) throw notFound('group', ref)
      await trx.deleteFrom('setting').where('scope', '=', FILE_OWNERS).where('key', '=', row.id).execute()
      after(() => {
        // Before the shares are forgotten, so that those with a share hear of it.
        emitGroupEvent(this.#deps, 'group.removed', row)
        this.#deps.shares.forgetThing(row.id)
      })
    })
  }

  async #writeFile({ row, members }: KnownGroup, change: GroupChange): Promise<void> {
    if (change.owner.id !== row.owner_id) {
      throw new HubError('settings_read_only', 'Whose an entry of the settings file is, is changed in the file itself')
    }
    const writer = this.#fileWriter(row)
    const body = await read(this.#deps.store, async db => {
      const duplicates = await selectGroups(db).where('server_group.name_key', '=', nameKey(change.body.name)).execute()
      if (duplicates.some(duplicate => duplicate.owner_id === row.owner_id && duplicate.id !== row.id))
        throw nameTaken(change.body.name)
      return fileBody(db, row, change.members ?? members.map(asNewMember), change.body, this.#deps.shares)
    })
    // Unchanged members stay as in the file, which may have more than the store understood.
    const { members: changed, ...rest } = body
    const same =
      change.members === undefined || canonicalMembers(members.map(asNewMember)) === canonicalMembers(change.members)
    await writer.writeGroup(await this.#ownerInFile(row), row.name, same || changed === undefined ? rest : body)
  }

  #fileWriter(row: GroupRow): NonNullable<RegistryDeps['fileWriter']> {
    if (this.#deps.fileWriter) return this.#deps.fileWriter
    throw new HubError('settings_read_only', `The group ${quoteName(row.name)} is held by the settings file`, {
      hint: 'Change its entry in the settings file.',
    })
  }

  #ownerInFile(row: GroupRow): Promise<string | undefined> {
    return read(this.#deps.store, db => groupOwnerInFile(db, row.id))
  }

  async #write<T>(name: string, work: (trx: Writer, after: AfterCommit) => Promise<T>): Promise<T> {
    try {
      return await write(this.#deps.store, work)
    } catch (error) {
      throw isUniqueViolation(error) ? nameTaken(name) : error
    }
  }
}

/** The columns of a group that come from its body. */
export function groupColumns(
  body: ParsedGroupBody,
): Omit<GroupTable, 'id' | 'owner_id' | 'origin' | 'revision' | 'created_at' | 'updated_at'> {
  const { instructions, tags, selector } = body
  return {
    name: body.name,
    name_key: nameKey(body.name),
    description: body.description ?? null,
    visibility: body.visibility,
    naming: body.naming,
    result_limit_bytes: body.resultLimitBytes ?? null,
    instructions: instructions ? JSON.stringify(instructions) : null,
    tags: tags ? JSON.stringify(tags) : null,
    selector: selector ? JSON.stringify(selectorOf(selector)) : null,
  }
}

function selectorOf({ argument, description, default: preset }: SelectorInput): GroupSelector {
  return {
    argument,
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset }),
  }
}

/** True when the change differs from the stored group. */
export function differs({ row, members }: KnownGroup, change: GroupChange): boolean {
  const columns = groupColumns(change.body)
  const names = Object.keys(columns) as (keyof typeof columns)[]
  return (
    change.owner.id !== row.owner_id ||
    names.some(name => columns[name] !== row[name]) ||
    (change.members !== undefined && canonicalMembers(members.map(asNewMember)) !== canonicalMembers(change.members))
  )
}

/** True when the change is one of what the selector offers. */
function selects({ row, members }: KnownGroup, body: ParsedGroupBody, wanted: readonly NewMember[]): boolean {
  const chosen = (of: readonly NewMember[]) => canonicalMembers(of.filter(({ selected_by }) => selected_by !== null))
  return groupColumns(body).selector !== row.selector || chosen(members.map(asNewMember)) !== chosen(wanted)
}

function canonicalMembers(members: readonly NewMember[]): string {
  return canonical(members.map(member => ({ ...member })))
}

/** The body for the settings file: servers of the group's owner by their plain names. */
async function fileBody(
  db: Reader,
  row: GroupRow,
  members: readonly NewMember[],
  body: ParsedGroupBody,
  shares: SharedRoles,
): Promise<JsonObject> {
  const ids = members.map(member => member.server_id)
  const servers = ids.length === 0 ? [] : await selectServers(db).where('server.id', 'in', ids).execute()
  const byId = new Map(servers.map(server => [server.id, server]))
  const record = groupRecord(
    { ...row, ...groupColumns(body) },
    members.flatMap((member, position) => {
      const server = byId.get(member.server_id)
      if (!server) return []
      const { owner_name, owner_number, owner_disabled } = server
      const seen = { server_name: server.name, server_owner_id: server.owner_id, server_visibility: server.visibility }
      return [
        {
          ...member,
          former_prefix: null,
          ...seen,
          owner_name,
          owner_number,
          owner_disabled,
          group_id: row.id,
          position,
        },
      ]
    }),
    { kind: 'system', purpose: 'settings file' },
    shares,
  )
  return groupBodyOf({
    ...record,
    members: record.members.map(member => {
      const server = byId.get(member.serverId)
      const own = server?.owner_id === row.owner_id
      return { ...member, serverRef: own || !server ? member.serverName : formatRef(ownerName(server), server.name) }
    }),
  })
}

/** Throws `quota_groups` when the owner has reached the limit. */
export async function checkGroupQuota(db: Reader, owner: Owner): Promise<void> {
  const { count } = await db
    .selectFrom('server_group')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('owner_id', '=', owner.id)
    .executeTakeFirstOrThrow()
  if (Number(count) < LIMITS.groupsPerUser) return
  throw new HubError('quota_groups', `A user may own ${LIMITS.groupsPerUser} groups, and ${owner.name} does`)
}

async function written(db: Reader, id: string): Promise<KnownGroup> {
  const known = await knownById(db, id)
  if (!known) throw new HubError('internal', 'A group vanished while it was written')
  return known
}

function nameTaken(name: string): HubError {
  const detail = `Its owner already has a group named ${quoteName(name)}`
  return new HubError('group_name_taken', detail, {
    errors: [{ pointer: '#/name', code: 'duplicate', detail }],
  })
}

/** Records of other users do not prevent it: they lose the group as other clients do. */
async function refuseBound(db: Reader, row: GroupRow, kinds: RecordKinds): Promise<void> {
  for (const { kind, usesGroup } of kinds.all()) {
    if (usesGroup === undefined) continue
    const users = await db
      .selectFrom('owned_setting')
      .select('name')
      .where('kind', '=', kind)
      .where('owner_id', '=', row.owner_id)
      .where('body', 'like', `%"id":"${row.id}"%`)
      .orderBy('name_key')
      .execute()
    if (users.length === 0) continue
    const names = users.map(({ name }) => quoteName(name)).join(', ')
    throw new HubError('group_in_use', `${usesGroup} ${quoteName(row.name)} through ${names}`)
  }
}
