import { ERROR_CODES, type ErrorCode, type FieldCode } from './codes.ts'

export type { ErrorCode, FieldCode }

/** One field that is wrong. `pointer` is a JSON Pointer into the body (`#/name`) or a query parameter (`?limit`). */
export interface FieldError {
  readonly pointer: string
  readonly code: FieldCode
  readonly detail: string
}

export interface HubErrorOptions {
  readonly cause?: unknown
  /** What the reader can do about it, as one sentence. */
  readonly hint?: string
  readonly errors?: readonly FieldError[]
  /** Seconds after which a repetition makes sense; sent as `Retry-After`, and under `/mcp` as `data.retryAfter` too. */
  readonly retryAfterSeconds?: number
  /** Further members for the problem body or `error.data`; never a secret. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** The only error class that crosses a room of the hub. The message says the action, the value, what is so. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, message: string, options: HubErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.errors = options.errors
    this.retryAfterSeconds = options.retryAfterSeconds
    this.data = options.data
  }

  get status(): number {
    return ERROR_CODES[this.code].status
  }

  /**
   * Whole seconds, at least 1, after which a repetition makes sense: always said for 429 and 503, else where it is known. Of a
   * server that is offline only where it is known too, since one that was stopped does not come back by itself.
   */
  get retryAfter(): number | undefined {
    const asked = this.data?.retryAfterSeconds
    const seconds = this.retryAfterSeconds ?? (typeof asked === 'number' ? asked : undefined)
    const always = (this.status === 429 || this.status === 503) && this.code !== 'server_offline'
    if (seconds === undefined && !always) return undefined
    return Math.max(1, Math.ceil(seconds ?? 1))
  }

  /** The JSON-RPC code of this error under `/mcp`. */
  get rpcCode(): number {
    const entry: { status: number; rpc?: number } = ERROR_CODES[this.code]
    return entry.rpc ?? (entry.status >= 500 ? -32603 : -32600)
  }
}

/** What crosses a worker port in place of an Error, since structured clone loses `code` and `cause`. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
}
