import type { Auth } from '../../../auth/create.ts'
import type { SignInClient } from '../../../auth/sign-ins.ts'
import type { IssuedToken, TokenFamily } from '../../../auth/tokens.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Credential, UserActor } from '../../../contract/records.ts'
import type { UserRecord } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { userView } from './user-schemas.ts'

type SessionCredential = Extract<Credential, { kind: 'session' }>

/** Returns the address and the User-Agent of a request that opens a session. */
export function clientOf(request: Request, { clientAddress }: Pick<RequestInfo, 'clientAddress'>): SignInClient {
  return { clientAddress, userAgent: request.headers.get('user-agent') }
}

/** Issues a session token for a new sign-in, and returns its actor and the response body. */
export async function openSession(
  { tokens, signIns, secondFactors }: Pick<Auth, 'tokens' | 'signIns' | 'secondFactors'>,
  user: UserRecord,
  client: SignInClient,
) {
  const issued = await tokens.issue(user)
  await signIns.opened(user, issued, client)
  return sessionOf(issued, user, secondFactors)
}

/** The same for a sign-in that is open. Throws token_expired when it was 30 days ago. */
export async function refreshSession(
  { tokens, signIns, secondFactors }: Pick<Auth, 'tokens' | 'signIns' | 'secondFactors'>,
  user: UserRecord,
  family: TokenFamily,
) {
  const issued = await tokens.issue(user, family)
  await signIns.refreshed(issued)
  return sessionOf(issued, user, secondFactors)
}

function sessionOf(
  { token, expiresAt, ...ids }: IssuedToken,
  user: UserRecord,
  secondFactors: Pick<Auth['secondFactors'], 'takesPassword'>,
) {
  const credential: SessionCredential = { kind: 'session', ...ids, expiresAtMs: Date.parse(expiresAt) }
  const actor: UserActor = { kind: 'user', userId: user.id, name: user.name, role: user.role, credential }
  // A password that opens nothing need not be changed.
  const mustChangePassword = user.mustChangePassword && secondFactors.takesPassword(user.role)
  return { actor, body: { token, expiresAt, user: { ...userView(user), mustChangePassword } } }
}

/**
 * Rejects access keys, whatever their scopes, for actions that need a session: to create sessions, or to create, change or
 * remove accounts, which would outlive the key and exceed its rights. Throws `insufficient_scope`.
 */
export function requireSession({ credential }: UserActor): SessionCredential {
  if (credential.kind === 'session') return credential
  throw new HubError('insufficient_scope', 'This needs a session token, and an access key was sent', {
    hint: 'Sign in with POST /api/auth/login.',
  })
}
