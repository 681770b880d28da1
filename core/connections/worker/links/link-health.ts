import type { GuardedFetch } from '../../../contract/fetch.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { FromWorker, HealthReport, Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import { askPaths } from './health-paths.ts'
import { isAnswer, Liveness, report } from './liveness.ts'

/** Callbacks and settings of a `LinkHealth`. */
export interface LinkHealthOptions {
  readonly options: OpenMessage
  readonly signal: AbortSignal
  readonly arm: (atMs: number) => void
  /** The protocol's ping; rejects on a timeout or an error response. */
  readonly ping: (timeoutMs: number) => Promise<unknown>
  readonly lost: (message: string) => void
  readonly control: (message: FromWorker) => void
}

/** The health checks of an MCP server: the protocol's ping, and the configured paths of a remote server. */
export class LinkHealth {
  readonly liveness: Liveness
  readonly #context: LinkHealthOptions
  readonly #paths: readonly string[]
  #fetch: GuardedFetch | undefined
  /** Configured paths that the server does not have, by the last check that reached them. */
  #missing: readonly string[] | undefined

  constructor(context: LinkHealthOptions) {
    const { options, arm, lost } = context
    this.#context = context
    // A program has no paths.
    this.#paths = options.child ? [] : options.healthEndpoints
    if (this.#paths.length === 0) this.#missing = []
    this.liveness = new Liveness(this.#regular(options.liveness), {
      arm,
      ask: timeoutMs => this.#ask(timeoutMs),
      checked: found => this.#checked(found),
      lost,
    })
  }

  setLimits(limits: LivenessLimits): void {
    this.liveness.setLimits(this.#regular(limits))
  }

  /**
   * Checks the paths of a server whose handshake began at `sinceMs`: without this, a server that fails them would be
   * reported lost as soon as it was open. Rejects with a HubError.
   */
  async first(fetch: GuardedFetch, sinceMs: number, timeoutMs: number): Promise<void> {
    this.#fetch = fetch
    try {
      await this.#askPaths(timeoutMs)
    } catch (error) {
      this.#checked(report(sinceMs, 1, toWireError(error)))
      throw error
    }
  }

  /** Paths are polled at every interval, since messages of the server do not show their state. */
  #regular(limits: LivenessLimits): LivenessLimits {
    return { ...limits, always: this.#paths.length > 0 }
  }

  async #ask(timeoutMs: number): Promise<void> {
    const ping = this.#context.ping(timeoutMs).catch((error: unknown) => {
      if (!isAnswer(error)) throw error
    })
    await Promise.all([ping, this.#askPaths(timeoutMs)])
  }

  async #askPaths(timeoutMs: number): Promise<void> {
    const { options, signal } = this.#context
    if (this.#fetch && this.#paths.length > 0)
      this.#missing = await askPaths(this.#fetch, options.config, this.#paths, timeoutMs, signal)
  }

  #checked(found: HealthReport): void {
    const { options, control } = this.#context
    const missing = this.#missing === undefined ? {} : { missing: this.#missing }
    if (options.catalog) control({ type: 'health', conn: options.conn, report: { ...found, ...missing } })
  }
}
