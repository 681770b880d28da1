import { sql } from 'kysely'
import type { Reader } from '../../store/transact.ts'
import type { Possessions } from '../people-api.ts'

/** Possessions of each of these users; `now`: ISO 8601 UTC, before which a sign-in has ended. */
export async function possessionsOf(
  db: Reader,
  ids: readonly string[],
  now: string,
): Promise<ReadonlyMap<string, Possessions>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('user')
    .select(eb => [
      'id',
      eb.selectFrom('server').whereRef('owner_id', '=', 'user.id').select(sql<number>`count(*)`.as('n')).as('servers'),
      eb
        .selectFrom('server_group')
        .whereRef('owner_id', '=', 'user.id')
        .select(sql<number>`count(*)`.as('n'))
        .as('groups'),
      eb.selectFrom('access_key').whereRef('owner_id', '=', 'user.id').select(sql<number>`count(*)`.as('n')).as('keys'),
      eb
        .selectFrom('access_key')
        .whereRef('owner_id', '=', 'user.id')
        .select(sql<string | null>`max(last_used_at)`.as('at'))
        .as('key_used'),
      eb
        .selectFrom('sign_in')
        .whereRef('user_id', '=', 'user.id')
        .whereRef('epoch', '=', 'user.token_epoch')
        .where('expires_at', '>', now)
        .select(sql<number>`count(*)`.as('n'))
        .as('sign_ins'),
      eb
        .selectFrom('sign_in')
        .whereRef('user_id', '=', 'user.id')
        .select(sql<string | null>`max(last_used_at)`.as('at'))
        .as('sign_in_used'),
    ])
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.map(row => [
      row.id,
      {
        ...{ servers: Number(row.servers), groups: Number(row.groups), keys: Number(row.keys) },
        ...{ signIns: Number(row.sign_ins), lastSeenAt: later(row.key_used, row.sign_in_used) },
      },
    ]),
  )
}

/** Times of this form sort as texts. */
function later(left: string | null, right: string | null): string | null {
  return (left ?? '') > (right ?? '') ? left : right
}
