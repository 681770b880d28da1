import { createHash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { withStorageErrors } from '../store/errors.ts'
import type { Tables } from '../store/tables.ts'

const TOKEN_BYTES = 32
/** Time for which a link may be used, in milliseconds. */
const LIFE_MS = 24 * 60 * 60 * 1000

/** Links with which a user sets a new password, once, within 24 hours. A user has one at most. */
export interface ResetLinks {
  /** The secret part of a new link, which replaces an earlier one; only its hash is stored. `expiresAt`: ISO 8601 UTC. */
  create(user: { readonly id: string; readonly tokenEpoch: number }): Promise<{ token: string; expiresAt: string }>
  /** The user that an open link is for, at the epoch that its sign-ins had. */
  find(token: string): Promise<{ readonly userId: string; readonly tokenEpoch: number } | undefined>
  /** Ends a link; false when another request was faster. */
  take(token: string): Promise<boolean>
}

/** Reset links in the store. `now`: milliseconds since 1970. */
export function createResetLinks(db: Kysely<Tables>, now: () => number = Date.now): ResetLinks {
  return {
    async create({ id, tokenEpoch }) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url')
      const expiresAt = new Date(now() + LIFE_MS).toISOString()
      const link = { hash: hashOf(token), epoch: tokenEpoch, expires_at: expiresAt }
      await withStorageErrors(() =>
        db
          .insertInto('reset_link')
          .values({ user_id: id, ...link })
          .onConflict(conflict => conflict.column('user_id').doUpdateSet(link))
          .execute(),
      )
      return { token, expiresAt }
    },

    async find(token) {
      const row = await withStorageErrors(() =>
        db
          .selectFrom('reset_link')
          .select(['user_id', 'epoch'])
          .where('hash', '=', hashOf(token))
          .where('expires_at', '>', new Date(now()).toISOString())
          .executeTakeFirst(),
      )
      return row && { userId: row.user_id, tokenEpoch: row.epoch }
    },

    async take(token) {
      const { numDeletedRows } = await withStorageErrors(() =>
        db.deleteFrom('reset_link').where('hash', '=', hashOf(token)).executeTakeFirst(),
      )
      return Number(numDeletedRows) === 1
    },
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
