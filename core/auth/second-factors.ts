import { HubError } from '../contract/errors.ts'
import type { Role } from '../contract/records.ts'
import type { Person } from '../features/services/hub-services.ts'
import type { AskedProof, ProofPurpose, SecondAnswer, SecondFactor } from '../features/sign-ins.ts'
import type { UserRecord } from '../registry/api.ts'

/** A user as plugins see it. */
export function personOf({ id, name, role, disabled, tokenEpoch: epoch, secondFactor }: UserRecord): Person {
  return { id, name, role, disabled, epoch, secondFactor: secondFactor !== null }
}

/**
 * The plugins that check a second factor, by name. The hub authenticates before it has plugins: `source` is set later. A user
 * whose plugin does not run is refused.
 */
export class SecondFactors {
  source: ReadonlyMap<string, SecondFactor> = new Map()

  /** True when users of this role must have one. */
  isRequired(role: Role): boolean {
    for (const factor of this.source.values()) if (factor.isRequired(role)) return true
    return false
  }

  /** True when users of this role sign in with a password. */
  takesPassword(role: Role): boolean {
    for (const factor of this.source.values()) if (factor.takesPassword?.(role) === false) return false
    return true
  }

  /** Throws `password_off`. */
  requirePassword({ role }: Pick<UserRecord, 'role'>): void {
    if (this.takesPassword(role)) return
    throw new HubError('password_off', 'Passwords open nothing for users of this hub; it has other ways to sign in')
  }

  /** The proof that a user owes besides the password; undefined for a user without a second factor. Throws `second_factor_unavailable`. */
  async ask(user: UserRecord, purpose: ProofPurpose): Promise<AskedProof | undefined> {
    if (user.secondFactor === null) return undefined
    const asked = await this.#of(user).ask(personOf(user), purpose)
    if (!asked) throw unavailable(user)
    return asked
  }

  /** Checks an answer to what was asked. Throws `second_factor_unavailable` and the errors of the plugin. */
  async check(user: UserRecord, purpose: ProofPurpose, answer: SecondAnswer): Promise<void> {
    await this.#of(user).check(personOf(user), purpose, answer)
  }

  #of(user: UserRecord): SecondFactor {
    const found = this.source.get(user.secondFactor ?? '')
    if (!found) throw unavailable(user)
    return found
  }
}

function unavailable({ secondFactor }: UserRecord): HubError {
  const plugin = JSON.stringify(secondFactor)
  return new HubError(
    'second_factor_unavailable',
    `This account has a second factor, and the plugin ${plugin} that checks it does not run`,
  )
}
