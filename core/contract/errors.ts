import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorCodes,
  type ErrorData,
  type FieldCode,
  type FieldCodes,
  hubErrorKind,
} from './codes.ts'
import type { ErrorKind } from './definition.ts'
import type { JsonObject } from './json.ts'

export type { ErrorCode, ErrorCodes, ErrorData, FieldCode, FieldCodes }

/** One invalid field. `pointer` is a JSON Pointer into the body (`#/name`) or a query parameter (`?limit`). */
export interface FieldError {
  readonly pointer: string
  readonly code: FieldCode
  readonly detail: string
  /** The fields in the intended form, as a JSON Merge Patch (RFC 7396) for the body. */
  readonly suggestion?: JsonObject
}

/** Optional parts of a `HubError`. */
export interface HubErrorOptions<C extends ErrorCode = ErrorCode> {
  readonly cause?: unknown
  /** Advice for the reader, in one sentence. Default: the code's entry in `REMEDIES`. */
  readonly hint?: string
  readonly errors?: readonly FieldError[]
  /** Seconds after which a retry may succeed; sent as `Retry-After`, and under `/mcp` also as `data.retryAfter`. */
  readonly retryAfterSeconds?: number
  /** Further members for the problem body or `error.data`; never a secret. */
  readonly data?: Readonly<ErrorData<C>>
  /** Meaning of a plugin's own code, which `context.error` sets. */
  readonly own?: ErrorKind
}

/** Marks errors of every copy of the class: a plugin from elsewhere and each part of the single executable have their own. */
const MARK = Symbol.for('patchbay.HubError')

/**
 * The only error class that crosses a room of the hub. The message names the action, the value and the cause.
 * `instanceof HubError` also holds for what another copy of this module has made.
 */
export class HubError<C extends ErrorCode = ErrorCode> extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore-start lint/complexity/noThisInStatic: a class that extends this one inherits the method
    if (this !== HubError) return super[Symbol.hasInstance](value)
    // biome-ignore-end lint/complexity/noThisInStatic: see above
    return typeof value === 'object' && value !== null && MARK in value
  }

  override readonly name = 'HubError'
  readonly [MARK] = true
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly data: Readonly<Record<string, unknown>> | undefined
  readonly own: ErrorKind | undefined

  constructor(code: C, message: string, options: HubErrorOptions<C> = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.errors = options.errors
    this.retryAfterSeconds = options.retryAfterSeconds
    this.data = options.data
    this.own = options.own
  }

  get status(): number {
    return kindOf(this).status
  }

  get title(): string {
    return kindOf(this).title
  }

  /**
   * Whole seconds, at least 1, after which a retry may succeed: always set for 429 and 503, otherwise where it is
   * known. For an offline server also only where it is known, since a stopped one does not come back by itself.
   */
  get retryAfter(): number | undefined {
    const given = this.data?.retryAfterSeconds
    const seconds = this.retryAfterSeconds ?? (typeof given === 'number' ? given : undefined)
    const always = (this.status === 429 || this.status === 503) && this.code !== 'server_offline'
    if (seconds === undefined && !always) return undefined
    return Math.max(1, Math.ceil(seconds ?? 1))
  }

  /** The JSON-RPC code of this error under `/mcp`. */
  get rpcCode(): number {
    const { rpc, status } = kindOf(this)
    return rpc ?? (status >= 500 ? -32603 : -32600)
  }
}

function kindOf({ own, code }: HubError): { readonly status: number; readonly title: string; readonly rpc?: number } {
  return own ?? hubErrorKind(code) ?? ERROR_CODES.internal
}
