import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { qualified } from './views.ts'

/** A row of numbers about one server, or about no server. */
interface Row {
  readonly serverId?: string
  readonly server?: string
}

/**
 * Returns the label of each server in an answer: its name, or `owner~name` if several of them have that name and the actor is an
 * administrator. A removed server has a part of its id instead of an owner.
 */
export async function serverLabels(
  servers: { byId(actor: UserActor, id: string): Promise<ServerRecord | undefined> },
  actor: UserActor,
  rows: readonly Row[],
): Promise<(row: Row) => string> {
  const names = new Map(rows.map(({ serverId = '', server = '' }) => [serverId, server]))
  const labels = new Map(names)
  for (const [name, same] of Map.groupBy(names.keys(), id => names.get(id) ?? '')) {
    if (same.length === 1) continue
    for (const id of same.filter(each => each !== '')) {
      const record = await servers.byId(actor, id)
      labels.set(id, record ? qualified(record) : `${name} (${id.slice(0, 8)})`)
    }
  }
  return ({ serverId = '', server = '' }) => labels.get(serverId) ?? server
}
