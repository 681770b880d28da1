import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { FairQueue } from '../../domain/fair-turns.ts'
import { startThread } from '../../events/thread-starts.ts'
import type { BodyAnswer, BodyJob } from './body-protocol.ts'

/** Time for which an idle worker keeps the memory of its last job, in milliseconds. */
const IDLE_MS = 10_000
/** Longest time for one job, in milliseconds; 4 MiB of YAML take some seconds. */
const JOB_MS = 60_000

type BodyResult = Exclude<BodyAnswer, { readonly error: unknown } | { readonly failure: unknown }>

/** A job took longer than the thread's limit, and was ended together with its worker. */
export class JobTooLong extends HubError {
  constructor(ms: number) {
    super('overloaded', `Reading it took longer than ${ms / 1000} s`)
  }
}

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
  readonly #jobMs: number
  readonly #waiting = new FairQueue<Waiting>()
  #worker: Worker | undefined
  #busy: Waiting | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  #late: ReturnType<typeof setTimeout> | undefined

  /** `jobMs`: longest time for one job, in milliseconds; 60,000 by default. */
  constructor(name: string, jobMs = JOB_MS) {
    this.#name = name
    this.#jobMs = jobMs
  }

  /**
   * Throws the worker's error, `overloaded` when the worker ended or 16 jobs of the sender already wait, and `JobTooLong`. The
   * buffers of `transfer` become unusable.
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
    this.#late = setTimeout(() => this.#lose(new JobTooLong(this.#jobMs)), this.#jobMs)
    this.#worker.postMessage(job, transfer)
  }

  #start(): Worker {
    // The hub's environment contains secrets, which a parser does not need.
    const options = { env: {}, name: this.#name }
    const worker = startThread(() => new Worker(new URL('./body-worker.ts', import.meta.url).href, options))
    worker.onmessage = ({ data }: MessageEvent<BodyAnswer>) => {
      const done = this.#busy
      this.#busy = undefined
      clearTimeout(this.#late)
      done?.resolve(data)
      this.#next()
    }
    worker.onerror = event => event.preventDefault()
    worker.addEventListener('close', () => {
      if (this.#worker === worker) this.#lose()
    })
    return worker
  }

  #end(): void {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#idle)
    worker?.terminate()
  }

  /** Ends the worker and its job; the jobs that wait get a new worker. */
  #lose(why = new HubError('overloaded', 'The thread that read the body ended before it had answered')): void {
    this.#end()
    clearTimeout(this.#late)
    const lost = this.#busy
    this.#busy = undefined
    lost?.reject(why)
    if (this.#waiting.size > 0) this.#next()
  }
}
