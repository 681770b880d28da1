import { HubError } from '../../contract/errors.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { UserTable } from '../../store/people-tables.ts'
import { type AfterCommit, type Reader, read, type Writer, write } from '../../store/transact.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { groupOwnerInFile } from '../groups/file-groups.ts'
import { emitGroupEvent, touchGroups } from '../groups/group-events.ts'
import { type GroupRow, selectGroups } from '../groups/group-rows.ts'
import { checkGroupQuota } from '../groups/group-writer.ts'
import { rememberLostMembers } from '../groups/lost-members.ts'
import { fileOwner, ownerOf, userById } from '../owners.ts'
import { fileOrigin, type ServerRow, serverColumns, serverRecord, userRecord } from '../rows.ts'
import { groupsWith, selectServers } from '../server-rows.ts'
import { heldAfterMove, heldColumns, settingsAwaitingReview } from '../servers/held-rights.ts'
import { checkServerQuota } from '../servers/server-quota.ts'
import { openSettings, sealSettings } from '../servers/server-secrets.ts'
import { dropOwnShare } from '../share-map.ts'
import { checkInheritedBytes } from '../stored-bytes.ts'
import { lastAdmin, otherAdmins, setInternal } from './user-rows.ts'

interface Belongings {
  readonly servers: readonly ServerRow[]
  readonly groups: readonly GroupRow[]
}

/**
 * Removes a user with keys and settings. Servers and groups are moved to `transferTo`, or removed with `cascade`;
 * without either they prevent the removal. Entries of the settings file are removed from the file first.
 */
export async function removeUser(
  deps: RegistryDeps,
  row: UserTable,
  options: { readonly transferTo?: string; readonly cascade?: boolean },
): Promise<void> {
  const { name } = userRecord(row)
  if (row.origin === 'file') {
    throw new HubError('settings_read_only', `The user ${quoteName(name)} is held by the settings file`, {
      hint: 'Take the user out of the settings file.',
    })
  }
  const heir = await read(deps.store, async db => {
    if (row.role === 'admin' && (await otherAdmins(db, row.id)) === 0) throw lastAdmin(name)
    return options.transferTo === undefined ? undefined : findHeir(db, row, options.transferTo)
  })
  const before = await read(deps.store, db => belongings(db, row.id))
  const owned = before.servers.length + before.groups.length
  if (owned > 0 && !heir && options.cascade !== true) {
    const message = `${quoteName(name)} owns ${before.servers.length} servers and ${before.groups.length} groups`
    throw new HubError('user_owns_resources', message, {
      hint: 'Say what becomes of them: ?transferTo= another user, or ?cascade=true to remove them.',
    })
  }
  await takeOutOfFile(deps, before)
  await write(deps.store, async (trx, after) => {
    if (row.role === 'admin' && (await otherAdmins(trx, row.id)) === 0) throw lastAdmin(name)
    const { servers, groups } = await belongings(trx, row.id)
    if (heir) {
      // The heir's present state: if the heir has become an administrator meanwhile, the servers need a review.
      await handOver(deps, trx, after, { servers, groups }, await presentHeir(trx, heir))
      if ((await fileOwner(trx)).id === row.id) await setInternal(trx, 'fileOwner', heir.id, timestamp(deps))
    } else await removeAll(deps, trx, after, { servers, groups })
    await trx.deleteFrom('setting').where('scope', '=', row.id).execute()
    const keys = await trx.deleteFrom('access_key').where('owner_id', '=', row.id).returning('id').execute()
    await trx.deleteFrom('user').where('id', '=', row.id).execute()
    after(() => {
      deps.shares.forgetSubject({ kind: 'user', id: row.id })
      for (const { id } of keys) deps.bus.emit('key.removed', row.id, { keyId: id })
      deps.bus.emit('user.removed', row.id, { userId: row.id, name })
    })
  })
}

async function findHeir(db: Reader, row: UserTable, transferTo: string): Promise<UserTable> {
  const heir = await db.selectFrom('user').selectAll().where('name_key', '=', nameKey(transferTo)).executeTakeFirst()
  if (heir && heir.id !== row.id) return heir
  const detail = heir ? 'A user cannot take over from itself' : `There is no user ${quoteName(transferTo)} to take over`
  throw validationError([{ pointer: '?transferTo', code: 'enum', detail }])
}

async function presentHeir(trx: Writer, { id, name }: UserTable): Promise<UserTable> {
  const row = await userById(trx, id)
  if (row) return row
  const detail = `There is no user ${quoteName(name ?? '')} to take over`
  throw validationError([{ pointer: '?transferTo', code: 'enum', detail }])
}

async function belongings(db: Reader, userId: string): Promise<Belongings> {
  return {
    servers: await selectServers(db).where('server.owner_id', '=', userId).execute(),
    groups: await selectGroups(db).where('server_group.owner_id', '=', userId).execute(),
  }
}

