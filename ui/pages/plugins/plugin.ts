/** A plugin as administrators get it. */
export interface Plugin {
  readonly name: string
  readonly state: 'running' | 'failed' | 'disabled' | 'stopped'
  readonly bundled: boolean
  readonly isolated: boolean
  readonly contributions: readonly string[]
  /** Why it failed, by its stable code and in the hub’s words. */
  readonly code?: string
  readonly message?: string
  readonly stack?: string
  readonly version?: string
  readonly sha256?: string
  /** Configuration with masks instead of secrets. */
  readonly config?: Readonly<Record<string, unknown>>
  /** JSON Schema of its configuration, if it was loaded and has one. */
  readonly configSchema?: Readonly<Record<string, unknown>>
  /** False: it takes no configuration. */
  readonly configurable?: boolean
  readonly starts: number
  readonly startedAt?: string
  /** Bytes of JavaScript's heap in its worker. */
  readonly heapBytes?: number
  /** Counts of the effects of its middlewares since the hub's start. */
  readonly middleware?: {
    readonly refused: number
    readonly failed: number
    readonly skipped: number
    readonly lastFailure?: { readonly at: string; readonly contribution: string; readonly message: string }
  }
  readonly usedBy?: {
    readonly servers: readonly string[]
    readonly serversTotal: number
    readonly channels: number
  }
}
