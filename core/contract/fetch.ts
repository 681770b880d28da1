/** Options of one guarded request. */
export interface GuardedRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  /** Milliseconds until the response head must have arrived. */
  readonly headTimeoutMs?: number
  /** Milliseconds of silence allowed within the body; 0 for a stream without a limit. */
  readonly idleTimeoutMs?: number
  /** Longest body that is read as a whole, in decoded bytes; at most 64 MiB. Default 10 MiB. */
  readonly maxBytes?: number
}

/** A response whose body is read once, by one of its methods. */
export interface GuardedResponse {
  readonly status: number
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The whole body as UTF-8. Beyond `maxBytes` it throws `result_too_large` with `data.maxBytes`. */
  text(): Promise<string>
  /** The same as bytes. Either of the two, and once. */
  bytes(): Promise<Uint8Array>
  /** The body as it arrives, decoded as UTF-8 without cutting a character. Ends by `done`; either call, not both. */
  stream(handlers: { chunk(text: string): void; done(error?: unknown): void }): void
  /** Drops the body and the socket. */
  cancel(): void
}

/** Sends one request under the hub's rules; rejects with a HubError. */
export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<GuardedResponse>
