import type { AskReply, RpcError, SessionBinding, UpstreamRequest } from '../../connections/api.ts'
import type { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ScopeMember } from '../scope/scope-types.ts'

/**
 * One MCP request while it crosses the hub. No protocol era appears in it: the wires translate at both ends.
 * `params` are the caller's, with exposed names and without `_meta.progressToken`.
 */
export interface Exchange {
  readonly requestId: string
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
  readonly session: SessionBinding | undefined
  /** What the caller declared; absent where nobody can be asked. */
  readonly capabilities?: JsonObject
  /** Called before a member is asked, once; says whose connection the request takes where that is not the session's. */
  enter?(scope: Scope, member: ScopeMember): SessionBinding | undefined | Promise<SessionBinding | undefined>
  /** Present for a caller of the modern era: what an upstream of the same era is told of it. */
  modern?(): NonNullable<UpstreamRequest['modern']>
  /** Present when the caller asked for progress. */
  readonly progress?: (params: JsonObject) => void
  /** A notification on this call's own stream. */
  readonly notify: (method: string, params: JsonObject | undefined) => void
  /** A request to the caller, on the stream of this call. */
  readonly ask: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  /** A failed tool of an HTTP API stays a failure, for a caller that shows its status and code; else it becomes a result. */
  readonly plainFailures?: true
  /** What it was sent to, once it was: a caller that loses that gets no answer of it. */
  target?: ExchangeTarget
  /** Set by whoever can end the work; called by the wire when the caller gives up. */
  cancel?: (reason?: string) => void
}

/** What comes of an exchange. `resultText` is JSON text that is written as it is; `error` is the upstream's own, `failed` the hub's. */
export type Outcome =
  | { readonly kind: 'result'; readonly resultText: JsonText }
  /** An upstream of the modern era wants to hear more first; only where the caller is of that era too. */
  | { readonly kind: 'input_required'; readonly resultText: string }
  | { readonly kind: 'error'; readonly error: RpcError }
  | { readonly kind: 'failed'; readonly error: HubError }
  | { readonly kind: 'cancelled' }
