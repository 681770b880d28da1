import type { AfterCommit, Writer } from '../../store/transact.ts'
import { type RegistryDeps, timestamp } from '../context.ts'

/** The columns that an event of a group needs. */
export interface ChangedGroup {
  readonly id: string
  readonly name: string
  readonly owner_id: string
  readonly visibility: 'private' | 'public'
  readonly revision: number
}

/** Increases the revision of groups whose members changed, and emits an event for each after the commit. */
export async function touchGroups(
  deps: RegistryDeps,
  trx: Writer,
  after: AfterCommit,
  groups: readonly ChangedGroup[],
): Promise<void> {
  for (const group of groups) {
    const revision = group.revision + 1
    await trx
      .updateTable('server_group')
      .set({ revision, updated_at: timestamp(deps) })
      .where('id', '=', group.id)
      .execute()
    after(() => emitGroupEvent(deps, 'group.updated', { ...group, revision }))
  }
}

/** Emits to the owner, or to everybody for a public group; call it after the commit. */
export function emitGroupEvent(
  deps: Pick<RegistryDeps, 'bus'>,
  event: 'group.created' | 'group.updated' | 'group.removed',
  group: ChangedGroup,
  audience: 'owner' | 'public' = group.visibility === 'public' ? 'public' : 'owner',
): void {
  const payload = { groupId: group.id, name: group.name }
  if (event === 'group.updated') {
    deps.bus.emit(event, group.owner_id, { ...payload, revision: group.revision }, audience)
  } else deps.bus.emit(event, group.owner_id, payload, audience)
}
