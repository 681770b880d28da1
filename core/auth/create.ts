import type { Kysely } from 'kysely'
import type { EventBus } from '../events/bus.ts'
import type { Registry } from '../registry/api.ts'
import type { Tables } from '../store/tables.ts'
import type { Authenticator } from './api.ts'
import { createAuthenticator } from './authenticator.ts'
import { createFailedCredentials, type FailedCredentials } from './failed-credentials.ts'
import { LiveCredentials } from './live-credentials.ts'
import { createPasswords, type Passwords } from './passwords.ts'
import { createRateLimiter, type RateLimiter } from './rate-limit.ts'
import { RecentProofs } from './recent-proofs.ts'
import { RefusedSignIns } from './refused-sign-ins.ts'
import { createResetLinks, type ResetLinks } from './reset-links.ts'
import { createRevocations, type Revocations } from './revocations.ts'
import { SecondFactors } from './second-factors.ts'
import { createSignIns, type SignIns } from './sign-ins.ts'
import { createSignInThrottle, type SignInThrottle } from './throttle.ts'
import { TokenVerifiers } from './token-verifiers.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Dependencies of authentication on the rest of the hub. */
export interface AuthDeps {
  /** At least 32 bytes; signs session tokens. */
  readonly secret: string | Uint8Array
  readonly instanceId: string
  readonly registry: Pick<Registry, 'users' | 'keys'>
  readonly db: Kysely<Tables>
  readonly bus: EventBus
}

/** Authentication: credentials, passwords, revocation and limits. */
export interface Auth {
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly revocations: Revocations
  readonly signIns: SignIns
  readonly resetLinks: ResetLinks
  readonly authenticator: Authenticator
  readonly verifiers: TokenVerifiers
  readonly secondFactors: SecondFactors
  readonly proofs: RecentProofs
  readonly liveCredentials: LiveCredentials
  readonly failedCredentials: FailedCredentials
  readonly signInThrottle: SignInThrottle
  readonly refusedSignIns: RefusedSignIns
  readonly rateLimiter: RateLimiter
  dispose(): Promise<void>
}

/** Throws RangeError when the secret is under 32 bytes. */
export function createAuth({ secret, instanceId, registry, db, bus }: AuthDeps): Auth {
  const issued = createTokens({ secret, instanceId })
  const revocations = createRevocations(db, bus)
  const failedCredentials = createFailedCredentials()
  const signIns = createSignIns({ db, bus, revocations })
  const verifiers = new TokenVerifiers()
  const secondFactors = new SecondFactors()
  const parts = { revocations, signIns, registry, bus, failedCredentials, verifiers, secondFactors }
  const authenticator = createAuthenticator({ tokens: issued, ...parts })
  const tokens: Tokens = {
    ...issued,
    async issue(user, family) {
      const made = await issued.issue(user, family)
      authenticator.expect(made.token)
      return made
    },
  }
  const liveCredentials = new LiveCredentials(bus, authenticator)
  return {
    tokens,
    passwords: createPasswords(),
    revocations,
    signIns,
    resetLinks: createResetLinks(db),
    authenticator,
    verifiers,
    secondFactors,
    proofs: new RecentProofs(),
    liveCredentials,
    failedCredentials,
    signInThrottle: createSignInThrottle(),
    refusedSignIns: new RefusedSignIns(),
    rateLimiter: createRateLimiter(),
    async dispose() {
      liveCredentials.dispose()
      revocations.dispose()
      authenticator.dispose()
      await signIns.dispose()
    },
  }
}
