import { sql } from 'kysely'
import { HubError } from '../contract/errors.ts'
import type { Actor } from '../contract/records.ts'
import { hasTags } from '../domain/groups/tags.ts'
import { isAdmin, isPublic } from '../domain/ownership.ts'
import type { Store } from '../store/open.ts'
import { pauses } from '../store/pauses.ts'
import { type Reader, read } from '../store/transact.ts'
import { compareRows, isOwner, type OwnedRow, owned } from './access.ts'
import type { ListQuery } from './api.ts'

type Scope = NonNullable<ListQuery['scope']>

/** Number of rows that are read at a time. */
const ROWS_AT_ONCE = 200

/** Source of the rows of a list. */
export interface ListSource<Row> {
  readonly store: Store
  readonly table: 'server' | 'server_group'
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
  { store, table, rowsOf, text, tags }: ListSource<Row>,
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
    inScope(row, actor, scope) &&
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
  const isMine = sql<boolean>`owner_id = ${actor.kind === 'user' ? actor.userId : ''}`
  const isVisible = sql<boolean>`(${isMine} or visibility = 'public')`
  const ids = db.selectFrom(table).select('id')
  const narrowed =
    scope === 'public'
      ? ids.where('visibility', '=', 'public')
      : scope === 'all' || actor.kind === 'system'
        ? ids
        : ids.where(scope === 'mine' ? isMine : isVisible)
  return (await narrowed.execute()).map(({ id }) => id)
}

function inScope(row: OwnedRow, actor: Actor, scope: NonNullable<ListQuery['scope']>): boolean {
  if (scope === 'public') return isPublic(owned(row))
  if (scope === 'all' || actor.kind === 'system') return true
  return row.owner_id === actor.userId || (scope === 'visible' && isPublic(owned(row)))
}
