import { HubError } from '../contract/errors.ts'
import type { Actor, Visibility } from '../contract/records.ts'
import { formatRef, nameKey, parseRef, quoteName } from '../domain/names.ts'
import { includesRole, isAdmin, roleFor, type SharedRoles, type Thing, type ThingRole } from '../domain/ownership.ts'
import type { Right, WriteOptions } from './api.ts'
import { type OwnerColumns, ownerName } from './rows.ts'

/** Columns that servers and groups share. */
export interface OwnedRow extends OwnerColumns {
  readonly id: string
  readonly owner_id: string
  readonly name: string
  readonly name_key: string
  readonly visibility: Visibility
  readonly created_at: string
  readonly updated_at: string
}

/** The kinds of records that have an owner and a visibility. */
export type Kind = 'server' | 'group'

/** Number of attempts for a change that conflicts with other saves. */
const TRIES = 8

const NOT_FOUND = { server: 'server_not_found', group: 'group_not_found' } as const
const AMBIGUOUS = { server: 'server_ambiguous', group: 'group_ambiguous' } as const

/** The error has the same text for a missing and for an invisible record, and contains only the requested name. */
export function notFound(kind: Kind, ref: string): HubError {
  return new HubError(NOT_FOUND[kind], `There is no ${kind} ${quoteName(ref)}`)
}

/**
 * Chooses among all rows with this name: the actor's own; else `owner~name`; else the only public or shared row; else, for
 * an administrator, the only row. Throws `…_not_found`, `…_ambiguous`, and `not_owner` where the actor's role is smaller than
 * `right`.
 */
export function chooseRow<Row extends OwnedRow>(
  kind: Kind,
  candidates: readonly Row[],
  actor: Actor,
  ref: string,
  { right, shares }: { readonly right: Right; readonly shares: SharedRoles },
): Row {
  const row = findRow(kind, candidates, actor, ref, shares)
  const role = row && roleFor(actor, owned(row), shares)
  if (!row || role === undefined) throw notFound(kind, ref)
  if (!includesRole(role, right)) throw notOwner(kind, ref, row, role, right)
  return row
}

/**
 * The error for a right that the actor's role does not include; undefined: as if the record were missing. `right`: the least role
 * that has it.
 */
export function notOwner(
  kind: Kind,
  ref: string,
  row: OwnerColumns,
  role: ThingRole | undefined,
  right: Right = 'owner',
): HubError {
  if (role === undefined) return notFound(kind, ref)
  const needed =
    right === 'owner' ? 'only its owner may do this' : `you have the role "${role}", and this needs "${right}"`
  return new HubError('not_owner', `The ${kind} ${quoteName(ref)} is ${ownerName(row)}’s; ${needed}`, {
    data: { role },
  })
}

/**
 * Repeats a change until no other save intervened, which `save` indicates by returning undefined. Throws `storage_busy` after
 * eight attempts.
 */
export async function untilUnchanged<Saved>(
  kind: Kind,
  ref: string,
  save: () => Promise<Saved | undefined>,
): Promise<Saved> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const saved = await save()
    if (saved !== undefined) return saved
  }
  throw new HubError('storage_busy', `The ${kind} ${quoteName(ref)} is being changed by others all the time`)
}

function findRow<Row extends OwnedRow>(
  kind: Kind,
  candidates: readonly Row[],
  actor: Actor,
  ref: string,
  shares: SharedRoles,
): Row | undefined {
  const { owner } = parseRef(ref)
  if (owner !== undefined) return candidates.find(row => isOwner(row, owner))
  const own = actor.kind === 'user' ? candidates.find(row => row.owner_id === actor.userId) : undefined
  if (own) return own
  const guest: Actor = actor.kind === 'user' ? { ...actor, role: 'user' } : actor
  const open = candidates.filter(row => roleFor(guest, owned(row), shares) !== undefined)
  const rest = open.length > 0 ? open : isAdmin(actor) ? candidates : []
  if (rest.length > 1) throw ambiguous(kind, ref, rest)
  return rest[0]
}

