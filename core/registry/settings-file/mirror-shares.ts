import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import { SHARE_ROLES } from '../../domain/ownership.ts'
import type { FileState } from '../api.ts'
import { fileOwner, type Owner, ownerOf } from '../owners.ts'
import { shareRows } from '../shares/share-rows.ts'
import { findSubject } from '../shares/subjects.ts'
import { type Wanted, writeShares } from '../shares/write-shares.ts'
import type { SharedKind, ShareTarget } from '../shares-api.ts'
import { entryOwner, type MirrorRun } from './mirror-run.ts'

interface Entry {
  readonly kind: SharedKind
  readonly owner: string | undefined
  readonly name: string
  readonly shares: JsonValue | undefined
}

/**
 * Makes the shares that the file states for its servers and groups, and removes those that it no longer states. Shares of the API
 * stay beside them.
 */
export async function mirrorShares(run: MirrorRun, { servers, groups }: FileState): Promise<void> {
  const plainOwner = ownerOf(await fileOwner(run.trx))
  const nameOf = (name: JsonValue | undefined): string => (typeof name === 'string' ? name : '')
  const entries: Entry[] = [
    ...servers.map(({ owner, name, shares }) => ({ kind: 'server' as const, owner, name, shares })),
    ...groups.map(({ owner, body, shares }) => ({ kind: 'group' as const, owner, name: nameOf(body.name), shares })),
  ]
  const stated = await thingsWithFileShares(run)
  for (const entry of entries) {
    if (entry.shares === undefined && stated.size === 0) continue
    const owner = await entryOwner(run, entry.owner, plainOwner, () => undefined)
    const target = owner && (await targetOf(run, entry, owner))
    if (target && (entry.shares !== undefined || stated.has(target.id))) await mirrorEntry(run, entry, target)
  }
}

async function mirrorEntry(run: MirrorRun, entry: Entry, target: ShareTarget): Promise<void> {
  const wanted = await readShares(run, entry, target)
  const present = await shareRows(run.trx, target.kind, target.id)
  const isKept = (id: string) => wanted.some(({ subject }) => subject.id === id)
  const gone = present.filter(({ record, subject }) => record.origin === 'file' && !isKept(subject.id))
  const isPresent = ({ subject, role }: Wanted[number]) =>
    present.some(({ subject: { id }, record }) => id === subject.id && record.role === role && record.origin === 'file')
  const changed: Wanted = [
    ...gone.map(({ subject: { kind, id }, record: { subject } }) => ({
      subject: { kind, id, name: subject.slice(kind.length + 1) },
      role: null,
    })),
    ...wanted.filter(one => !isPresent(one)),
  ]
  if (changed.length === 0) return
  await writeShares(run.deps, run, target, { changed, origin: 'file', grantedBy: null })
  run.applied.push(`${target.kind}s/${target.ownerName}~${target.name}`)
}

/** The valid shares of an entry; others are reported. */
async function readShares(run: MirrorRun, { kind, name, shares }: Entry, target: ShareTarget): Promise<Wanted> {
  const errors: FieldError[] = []
  const found = new Map<string, Wanted[number]>()
  for (const [index, share] of listOf(shares, errors).entries()) {
    const read = await readShare(run, share, `#/shares/${index}`, errors)
    if (read && read.subject.id !== target.ownerId) found.set(read.subject.id, read)
  }
  const section = kind === 'server' ? 'mcpServers' : 'groups'
  if (errors.length > 0) run.problems.push({ entry: `${section}[${quoteName(name)}]`, errors })
  return [...found.values()]
}

function listOf(shares: JsonValue | undefined, errors: FieldError[]): readonly JsonValue[] {
  const most = LIMITS.sharesPerThing
  if (shares !== undefined && !Array.isArray(shares))
    errors.push({ pointer: '#/shares', code: 'type', detail: '"shares" is a list of {subject, role}' })
  if (!Array.isArray(shares)) return []
  if (shares.length > most)
    errors.push({ pointer: '#/shares', code: 'range', detail: `At most ${most} shares are read` })
  return shares.slice(0, most)
}

async function readShare(
  { trx }: MirrorRun,
  share: JsonValue,
  pointer: string,
  errors: FieldError[],
): Promise<Wanted[number] | undefined> {
  const { subject, role } = isJsonObject(share) ? share : {}
  const known = SHARE_ROLES.find(each => each === role)
  if (typeof subject !== 'string' || known === undefined) {
    const detail = 'A share is {"subject": "user:name" or "team:name", "role": "use", "see" or "change"}'
    errors.push({ pointer, code: 'format', detail })
    return undefined
  }
  try {
    return { subject: await findSubject(trx, subject), role: known }
  } catch (error) {
    if (!(error instanceof HubError) || error.status !== 404) throw error
    errors.push({ pointer: `${pointer}/subject`, code: 'enum', detail: error.message })
    return undefined
  }
}

async function thingsWithFileShares({ trx }: MirrorRun): Promise<ReadonlySet<string>> {
  const rows = await trx.selectFrom('share').select(['server_id', 'group_id']).where('origin', '=', 'file').execute()
  return new Set(rows.map(({ server_id, group_id }) => server_id ?? group_id ?? ''))
}

async function targetOf({ trx }: MirrorRun, { kind, name }: Entry, owner: Owner): Promise<ShareTarget | undefined> {
  const row = await trx
    .selectFrom(kind === 'server' ? 'server' : 'server_group')
    .select(['id', 'name'])
    .where('owner_id', '=', owner.id)
    .where('name_key', '=', nameKey(name))
    .where('origin', '=', 'file')
    .executeTakeFirst()
  return row && { kind, id: row.id, name: row.name, ownerId: owner.id, ownerName: owner.name }
}
