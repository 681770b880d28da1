import type { AskReply, RpcError, SessionBinding, UpstreamRequest } from '../../connections/api.ts'
import type { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import type { TaskEvent } from '../../features/gates.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ScopeMember } from '../scope/scope-types.ts'

/**
 * One MCP request while it crosses the hub, independent of the era: the dispatchers translate at both ends. `params`
 * are the caller's, with exposed names and without `_meta.progressToken`.
 */
export interface Exchange {
  readonly requestId: string
  /** Address of the caller, after trusted proxies. */
  readonly clientAddress: string
  /** The name that the client gave itself, empty if it gave none; absent where there is no MCP client. */
  readonly clientName?: string
  /** The version in its `clientInfo`. */
  readonly clientVersion?: string | undefined
  /** Most characters of a result's text that the caller shows; absent: all. */
  readonly resultCharacters?: number
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
  readonly session: SessionBinding | undefined
  /** The client capabilities that the caller declared; absent where it cannot answer server requests. */
  readonly capabilities?: JsonObject
  /**
   * Called once before the request is sent; returns the connection to use where that is not the session's. `tool`: its
   * original name, where one is called.
   */
  enter?(
    scope: Scope,
    member: ScopeMember,
    tool?: string,
  ): SessionBinding | undefined | Promise<SessionBinding | undefined>
  /** Present for a modern caller: its capabilities and metadata for a modern upstream. */
  modern?(): NonNullable<UpstreamRequest['modern']>
  /** Present when the caller requested progress. */
  readonly progress?: (params: JsonObject) => void
  /** Sends a notification on this call's own stream. */
  readonly notify: (method: string, params: JsonObject | undefined) => void
  /** Sends a request to the caller, on this call's stream. */
  readonly ask: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  /** An HTTP API's failures stay errors, for a caller that shows status and code; otherwise they become results. */
  readonly plainFailures?: true
  /** The client was asked to have the person visit a page, and the person did not want to. */
  readonly pagesDeclined?: boolean
  /** Set when the request is sent: a caller that loses access to the target does not get the response. */
  target?: ExchangeTarget
  /** Set when the server has made a task of the call, which its client asks for later. */
  task?: MadeTask
  /** Set by the code that can cancel the work; called by the dispatcher when the caller gives up. */
  cancel?: (reason?: string) => void
}

/** A task of a client, for those who need to know its end. */
interface MadeTask {
  /** Calls `listener` when the task is over, also where it is already, and with its first result. */
  follow(listener: (event: TaskEvent) => void): void
}

/** An exchange's outcome. `resultText` is JSON text, sent as it is; `error` is the upstream's, `failed` the hub's. */
export type Outcome = (
  | { readonly kind: 'result'; readonly resultText: JsonText }
  /** A modern upstream needs more input; only where the caller is modern too. */
  | { readonly kind: 'input_required'; readonly resultText: string }
  /** A task in place of the result; only where the caller declared the tasks extension. */
  | { readonly kind: 'task'; readonly resultText: string }
  | { readonly kind: 'error'; readonly error: RpcError }
  | { readonly kind: 'failed'; readonly error: HubError }
  | { readonly kind: 'cancelled' }
) & {
  /** The server got nothing of the request: it cannot be reached, or a content filter refused the call before. */
  readonly unsent?: true
}

/** Called with how each request of an MCP client ended, in one word; must not block. */
export type RequestEnded = (method: string, era: Era, word: string) => void

/** An outcome in one word: `success`, `error` of the server, `input_required`, `cancelled`, or the hub's code. */
export function outcomeWord(outcome: Outcome): string {
  if (outcome.kind === 'result' || outcome.kind === 'task') return 'success'
  return outcome.kind === 'failed' ? outcome.error.code : outcome.kind
}
