import type { Role } from 'patchbay/contract'
import type { PluginPeople, PluginSignIns } from 'patchbay/features'
import type { SignInConfig } from './config.ts'
import { placeOf } from './passkeys/place.ts'
import type { Passkeys } from './passkeys/stored.ts'
import type { Identities } from './providers/identities.ts'
import type { IdentityRow } from './tables.ts'

/** Parts that know the ways in. */
export interface WayParts {
  readonly config: Pick<SignInConfig, 'passwords'>
  readonly people: PluginPeople
  readonly signIns: Pick<PluginSignIns, 'hasPassword'>
  readonly identities: Identities
  readonly passkeys: Passkeys
  /** Issuers of the providers that the hub has. */
  readonly issuers: ReadonlySet<string>
}

/** The ways in which a user can sign in, so that the last one stays. */
export class Ways {
  readonly #parts: WayParts

  constructor(parts: WayParts) {
    this.#parts = parts
  }

  /** True when users of this role sign in with a password. */
  takesPassword(role: Role): boolean {
    return this.#parts.config.passwords === 'on' || role === 'admin'
  }

  /** True for an account with which one can sign in now. */
  opens({ issuer }: IdentityRow): boolean {
    return this.#parts.issuers.has(issuer)
  }

  /** True when the user can sign in without any linked account. */
  async remainsWithoutAccounts(userId: string, baseUrl: string): Promise<boolean> {
    return (await this.#byPassword(userId)) || (await this.#passkeys(userId, baseUrl)).length > 0
  }

  /** True when the user can sign in without this passkey. */
  async remainsWithoutPasskey(userId: string, id: string, baseUrl: string): Promise<boolean> {
    if (await this.#byPassword(userId)) return true
    const accounts = await this.#parts.identities.list(userId)
    if (accounts.some(each => this.opens(each))) return true
    const passkeys = await this.#passkeys(userId, baseUrl)
    // One that does not open this address is no way in, and goes.
    return !passkeys.some(one => one.id === id) || passkeys.length > 1
  }

  async #byPassword(userId: string): Promise<boolean> {
    const user = await this.#parts.people.byId(userId)
    return user !== undefined && this.takesPassword(user.role) && (await this.#parts.signIns.hasPassword(userId))
  }

  async #passkeys(userId: string, baseUrl: string) {
    const place = placeOf(baseUrl)
    const user = await this.#parts.people.byId(userId)
    return place && user?.secondFactor ? this.#parts.passkeys.list(userId, place.host) : []
  }
}
