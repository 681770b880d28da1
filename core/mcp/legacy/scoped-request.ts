import { HubError } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import type { Scope } from '../scope/scope.ts'
import type { Session } from './session.ts'

/** One request with a known caller. */
export interface KnownRequest {
  readonly request: Request
  readonly info: RequestInfo
  readonly actor: UserActor
  readonly principal: string
  /** The hubs that it passed, as in its header; null: directly from a client. */
  readonly chain: string | null
}

/** One request at `/mcp…` with a known caller and scope. */
export interface ScopedRequest extends KnownRequest {
  readonly scope: Scope
  /** The session named in its header, if it is this caller's and of this path. */
  readonly session: Session | undefined
  /** True when the request has a session header, even of a session that is not found. */
  readonly namesSession: boolean
}

/** The error for a method that is not in `allow`; HTTP status 405. */
export function methodNotAllowed(path: string, method: string, allow: readonly string[]): HubError {
  return new HubError('method_not_allowed', `${path} takes ${allow.join(', ')}, not ${method.slice(0, 16)}`, {
    data: { allow },
  })
}

/** Throws session_required, session_not_found: the same for unknown, ended and foreign sessions. */
export function requireSession({ session, namesSession }: ScopedRequest): Session {
  if (session) return session
  if (!namesSession)
    throw new HubError('session_required', 'The header Mcp-Session-Id is missing; send initialize first')
  throw new HubError('session_not_found', 'There is no such session; send initialize again')
}
