import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { BodyAnswer, BodyJob } from './body-protocol.ts'
import { FairQueue } from './fair-queue.ts'

/** How long an idle worker keeps the memory of its last job, in milliseconds. */
const IDLE_MS = 10_000

type BodyResult = Exclude<BodyAnswer, { readonly error: unknown } | { readonly failure: unknown }>

interface Waiting {
  readonly job: BodyJob
  readonly transfer: Transferable[]
  readonly resolve: (answer: BodyAnswer) => void
  readonly reject: (error: unknown) => void
}

/**
 * A worker with one job at a time. Senders take turns, so that many jobs of one delay another by one only. The worker
 * starts with the first job and ends after 10 s without work.
 */
export class BodyThread {
  readonly #name: string
  readonly #waiting = new FairQueue<Waiting>()
  #worker: Worker | undefined
  #busy: Waiting | undefined
  #idle: ReturnType<typeof setTimeout> | undefined

  constructor(name: string) {
    this.#name = name
  }

  /**
   * Throws what the worker threw, and `overloaded` when it ended, or 16 jobs of the sender wait already. The buffers of
   * `transfer` become unusable.
   */
  async ask(job: BodyJob, sender: string, transfer: Transferable[] = []): Promise<BodyResult> {
    if (this.#waiting.waiting(sender) >= LIMITS.waitingBodies) {
      throw new HubError('overloaded', `${LIMITS.waitingBodies} large bodies of yours wait to be parsed already`)
    }
    const answer = await new Promise<BodyAnswer>((resolve, reject) => {
      this.#waiting.push(sender, { job, transfer, resolve, reject })
      this.#next()
    })
    if ('failure' in answer) throw new Error(answer.failure)
    if ('error' in answer) throw new HubError(answer.error.code, answer.error.message, answer.error.options)
    return answer
  }

  dispose(): void {
    this.#end()
    this.#lose()
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
    const { job, transfer } = this.#busy
    this.#worker ??= this.#start()
    this.#worker.postMessage(job, transfer)
  }

  #start(): Worker {
    // The hub's environment contains secrets, which a parser does not need.
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url).href, { env: {}, name: this.#name })
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

  /** The worker ended, and its job failed; the jobs that wait get a new worker. */
  #lose(): void {
    const lost = this.#busy
    this.#busy = undefined
    lost?.reject(new HubError('overloaded', 'The thread that read the body ended before it had answered'))
    if (this.#waiting.size > 0) this.#next()
  }
}
