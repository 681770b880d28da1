import { randomUUID } from 'node:crypto'
import type { ShareRole } from '../../domain/ownership.ts'
import type { AfterCommit, Writer } from '../../store/transact.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import type { ShareTarget } from '../shares-api.ts'
import { emitShareChange, usersOf } from './share-events.ts'
import { type NamedSubject, subjectText } from './subjects.ts'

/** Changes of the shares of one thing; null removes one. */
export type Wanted = readonly { readonly subject: NamedSubject; readonly role: ShareRole | null }[]

/** Writes the changes; after the commit they hold, and are announced. */
export async function writeShares(
  deps: Pick<RegistryDeps, 'shares' | 'bus' | 'now'>,
  { trx, after }: { readonly trx: Writer; readonly after: AfterCommit },
  target: ShareTarget,
  {
    changed,
    origin,
    grantedBy,
  }: {
    readonly changed: Wanted
    readonly origin: 'file' | 'store'
    readonly grantedBy: string | null
  },
): Promise<void> {
  const { kind, id: thingId } = target
  for (const { subject, role } of changed) {
    await trx
      .deleteFrom('share')
      .where(`${kind}_id`, '=', thingId)
      .where(`${subject.kind}_id`, '=', subject.id)
      .execute()
    if (role !== null) {
      await trx
        .insertInto('share')
        .values({
          ...{ id: randomUUID(), role, origin, granted_by: grantedBy, created_at: timestamp(deps) },
          server_id: kind === 'server' ? thingId : null,
          group_id: kind === 'group' ? thingId : null,
          user_id: subject.kind === 'user' ? subject.id : null,
          team_id: subject.kind === 'team' ? subject.id : null,
        })
        .execute()
    }
    const users = await usersOf(trx, subject)
    after(() => {
      deps.shares.put(thingId, subject, role)
      emitShareChange(deps, target, { text: subjectText(subject), role }, users)
    })
  }
}
