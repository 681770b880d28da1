import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { RequestInfo } from '../http/route.ts'
import type { Scope } from './scope.ts'
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

/** Throws session_required, session_not_found: the same for unknown, ended, and somebody else's. */
export function requireSession({ session, namesSession }: ScopedRequest): Session {
  if (session) return session
  if (!namesSession)
    throw new HubError('session_required', 'The header Mcp-Session-Id is missing; send initialize first')
  throw new HubError('session_not_found', 'There is no such session; send initialize again')
}

/** The headers of this one request that some member wants; undefined when none does, as mostly. */
export function passthrough({ request, scope }: ScopedRequest): Readonly<Record<string, string>> | undefined {
  const names = scope.resolved.passthroughHeaders
  if (names.length === 0) return undefined
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = request.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return headers
}
