import { randomUUID } from 'node:crypto'
import type { Fail } from '../errors.ts'
import type { IdentityRow, Tables } from '../tables.ts'
import type { Account } from './provider.ts'

/** Accounts at providers, which users have linked. */
export class Identities {
  readonly #tables: Tables
  readonly #fail: Fail
  readonly #listeners = new Set<(account: Pick<Account, 'issuer' | 'subject'>) => void>()

  constructor(tables: Tables, fail: Fail) {
    this.#tables = tables
    this.#fail = fail
  }

  /** Calls `listener` with each account that is unlinked, until the returned function is called. */
  onUnlinked(listener: (account: Pick<Account, 'issuer' | 'subject'>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The oldest first. */
  list(userId: string): Promise<readonly IdentityRow[]> {
    return this.#tables.read(db =>
      db
        .selectFrom('identities')
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
    )
  }

  find({ issuer, subject }: Pick<Account, 'issuer' | 'subject'>): Promise<IdentityRow | undefined> {
    return this.#tables.read(db =>
      db
        .selectFrom('identities')
        .selectAll()
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .executeTakeFirst(),
    )
  }

  /** Notes a sign-in, and the address of the person as it is now. */
  async used({ id }: IdentityRow, { email }: Account): Promise<void> {
    const change = { last_used_at: new Date().toISOString(), email: email ?? null }
    await this.#tables.write(db => db.updateTable('identities').set(change).where('id', '=', id).execute())
  }

  /** Throws `identity_taken` when another user has it. */
  async link(userId: string, provider: string, account: Account): Promise<void> {
    const { issuer, subject, email = null } = account
    const row = { id: randomUUID(), user_id: userId, provider, issuer, subject, email }
    const owner = await this.#tables.write(async db => {
      const present = await db
        .selectFrom('identities')
        .select('user_id')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .executeTakeFirst()
      if (present) return present.user_id
      await db
        .insertInto('identities')
        .values({ ...row, created_at: new Date().toISOString(), last_used_at: null })
        .execute()
      return userId
    })
    if (owner !== userId) throw this.#fail('identity_taken', 'Another user of this hub has linked this account')
  }

  /**
   * `mayBeLast`: the user has another way in, such as a password. `opens`: true for an account with which one can sign in now. Throws
   * `identity_not_found`, `last_sign_in`.
   */
  async unlink(
    userId: string,
    id: string,
    { mayBeLast, opens }: { readonly mayBeLast: boolean; opens(row: IdentityRow): boolean },
  ): Promise<IdentityRow> {
    const outcome = await this.#tables.write(async db => {
      const rows = await db.selectFrom('identities').selectAll().where('user_id', '=', userId).execute()
      const found = rows.find(row => row.id === id)
      if (!found) return undefined
      const isLast = opens(found) && !rows.some(row => row !== found && opens(row))
      if (isLast && !mayBeLast) return 'last'
      await db.deleteFrom('identities').where('id', '=', id).execute()
      return found
    })
    if (outcome === 'last')
      throw this.#fail(
        'last_sign_in',
        'This account is the last way to sign in: the user has neither a password that counts nor a passkey',
      )
    if (!outcome) throw this.#fail('identity_not_found', 'You have no such linked account')
    for (const listener of this.#listeners) listener(outcome)
    return outcome
  }
}

/** The key under which work on an account is done one after the other. */
export function accountKey({ issuer, subject }: Pick<Account, 'issuer' | 'subject'>): string {
  return `${issuer} ${subject}`
}
