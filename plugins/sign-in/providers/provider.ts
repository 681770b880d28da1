import type { ProviderConfig } from '../config.ts'
import type { GroupsClaim } from './groups.ts'

/** A person as a provider knows them. */
export interface Account {
  readonly issuer: string
  readonly subject: string
  /** The name that a new user gets, or one like it. */
  readonly name: string
  /** Only one that the provider has verified. */
  readonly email: string | undefined
  /** Absent where the settings name no claim of groups. */
  readonly groups?: GroupsClaim
}

/** The secrets of one sign-in at a provider. */
export interface Asked {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
}

/** One provider of sign-ins. */
export interface Provider {
  readonly config: ProviderConfig
  /** The issuer of its accounts, as they are stored. */
  readonly issuer: string
  /** The address at which a person signs in. Throws `provider_unreachable`, `provider_refused`. */
  authorizeUrl(asked: Asked): Promise<string>
  /** The person, by the parameters that came back. Throws `provider_unreachable`, `provider_refused`. */
  identify(parameters: URLSearchParams, asked: Asked): Promise<Account>
}
