import { randomUUID } from 'node:crypto'
import type { PluginSealing } from 'patchbay/features'
import type { Fail } from './errors.ts'
import type { FactorRow, Tables } from './tables.ts'
import { newSecret, stepOf } from './totp.ts'

/** A factor without its secret. */
export interface Factor extends Pick<FactorRow, 'id' | 'label' | 'created_at' | 'last_used_at'> {
  readonly kind: 'totp' | 'passkey'
}

const SHOWN = ['id', 'label', 'created_at', 'last_used_at'] as const

/** The factors of users: authenticator apps, and what is the same for apps and passkeys. */
export class Factors {
  readonly #tables: Tables
  readonly #sealing: PluginSealing
  readonly #fail: Fail
  readonly #most: number

  constructor(tables: Tables, sealing: PluginSealing, fail: Fail, most: number) {
    this.#tables = tables
    this.#sealing = sealing
    this.#fail = fail
    this.#most = most
  }

  /** The factors that are set, the oldest first. */
  list(userId: string): Promise<readonly Factor[]> {
    return this.#tables.read(async db => {
      const apps = db.selectFrom('factors').select(SHOWN).where('user_id', '=', userId).where('confirmed', '=', 1)
      const passkeys = db.selectFrom('passkeys').select(SHOWN).where('user_id', '=', userId)
      const all: Factor[] = [
        ...(await apps.execute()).map(row => ({ ...row, kind: 'totp' as const })),
        ...(await passkeys.execute()).map(row => ({ ...row, kind: 'passkey' as const })),
      ]
      const placeOf = ({ created_at: at, id }: Factor): string => `${at} ${id}`
      return all.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
    })
  }

  /** Throws `quota_factors`. */
  async requireRoom(userId: string): Promise<void> {
    if ((await this.list(userId)).length >= this.#most)
      throw this.#fail('quota_factors', `A user has at most ${this.#most} second factors`)
  }

  /** Begins to set one; an earlier beginning ends. Throws `quota_factors`. */
  async begin(userId: string, label: string): Promise<{ readonly id: string; readonly secret: string }> {
    await this.requireRoom(userId)
    const [id, secret] = [randomUUID(), newSecret()]
    const sealed = this.#sealing.seal('factors', { id, user_id: userId }, secret)
    const row = { id, user_id: userId, kind: 'totp', label, sealed, confirmed: 0, last_step: 0 } as const
    await this.#tables.write(async db => {
      await db.deleteFrom('factors').where('user_id', '=', userId).where('confirmed', '=', 0).execute()
      await db
        .insertInto('factors')
        .values({ ...row, created_at: new Date().toISOString(), last_used_at: null })
        .execute()
    })
    return { id, secret }
  }

  /** Sets one that was begun, with its first code. Throws `factor_not_found`; false for a wrong code. */
  async confirm(userId: string, id: string, code: string): Promise<boolean> {
    const row = await this.#tables.read(db =>
      db
        .selectFrom('factors')
        .selectAll()
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('confirmed', '=', 0)
        .executeTakeFirst(),
    )
    if (!row) throw this.#fail('factor_not_found', 'No setting of this second factor has begun, or another one has')
    return this.#take(row, code)
  }

  /** True when a code is one of the user's apps, and was not used before. */
  async check(userId: string, code: string): Promise<boolean> {
    const rows = await this.#tables.read(db =>
      db.selectFrom('factors').selectAll().where('user_id', '=', userId).where('confirmed', '=', 1).execute(),
    )
    for (const row of rows) if (await this.#take(row, code)) return true
    return false
  }

  /** Renames one. False when the user has no such one. */
  async rename(userId: string, id: string, label: string): Promise<boolean> {
    const found = (await this.list(userId)).find(one => one.id === id)
    if (!found) return false
    const table = tableOf(found)
    await this.#tables.write(db =>
      db.updateTable(table).set({ label }).where('user_id', '=', userId).where('id', '=', id).execute(),
    )
    return true
  }

  /** Removes one beside which there are others; the last one stays. In turns of the user alone. */
  async remove(userId: string, factor: Factor): Promise<'removed' | 'last'> {
    if ((await this.list(userId)).length === 1) return 'last'
    const table = tableOf(factor)
    await this.#tables.write(db =>
      db.deleteFrom(table).where('user_id', '=', userId).where('id', '=', factor.id).execute(),
    )
    return 'removed'
  }

  /** Removes all of a user, with the recovery codes. Returns the number of factors. */
  removeAll(userId: string): Promise<number> {
    return this.#tables.write(async db => {
      await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
      await db.deleteFrom('tickets').where('user_id', '=', userId).execute()
      await db.deleteFrom('factors').where('user_id', '=', userId).where('confirmed', '=', 0).execute()
      const apps = await db.deleteFrom('factors').where('user_id', '=', userId).executeTakeFirst()
      const passkeys = await db.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirst()
      return Number(apps.numDeletedRows) + Number(passkeys.numDeletedRows)
    })
  }

  /** A code counts if its step is later than that of the last one, in one statement: of equal codes at once, one counts. */
  async #take({ id, user_id, sealed }: FactorRow, code: string): Promise<boolean> {
    const step = stepOf(this.#sealing.open('factors', { id, user_id }, sealed), code, Date.now())
    if (step === undefined) return false
    const change = { last_step: step, confirmed: 1, last_used_at: new Date().toISOString() }
    const taken = await this.#tables.write(db =>
      db.updateTable('factors').set(change).where('id', '=', id).where('last_step', '<', step).executeTakeFirst(),
    )
    return Number(taken.numUpdatedRows) === 1
  }
}

function tableOf({ kind }: Factor): 'factors' | 'passkeys' {
  return kind === 'totp' ? 'factors' : 'passkeys'
}
