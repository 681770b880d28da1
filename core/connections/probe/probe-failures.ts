import type { PluginLogger } from '../../contract/plugin.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import { ToolsProbeFailed } from './tools-probe.ts'

/** A failed probe is not repeated sooner. */
const RETRY_MS = 30_000

/** The parts of its server that `ProbeFailures` uses. */
export interface ProbeFailuresOptions {
  readonly context: { readonly log: Pick<PluginLogger, 'warn'>; readonly redact: (text: string) => string }
  readonly record: () => ServerRecord
}

/** Failed probes of one server, by what they were to find. */
export class ProbeFailures {
  readonly #options: ProbeFailuresOptions
  readonly #failedAtMs = new Map<string, number>()
  #last: string | undefined

  constructor(options: ProbeFailuresOptions) {
    this.#options = options
  }

  /** Why the last probe failed; undefined when it did not. */
  get last(): string | undefined {
    return this.#last
  }

  /** Keeps and logs a failure. */
  add(what: string, error: unknown): void {
    const { context, record } = this.#options
    const { message } = error instanceof ToolsProbeFailed ? error.reason : toWireError(error)
    const { id: serverId, name: server, ownerId } = record()
    this.#failedAtMs.set(what, performance.now())
    this.#last = context.redact(message)
    context.log.warn('A server could not be probed as a client that supports server requests', {
      ...{ server, serverId, ownerId, error: this.#last },
    })
  }

  succeeded(): void {
    this.#last = undefined
  }

  /** True when it failed within this time, in milliseconds. */
  isRecent(what: string, withinMs = RETRY_MS): boolean {
    return performance.now() - (this.#failedAtMs.get(what) ?? Number.NEGATIVE_INFINITY) < withinMs
  }
}
