import { HubError } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import type { Scope } from '../scope/scope.ts'
import type { Session } from './session.ts'

/** One request at `/mcp…` whose caller and scope are known. */
export interface ScopedRequest {
  readonly request: Request
  readonly info: RequestInfo
  readonly actor: UserActor
  readonly principal: string
  readonly scope: Scope
  /** The session that its header names, if that is this caller's and of this path. */
  readonly session: Session | undefined
  /** Whether it has such a header. */
  readonly namesSession: boolean
}

export function methodNotAllowed(path: string, method: string, allow: readonly string[]): HubError {
  return new HubError('method_not_allowed', `${path} takes ${allow.join(', ')}, not ${method.slice(0, 16)}`, {
    data: { allow },
  })
}

/** Throws session_required, session_not_found: the same for unknown, ended, and somebody else's. */
export function requireSession({ session, namesSession }: ScopedRequest): Session {
  if (session) return session
  if (!namesSession)
    throw new HubError('session_required', 'The header Mcp-Session-Id is missing; send initialize first')
  throw new HubError('session_not_found', 'There is no such session; send initialize again')
}
