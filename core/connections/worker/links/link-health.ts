import type { GuardedFetch } from '../../../contract/transport.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { FromWorker, HealthReport, Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import { askPaths } from './health-paths.ts'
import { isAnswer, Liveness, report } from './liveness.ts'

export interface LinkHealthOptions {
  readonly options: OpenMessage
  readonly signal: AbortSignal
  readonly arm: (atMs: number) => void
  /** The protocol's own question; rejects when there is no answer, or an error for one. */
  readonly ping: (timeoutMs: number) => Promise<unknown>
  readonly lost: (message: string) => void
  readonly control: (message: FromWorker) => void
}

/** Whether an MCP server lives: asked by the protocol, and by the configured paths where it is at an address. */
export class LinkHealth {
  readonly liveness: Liveness
  readonly #context: LinkHealthOptions
  readonly #paths: readonly string[]
  #fetch: GuardedFetch | undefined

  constructor(context: LinkHealthOptions) {
    const { options, arm, lost } = context
    this.#context = context
    // A program has no paths.
    this.#paths = options.child ? [] : options.healthEndpoints
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
   * The paths of a server that has shaken hands, since `sinceMs`: one that does not answer them would be called lost as soon as
   * it was open. Rejects with a HubError.
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

  /** Paths are asked at every interval, since what is heard of the server says nothing of them. */
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
      await askPaths(this.#fetch, options.config, this.#paths, timeoutMs, signal)
  }

  #checked(found: HealthReport): void {
    const { options, control } = this.#context
    if (options.catalog) control({ type: 'health', conn: options.conn, report: found })
  }
}
