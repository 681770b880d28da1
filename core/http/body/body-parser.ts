import type { ImportedDocument } from '../../config/import-document.ts'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type JsonLimits, parseJsonObject } from '../../domain/json/json-guard.ts'
import { attachFacts } from '../../domain/server/document-facts.ts'
import type { BodyAnswer, BodyJob } from './body-protocol.ts'
import { decodeBody } from './body-text.ts'
import { FairQueue } from './fair-queue.ts'

/** Largest body that the main thread parses: at most 65,000 values, which take some milliseconds. */
export const MAIN_THREAD_BYTES = 128 * 1024
/** How long an idle worker keeps the memory of its last body, in milliseconds. */
const IDLE_MS = 10_000

type BodyResult = Extract<BodyAnswer, { readonly documents: unknown }>

interface Waiting {
  readonly job: BodyJob
  readonly resolve: (answer: BodyAnswer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Parses JSON bodies, those over 128 KiB in a worker, one at a time. Senders take turns, so that many large bodies of
 * one delay another by one only. The worker starts with the first large body and ends after 10 s without work.
 */
export class BodyParser {
  readonly #waiting = new FairQueue<Waiting>()
  #worker: Worker | undefined
  #busy: Waiting | undefined
  #idle: ReturnType<typeof setTimeout> | undefined

  /**
   * Parses the object in a body. Transfers `bytes`, which become unusable. Inline OpenAPI documents of a body over 128
   * KiB stay text, with their facts attached (`factsIn`). `sender`: a user id, or the address of an anonymous client.
   * Throws what `parseJsonObject` throws, `json_encoding`, `validation_failed` for such a document, and `overloaded`
   * when the worker ended, or 16 bodies of the sender wait already.
   */
  async parse(bytes: Uint8Array, limits: JsonLimits, sender: string): Promise<JsonObject> {
    // A number in its source spelling would lose its class on a port; such bodies have few values.
    if (bytes.byteLength <= MAIN_THREAD_BYTES || limits.asWritten) return parseJsonObject(decodeBody(bytes), limits)
    const answer = await this.#ask({ kind: 'body', bytes, limits }, sender)
    if (!('value' in answer)) throw new TypeError('The thread answered a body with an import')
    attachFacts(answer.value, answer.documents)
    return answer.value
  }

  /** Runs `importDocument` on a text, or on another value's JSON; throws its errors, and `overloaded` as `parse`. */
  async importDocument(document: JsonValue, sender: string): Promise<ImportedDocument> {
    const answer = await this.#ask({ kind: 'import', document }, sender)
    if (!('imported' in answer)) throw new TypeError('The thread answered an import with a body')
    for (const [index, { body }] of answer.imported.entries.entries()) attachFacts(body, answer.documents[index] ?? [])
    return answer.imported
  }

  dispose(): void {
    this.#end()
    this.#lose()
  }

  async #ask(job: BodyJob, sender: string): Promise<BodyResult> {
    if (this.#waiting.waiting(sender) >= LIMITS.waitingBodies) {
      throw new HubError('overloaded', `${LIMITS.waitingBodies} large bodies of yours wait to be parsed already`)
    }
    const answer = await new Promise<BodyAnswer>((resolve, reject) => {
      this.#waiting.push(sender, { job, resolve, reject })
      this.#next()
    })
    if ('value' in answer || 'imported' in answer) return answer
    if ('failure' in answer) throw new Error(answer.failure)
    throw new HubError(answer.error.code, answer.error.message, answer.error.options)
  }

  #next(): void {
    if (this.#busy) return
    this.#busy = this.#waiting.shift()
    clearTimeout(this.#idle)
    if (!this.#busy) {
      this.#idle = setTimeout(() => this.#end(), IDLE_MS)
      this.#idle.unref()
      return
    }
    const { job } = this.#busy
    this.#worker ??= this.#start()
    this.#worker.postMessage(job, job.kind === 'body' ? [job.bytes.buffer] : [])
  }

  #start(): Worker {
    // The hub's environment contains secrets, which a parser does not need.
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url).href, { env: {}, name: 'patchbay-bodies' })
    worker.onmessage = ({ data }: MessageEvent<BodyAnswer>) => {
      const done = this.#busy
      this.#busy = undefined
      done?.resolve(data)
      this.#next()
    }
    worker.onerror = event => event.preventDefault()
    worker.addEventListener('close', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#lose()
    })
    return worker
  }

  #end(): void {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#idle)
    worker?.terminate()
  }

  /** The worker ended, and its body failed; the bodies that wait get a new worker. */
  #lose(): void {
    const lost = this.#busy
    this.#busy = undefined
    lost?.reject(new HubError('overloaded', 'The thread that read the body ended before it had answered'))
    if (this.#waiting.size > 0) this.#next()
  }
}
