/** One mistake in a field of a request's body. */
export interface FieldProblem {
  /** JSON pointer, such as `/url`. */
  readonly pointer: string
  readonly code: string
  readonly detail: string
  /** The fields in the form that is meant, as a JSON Merge Patch. */
  readonly suggestion?: Readonly<Record<string, unknown>>
}

/** An error that the hub answered, or `hub_unreachable` when there was no answer. */
export class ApiError extends Error {
  readonly status: number
  /** Stable code of the reason. */
  readonly code: string
  readonly hint: string | undefined
  readonly requestId: string | undefined
  readonly fields: readonly FieldProblem[]
  readonly retryAfterSeconds: number | undefined
  /** The whole body, for what single codes add to it. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfter?: string | null) {
    super(String(body.detail ?? body.title ?? status))
    this.status = status
    this.body = body
    this.code = String(body.code ?? `http_${status}`)
    this.hint = typeof body.hint === 'string' ? body.hint : undefined
    this.requestId = typeof body.requestId === 'string' ? body.requestId : undefined
    this.fields = Array.isArray(body.errors) ? (body.errors as FieldProblem[]) : []
    const seconds = Number(retryAfter)
    this.retryAfterSeconds = retryAfter != null && Number.isFinite(seconds) ? seconds : undefined
  }

  /** The mistake of a field, by its pointer. */
  field(pointer: string): FieldProblem | undefined {
    return this.fields.find(field => field.pointer === pointer)
  }
}

/** Any failure as an {@link ApiError}. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(0, { code: 'console_error', detail: error instanceof Error ? error.message : String(error) })
}
