import { LIMITS } from '../config/limits.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { Store } from '../store/open.ts'
import { type Reader, read, type Writer, write } from '../store/transact.ts'

/** Alerts per statement, each with the messages about it; other work on the database runs between statements. */
const BATCH = 100

/**
 * Deletes resolved alerts: those older than `alertMs`, and each owner's oldest ones above `alertsKept`. Alerts of one owner
 * never displace another's.
 */
export async function pruneIncidents(store: Store, now: Date): Promise<void> {
  const old = new Date(now.getTime() - LIMITS.alertMs).toISOString()
  await inBatches(store, trx => {
    const some = over(trx).where('ends_at', '<', old).limit(BATCH)
    return trx.deleteFrom('alert_incident').where('id', 'in', some).executeTakeFirst()
  })
  await write(store, trx =>
    trx.deleteFrom('alert_delivery').where('kind', '=', 'test').where('created_at', '<', old).execute(),
  )
  for (const { owner_id: ownerId, count } of await fullOwners(store)) {
    for (let excess = Number(count) - LIMITS.alertsKept; excess > 0; excess -= BATCH) {
      await write(store, trx => {
        const ofOwner = over(trx).where('owner_id', '=', ownerId).orderBy('starts_at').orderBy('id')
        return trx
          .deleteFrom('alert_incident')
          .where('id', 'in', ofOwner.limit(Math.min(excess, BATCH)))
          .execute()
      })
      await nextTurn()
    }
  }
}

function over(db: Reader) {
  return db.selectFrom('alert_incident').select('id').where('state', '=', 'resolved')
}

function fullOwners(store: Store) {
  return read(store, db =>
    db
      .selectFrom('alert_incident')
      .select(['owner_id', ({ fn }) => fn.countAll<number | string>().as('count')])
      .where('state', '=', 'resolved')
      .groupBy('owner_id')
      .having(({ fn }) => fn.countAll(), '>', LIMITS.alertsKept)
      .execute(),
  )
}

async function inBatches(
  store: Store,
  remove: (trx: Writer) => Promise<{ readonly numDeletedRows: bigint }>,
): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await write(store, remove)
    if (Number(numDeletedRows) < BATCH) return
    await nextTurn()
  }
}
