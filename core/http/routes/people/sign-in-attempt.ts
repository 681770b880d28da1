import type { Auth } from '../../../auth/create.ts'
import type { SignInAttempt } from '../../../auth/throttle.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Actor, UserActor } from '../../../contract/records.ts'
import type { AuditedRequest } from '../../../features/services/hub-services.ts'
import type { Registry } from '../../../registry/api.ts'
import { addressKey } from '../../addresses.ts'

/** Dependencies of attempts. */
export interface AttemptDeps {
  readonly registry: Pick<Registry, 'audit'>
  readonly auth: Pick<Auth, 'signInThrottle' | 'refusedSignIns'>
}

/** An attempt to prove an identity. */
export interface Attempted {
  /** Actor for the audit: the signed-in user, or one for an attempt without a sign-in. */
  readonly actor: Actor
  /** The account whose attempts are counted. */
  readonly account: string
  /** Target for the audit. */
  readonly target: string
  readonly ownerId: string | null
  readonly info: AuditedRequest
}

/**
 * Counts an attempt as `SignInThrottle.attempt` does; an attempt that comes too early is recorded in the audit. Throws
 * `login_throttled`.
 */
export function beginAttempt(deps: AttemptDeps, attempted: Attempted): SignInAttempt {
  try {
    return deps.auth.signInThrottle.attempt(attempted.account, addressKey(attempted.info.clientAddress))
  } catch (error) {
    noteRefusal(deps, 'auth.login_throttled', attempted)
    throw error
  }
}

/** Records a rejection, one a minute of each kind and address, with the number of earlier ones that were not recorded. */
export function noteRefusal(
  { registry, auth }: AttemptDeps,
  action: string,
  { actor, target, ownerId, info }: Attempted,
) {
  const unnoted = auth.refusedSignIns.note(action, addressKey(info.clientAddress))
  if (unnoted === undefined) return
  registry.audit.record(actor, { action, target, ownerId, request: info, detail: { unnoted } })
}

/** Dependencies of a check of the caller's password. */
export interface PasswordDeps extends AttemptDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Pick<Auth, 'signInThrottle' | 'refusedSignIns' | 'passwords'>
}

/**
 * Throttled like a sign-in, so that a stolen session cannot be used to guess the password quickly. Throws `password_mismatch`,
 * `login_throttled`.
 */
export async function requirePassword(
  deps: PasswordDeps,
  actor: UserActor,
  password: string,
  info: AuditedRequest,
): Promise<void> {
  const { registry, auth } = deps
  const attempted = { actor, account: actor.name, target: actor.name, ownerId: actor.userId, info }
  const attempt = beginAttempt(deps, attempted)
  try {
    const found = await registry.users.credentials(actor.name)
    if ((await auth.passwords.verify(password, found?.passwordHash)).ok) return attempt.succeeded()
  } catch (error) {
    attempt.withdrawn()
    throw error
  }
  noteRefusal(deps, 'auth.password_failed', attempted)
  throw new HubError('password_mismatch', 'The present password is wrong')
}
