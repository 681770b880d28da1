import type { Upstreams } from '../../../connections/api.ts'
import type { ServerRecord, UserActor } from '../../../contract/records.ts'
import { asksCallers } from '../../../domain/session-scope.ts'

/**
 * `view`, with what this user holds for the server where it takes a credential of each caller. The status beside it is of the
 * server's address, the same for all.
 */
export async function withMine(
  credentials: Pick<Upstreams['credentials'], 'standing'>,
  { userId }: Pick<UserActor, 'userId'>,
  record: ServerRecord,
  view: object,
): Promise<object> {
  if (!asksCallers(record)) return view
  // The status already reports settings that cannot be read now.
  const mine = await credentials.standing(record.id, userId).catch(() => undefined)
  return mine ? { ...view, mine } : view
}
