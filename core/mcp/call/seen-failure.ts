import type { Failed, Upstreams } from '../../connections/api.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { canEdit } from '../../domain/ownership.ts'

/** Failures whose message concerns only the caller's own request or the hub. */
const OF_THE_CALL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'params_invalid',
  'client_capability_missing',
  'draining',
])

/**
 * A failed call as its caller may see it. Messages name commands, folders, addresses and variables of the server, and
 * quote its stderr; so callers who may not edit the server see only the code, and the server's state with that code.
 */
export function seenFailure(
  { code, message, retryAfterSeconds, connectUrl, own }: Failed,
  actor: UserActor,
  server: Pick<ServerRecord, 'id' | 'name' | 'ownerId'>,
  upstreams: Pick<Upstreams, 'status'>,
): HubError {
  const retry = {
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(connectUrl === undefined ? {} : { data: { connectUrl } }),
    ...(own ? { own } : {}),
  }
  if (canEdit(actor, server) || OF_THE_CALL.has(code)) return new HubError(code, message, retry)
  if (connectUrl !== undefined)
    return new HubError(code, `Server "${server.name}" wants you to sign in: open ${connectUrl}`, retry)
  const { state, reason } = upstreams.status(server.id)
  const why = reason && code === 'server_offline' ? `: ${reason.code}` : ''
  const what = code === 'server_offline' ? `is ${state}${why}` : `could not answer: ${code}`
  return new HubError(code, `Server "${server.name}" ${what}`, retry)
}
