import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { Authenticator } from './api.ts'

/** The error for work whose credential is no longer valid: `token_expired` past its expiry, else `token_revoked`. */
export function endedCredential({ credential }: UserActor, nowMs: number): HubError {
  const endMs = credential.kind === 'local' ? undefined : credential.expiresAtMs
  if (endMs !== undefined && endMs <= nowMs)
    return new HubError('token_expired', 'The credential that this was begun with has expired')
  return new HubError('token_revoked', 'The credential that this was begun with was withdrawn')
}

/**
 * For requests whose body has arrived, which may take any time, since only the pauses between its bytes are limited. Throws
 * `token_expired` or `token_revoked` when the credential has ended since the request was admitted. Synchronous unless rights
 * have changed meanwhile.
 */
export function requireLive(
  authenticator: Pick<Authenticator, 'stillValid'>,
  actor: UserActor,
): undefined | Promise<undefined> {
  const settle = (isValid: boolean): undefined => {
    if (!isValid) throw endedCredential(actor, Date.now())
  }
  const valid = authenticator.stillValid(actor)
  return valid instanceof Promise ? valid.then(settle) : settle(valid)
}
