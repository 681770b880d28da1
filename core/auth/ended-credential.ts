import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'

/** The error for work whose credential is no longer valid: `token_expired` past its expiry, else `token_revoked`. */
export function endedCredential({ credential }: UserActor, nowMs: number): HubError {
  const endMs = credential.kind === 'local' ? undefined : credential.expiresAtMs
  if (endMs !== undefined && endMs <= nowMs)
    return new HubError('token_expired', 'The credential that this was begun with has expired')
  return new HubError('token_revoked', 'The credential that this was begun with was withdrawn')
}
