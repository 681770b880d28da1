import type { UserActor } from '../contract/records.ts'
import type { Store } from '../store/open.ts'
import { read, type Writer } from '../store/transact.ts'
import { REPLACED_PREFIX } from './import-scope.ts'

/** Time for which an import can be taken back, in milliseconds. */
const KEPT_MS = 7 * 86_400_000

/** An import that was made. */
export interface ImportRecord {
  readonly id: string
  readonly source: string
  /** ISO 8601 UTC. */
  readonly createdAt: string
  /** Number of things made. */
  readonly made: number
}

/** The actor's imports that can be taken back, newest first. */
export async function listImports(store: Store, { userId }: UserActor): Promise<readonly ImportRecord[]> {
  const rows = await read(store, db =>
    db
      .selectFrom('import_run')
      .selectAll()
      .where('owner_id', '=', userId)
      .where('created_at', '>=', oldest())
      .orderBy('created_at', 'desc')
      .execute(),
  )
  return rows.map(({ id, source, created_at, made }) => {
    return { id, source, createdAt: created_at, made: (JSON.parse(made) as unknown[]).length }
  })
}

/** Forgets imports that cannot be taken back any more, and what they replaced. */
export async function pruneImports(trx: Writer): Promise<void> {
  await trx.deleteFrom('import_run').where('created_at', '<', oldest()).execute()
  const replaced = trx.deleteFrom('setting').where('key', 'like', `${REPLACED_PREFIX}%`)
  await replaced.where('updated_at', '<', oldest()).execute()
}

function oldest(): string {
  return new Date(Date.now() - KEPT_MS).toISOString()
}
