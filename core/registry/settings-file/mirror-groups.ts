import { randomUUID } from 'node:crypto'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { type ParsedGroupBody, readGroupBody } from '../../domain/group-body.ts'
import { formatRef, nameKey, quoteName } from '../../domain/names.ts'
import type { FileState } from '../api.ts'
import { timestamp } from '../context.ts'
import { FILE_OWNERS } from '../groups/file-groups.ts'
import { emitGroupEvent } from '../groups/group-events.ts'
import { lookUpMembers, refuseSharedAlias } from '../groups/group-members.ts'
import { type GroupRow, knownById, type NewMember, selectGroups, writeMembers } from '../groups/group-rows.ts'
import { differs, groupColumns } from '../groups/group-writer.ts'
import { fileOwner, type Owner, ownerOf } from '../owners.ts'
import { ownerName } from '../rows.ts'
import { entryOwner, type MirrorRun } from './mirror-run.ts'

type FileGroup = FileState['groups'][number]

/** Creates and updates the groups of the file; removes those that left it. */
export async function mirrorGroups(run: MirrorRun, entries: readonly FileGroup[]): Promise<void> {
  const rows = await selectGroups(run.trx).execute()
  const known = new Map(rows.map(row => [`${row.owner_id}/${row.name_key}`, row]))
  const plainOwner = ownerOf(await fileOwner(run.trx))
  const seen = new Set<string>()
  for (const entry of entries) {
    const owner = await entryOwner(run, entry.owner, plainOwner, errors => report(run, entry, errors))
    if (!owner) continue
    const errors: FieldError[] = []
    const parsed = readGroupBody(entry.body, errors, { unknownFields: 'ignore' })
    const key = typeof entry.body.name === 'string' ? nameKey(entry.body.name) : ''
    const place = `${owner.id}/${key}`
    const row = known.get(place)
    const twice = seen.has(place)
    seen.add(place)
    if (twice)
      report(run, entry, [{ pointer: '#/name', code: 'duplicate', detail: 'Two groups of one owner have this name' }])
    // A stored group keeps its last valid state while its entry is invalid.
    else if (parsed) await mirrorGroup(run, entry, owner, row, parsed)
    else report(run, entry, errors)
  }
  await removeVanished(
    run,
    rows.filter(row => row.origin === 'file' && !seen.has(`${row.owner_id}/${row.name_key}`)),
  )
}

async function mirrorGroup(
  run: MirrorRun,
  entry: FileGroup,
  owner: Owner,
  row: GroupRow | undefined,
  parsed: ParsedGroupBody,
): Promise<void> {
  const members = await findMembers(run, entry, owner, parsed)
  if (!members) return
  const { trx, deps } = run
  const id = row?.id ?? randomUUID()
  const at = timestamp(deps)
  const columns = { ...groupColumns(parsed), origin: 'file' as const, updated_at: at }
  const known = row && (await knownById(trx, id))
  const ref = formatRef(owner.name, parsed.name)
  if (!row || !known) {
    await trx
      .insertInto('server_group')
      .values({ ...columns, id, owner_id: owner.id, revision: 1, created_at: at })
      .execute()
    await writeMembers(trx, id, members)
    await rememberOwnerName(run, id, entry.owner)
    run.applied.push(`groups/${ref}`)
    const made = { id, name: parsed.name, owner_id: owner.id, visibility: parsed.visibility, revision: 1 }
    run.after(() => emitGroupEvent(deps, 'group.created', made))
    return
  }
  await rememberOwnerName(run, id, entry.owner)
  if (row.origin === 'file' && !differs(known, { body: parsed, owner, members })) return
  const revision = row.revision + 1
  await trx
    .updateTable('server_group')
    .set({ ...columns, revision })
    .where('id', '=', id)
    .execute()
  await writeMembers(trx, id, members)
  run.applied.push(`groups/${ref}`)
  const seen = row.visibility === 'public' || parsed.visibility === 'public' ? 'public' : 'owner'
  run.after(() => emitGroupEvent(deps, 'group.updated', { ...row, ...groupColumns(parsed), revision }, seen))
}

/** The members that exist; problems with others are reported. Undefined when the group is invalid as a whole. */
async function findMembers(
  run: MirrorRun,
  entry: FileGroup,
  owner: Owner,
  parsed: ParsedGroupBody,
): Promise<NewMember[] | undefined> {
  const inputs = parsed.members.map(member => ({ ...member, server: member.server.replace('::', '~') }))
  try {
    const { members, errors } = await lookUpMembers(run.trx, owner, { ...parsed, members: inputs }, run.deps)
    refuseSharedAlias(inputs)
    if (errors.length > 0) report(run, entry, errors)
    return members
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    report(run, entry, [{ pointer: '#/members', code: 'range', detail: error.message }])
    return undefined
  }
}

/** Remembers the owner as written in the file, for later edits of the entry. */
async function rememberOwnerName({ trx, deps }: MirrorRun, id: string, owner: string | undefined): Promise<void> {
  await trx.deleteFrom('setting').where('scope', '=', FILE_OWNERS).where('key', '=', id).execute()
  if (owner === undefined) return
  const row = { scope: FILE_OWNERS, key: id, value: JSON.stringify(owner), secret: 0, updated_at: timestamp(deps) }
  await trx.insertInto('setting').values(row).execute()
}

async function removeVanished(run: MirrorRun, rows: readonly GroupRow[]): Promise<void> {
  if (rows.length === 0) return
  const ids = rows.map(row => row.id)
  await run.trx.deleteFrom('server_group').where('id', 'in', ids).execute()
  await run.trx.deleteFrom('setting').where('scope', '=', FILE_OWNERS).where('key', 'in', ids).execute()
  for (const row of rows) {
    run.applied.push(`groups/${formatRef(ownerName(row), row.name)}`)
    run.after(() => emitGroupEvent(run.deps, 'group.removed', row))
  }
}

function report(run: MirrorRun, entry: FileGroup, errors: readonly FieldError[]): void {
  const name = typeof entry.body.name === 'string' ? entry.body.name : ''
  run.problems.push({ entry: `groups[${quoteName(name)}]`, errors })
}
