import { randomUUID } from 'node:crypto'
import type { GuardedFetch, JsonObject } from 'patchbay/contract'
import type { LogRecord, LogSink } from 'patchbay/features'
import { firstWithin } from 'patchbay/transport-kit'
import { isKnown, refused, SearchEngine } from './engine.ts'

const MOST_RECORDS = 1_000
/** Bytes of one request; engines accept 100 MB by default, proxies before them often 10. */
const MOST_BYTES = 5_000_000
/** The line before each record, about. */
const ACTION_BYTES = 200

/** One record on its way. */
interface Entry {
  /** The same at every attempt, so that nothing is stored twice. */
  readonly id: string
  readonly day: string
  readonly text: string
}

/** Sends records by `_bulk`. Accepted records of a batch are not sent again when the batch is repeated. */
export class SearchSink {
  readonly #engine: SearchEngine
  readonly #index: string
  readonly #run = randomUUID()
  #isDataStream: boolean | undefined
  #sent = 0
  /** The batch under way: its first record, and what of it is not taken yet. */
  #batch: { readonly key: string; left: readonly Entry[]; rejected: number } | undefined

  constructor({ url, index, fetch }: { readonly url: string; readonly index: string; readonly fetch: GuardedFetch }) {
    this.#engine = new SearchEngine(url, fetch)
    this.#index = index
  }

  get contribution(): LogSink {
    return { takes: 'lines', maxBatch: MOST_RECORDS, write: (lines, signal) => this.#write(lines, signal) }
  }

  async #write(lines: readonly string[], signal: AbortSignal): Promise<{ readonly rejected: number }> {
    const key = lines.join('\n')
    if (this.#batch?.key !== key) this.#batch = { key, left: lines.map(line => this.#entry(line)), rejected: 0 }
    const batch = this.#batch
    this.#isDataStream ??= (await this.#engine.prepare(this.#index, signal)).isDataStream
    while (batch.left.length > 0) {
      const part = firstWithin(batch.left, MOST_BYTES, ACTION_BYTES, ({ text }) => text)
      const rest = batch.left.slice(part.length)
      const { again, rejected, why } = await this.#send(part, signal)
      batch.rejected += rejected
      batch.left = [...again, ...rest]
      if (why) throw why
    }
    this.#batch = undefined
    return { rejected: batch.rejected }
  }

  /** `why`: reason why some have to be sent again. */
  async #send(part: readonly Entry[], signal: AbortSignal): Promise<Outcome> {
    const body = part.map(entry => `${this.#action(entry)}\n${entry.text}\n`).join('')
    const path = '/_bulk?filter_path=errors,items.*.status,items.*.error.reason,error'
    const { status, body: said } = await this.#engine.ask('POST', path, signal, body)
    if (status === 413) return this.#halves(part, signal)
    if (status !== 200) {
      // The template may have been removed, or the engine replaced.
      this.#isDataStream = undefined
      throw refused('POST /_bulk', status, said)
    }
    if (said.errors !== true) return { again: [], rejected: 0 }
    return outcomeOf(part, said.items)
  }

  async #halves(part: readonly Entry[], signal: AbortSignal): Promise<Outcome> {
    if (part.length === 1) return { again: [], rejected: 1 }
    const middle = Math.ceil(part.length / 2)
    const first = await this.#send(part.slice(0, middle), signal)
    if (first.why) return { ...first, again: [...first.again, ...part.slice(middle)] }
    const second = await this.#send(part.slice(middle), signal)
    return { ...second, rejected: first.rejected + second.rejected }
  }

  #entry(line: string): Entry {
    const record = JSON.parse(line) as LogRecord
    const known: Record<string, unknown> = { '@timestamp': record.timestamp }
    const fields: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(record)) (isKnown(name, value) ? known : fields)[name] = value
    this.#sent += 1
    const id = `${this.#run}-${this.#sent}`
    return { id, day: record.timestamp.slice(0, 10).replaceAll('-', '.'), text: JSON.stringify({ ...known, fields }) }
  }

  #action({ id, day }: Entry): string {
    const _index = this.#isDataStream ? this.#index : `${this.#index}-${day}`
    return JSON.stringify({ create: { _index, _id: id } })
  }
}

interface Outcome {
  readonly again: readonly Entry[]
  readonly rejected: number
  readonly why?: Error
}

/** The usual failure: the whole is answered by 200, and single records are refused. */
function outcomeOf(part: readonly Entry[], items: unknown): Outcome {
  const answers = Array.isArray(items) ? (items as readonly JsonObject[]) : []
  const again: Entry[] = []
  let rejected = 0
  let why: Error | undefined
  for (const [index, entry] of part.entries()) {
    const answer = (answers[index]?.create ?? {}) as JsonObject
    const status = Number(answer.status ?? 500)
    // 409: it was stored at an earlier attempt.
    if (status < 300 || status === 409) continue
    if (status === 429 || status >= 500) {
      again.push(entry)
      why ??= refused('a record', status, answer)
    } else rejected += 1
  }
  return { again, rejected, ...(why ? { why } : {}) }
}
