import type { JsonObject } from '../../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../../contract/records.ts'
import { CHAIN_HEADER } from '../../secrets/hub-marks.ts'
import { type HeadersFor, passedHeaders } from '../scope/passed-headers.ts'
import { toResolvedScope } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { ResolvedScope } from '../scope/scope-types.ts'
import { SessionlessExchange } from './sessionless-exchange.ts'

/** A tools/call that names its server. */
export interface DirectCall {
  readonly actor: UserActor
  /** The caller of this API has checked that the actor may use it. */
  readonly server: ServerRecord
  /** The upstream's name of the tool. */
  readonly tool: string
  readonly arguments: JsonObject
  readonly requestId: string
  /** Address of the caller, after trusted proxies. */
  readonly clientAddress: string
  /** Headers of the request; those that the server asks for (`passthroughHeaders`) and the actor allows are forwarded. */
  readonly headers: Headers
  /** Called with each progress notification; without it none is requested. */
  readonly progress?: (params: JsonObject) => void
  /** Cancels the call at the upstream. */
  readonly signal: AbortSignal
}

/** The recorded fields of a call that is refused; `tool` as the caller named it. */
export type RefusedDirectCall = Pick<DirectCall, 'actor' | 'server' | 'tool' | 'requestId' | 'clientAddress'>

/** The call as an exchange: what an HTTP API refuses stays an error, which the caller sees with its status. */
export function directExchange(call: DirectCall, scope: Scope): SessionlessExchange {
  const { actor, requestId, clientAddress, signal, headers, progress } = call
  return new SessionlessExchange({
    ...{ actor, requestId, clientAddress, signal, progress },
    method: 'tools/call',
    params: { name: exposedName(scope, call.tool), arguments: call.arguments },
    plainFailures: true,
    passthroughHeaders: passedHeaders(headers, headers.get(CHAIN_HEADER), scope),
  })
}

/** One server under its own names, as at `/mcp/{server}`, but without a group that a call record could name. */
export function directScope(server: ServerRecord, headers: HeadersFor): ResolvedScope {
  const { id, ownerId, ownerName, createdAt, updatedAt } = server
  const group: GroupRecord = {
    id,
    ownerId,
    ownerName,
    name: '',
    visibility: 'private',
    naming: 'auto',
    members: [],
    origin: 'store',
    revision: 0,
    createdAt,
    updatedAt,
  }
  return toResolvedScope({ kind: 'server', group, servers: [server] }, headers)
}

function exposedName(scope: Scope, original: string): string {
  for (const [name, target] of scope.catalog.tools) if (target.original === original) return name
  return original
}
