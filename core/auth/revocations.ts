import type { Kysely } from 'kysely'
import { LIMITS } from '../config/limits.ts'
import type { EventBus } from '../events/bus.ts'
import { withStorageErrors } from '../store/errors.ts'
import type { Tables } from '../store/tables.ts'
import { TOKEN_LEEWAY_MS } from './tokens.ts'

/** Signed-out sign-ins, stored until their tokens have expired. */
export interface Revocations {
  /** Revokes all session tokens of one sign-in. Emits `token.revoked` once that is stored. */
  revoke(family: { readonly familyId: string; readonly userId: string }): Promise<void>
  isRevoked(familyId: string): Promise<boolean>
  /** Stops the regular deletion of obsolete rows. */
  dispose(): void
}

/** Interval at which obsolete rows are deleted, in milliseconds; also at start. */
const SWEEP_MS = 6 * 60 * 60 * 1000

/**
 * Signed-out sign-ins, by the id of their first token. A row is deleted once all tokens of the family have expired:
 * tokens can be refreshed for 30 days at most.
 */
export function createRevocations(
  db: Kysely<Tables>,
  bus: Pick<EventBus, 'emit'>,
  now: () => number = Date.now,
): Revocations {
  const sweep = (): void => {
    // A row that stays does no harm: the next sweep deletes it.
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
