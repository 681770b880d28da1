import type { Kysely } from 'kysely'
import { LIMITS } from '../config/limits.ts'
import type { EventBus } from '../events/bus.ts'
import { withStorageErrors } from '../store/errors.ts'
import type { Tables } from '../store/tables.ts'
import { TOKEN_LEEWAY_MS } from './tokens.ts'

export interface Revocations {
  /** Ends all session tokens of one sign-in before their time. The event `token.revoked` follows once that is kept. */
  revoke(family: { readonly familyId: string; readonly userId: string }): Promise<void>
  isRevoked(familyId: string): Promise<boolean>
  /** Ends the regular look for rows that no token needs any more. */
  dispose(): void
}

/** How often rows are looked for that no token needs any more, in milliseconds; also at once. */
const SWEEP_MS = 6 * 60 * 60 * 1000

/**
 * The sign-ins that were signed out, by the id of their first token. A row goes once no token of the family can be valid any
 * more: tokens are refreshed for 30 days at most.
 */
export function createRevocations(
  db: Kysely<Tables>,
  bus: Pick<EventBus, 'emit'>,
  now: () => number = Date.now,
): Revocations {
  const sweep = (): void => {
    // A row that stays is no harm: the next look finds it.
    db.deleteFrom('revoked_token')
      .where('expires_at', '<', new Date(now()).toISOString())
      .execute()
      .catch(() => undefined)
  }
  sweep()
  const timer = setInterval(sweep, SWEEP_MS)
  timer.unref()
  return {
    async revoke({ familyId, userId }) {
      const takenUntil = new Date(now() + LIMITS.signInMs + TOKEN_LEEWAY_MS).toISOString()
      await withStorageErrors(async () => {
        await db
          .insertInto('revoked_token')
          .values({ token_id: familyId, expires_at: takenUntil })
          .onConflict(conflict => conflict.column('token_id').doNothing())
          .execute()
      })
      bus.emit('token.revoked', userId, { familyId, userId }, 'internal')
    },
    async isRevoked(familyId) {
      const row = await withStorageErrors(() =>
        db.selectFrom('revoked_token').select('token_id').where('token_id', '=', familyId).executeTakeFirst(),
      )
      return row !== undefined
    },
    dispose: () => clearInterval(timer),
  }
}
