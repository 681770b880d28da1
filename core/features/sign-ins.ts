import type { Role, UserActor } from '../contract/records.ts'
import type { AuditedRequest, Person } from './services/hub-services.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    secondFactor: SecondFactor
    teamSource: TeamSource
  }
}

declare module '../contract/plugin.ts' {
  interface PluginContext<Config> {
    readonly signIns: PluginSignIns
  }
}

/** The reason why a user must prove who it is. */
export type ProofPurpose = 'sign-in' | 'reset' | 'reauth'

/** A proof that a user must give. */
export interface AskedProof {
  /** Sealed; it is answered once, until `expiresAt` (ISO 8601 UTC). */
  readonly ticket: string
  readonly methods: readonly string[]
  readonly expiresAt: string
}

export type SecondAnswer = Readonly<{ ticket: string; code: string }>

/**
 * Checks the second factor of users. `signIns.setSecondFactor` turns it on for a user. The id of the contribution is the plugin's
 * name. While the plugin does not run, these users cannot sign in. `takesPassword` false: passwords of the role open nothing.
 */
export interface SecondFactor {
  /** True when users of this role must have one. */
  isRequired(role: Role): boolean
  takesPassword?(role: Role): boolean
  /** Called after a right password or reset link. Undefined refuses the user. */
  ask(user: Person, purpose: ProofPurpose): Promise<AskedProof | undefined>
  /** Rejects unless it answers what was asked of this user for this purpose. */
  check(user: Person, purpose: ProofPurpose, answer: SecondAnswer): Promise<void>
}

/** Knows providers whose users say their groups, by which teams are set. The id of the contribution is the plugin's name. */
export interface TeamSource {
  /** True while the settings have a provider of this name that says groups. */
  sets(provider: string): boolean
}

/** The request of somebody who signs in. */
export type SignInRequest = AuditedRequest & Readonly<{ headers: Readonly<Record<string, string>> }>

/** Sign-ins to the hub. Of bundled plugins alone. */
export interface PluginSignIns {
  /** Signs a user in, who has proved to the plugin who it is; `how` is for the audit. The answer of `POST /api/auth/login`. */
  open(userId: string, how: string, request: SignInRequest): Promise<object>
  /** Makes an ordinary user with a name like this and no password, removed if `complete` rejects. Refused before the set-up. */
  create(name: string, complete: (made: Person) => Promise<void>): Promise<Person>
  hasPassword(userId: string): Promise<boolean>
  /** Counted as a sign-in. Rejects with `password_mismatch` and `login_throttled`. */
  checkPassword(actor: UserActor, password: string, request: SignInRequest): Promise<void>
  /** Sets whether the plugin's second factor is asked for. `endSignIns`: all credentials but access keys are withdrawn. */
  setSecondFactor(userId: string, on: boolean, endSignIns: boolean): Promise<void>
  /** The proof that a user owes; undefined without a second factor. */
  ask(userId: string, purpose: ProofPurpose): Promise<AskedProof | undefined>
  /** Notes that the user of a session has just proved who it is. Returns until when that counts, ISO 8601 UTC. */
  proved(actor: UserActor): string
  /**
   * Makes the user a member of exactly those teams of `provider` whose group is one of these; other teams stay as they are. Audited
   * where it changes something. Cheap where it does not. `full`: teams without room.
   */
  setTeams(userId: string, provider: string, groups: readonly string[]): Promise<{ readonly full: readonly string[] }>
  /** Empties the teams of providers that are over, such as those that the settings name no more. */
  endTeams(isOver: (provider: string) => boolean): Promise<void>
  /** Throws unless a session has proved within ten minutes who its user is: `reauth_required`, `insufficient_scope`. */
  requireProof(actor: UserActor): void
  /** The same for sessions alone; access keys pass. */
  requireProofOfSession(actor: UserActor): void
}
