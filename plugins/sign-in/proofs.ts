import { timingSafeEqual } from 'node:crypto'
import type { Role } from 'patchbay/contract'
import type { AskedProof, Person, ProofPurpose, SecondAnswer, SecondFactor } from 'patchbay/features'
import type { SignInConfig } from './config.ts'
import type { Fail } from './errors.ts'
import type { Factors } from './factors.ts'
import { recoveryCodesLeft, takeRecoveryCode } from './recovery-codes.ts'
import type { Tables } from './tables.ts'
import { PASSKEY_CODE, type Ticket, type Tickets } from './tickets.ts'
import type { Tries } from './tries.ts'
import type { Ways } from './ways.ts'

const APP_CODE = /^\d{6}$/

type Method = 'totp' | 'passkey' | 'recovery'

/** Parts that check codes. */
export interface ProofParts {
  readonly config: Pick<SignInConfig, 'requireSecondFactor'>
  readonly tables: Tables
  readonly factors: Factors
  readonly tickets: Tickets
  readonly ways: Pick<Ways, 'takesPassword'>
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

  takesPassword(role: Role): boolean {
    return this.#parts.ways.takesPassword(role)
  }

  async ask(user: Person, purpose: ProofPurpose): Promise<AskedProof | undefined> {
    const { factors, tables, tickets } = this.#parts
    const kinds = new Set((await factors.list(user.id)).map(({ kind }) => kind))
    if (kinds.size === 0) return undefined
    const methods = (['totp', 'passkey'] as const).filter(kind => kinds.has(kind))
    const recovery = (await recoveryCodesLeft(tables, user.id)) > 0 ? ['recovery'] : []
    return { ...(await tickets.make(user, purpose)), methods: [...methods, ...recovery] }
  }

  async check(user: Person, purpose: ProofPurpose, { ticket: text, code }: SecondAnswer): Promise<void> {
    await this.answer(user, this.#parts.tickets.open(text, purpose), code)
  }

  /** Throws `second_factor_ended`, `second_factor_failed`, `login_throttled`. Returns the method. */
  async answer(user: Person, ticket: Ticket, given: string): Promise<Method> {
    const { tickets, tries, fail, failed } = this.#parts
    this.#requireOwn(user, ticket)
    await tickets.requireOpen(ticket)
    const code = given.replace(/\s/g, '')
    const method = APP_CODE.test(code) ? 'totp' : code.startsWith(PASSKEY_CODE) ? 'passkey' : 'recovery'
    const succeeded = tries.begin(`${method} ${user.id} ${user.epoch}`)
    await tickets.tried(ticket)
    if (!(await this.#isRight(user, ticket, method, code))) {
      failed(user)
      throw fail('second_factor_failed', 'The code is wrong, or was used already')
    }
    succeeded()
    await tickets.answered(ticket)
    return method
  }

  /**
   * Checks a passkey for a ticket. It ends the ticket of a sign-in; for a reset link it returns the code that stands for it. Throws
   * `second_factor_ended` and what `check` throws.
   */
  async answerByPasskey(ticket: Ticket, check: () => Promise<Person>): Promise<string> {
    const { tickets } = this.#parts
    await tickets.requireOpen(ticket)
    await tickets.tried(ticket)
    this.#requireOwn(await check(), ticket)
    if (ticket.purpose !== 'reset') await tickets.answered(ticket)
    return tickets.codeOf(ticket)[0] as string
  }

  #requireOwn({ id, epoch, disabled }: Person, ticket: Ticket): void {
    if (ticket.userId === id && ticket.epoch === epoch && !disabled) return
    throw this.#parts.fail('second_factor_ended', 'This sign-in is not one of this user, or was ended')
  }

  async #isRight({ id }: Person, ticket: Ticket, method: Method, code: string): Promise<boolean> {
    const { factors, tables, tickets } = this.#parts
    if (method === 'totp') return factors.check(id, code)
    if (method === 'recovery') return takeRecoveryCode(tables, id, code)
    return tickets.codeOf(ticket).some(own => sameText(own, code))
  }
}

function sameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
