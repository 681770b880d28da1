import { type GuardedFetch, HubError, type JsonObject } from 'patchbay/contract'
import { objectOf } from 'patchbay/transport-kit'

const MOST_ANSWER_BYTES = 65_536

/** Address of a collector, and how it is reached. */
export interface CollectorOptions {
  /** Base URL of OTLP over HTTP, or the whole address of one signal. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: GuardedFetch
}

/** The answer of a collector; `body` is empty if it is no JSON object. */
export interface CollectorAnswer {
  readonly status: number
  readonly body: JsonObject
}

/** An OpenTelemetry collector, by OTLP over HTTP in its JSON form. */
export class Collector {
  readonly #fetch: GuardedFetch
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  constructor({ endpoint, headers, fetch }: CollectorOptions) {
    const { origin, pathname } = new URL(endpoint)
    this.#fetch = fetch
    this.#base = `${origin}${pathname.replace(/\/+$/, '')}`
    this.#headers = Object.freeze({ ...headers, 'content-type': 'application/json' })
  }

  /** Sends one request. Rejects with `delivery_failed` when the collector cannot be reached. */
  async post(signal: 'logs' | 'traces', body: Uint8Array, abort?: AbortSignal): Promise<CollectorAnswer> {
    const path = `/v1/${signal}`
    const url = this.#base.endsWith(path) ? this.#base : `${this.#base}${path}`
    const request = { method: 'POST', headers: this.#headers, body, maxBytes: MOST_ANSWER_BYTES }
    try {
      const answer = await this.#fetch(url, abort ? { ...request, signal: abort } : request)
      return { status: answer.status, body: objectOf(await answer.text()) }
    } catch (error) {
      throw this.failed(`cannot be reached: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** The error for an answer after which the same data has to be sent again. */
  failed(why: string): HubError {
    return new HubError('delivery_failed', `The collector at ${new URL(this.#base).origin} ${why}`)
  }
}

/** Number of items that the collector says it left out of `sent`. */
export function rejectedOf({ body }: CollectorAnswer, member: string, sent: number): number {
  const rejected = Number((body.partialSuccess as JsonObject | undefined)?.[member] ?? 0)
  return Number.isSafeInteger(rejected) ? Math.min(Math.max(rejected, 0), sent) : 0
}
