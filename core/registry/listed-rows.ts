import { sql } from 'kysely'
import { HubError } from '../contract/errors.ts'
import type { Actor } from '../contract/records.ts'
import { hasTags } from '../domain/groups/tags.ts'
import { isAdmin, isPublic, roleUnderMcp, type SharedRoles } from '../domain/ownership.ts'
import type { Store } from '../store/open.ts'
import { pauses } from '../store/pauses.ts'
import { type Reader, read } from '../store/transact.ts'
import { compareRows, isOwner, type OwnedRow, owned } from './access.ts'
import type { ListQuery } from './api.ts'
import { sharedIds } from './share-map.ts'

type Scope = NonNullable<ListQuery['scope']>

/** Number of rows that are read at a time. */
const ROWS_AT_ONCE = 200

/** Source of the rows of a list. */
export interface ListSource<Row> {
  readonly store: Store
  readonly table: 'server' | 'server_group'
  readonly shares: SharedRoles
  /** The rows with these ids. */
  readonly rowsOf: (db: Reader, ids: readonly string[]) => Promise<readonly Row[]>
  /** The text in which `q` is searched. */
  readonly text: (row: Row) => string
  readonly tags: (row: Row) => readonly string[] | undefined
}

/**
 * Returns the rows that the actor may list, filtered and sorted. They are read in turns, since there may be thousands and any
 * user may request them: a row that changes meanwhile is listed in its old or new state. Throws `admin_only`,
 * `validation_failed`.
 */
export async function listedRows<Row extends OwnedRow>(
  { store, table, shares, rowsOf, text, tags }: ListSource<Row>,
  actor: Actor,
  query: ListQuery,
): Promise<Row[]> {
  const { scope = actor.kind === 'user' ? 'mine' : 'all', sort = 'name' } = query
  if (scope === 'all' && !isAdmin(actor)) {
    throw new HubError('admin_only', 'Only administrators list what belongs to everybody (scope=all)')
  }
  const compare = compareRows(sort)
  const q = query.q?.toLowerCase()
  const isListed = (row: Row): boolean =>
    inScope(row, actor, scope, shares) &&
    (query.owner === undefined || isOwner(row, query.owner)) &&
    (q === undefined || text(row).toLowerCase().includes(q)) &&
    (query.tags === undefined || hasTags(tags(row), query.tags))
  const ids = await read(store, db => idsIn(db, table, actor, scope))
  const listed: Row[] = []
  const pause = pauses()
  for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
    const rows = await read(store, db => rowsOf(db, ids.slice(at, at + ROWS_AT_ONCE)))
    for (const row of rows) {
      if (isListed(row)) listed.push(row)
      await pause()
    }
  }
  return listed.sort(compare)
}

/** Excludes most rows outside the scope; `inScope` decides exactly. */
async function idsIn(
  db: Reader,
  table: ListSource<unknown>['table'],
  actor: Actor,
  scope: Scope,
): Promise<readonly string[]> {
  const userId = actor.kind === 'user' ? actor.userId : ''
  const isMine = sql<boolean>`owner_id = ${userId}`
  const isShared = sql<boolean>`id in ${sharedIds(db, table === 'server' ? 'server' : 'group', userId)}`
  const isVisible = sql<boolean>`(${isMine} or visibility = 'public' or ${isShared})`
  const ids = db.selectFrom(table).select('id')
  const narrowed =
    scope === 'public'
      ? ids.where('visibility', '=', 'public')
      : scope === 'all' || actor.kind === 'system'
        ? ids
        : ids.where(scope === 'mine' ? isMine : scope === 'shared' ? isShared : isVisible)
  return (await narrowed.execute()).map(({ id }) => id)
}

function inScope(row: OwnedRow, actor: Actor, scope: Scope, shares: SharedRoles): boolean {
  const thing = owned(row)
  if (scope === 'public') return isPublic(thing)
  if (scope === 'all' || actor.kind === 'system') return true
  const isOwn = row.owner_id === actor.userId
  if (scope === 'shared')
    return !isOwn && !thing.ownerDisabled && shares.sharedRole(actor.userId, thing.id) !== undefined
  return isOwn || (scope === 'visible' && roleUnderMcp(actor.userId, thing, shares) !== undefined)
}