async function takeOutOfFile(deps: RegistryDeps, { servers, groups }: Belongings): Promise<void> {
  const inFile = { servers: servers.filter(isFromFile), groups: groups.filter(isFromFile) }
  if (inFile.servers.length + inFile.groups.length === 0) return
  const writer = deps.fileWriter
  if (!writer)
    throw new HubError('settings_read_only', 'The user owns entries of the settings file; remove them there first')
  for (const group of inFile.groups) {
    const owner = await read(deps.store, db => groupOwnerInFile(db, group.id))
    await writer.writeGroup(owner, group.name, null)
  }
  for (const server of inFile.servers) await writer.writeServer(fileOrigin(server)?.owner, server.name, null)
}

function isFromFile(row: { readonly origin: 'file' | 'store' }): boolean {
  return row.origin === 'file'
}

async function handOver(
  deps: RegistryDeps,
  trx: Writer,
  after: AfterCommit,
  { servers, groups }: Belongings,
  heir: UserTable,
): Promise<void> {
  await rejectDuplicateNames(trx, { servers, groups }, heir)
  await removeUnusableMembers(trx, groups)
  const giverId = servers[0]?.owner_id ?? groups[0]?.owner_id
  if (giverId !== undefined) await checkInheritedBytes(trx, giverId, heir)
  const at = timestamp(deps)
  const owner = ownerOf(heir)
  for (const row of servers) {
    const record = serverRecord(row)
    const place = { ownerId: heir.id, id: row.id }
    // Sealed again for the new owner: a sealed secret opens only for its owner and record.
    const opened = openSettings(deps.sealer, record, record)
    const held = heldAfterMove(row, owner)
    const settings = sealSettings(
      deps.sealer,
      place,
      held.awaitsReview ? settingsAwaitingReview(opened) : opened,
      undefined,
    )
    await checkServerQuota(trx, owner, settings, undefined)
    const revision = row.revision + 1
    await trx
      .updateTable('server')
      .set({
        ...serverColumns(settings, { template: record.template }),
        ...heldColumns(held),
        ...{ owner_id: heir.id, origin: 'store', revision, updated_at: at },
      })
      .where('id', '=', row.id)
      .execute()
    await dropOwnShare(deps.shares, trx, after, { kind: 'server', id: row.id, ownerId: heir.id })
    const payload = { serverId: row.id, name: row.name, revision, changed: ['owner'] }
    after(() => deps.bus.emit('server.updated', heir.id, payload, row.visibility === 'public' ? 'public' : 'owner'))
  }
  for (const row of groups) {
    await checkGroupQuota(trx, owner)
    await trx.updateTable('server_group').set({ owner_id: heir.id, origin: 'store' }).where('id', '=', row.id).execute()
    await dropOwnShare(deps.shares, trx, after, { kind: 'group', id: row.id, ownerId: heir.id })
  }
  const moved = groups.map(row => ({ ...row, owner_id: heir.id }))
  await touchGroups(deps, trx, after, moved)
}

/**
 * Removes members that the leaving user could no longer use (a public server that became private) from the user's groups: they
 * could be servers of the heir, who did not choose them.
 */
async function removeUnusableMembers(trx: Writer, groups: readonly GroupRow[]): Promise<void> {
  const [first] = groups
  if (!first) return
  const foreign = trx
    .selectFrom('server')
    .select('id')
    .where('owner_id', '!=', first.owner_id)
    .where('visibility', '!=', 'public')
  await trx
    .deleteFrom('group_member')
    .where(
      'group_id',
      'in',
      groups.map(({ id }) => id),
    )
    .where('server_id', 'in', foreign)
    .execute()
}

async function rejectDuplicateNames(db: Reader, { servers, groups }: Belongings, heir: UserTable): Promise<void> {
  const theirs = await belongings(db, heir.id)
  const server = servers.find(row => theirs.servers.some(duplicate => duplicate.name_key === row.name_key))
  const group = groups.find(row => theirs.groups.some(duplicate => duplicate.name_key === row.name_key))
  const duplicate = server ?? group
  if (!duplicate) return
  const kind = server ? 'server' : 'group'
  throw new HubError(
    `${kind}_name_taken`,
    `${quoteName(heir.name ?? '')} has a ${kind} named ${quoteName(duplicate.name)} as well; rename one of the two first`,
  )
}

async function removeAll(
  deps: RegistryDeps,
  trx: Writer,
  after: AfterCommit,
  { servers, groups }: Belongings,
): Promise<void> {
  const ids = servers.map(row => row.id)
  const own = new Set(groups.map(row => row.id))
  const others = (await groupsWith(trx, ids)).filter(group => !own.has(group.id))
  await rememberLostMembers(trx, ids, { at: timestamp(deps), shares: deps.shares })
  if (groups.length > 0)
    await trx
      .deleteFrom('server_group')
      .where('id', 'in', [...own])
      .execute()
  if (ids.length > 0) await trx.deleteFrom('server').where('id', 'in', ids).execute()
  after(() => {
    for (const group of groups) emitGroupEvent(deps, 'group.removed', group)
    for (const { id, name, owner_id, visibility } of servers) {
      deps.bus.emit('server.removed', owner_id, { serverId: id, name }, visibility === 'public' ? 'public' : 'owner')
    }
  })
  await touchGroups(deps, trx, after, others)
}
