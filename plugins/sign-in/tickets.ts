import { createHmac, randomUUID } from 'node:crypto'
import type { Person, PluginSealing, ProofPurpose } from 'patchbay/features'
import type { Fail } from './errors.ts'
import type { Tables } from './tables.ts'

const LIFE_MS = 5 * 60_000
const MOST_TRIES = 5
/** Tickets of a user; the oldest end first. */
const MOST_OPEN = 20
const PURPOSE = 'ticket'
/** Begins a code that stands for a passkey. */
export const PASSKEY_CODE = 'passkey.'

/** The content of a ticket. */
export interface Ticket {
  readonly id: string
  readonly userId: string
  /** The user's epoch when it was made. */
  readonly epoch: number
  readonly purpose: ProofPurpose
  readonly expiresAtMs: number
}

/** Tickets: somebody has given the password of a user, and must now give a code, within 5 minutes and 5 tries, once. */
export class Tickets {
  readonly #sealing: PluginSealing
  readonly #tables: Tables
  readonly #fail: Fail

  constructor(sealing: PluginSealing, tables: Tables, fail: Fail) {
    this.#sealing = sealing
    this.#tables = tables
    this.#fail = fail
  }

  async make(user: Person, purpose: ProofPurpose): Promise<{ ticket: string; expiresAt: string }> {
    const expiresAtMs = Date.now() + LIFE_MS
    const made: Ticket = { id: randomUUID(), userId: user.id, epoch: user.epoch, purpose, expiresAtMs }
    const expiresAt = new Date(expiresAtMs).toISOString()
    const row = { id: made.id, user_id: user.id, tries: 0, used: 0, expires_at: expiresAt }
    await this.#tables.write(async db => {
      const present = db.selectFrom('tickets').select('id').where('user_id', '=', user.id)
      const rows = await present.orderBy('expires_at', 'desc').execute()
      const old = rows.slice(MOST_OPEN - 1).map(({ id }) => id)
      if (old.length > 0) await db.deleteFrom('tickets').where('id', 'in', old).execute()
      await db.insertInto('tickets').values(row).execute()
    })
    const ticket = this.#sealing.token(PURPOSE, new TextEncoder().encode(JSON.stringify(made)))
    return { ticket, expiresAt }
  }

  /** Throws `second_factor_ended` for one that this hub has not made for one of the purposes, or that is too old. */
  open(text: string, ...purposes: readonly ProofPurpose[]): Ticket {
    const bytes = this.#sealing.openToken(PURPOSE, text)
    const ticket = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Ticket)
    if (!ticket || !purposes.includes(ticket.purpose) || ticket.expiresAtMs <= Date.now()) throw this.#ended()
    return ticket
  }

  /** Throws `second_factor_ended` when it was answered, or tried too often. */
  async requireOpen({ id }: Ticket): Promise<void> {
    const row = await this.#tables.read(db =>
      db.selectFrom('tickets').select(['tries', 'used']).where('id', '=', id).executeTakeFirst(),
    )
    if (!row || row.used === 1 || row.tries >= MOST_TRIES) throw this.#ended()
  }

  /** Counts a try before its outcome is known. Throws `second_factor_ended`. */
  async tried({ id }: Ticket): Promise<void> {
    const counted = await this.#tables.write(db =>
      db
        .updateTable('tickets')
        .set(eb => ({ tries: eb('tries', '+', 1) }))
        .where('id', '=', id)
        .where('used', '=', 0)
        .where('tries', '<', MOST_TRIES)
        .executeTakeFirst(),
    )
    if (Number(counted.numUpdatedRows) !== 1) throw this.#ended()
  }

  /** Ends a ticket that was answered rightly. Throws `second_factor_ended` when another answer was faster. */
  async answered({ id }: Ticket): Promise<void> {
    const ended = await this.#tables.write(db =>
      db.updateTable('tickets').set({ used: 1 }).where('id', '=', id).where('used', '=', 0).executeTakeFirst(),
    )
    if (Number(ended.numUpdatedRows) !== 1) throw this.#ended()
  }

  /** A code that stands for a passkey that was checked for this ticket, where an answer has room for a code alone. */
  codeOf({ id }: Ticket): readonly string[] {
    const digest = (key: Uint8Array) => createHmac('sha256', key).update(id).digest('base64url')
    return this.#sealing.keys(PURPOSE).map(({ key }) => `${PASSKEY_CODE}${digest(key)}`)
  }

  /** Removes what has ended. */
  async sweep(): Promise<void> {
    const now = new Date().toISOString()
    await this.#tables.write(db => db.deleteFrom('tickets').where('expires_at', '<', now).execute())
  }

  #ended() {
    return this.#fail('second_factor_ended', 'This sign-in was finished, was tried five times, or is too old')
  }
}
