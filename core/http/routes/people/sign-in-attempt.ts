import type { Auth } from '../../../auth/create.ts'
import type { SignInAttempt } from '../../../auth/throttle.ts'
import type { Actor } from '../../../contract/records.ts'
import type { Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
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
  readonly info: RequestInfo
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
