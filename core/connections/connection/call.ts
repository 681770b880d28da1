import type { ErrorCode } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { LIST_METHODS } from '../../domain/mcp-methods.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { UpstreamCall, UpstreamReply, UpstreamRequest } from '../api.ts'

/** The holder of a call: a connection, or a queue for one. */
export interface CallHome {
  /** The caller cancelled the call. */
  withdraw(call: PendingCall, reason: string): void
}

/** The error of a call whose caller can end it at a page: one code, whatever the reason is. */
export function forCaller(reason: WireError): WireError {
  const { connectUrl } = reason.data ?? {}
  if (typeof connectUrl !== 'string' || reason.own === undefined) return reason
  const { own: _, ...rest } = reason
  return { ...rest, code: reason.own.status === 403 ? reason.code : 'authorization_required' }
}

/** Methods that may be sent again after a lost connection, since they change nothing. */
const REPEATABLE: ReadonlySet<string> = new Set([
  ...LIST_METHODS,
  'resources/read',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'skills/list',
  'skills/get',
  'resources/directory/read',
  'ping',
])

/** One request of a caller to an upstream, until its response. */
export class PendingCall implements UpstreamCall {
  readonly request: UpstreamRequest
  readonly reply: Promise<UpstreamReply>
  readonly startedAtMs = performance.now()
  /** JSON-RPC id on its present connection. */
  id = 0
  home: CallHome | undefined
  lastProgress = Number.NEGATIVE_INFINITY
  /** True when it was sent, lost and sent again. */
  repeated = false
  /** The connection over which an exchange with it was lost, the connection itself being open: it is sent again over this one. */
  exchangeLostOn: CallHome | undefined
  /** True when it was rejected before it was written, and dispatched again. */
  refused = false
  /** Number of times that it was dispatched to a connection that had just ended, so that it was not sent. */
  bounces = 0
  /** Number of input rounds so far. */
  rounds = 0
  /** For the record of the call. */
  note: string | undefined
  /** The caller's answers of the last input round, and the `requestState` that the server wants back with them. */
  input: { readonly inputResponses?: JsonValue; readonly requestState?: string } | undefined
  /** Server requests that it caused and that wait for the caller, by key. */
  serverRequests: Map<number, AbortController> | undefined
  #resolve: ((reply: UpstreamReply) => void) | undefined

  constructor(request: UpstreamRequest) {
    this.request = request
    this.reply = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  get mayRepeat(): boolean {
    return !this.repeated && REPEATABLE.has(this.request.method)
  }

  /** True when it has its reply. */
  get ended(): boolean {
    return this.#resolve === undefined
  }

  finish(reply: UpstreamReply): void {
    this.home = undefined
    this.#resolve?.(reply)
    this.#resolve = undefined
  }

  fail(code: ErrorCode, message: string): void {
    this.finish({ kind: 'failed', code, message, ...this.#unsent })
  }

  /** Says so while no connection has taken it. */
  get #unsent(): { readonly unsent?: true } {
    return this.id === 0 ? { unsent: true } : {}
  }

  /** Fails the call with `retryAfterSeconds` where the reason has it. */
  failFor(reason: WireError): void {
    const { code, message, data, own } = forCaller(reason)
    const seconds = data?.retryAfterSeconds
    const url = data?.connectUrl
    this.finish({
      kind: 'failed',
      code,
      message,
      ...(typeof seconds === 'number' ? { retryAfterSeconds: seconds } : {}),
      ...(typeof url === 'string' ? { connectUrl: url } : {}),
      ...(own ? { own } : {}),
      ...this.#unsent,
    })
  }

  cancel(reason = 'the caller gave up'): void {
    if (!this.#resolve) return
    this.home?.withdraw(this, reason)
    this.finish({ kind: 'cancelled', ...this.#unsent })
  }
}
