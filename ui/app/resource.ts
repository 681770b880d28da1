import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { type ApiError, asApiError } from '../api/problem.ts'
import { type LiveEvent, live, type Topic } from './live.ts'

/** Options for reading a {@link Resource}, and for reading it again. */
export interface ResourceOptions<T> {
  /** Reads the data; called again whenever the key changes. */
  readonly read: (signal: AbortSignal) => Promise<T>
  /** Key of the data, such as filters; undefined: not yet readable. Default: none. */
  readonly key?: () => unknown
  /** True to keep the data of the last key, as `outdated`, until those of the next one are read. Default false. */
  readonly keep?: boolean
  /** Topics to listen to. Default none. */
  readonly topics?: readonly Topic[]
  /**
   * Applies an event to the data. Returns the new data, `same` if the event does not concern them, or `stale` to read them
   * again, at most once in `pauseMs`. Default: every event makes them stale.
   */
  readonly apply?: (event: LiveEvent, data: T) => T | 'same' | 'stale'
  /** Shortest time between two readings that events caused, in milliseconds. Default 1000. */
  readonly pauseMs?: number
  /** Reads again in this interval while the page is visible, in milliseconds. Default never. */
  readonly everyMs?: number
}

/**
 * Data of the hub for one element: read when it is connected, kept while they are read again (`stale` is then true), and kept up
 * to date by events of the live stream.
 */
export class Resource<T> implements ReactiveController {
  readonly #host: ReactiveControllerHost
  readonly #options: ResourceOptions<T>
  #data: T | undefined
  #error: ApiError | undefined
  #readAtMs = 0
  #outdated = false
  #abort: AbortController | undefined
  #key = ''
  #unsubscribe: (() => void) | undefined
  #pause: ReturnType<typeof setTimeout> | undefined
  #interval: ReturnType<typeof setInterval> | undefined

  constructor(host: ReactiveControllerHost, options: ResourceOptions<T>) {
    this.#host = host
    this.#options = options
    host.addController(this)
  }

  /** The data as last read; undefined: never yet. */
  get data(): T | undefined {
    return this.#data
  }

  /** Why the last reading failed; the data, if any, are older then. */
  get error(): ApiError | undefined {
    return this.#error
  }

  get loading(): boolean {
    return this.#abort !== undefined
  }

  /** True when the data are those of another key, with `keep`. */
  get outdated(): boolean {
    return this.#outdated
  }

  /** When the data were read, in milliseconds since 1970; 0: never. */
  get readAtMs(): number {
    return this.#readAtMs
  }

  /** Replaces the data, such as after a write whose response contains them. */
  set(data: T): void {
    this.#data = data
    this.#error = undefined
    this.#host.requestUpdate()
  }

  /** Reads again now. Never rejects: `error` has the reason of a failure. */
  async reload(): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.#host.requestUpdate()
    try {
      const data = await this.#options.read(abort.signal)
      if (abort.signal.aborted) return
      this.#data = data
      this.#outdated = false
      this.#error = undefined
      this.#readAtMs = Date.now()
    } catch (error) {
      if (abort.signal.aborted) return
      this.#error = asApiError(error)
      // Older data of a thing that is gone, or no longer shared, are not shown.
      if (this.#outdated || this.#error.status === 404) this.#data = undefined
      this.#outdated = false
    }
    this.#abort = undefined
    this.#host.requestUpdate()
  }

  hostConnected(): void {
    const { topics, everyMs } = this.#options
    if (topics)
      this.#unsubscribe = live.subscribe(
        topics,
        event => this.#event(event),
        () => this.#soon(),
      )
    if (everyMs !== undefined) {
      this.#interval = setInterval(() => {
        if (document.visibilityState === 'visible' && !this.loading) void this.reload()
      }, everyMs)
    }
    this.#key = ''
  }

  hostUpdate(): void {
    const value = this.#options.key === undefined ? 'once' : this.#options.key()
    if (value === undefined) return
    const key = JSON.stringify(value)
    if (key === this.#key) return
    if (this.#key !== '' && this.#options.keep && this.#data !== undefined) this.#outdated = true
    else if (this.#key !== '') this.#data = undefined
    this.#key = key
    void this.reload()
  }

  hostDisconnected(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#abort?.abort()
    this.#abort = undefined
    clearTimeout(this.#pause)
    this.#pause = undefined
    clearInterval(this.#interval)
  }

  #event(event: LiveEvent): void {
    if (this.#data === undefined) {
      if (this.#error?.status === 404) this.#soon()
      return
    }
    const next = this.#options.apply?.(event, this.#data) ?? 'stale'
    if (next === 'same') return
    if (next === 'stale') return this.#soon()
    this.#data = next as T
    this.#host.requestUpdate()
  }

  #soon(): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined
      void this.reload()
    }, this.#options.pauseMs ?? 1000)
  }
}
