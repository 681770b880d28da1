import { LIMITS } from '../config/limits.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { Store } from '../store/open.ts'
import { read, type Writer, write } from '../store/transact.ts'

/** Rows per statement; other work on the database runs between statements. */
const BATCH = 500

interface Share {
  readonly user_id: string | null
  readonly owner_id: string | null
}

/**
 * Deletes audit rows older than `auditMs`, and each user's oldest ones above `auditRowsKept`; the hub's own actions
 * count for the owner that they concern. One user's rows never evict another's. Returns the number of deleted rows.
 */
export async function trimAudit(store: Store, nowMs: number): Promise<number> {
  const before = new Date(nowMs - LIMITS.auditMs).toISOString()
  let gone = await inBatches(store, trx =>
    trx
      .deleteFrom('audit')
      .where('id', 'in', trx.selectFrom('audit').select('id').where('at', '<', before).limit(BATCH))
      .executeTakeFirst(),
  )
  for (const { count, ...share } of await fullShares(store)) {
    let excess = count - LIMITS.auditRowsKept
    while (excess > 0) {
      const some = Math.min(excess, BATCH)
      await write(store, trx => {
        const oldest = ofShare(trx.selectFrom('audit').select('id'), share).orderBy('id').limit(some)
        return trx.deleteFrom('audit').where('id', 'in', oldest).execute()
      })
      gone += some
      excess -= some
      await nextTurn()
    }
  }
  return gone
}

async function fullShares(store: Store): Promise<(Share & { readonly count: number })[]> {
  const rows = await read(store, db => {
    const counted = db
      .selectFrom('audit')
      .select(['user_id', ({ fn }) => fn.countAll().as('count')])
      .select(eb => eb.case().when('user_id', 'is', null).then(eb.ref('owner_id')).else(null).end().as('owner_id'))
      .groupBy(['user_id', 'owner_id'])
    return counted.execute()
  })
  const shares = new Map<string, Share & { count: number }>()
  for (const { user_id, owner_id, count } of rows) {
    const key = JSON.stringify([user_id, owner_id])
    const share = shares.get(key) ?? { user_id, owner_id, count: 0 }
    share.count += Number(count)
    shares.set(key, share)
  }
  return [...shares.values()].filter(({ count }) => count > LIMITS.auditRowsKept)
}

interface Narrowed<Query> {
  where(column: 'user_id' | 'owner_id', operator: '=' | 'is', value: string | null): Query
}

function ofShare<Query extends Narrowed<Query>>(query: Query, { user_id, owner_id }: Share): Query {
  if (user_id !== null) return query.where('user_id', '=', user_id)
  const system = query.where('user_id', 'is', null)
  return owner_id === null ? system.where('owner_id', 'is', null) : system.where('owner_id', '=', owner_id)
}

async function inBatches(
  store: Store,
  remove: (trx: Writer) => Promise<{ readonly numDeletedRows: bigint }>,
): Promise<number> {
  for (let gone = 0; ; ) {
    const { numDeletedRows } = await write(store, remove)
    gone += Number(numDeletedRows)
    if (Number(numDeletedRows) < BATCH) return gone
    await nextTurn()
  }
}
