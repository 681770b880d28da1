import type { Actor, ServerRecord } from '../../contract/records.ts'
import { pauses } from '../../store/pauses.ts'
import type { ListQuery } from '../api.ts'
import type { RegistryDeps } from '../context.ts'
import { listedRows } from '../listed-rows.ts'
import { type ServerRow, serverRecord } from '../rows.ts'
import { serverRowsByIds } from '../server-rows.ts'

/** The servers of a query that the actor may list, in its order. */
export async function listedServers(
  { store, shares }: RegistryDeps,
  actor: Actor,
  query: ListQuery,
): Promise<readonly ServerRecord[]> {
  const text = (row: ServerRow) => `${row.name}\n${serverRecord(row).description ?? ''}`
  const tags = (row: ServerRow) => serverRecord(row).tags
  const source = { ...{ store, shares, rowsOf: serverRowsByIds, text, tags }, table: 'server' } as const
  const records: ServerRecord[] = []
  const pause = pauses()
  for (const row of await listedRows(source, actor, query)) {
    records.push(serverRecord(row))
    await pause()
  }
  return records
}
