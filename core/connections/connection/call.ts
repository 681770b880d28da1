import type { ErrorCode, WireError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { UpstreamCall, UpstreamReply, UpstreamRequest } from '../api.ts'

/** Where a call is: on a connection, or waiting for one. */
export interface CallHome {
  /** The caller gave up. */
  withdraw(call: PendingCall, reason: string): void
}

/** Methods that may be sent once more after a loss, since they change nothing. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'ping',
])

/** One request of a caller on its way to an upstream and back. */
export class PendingCall implements UpstreamCall {
  readonly request: UpstreamRequest
  readonly reply: Promise<UpstreamReply>
  readonly startedAtMs = performance.now()
  /** On its present connection. */
  id = 0
  home: CallHome | undefined
  lastProgress = Number.NEGATIVE_INFINITY
  /** It was sent, lost and sent once more. */
  repeated = false
  /** It was refused before it was written, and went out once more. */
  refused = false
  /** How often it met a connection that had just ended, so that it had not begun. */
  bounces = 0
  /** How often the server has asked for input before its answer. */
  rounds = 0
  /** What the caller said to the last questions, and the state that the server wants back with it. */
  input: { readonly inputResponses?: JsonValue; readonly requestState?: string } | undefined
  /** Requests of the upstream that it caused and that wait for the caller. */
  asks: Map<number, AbortController> | undefined
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

  finish(reply: UpstreamReply): void {
    this.home = undefined
    this.#resolve?.(reply)
    this.#resolve = undefined
  }

  fail(code: ErrorCode, message: string): void {
    this.finish({ kind: 'failed', code, message })
  }

  /** The same with the time after which a repetition makes sense, where the reason says it. */
  failFor({ code, message, data }: WireError): void {
    const seconds = data?.retryAfterSeconds
    this.finish({
      kind: 'failed',
      code,
      message,
      ...(typeof seconds === 'number' ? { retryAfterSeconds: seconds } : {}),
    })
  }

  cancel(reason = 'the caller gave up'): void {
    if (!this.#resolve) return
    this.home?.withdraw(this, reason)
    this.finish({ kind: 'cancelled' })
  }
}
