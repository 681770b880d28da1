import type { Kysely } from 'kysely'
import { LIMITS } from '../config/limits.ts'
import { visibleName } from '../domain/text/visible-text.ts'
import type { EventBus } from '../events/bus.ts'
import { withStorageErrors } from '../store/errors.ts'
import type { SignInTable } from '../store/people-tables.ts'
import type { Tables } from '../store/tables.ts'
import { UseTimes } from '../store/use-times.ts'
import type { Revocations } from './revocations.ts'
import type { IssuedToken } from './tokens.ts'

/** Longest shown part of a client's name, in characters. */
const CLIENT_CHARACTERS = 200
/** Interval at which obsolete rows are deleted, in milliseconds; also at start. */
const SWEEP_MS = 6 * 60 * 60 * 1000

/** A sign-in whose tokens are accepted. Times are ISO 8601 UTC. */
export interface SignIn {
  /** The `sid` of its tokens. */
  readonly id: string
  readonly createdAt: string
  /** To the minute. */
  readonly lastUsedAt: string
  /** When it ends unless it is refreshed. */
  readonly expiresAt: string
  readonly clientAddress: string
  /** The client's User-Agent, if it sent one. */
  readonly client: string | null
}

/** Client that signed in. */
export interface SignInClient {
  readonly clientAddress: string
  readonly userAgent: string | null
}

interface SignedInUser {
  readonly id: string
  readonly tokenEpoch: number
}

/** The open sign-ins of users, to be listed and ended. Accepting a token does not depend on this list. */
export interface SignIns {
  /**
   * Adds a sign-in; at most 100 of a user stay open, and the oldest ones end. A row that cannot be stored is only missing in the
   * list; it does not prevent the sign-in.
   */
  opened(user: SignedInUser, token: IssuedToken, from: SignInClient): Promise<void>
  refreshed(token: IssuedToken): Promise<void>
  used(familyId: string): void
  /** True while a sign-in has a token that has not expired. */
  isOpen(familyId: string): Promise<boolean>
  /** The newest first. */
  list(user: SignedInUser): Promise<readonly SignIn[]>
  /** Stores the last times of use, and stops the regular deletion of obsolete rows. */
  dispose(): Promise<void>
}

/** Dependencies of the list. */
export interface SignInDeps {
  readonly db: Kysely<Tables>
  readonly bus: Pick<EventBus, 'on'>
  readonly revocations: Pick<Revocations, 'revoke'>
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

/** Sign-ins in the store. */
export function createSignIns({ db, bus, revocations, now = Date.now }: SignInDeps): SignIns {
  const at = () => new Date(now()).toISOString()
  const uses = new UseTimes(
    async touched => {
      for (const [id, time] of touched) {
        await db.updateTable('sign_in').set({ last_used_at: time }).where('id', '=', id).execute()
      }
    },
    () => new Date(now()),
  )
  const remove = (id: string): void => {
    uses.forget(id)
    // If it fails, the sweep deletes the row later.
    db.deleteFrom('sign_in')
      .where('id', '=', id)
      .execute()
      .catch(() => undefined)
  }
  const sweep = (): void => {
    db.deleteFrom('sign_in')
      .where('expires_at', '<', at())
      .execute()
      .catch(() => undefined)
  }
  const stopListening = bus.on('token.revoked', ({ data }) => remove(data.familyId))
  sweep()
  const timer = setInterval(sweep, SWEEP_MS).unref()

  const rowsOf = ({ id, tokenEpoch }: SignedInUser): Promise<SignInTable[]> =>
    db
      .selectFrom('sign_in')
      .selectAll()
      .where('user_id', '=', id)
      .where('epoch', '=', tokenEpoch)
      .where('expires_at', '>', at())
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .execute()

  const keep = async (user: SignedInUser, row: SignInTable): Promise<void> => {
    await db.insertInto('sign_in').values(row).execute()
    for (const { id } of (await rowsOf(user)).slice(LIMITS.signInsPerUser)) {
      await revocations.revoke({ familyId: id, userId: user.id })
    }
  }

  return {
    opened: (user, { familyId, expiresAt }, { clientAddress, userAgent }) =>
      keep(user, {
        ...{ id: familyId, user_id: user.id, epoch: user.tokenEpoch },
        ...{
          client_address: clientAddress,
          client: userAgent ? visibleName(userAgent.slice(0, CLIENT_CHARACTERS)) : null,
        },
        ...{ created_at: at(), last_used_at: at(), expires_at: expiresAt },
      }).catch(() => undefined),

    async refreshed({ familyId, expiresAt }) {
      const change = { expires_at: expiresAt, last_used_at: at() }
      await db
        .updateTable('sign_in')
        .set(change)
        .where('id', '=', familyId)
        .execute()
        .catch(() => undefined)
    },

    used: id => uses.touch(id),

    async isOpen(id) {
      const open = db.selectFrom('sign_in').select('id').where('id', '=', id).where('expires_at', '>', at())
      return (await withStorageErrors(() => open.executeTakeFirst())) !== undefined
    },

    async list(user) {
      const rows = await withStorageErrors(() => rowsOf(user))
      return rows.map(row => ({
        ...{ id: row.id, createdAt: row.created_at, lastUsedAt: row.last_used_at, expiresAt: row.expires_at },
        ...{ clientAddress: row.client_address, client: row.client },
      }))
    },

    async dispose() {
      clearInterval(timer)
      stopListening()
      await uses.close().catch(() => undefined)
    },
  }
}
