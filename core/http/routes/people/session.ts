import type { Auth } from '../../../auth/create.ts'
import type { TokenFamily } from '../../../auth/tokens.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Credential, UserActor } from '../../../contract/records.ts'
import type { UserRecord } from '../../../registry/api.ts'
import { userView } from './user-schemas.ts'

type SessionCredential = Extract<Credential, { kind: 'session' }>

/**
 * A new session token, the answer that brings it, and who acts by it from now on. It belongs to a new sign-in, or to `family`.
 * Throws token_expired when the sign-in of the family was 30 days ago.
 */
export async function openSession(tokens: Pick<Auth['tokens'], 'issue'>, user: UserRecord, family?: TokenFamily) {
  const { token, expiresAt, ...ids } = await tokens.issue(user, family)
  const credential: SessionCredential = { kind: 'session', ...ids, expiresAtMs: Date.parse(expiresAt) }
  const actor: UserActor = { kind: 'user', userId: user.id, name: user.name, role: user.role, credential }
  return { actor, body: { token, expiresAt, user: userView(user) } }
}

/**
 * What an access key must not do, whatever its scopes: become a session, or make, change or empty accounts, which would
 * outlive it and open more. Throws `insufficient_scope`.
 */
export function requireSession({ credential }: UserActor): SessionCredential {
  if (credential.kind === 'session') return credential
  throw new HubError('insufficient_scope', 'This needs a session token, and an access key was sent', {
    hint: 'Sign in with POST /api/auth/login.',
  })
}
