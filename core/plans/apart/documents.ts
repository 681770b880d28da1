import { nextTurn } from '../../domain/next-turn.ts'
import type { Store } from '../../store/open.ts'
import { type Reader, write } from '../../store/transact.ts'
import type { RowChange, TableChanges } from './row-changes.ts'

const DOCUMENTS = 'openapi_document'

/** Changes whose documents are in the store already. */
export interface WrittenAhead {
  /** The same changes; new documents are only assigned to their servers. */
  readonly changes: readonly TableChanges[]
  /** Removes the documents that were assigned to no server. */
  removeUnowned(): Promise<void>
}

/**
 * Writes the OpenAPI documents of changes before the changes themselves, part by part, each in a turn and a transaction of its own:
 * they may have many megabytes. Until the changes assign them they belong to no server; those that are left after a crash are
 * removed at the next start of the hub.
 */
export async function writeAhead(store: Store, copy: Reader, tables: readonly TableChanges[]): Promise<WrittenAhead> {
  const written: string[] = []
  const removeUnowned = async () => {
    if (written.length === 0) return
    const removal = write(store, trx =>
      trx.deleteFrom(DOCUMENTS).where('server_id', 'is', null).where('id', 'in', written).execute(),
    )
    // The next start removes them.
    await removal.catch(() => undefined)
  }
  try {
    const changes: TableChanges[] = []
    for (const one of tables) {
      if (one.table.name !== DOCUMENTS) changes.push(one)
      else
        changes.push({
          ...one,
          changes: await Array.fromAsync(one.changes, change => ahead(store, copy, change, written)),
        })
    }
    return { changes, removeUnowned }
  } catch (error) {
    await removeUnowned()
    throw error
  }
}

async function ahead(store: Store, copy: Reader, change: RowChange, written: string[]): Promise<RowChange> {
  const { key, before, after } = change
  const [id = ''] = key
  if (before || !after) return change
  const unowned = { id, server_id: null, sha256: String(after.sha256), bytes: Number(after.bytes) }
  written.push(id)
  await write(store, trx => trx.insertInto(DOCUMENTS).values(unowned).execute())
  for (let part = 0; ; part += 1) {
    await nextTurn()
    const row = await copy
      .selectFrom('openapi_document_part')
      .selectAll()
      .where('document_id', '=', id)
      .where('part', '=', part)
      .executeTakeFirst()
    if (!row) return { key, before: unowned, after }
    await write(store, trx => trx.insertInto('openapi_document_part').values(row).execute())
  }
}
