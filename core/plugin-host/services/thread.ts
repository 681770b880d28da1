import { fileURLToPath } from 'node:url'
import { HubError } from '../../contract/errors.ts'
import { endThread } from '../../events/thread-ends.ts'
import { startThread } from '../../events/thread-starts.ts'
import type { PluginThread } from '../../features/services/main-thread.ts'
import { fromWireError } from '../../transport-kit/wire-error.ts'
import type { FromThread, ToThread } from './thread-protocol.ts'

const USUAL_MS = 30_000
const MOST_WAITING = 1_000
const MOST_THREADS = 4

/** Longest step in which the time of a request is counted. */
const STEP_MS = 1_000

interface Request {
  resolve(value: unknown): void
  reject(error: unknown): void
  /** Stops the limit of its time. */
  endLimit(): void
}

/** The threads of one plugin, which end with `signal` and have its name. */
export class Threads {
  readonly #signal: AbortSignal
  readonly #name: string
  readonly #open = new Set<OwnThread>()

  constructor(signal: AbortSignal, plugin: string) {
    this.#signal = signal
    this.#name = `patchbay-${plugin}`
    signal.addEventListener('abort', () => {
      for (const thread of this.#open) thread.end()
    })
  }

  /** `module`: absolute path or file: URL. Throws RangeError beyond the limit. */
  open(module: string): PluginThread {
    this.#signal.throwIfAborted()
    if (this.#open.size >= MOST_THREADS) throw new RangeError(`A plugin has at most ${MOST_THREADS} threads`)
    const file = module.startsWith('file:') ? fileURLToPath(module) : module
    const thread = new OwnThread(file, this.#name, () => this.#open.delete(thread))
    this.#open.add(thread)
    return thread
  }
}

/** Starts at the first request, and again at the first one after it has ended by itself. */
class OwnThread implements PluginThread {
  readonly #file: string
  readonly #name: string
  readonly #left: () => void
  readonly #waiting = new Map<number, Request>()
  #worker: Worker | undefined
  #lastId = 0
  #ended = false

  constructor(file: string, name: string, left: () => void) {
    this.#file = file
    this.#name = name
    this.#left = left
  }

  request(message: unknown, timeoutMs: number = USUAL_MS, moved: readonly ArrayBuffer[] = []): Promise<unknown> {
    if (this.#ended) return Promise.reject(lost('it was ended'))
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.reject(new HubError('overloaded', `${MOST_WAITING} requests wait for the thread of the plugin`))
    const worker = this.#running()
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      // A thread that answers nothing may be in an endless loop, which only its end stops.
      const over = () => this.#close(worker, `it did not answer within ${timeoutMs} ms`)
      this.#waiting.set(id, { resolve, reject, endLimit: afterRunning(timeoutMs, over) })
      worker.postMessage({ type: 'ask', id, message } satisfies ToThread, [...moved])
    })
  }

  end(): void {
    this.#ended = true
    this.#left()
    if (this.#worker) this.#close(this.#worker, 'it was ended')
  }

  #running(): Worker {
    if (this.#worker) return this.#worker
    // The hub's environment contains secrets, which the thread does not need.
    const options = { env: {}, name: this.#name, smol: true } as WorkerOptions
    const worker = startThread(() => new Worker(new URL('./thread-worker.ts', import.meta.url).href, options))
    worker.onmessage = ({ data }: MessageEvent<FromThread>) => this.#answered(data)
    worker.onerror = event => {
      event.preventDefault()
      this.#close(worker, `it failed: ${event.message}`)
    }
    worker.addEventListener('close', () => this.#close(worker, 'it ended'))
    worker.postMessage({ type: 'load', file: this.#file } satisfies ToThread)
    this.#worker = worker
    return worker
  }

  #answered({ id, value, error }: FromThread): void {
    const request = this.#waiting.get(id)
    this.#waiting.delete(id)
    request?.endLimit()
    if (error) request?.reject(fromWireError(error))
    else request?.resolve(value)
  }

  #close(worker: Worker, why: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    endThread(worker, this.#name)
    for (const { reject, endLimit } of this.#waiting.values()) {
      endLimit()
      reject(lost(why))
    }
    this.#waiting.clear()
  }
}

/**
 * Calls `over` after this process has run for this time. A time during which the process or its machine is suspended counts as
 * one step. Returns a function that stops the timer.
 */
function afterRunning(ms: number, over: () => void): () => void {
  const stepMs = Math.min(ms, STEP_MS)
  let leftMs = ms
  const timer = setInterval(() => {
    leftMs -= stepMs
    if (leftMs > 0) return
    clearInterval(timer)
    over()
  }, stepMs)
  return () => clearInterval(timer)
}

function lost(why: string): HubError {
  return new HubError('connection_lost', `The thread of the plugin cannot answer: ${why}`)
}
