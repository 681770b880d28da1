import type { Person, Role } from 'patchbay/contract'
import type { AskedProof, ProofPurpose, SecondAnswer, SecondFactor } from 'patchbay/features'
import type { SignInConfig } from './config.ts'
import type { Fail } from './errors.ts'
import type { Factors } from './factors.ts'
import { recoveryCodesLeft, takeRecoveryCode } from './recovery-codes.ts'
import type { Tables } from './tables.ts'
import type { Ticket, Tickets } from './tickets.ts'
import type { Tries } from './tries.ts'

const APP_CODE = /^\d{6}$/

/** Parts that check codes. */
export interface ProofParts {
  readonly config: Pick<SignInConfig, 'requireSecondFactor'>
  readonly tables: Tables
  readonly factors: Factors
  readonly tickets: Tickets
  readonly tries: Tries
  readonly fail: Fail
  /** Notes a wrong code. */
  failed(user: Person): void
}

/** Codes of apps and recovery codes as the second factor of sign-ins. */
export class Proofs implements SecondFactor {
  readonly #parts: ProofParts

  constructor(parts: ProofParts) {
    this.#parts = parts
  }

  isRequired(role: Role): boolean {
    const { requireSecondFactor: whose } = this.#parts.config
    return whose === 'all' || (whose === 'admins' && role === 'admin')
  }

  async ask(user: Person, purpose: ProofPurpose): Promise<AskedProof | undefined> {
    const { factors, tables, tickets } = this.#parts
    if ((await factors.list(user.id)).length === 0) return undefined
    const methods = ['totp', ...((await recoveryCodesLeft(tables, user.id)) > 0 ? ['recovery'] : [])]
    return { ...(await tickets.make(user, purpose)), methods }
  }

  async check(user: Person, purpose: ProofPurpose, { ticket: text, code }: SecondAnswer): Promise<void> {
    await this.answer(user, this.#parts.tickets.open(text, purpose), code)
  }

  /** Throws `second_factor_ended`, `second_factor_failed`, `login_throttled`. Returns the method. */
  async answer(user: Person, ticket: Ticket, given: string): Promise<'totp' | 'recovery'> {
    const { factors, tables, tickets, tries, fail, failed } = this.#parts
    if (ticket.userId !== user.id || ticket.epoch !== user.epoch || user.disabled)
      throw fail('second_factor_ended', 'This sign-in is not one of this user, or was ended')
    await tickets.requireOpen(ticket)
    const code = given.replace(/\s/g, '')
    const method = APP_CODE.test(code) ? 'totp' : 'recovery'
    const succeeded = tries.begin(`${method} ${user.id} ${user.epoch}`)
    await tickets.tried(ticket)
    const isRight =
      method === 'totp' ? await factors.check(user.id, code) : await takeRecoveryCode(tables, user.id, code)
    if (!isRight) {
      failed(user)
      throw fail('second_factor_failed', 'The code is wrong, or was used already')
    }
    succeeded()
    await tickets.answered(ticket)
    return method
  }
}
