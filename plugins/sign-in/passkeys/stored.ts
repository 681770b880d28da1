import { randomUUID } from 'node:crypto'
import type { Fail } from '../errors.ts'
import type { PasskeyRow, Tables } from '../tables.ts'

/** The parts of a new passkey that are stored. */
export type MadePasskey = Pick<PasskeyRow, 'credential_id' | 'host' | 'public_key' | 'counter' | 'transports'>

/** The passkeys of users. */
export class Passkeys {
  readonly #tables: Tables
  readonly #fail: Fail

  constructor(tables: Tables, fail: Fail) {
    this.#tables = tables
    this.#fail = fail
  }

  /** The oldest first. `host`: only those that browsers offer there. */
  async list(userId: string, host?: string): Promise<readonly PasskeyRow[]> {
    const rows = await this.#tables.read(db =>
      db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('created_at').orderBy('id').execute(),
    )
    return host === undefined ? rows : rows.filter(row => row.host === host)
  }

  /** By the id that the passkey has in browsers. */
  find(credentialId: string): Promise<PasskeyRow | undefined> {
    return this.#tables.read(db =>
      db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst(),
    )
  }

  /** Throws `passkey_taken` when somebody has it. */
  async add(userId: string, label: string, made: MadePasskey): Promise<void> {
    const row = { ...made, id: randomUUID(), user_id: userId, label }
    const added = await this.#tables.write(async db => {
      const taken = db.selectFrom('passkeys').select('id').where('credential_id', '=', made.credential_id)
      if (await taken.executeTakeFirst()) return false
      await db
        .insertInto('passkeys')
        .values({ ...row, created_at: new Date().toISOString(), last_used_at: null })
        .execute()
      return true
    })
    if (!added) throw this.#fail('passkey_taken', 'This passkey is set already')
  }

  /** Notes a use. False when another use came between, so that the counter is not the one that was compared. */
  async used({ id, counter }: PasskeyRow, next: number): Promise<boolean> {
    const change = { counter: String(next), last_used_at: new Date().toISOString() }
    const noted = await this.#tables.write(db =>
      db.updateTable('passkeys').set(change).where('id', '=', id).where('counter', '=', counter).executeTakeFirst(),
    )
    return Number(noted.numUpdatedRows) === 1
  }
}
