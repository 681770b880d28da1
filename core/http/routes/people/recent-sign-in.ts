import { HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { hasRecentSignIn } from '../../../domain/server/moved-secrets.ts'
import { requireSession } from './session.ts'

/** Throws `insufficient_scope` for an access key, and for a sign-in that is older than five minutes. */
export function requireRecentSignIn(actor: UserActor): void {
  requireSession(actor)
  if (hasRecentSignIn(actor, Date.now())) return
  throw new HubError('insufficient_scope', 'This needs a sign-in of the last five minutes', {
    hint: 'Sign in again with POST /api/auth/login.',
  })
}
