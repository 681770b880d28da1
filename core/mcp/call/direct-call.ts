import type { AskReply, SessionBinding } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../../contract/records.ts'
import { CHAIN_HEADER } from '../../secrets/hub-marks.ts'
import { type HeadersFor, passedHeaders } from '../scope/passed-headers.ts'
import { toResolvedScope } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ResolvedScope, ScopeMember } from '../scope/scope-types.ts'
import { userBinding } from '../scope/user-binding.ts'
import type { Exchange } from './exchange.ts'

/** A tools/call that names its server. */
export interface DirectCall {
  readonly actor: UserActor
  /** The caller of this API has checked that the actor may use it. */
  readonly server: ServerRecord
  /** The upstream's name of the tool. */
  readonly tool: string
  readonly arguments: JsonObject
  readonly requestId: string
  /** Of the caller, after trusted proxies. */
  readonly clientAddress: string
  /** Of the request; those that the server asks for (`passthroughHeaders`) and the actor allows are forwarded. */
  readonly headers: Headers
  /** Called with each progress notification; without it none is requested. */
  readonly progress?: (params: JsonObject) => void
  /** Cancels the call at the upstream. */
  readonly signal: AbortSignal
}

/** A tools/call without a client session: server requests have no recipient, and log messages no stream. */
export class DirectExchange implements Exchange {
  readonly requestId: string
  readonly clientAddress: string
  readonly method = 'tools/call'
  readonly params: JsonObject
  readonly actor: UserActor
  readonly session = undefined
  readonly plainFailures = true
  readonly progress?: (params: JsonObject) => void
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  target?: ExchangeTarget
  readonly #signal: AbortSignal
  #cancel: ((reason?: string) => void) | undefined

  constructor(call: DirectCall, scope: Scope) {
    this.requestId = call.requestId
    this.clientAddress = call.clientAddress
    this.actor = call.actor
    this.params = { name: exposedName(scope, call.tool), arguments: call.arguments }
    if (call.progress) this.progress = call.progress
    const headers = passedHeaders(call.headers, call.headers.get(CHAIN_HEADER), scope)
    if (headers) this.passthroughHeaders = headers
    this.#signal = call.signal
    this.#signal.addEventListener('abort', () => this.cancel(), { once: true })
  }

  get cancel(): () => void {
    return () => this.#cancel?.('The caller went away')
  }

  /** Set once the call is sent; if the caller has gone before that, it is cancelled at once. */
  set cancel(cancel: (reason?: string) => void) {
    this.#cancel = cancel
    if (this.#signal.aborted) this.cancel()
  }

  /** Where each user has a connection, the call uses this user's. */
  enter(_scope: Scope, { server }: ScopeMember): SessionBinding | undefined {
    return server.session === 'per-user' ? userBinding(this.actor.userId) : undefined
  }

  notify(): void {}

  ask(method: string): Promise<AskReply> {
    return Promise.resolve({ error: { code: -32601, message: `Nobody can answer ${method} here` } })
  }
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
