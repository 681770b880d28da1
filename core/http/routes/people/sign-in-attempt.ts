import type { Auth } from '../../../auth/create.ts'
import type { SignInAttempt } from '../../../auth/throttle.ts'
import type { Actor } from '../../../contract/records.ts'
import type { Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { addressKey } from '../../addresses.ts'

/** What attempts need. */
export interface AttemptDeps {
  readonly registry: Pick<Registry, 'audit'>
  readonly auth: Pick<Auth, 'signInThrottle' | 'refusedSignIns'>
}

/** Who wants to prove what. */
export interface Attempted {
  /** Of the audit: the user who is signed in, or what is attempted by somebody unknown. */
  readonly actor: Actor
  /** The account whose attempts are counted. */
  readonly account: string
  /** As the audit names it. */
  readonly target: string
  readonly ownerId: string | null
  readonly info: RequestInfo
}

/** Counts an attempt as `SignInThrottle.attempt` does; one that comes too early is noted in the audit. Throws `login_throttled`. */
export function beginAttempt(deps: AttemptDeps, attempted: Attempted): SignInAttempt {
  try {
    return deps.auth.signInThrottle.attempt(attempted.account, addressKey(attempted.info.clientAddress))
  } catch (error) {
    noteRefusal(deps, 'auth.login_throttled', attempted)
    throw error
  }
}

/** Notes a refusal, one of each kind a minute and address, with the number of those that were left out before it. */
export function noteRefusal(
  { registry, auth }: AttemptDeps,
  action: string,
  { actor, target, ownerId, info }: Attempted,
) {
  const unnoted = auth.refusedSignIns.note(action, addressKey(info.clientAddress))
  if (unnoted === undefined) return
  registry.audit.record(actor, { action, target, ownerId, request: info, detail: { unnoted } })
}
