import type { Authenticator } from '../auth/api.ts'
import { HubError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { UserActor } from '../contract/records.ts'
import type { Challenge } from '../features/credentials.ts'
import type { RequestInfo } from '../request/request-info.ts'
import { CHAIN_HEADER, type HubMarks } from '../secrets/hub-marks.ts'
import type { EraDispatcher } from './era-dispatcher.ts'
import { type ReviveParts, revive } from './legacy/revive.ts'
import type { KnownRequest } from './legacy/scoped-request.ts'
import type { Session } from './legacy/session.ts'
import type { SseWire } from './legacy/wire-sse.ts'
import { namesModernVersion } from './rpc/era.ts'
import { errorResponse, RefusedMessage } from './rpc/http-errors.ts'
import type { Refusals } from './rpc/refusals.ts'
import {
  MESSAGES_PATH,
  type Principals,
  parseScopePath,
  requireAddress,
  ScopePaths,
  type ScopeTable,
} from './scope/paths.ts'
import type { Scope } from './scope/scope.ts'

interface HttpEndpointParts extends ReviveParts {
  readonly auth: Authenticator
  readonly marks: HubMarks
  readonly principals: Principals
  readonly scopes: ScopeTable
  readonly eras: EraDispatcher
  readonly sse: SseWire
  readonly refusals: Refusals
  readonly challenge: () => Challenge | undefined
  readonly log: PluginLogger
}

/** Finds the caller, scope and session of a request, and converts thrown errors to responses. */
export class HttpEndpoint {
  readonly #parts: HttpEndpointParts
  readonly #paths = new ScopePaths()

  constructor(parts: HttpEndpointParts) {
    this.#parts = parts
  }

  fetch(request: Request, path: string, info: RequestInfo): Response | Promise<Response> {
    let actor: UserActor | Promise<UserActor>
    try {
      actor = this.#parts.auth.authenticate(request.headers, 'mcp', request.method, info)
    } catch (error) {
      return this.#refused(error, request, path, info)
    }
    if (!(actor instanceof Promise)) return this.#enter(request, path, info, actor)
    return actor.then(
      known => this.#enter(request, path, info, known),
      error => this.#refused(error, request, path, info),
    )
  }

  #enter(request: Request, path: string, info: RequestInfo, actor: UserActor): Response | Promise<Response> {
    try {
      const answer = this.#known(request, path, info, actor)
      return answer instanceof Promise
        ? answer.catch(error => this.#refusedTo(actor, error, request, path, info))
        : answer
    } catch (error) {
      return this.#refusedTo(actor, error, request, path, info)
    }
  }

  #known(request: Request, path: string, info: RequestInfo, actor: UserActor): Response | Promise<Response> {
    const { principals, sessions, marks } = this.#parts
    const chain = request.headers.get(CHAIN_HEADER)
    marks.validate(chain)
    const principal = principals.key(actor)
    if (!path.startsWith('/mcp')) return this.#older({ request, info, actor, principal, chain }, path)
    const sessionId = request.headers.get('mcp-session-id')
    const named = sessionId === null ? undefined : sessions.get(sessionId)
    const session = named?.wire === 'streamable-http' ? named : undefined
    // A session that was last used at this very path needs no parsing of the path.
    if (session && session.usedPath === path && session.principal === principal && !session.scope.stale)
      return this.#parts.eras.handle({
        request,
        info,
        actor,
        principal,
        chain,
        scope: session.scope,
        session,
        namesSession: true,
      })
    const parsed = this.#paths.parse(path)
    if (!parsed) throw noScope(path)
    requireAddress(actor, info.baseUrl, parsed, this.#paths)
    const era = namesModernVersion(request.headers) ? 'modern' : 'legacy'
    const scope = this.#parts.scopes.find(actor, principal, parsed, era)
    const handle = (found: Scope, own: Session | undefined) => {
      if (own) own.usedPath = path
      const namesSession = sessionId !== null
      const known = { request, info, actor, principal, chain }
      return this.#parts.eras.handle({ ...known, scope: found, session: own, namesSession })
    }
    const enter = (found: Scope) => {
      const own = session && session.scope === found && !session.ended ? session : undefined
      // An id that is unknown in this process may be of an earlier one.
      if (sessionId === null || named) return handle(found, own)
      return revive(this.#parts, sessionId, { actor, principal, scope: found }).then(revived =>
        handle(found, revived?.scope === found && !revived.ended ? revived : undefined),
      )
    }
    return scope instanceof Promise ? scope.then(enter) : enter(scope)
  }

  /** Handles `/sse…` and `/messages`. */
  #older(known: KnownRequest, path: string) {
    const { scopes, sse } = this.#parts
    if (known.actor.credential.kind === 'grant')
      throw new HubError('token_wrong_audience', 'The token was made for a path under /mcp, and opens nothing else')
    if (path === MESSAGES_PATH) return sse.post(known)
    const parsed = parseScopePath(path, 'sse')
    if (!parsed) throw noScope(path)
    const scope = scopes.find(known.actor, known.principal, parsed, 'legacy')
    return scope instanceof Promise ? scope.then(found => sse.open(known, found)) : sse.open(known, scope)
  }

  #refusedTo({ userId }: UserActor, error: unknown, request: Request, path: string, info: RequestInfo): Response {
    return this.#refused(this.#parts.refusals.answerTo(userId, error), request, path, info)
  }

  #refused(thrown: unknown, request: Request, path: string, info: RequestInfo): Response {
    const error = thrown instanceof RefusedMessage ? thrown.error : thrown
    const { requestId } = info
    const { headers } = request
    if (!(error instanceof HubError))
      this.#parts.log.error('An MCP request failed inside the hub', { requestId, error: String(error) })
    const credential = headers.has('authorization')
    const challenged = path.startsWith('/mcp') ? this.#parts.challenge() : undefined
    return errorResponse(thrown, {
      ...{ requestId, credential, modern: namesModernVersion(headers) },
      parameters: (status, message) => challenged?.parameters({ status, path, baseUrl: info.baseUrl, message }) ?? {},
    })
  }
}

function noScope(path: string): HubError {
  const root = path.split('/')[1]
  return new HubError('group_not_found', `Cannot open /${root}: the path is neither a group nor a server`)
}
