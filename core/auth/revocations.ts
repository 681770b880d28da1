import type { Kysely } from 'kysely'
import type { EventBus } from '../events/bus.ts'
import { withStorageErrors } from '../store/errors.ts'
import type { Tables } from '../store/tables.ts'
import { TOKEN_LEEWAY_MS } from './tokens.ts'

export interface Revocations {
  /** Ends one session token before its time. The event `token.revoked` follows once that is kept. */
  revoke(token: { readonly tokenId: string; readonly userId: string; readonly expiresAtMs: number }): Promise<void>
  isRevoked(tokenId: string): Promise<boolean>
}

/** The session tokens that were signed out. A row goes once its token would have expired anyway. */
export function createRevocations(
  db: Kysely<Tables>,
  bus: Pick<EventBus, 'emit'>,
  now: () => number = Date.now,
): Revocations {
  return {
    async revoke({ tokenId, userId, expiresAtMs }) {
      const takenUntil = new Date(expiresAtMs + TOKEN_LEEWAY_MS).toISOString()
      await withStorageErrors(async () => {
        await db.deleteFrom('revoked_token').where('expires_at', '<', new Date(now()).toISOString()).execute()
        await db
          .insertInto('revoked_token')
          .values({ token_id: tokenId, expires_at: takenUntil })
          .onConflict(conflict => conflict.column('token_id').doNothing())
          .execute()
      })
      bus.emit('token.revoked', userId, { tokenId, userId }, 'internal')
    },
    async isRevoked(tokenId) {
      const row = await withStorageErrors(() =>
        db.selectFrom('revoked_token').select('token_id').where('token_id', '=', tokenId).executeTakeFirst(),
      )
      return row !== undefined
    },
  }
}
