import { randomUUID } from 'node:crypto'
import type { PluginSealing } from 'patchbay/contract'
import type { Fail } from './errors.ts'
import type { FactorRow, Tables } from './tables.ts'
import { newSecret, stepOf } from './totp.ts'

/** A factor without its secret. */
export type Factor = Pick<FactorRow, 'id' | 'kind' | 'label' | 'created_at' | 'last_used_at'>

/** The authenticator apps of users. */
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
    return this.#tables.read(db =>
      db
        .selectFrom('factors')
        .select(['id', 'kind', 'label', 'created_at', 'last_used_at'])
        .where('user_id', '=', userId)
        .where('confirmed', '=', 1)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
    )
  }

  /** Begins to set one; an earlier beginning ends. Throws `quota_factors`. */
  async begin(userId: string, label: string): Promise<{ readonly id: string; readonly secret: string }> {
    if ((await this.list(userId)).length >= this.#most)
      throw this.#fail('quota_factors', `A user has at most ${this.#most} second factors`)
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

  /** Removes one beside which there are others; the last one stays. Undefined when the user has no such one. */
  remove(userId: string, id: string): Promise<'removed' | 'last' | undefined> {
    return this.#tables.write(async db => {
      const set = db.selectFrom('factors').select('id').where('user_id', '=', userId).where('confirmed', '=', 1)
      const rows = await set.execute()
      if (!rows.some(row => row.id === id)) return undefined
      if (rows.length === 1) return 'last'
      await db.deleteFrom('factors').where('user_id', '=', userId).where('id', '=', id).execute()
      return 'removed'
    })
  }

  /** Removes all of a user, with the recovery codes. Returns the number of factors. */
  removeAll(userId: string): Promise<number> {
    return this.#tables.write(async db => {
      await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
      await db.deleteFrom('tickets').where('user_id', '=', userId).execute()
      await db.deleteFrom('factors').where('user_id', '=', userId).where('confirmed', '=', 0).execute()
      const removed = await db.deleteFrom('factors').where('user_id', '=', userId).executeTakeFirst()
      return Number(removed.numDeletedRows)
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
