import { type GuardedFetch, HubError, type JsonObject, type LogRecord, type LogSink } from 'patchbay/contract'
import { firstWithin, objectOf } from 'patchbay/transport-kit'
import { attributes, otlpRecord } from './log-record.ts'

/** Bytes of one request; collectors accept 20 MiB by default, proxies before them often 10. */
const MOST_BYTES = 5_000_000
/** The answers after which the specification of OTLP/HTTP lets a client send again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])
const MOST_ANSWER_BYTES = 65_536

/** Options of the sink. */
export interface OtlpOptions {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly fetch: GuardedFetch
}

/** Sends records by OTLP over HTTP, in its JSON form. Accepted records of a batch are not sent again when the batch is repeated. */
export class OtlpSink {
  readonly #options: OtlpOptions
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #head: string
  /** The present batch: its key, the lines not sent yet, and the number of permanently rejected ones. */
  #batch: { readonly key: string; left: readonly string[]; rejected: number } | undefined

  constructor(options: OtlpOptions) {
    const { endpoint, headers, serviceName } = options
    const { origin, pathname } = new URL(endpoint)
    const base = `${origin}${pathname.replace(/\/+$/, '')}`
    this.#options = options
    this.#url = base.endsWith('/v1/logs') ? base : `${base}/v1/logs`
    this.#headers = Object.freeze({ ...headers, 'content-type': 'application/json' })
    const resource = { attributes: attributes([['service.name', serviceName]]) }
    this.#head = `{"resourceLogs":[{"resource":${JSON.stringify(resource)},"scopeLogs":[{"scope":{"name":"patchbay"},"logRecords":[`
  }

  get contribution(): LogSink {
    return { takes: 'lines', write: (lines, signal) => this.#write(lines, signal) }
  }

  async #write(lines: readonly string[], signal: AbortSignal): Promise<{ readonly rejected: number }> {
    const key = lines.join('\n')
    if (this.#batch?.key !== key)
      this.#batch = { key, left: lines.map(line => otlpRecord(JSON.parse(line) as LogRecord)), rejected: 0 }
    const batch = this.#batch
    while (batch.left.length > 0) {
      const part = firstWithin(batch.left, MOST_BYTES, 1, text => text)
      batch.rejected += await this.#send(part, signal)
      batch.left = batch.left.slice(part.length)
    }
    this.#batch = undefined
    return { rejected: batch.rejected }
  }

  /** Returns the number of permanently rejected records. Rejects with `delivery_failed` when the records have to be sent again. */
  async #send(part: readonly string[], signal: AbortSignal): Promise<number> {
    const { status, body } = await this.#post(`${this.#head}${part.join(',')}]}]}]}`, signal)
    if (status === 200) return rejectedOf(body, part.length)
    if (status === 413 && part.length > 1) {
      const middle = Math.ceil(part.length / 2)
      return (await this.#send(part.slice(0, middle), signal)) + (await this.#send(part.slice(middle), signal))
    }
    if (AGAIN.has(status)) throw this.#failed(`answered ${status}`)
    // A wrong address or key is put right by an administrator; the records wait for it.
    if (status === 401 || status === 403 || status === 404) throw this.#failed(`answered ${status}`)
    return part.length
  }

  async #post(body: string, signal: AbortSignal): Promise<{ readonly status: number; readonly body: JsonObject }> {
    const { fetch } = this.#options
    try {
      const request = { method: 'POST', headers: this.#headers, body, signal, maxBytes: MOST_ANSWER_BYTES }
      const answer = await fetch(this.#url, request)
      return { status: answer.status, body: objectOf(await answer.text()) }
    } catch (error) {
      throw this.#failed(`cannot be reached: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #failed(why: string): HubError {
    return new HubError('delivery_failed', `The collector at ${new URL(this.#url).origin} ${why}`)
  }
}

function rejectedOf({ partialSuccess }: JsonObject, sent: number): number {
  const rejected = Number((partialSuccess as JsonObject | undefined)?.rejectedLogRecords ?? 0)
  return Number.isSafeInteger(rejected) ? Math.min(Math.max(rejected, 0), sent) : 0
}
