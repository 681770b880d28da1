import type { Auth } from '../../auth/create.ts'
import { HubError } from '../../contract/errors.ts'
import type { Credential, UserActor } from '../../contract/records.ts'
import type { UserRecord } from '../../registry/api.ts'
import { userView } from './user-schemas.ts'

type SessionCredential = Extract<Credential, { kind: 'session' }>

/** A new session token, the answer that brings it, and who acts by it from now on. */
export async function openSession(tokens: Auth['tokens'], user: UserRecord) {
  const { token, expiresAt, tokenId } = await tokens.issue(user)
  const credential: SessionCredential = { kind: 'session', tokenId, expiresAtMs: Date.parse(expiresAt) }
  const actor: UserActor = { kind: 'user', userId: user.id, name: user.name, role: user.role, credential }
  return { actor, body: { token, expiresAt, user: userView(user) } }
}

/** An access key must not become a session, which opens more. Throws `insufficient_scope`. */
export function requireSession({ credential }: UserActor): SessionCredential {
  if (credential.kind === 'session') return credential
  throw new HubError('insufficient_scope', 'This needs a session token, and an access key was sent', {
    hint: 'Sign in with POST /api/auth/login.',
  })
}
