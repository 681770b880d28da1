import { HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { requireSession } from '../people/session.ts'

/** How long ago somebody has signed in, at most, to carry stored secrets away. */
const SIGN_IN_MS = 5 * 60_000

/** Throws `insufficient_scope` for an access key, and for a sign-in that is older than five minutes. */
export function requireRecentSignIn(actor: UserActor): void {
  const { signedInAtMs } = requireSession(actor)
  if (Date.now() - signedInAtMs <= SIGN_IN_MS) return
  throw new HubError('insufficient_scope', 'This needs a sign-in of the last five minutes', {
    hint: 'Sign in again with POST /api/auth/login.',
  })
}
