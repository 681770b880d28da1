import type { ServerRecord } from '../../contract/records.ts'
import type { RegistryDeps } from '../context.ts'

/** Emits an event about a server: to all users if `seenByAll`, else to its owner. `changed`: names of fields. */
export function emitServerEvent(
  bus: RegistryDeps['bus'],
  event: 'server.created' | 'server.updated' | 'server.removed',
  record: ServerRecord,
  seenByAll: boolean,
  changed: readonly string[] = [],
): void {
  const payload = { serverId: record.id, name: record.name }
  const audience = seenByAll ? 'public' : 'owner'
  if (event === 'server.updated')
    bus.emit(event, record.ownerId, { ...payload, revision: record.revision, changed }, audience)
  else bus.emit(event, record.ownerId, payload, audience)
}