/**
 * True while the actor may still change a record that was read before. Asked again within the transaction that writes it: a share that
 * has ended meanwhile gives nothing.
 */
export function mayStillChange(actor: Actor, row: OwnedRow, shares: SharedRoles): boolean {
  return includesRole(roleFor(actor, owned(row), shares), 'change')
}

/** The case-folded name in a reference. */
export function refKey(ref: string): string {
  return nameKey(parseRef(ref).name)
}

/** True when the owner has this name, or this number as in `#4711`. */
export function isOwner(row: OwnerColumns, owner: string): boolean {
  return row.owner_key === null ? owner === `#${row.owner_number}` : row.owner_key === nameKey(owner)
}

function ambiguous(kind: Kind, ref: string, rows: readonly OwnedRow[]): HubError {
  const refs = rows.map(row => formatRef(ownerName(row), row.name)).sort()
  return new HubError(AMBIGUOUS[kind], `Several ${kind}s are called ${quoteName(ref)}: ${refs.join(', ')}`, {
    hint: 'Name the owner as well: owner~name.',
    data: { candidates: refs },
  })
}

/** The columns that determine who may see and change a record. */
export function owned(row: Pick<OwnedRow, 'id' | 'owner_id' | 'visibility' | 'owner_disabled'>): Thing {
  return { id: row.id, ownerId: row.owner_id, visibility: row.visibility, ownerDisabled: row.owner_disabled === 1 }
}

const SORT_COLUMNS = { name: 'name_key', createdAt: 'created_at', updatedAt: 'updated_at' } as const

/** Compares by one of the three fields, then by name, owner and id. Throws `validation_failed`. */
export function compareRows(sort: string): (left: OwnedRow, right: OwnedRow) => number {
  const { field, descending } = parseSort(sort, Object.keys(SORT_COLUMNS))
  const column = SORT_COLUMNS[field as keyof typeof SORT_COLUMNS]
  return (left, right) => {
    const order = byText(left[column], right[column])
    if (order !== 0) return descending ? -order : order
    return byText(left.name_key, right.name_key) || left.owner_number - right.owner_number || byText(left.id, right.id)
  }
}

/** Splits `-updatedAt`. Throws `validation_failed` with `sort_field`. */
export function parseSort(sort: string, fields: readonly string[]): { field: string; descending: boolean } {
  const descending = sort.startsWith('-')
  const field = descending ? sort.slice(1) : sort
  if (fields.includes(field)) return { field, descending }
  const detail = `Cannot sort by ${quoteName(sort)}; it must be one of ${fields.join(', ')}, with "-" in front for descending`
  throw new HubError('validation_failed', detail, { errors: [{ pointer: '?sort', code: 'sort_field', detail }] })
}

/** By code unit: the same order on every machine and in every database. */
export function byText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** The part of a stored record that a rejected writer may see. */
interface RevisedRow {
  readonly name: string | null
  readonly revision: number
  readonly updated_at: string
  readonly owner_name?: string | null
}

/** Throws `version_conflict` when the writer saw another revision, or expected no record. */
export function checkRevision(kind: string, row: RevisedRow, { ifRevision, ifMissing }: WriteOptions): void {
  const { revision, name, updated_at: changedAt, owner_name: owner } = row

  if (ifMissing) {
    throw new HubError('version_conflict', `The ${kind} exists already: its revision is ${revision}`, {
      hint: 'Leave out If-None-Match to change it.',
    })
  }
  if (ifRevision === undefined || ifRevision === revision) return
  throw new HubError(
    'version_conflict',
    `The ${kind} was changed meanwhile: its revision is ${revision}, not ${ifRevision}`,
    {
      hint: 'Read it again and repeat the change.',
      data: { revision, changedAt, kind, record: owner ? formatRef(owner, name ?? '') : (name ?? '') },
    },
  )
}
