import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { type ApiError, asApiError } from '../api/problem.ts'

/** How long after the last letter the plan is asked for again, in milliseconds. */
const PAUSE_MS = 250

/**
 * What a form of an element would do, asked anew after each change of the form. Of several questions the answer to the last
 * one counts; until it is there the plan is stale, and nothing may be done on it.
 */
export class Plan<T> implements ReactiveController {
  readonly #host: ReactiveControllerHost
  readonly #ask: () => Promise<T>
  #value: T | undefined
  #error: ApiError | undefined
  #stale = false
  #asked = 0
  #typing: ReturnType<typeof setTimeout> | undefined

  constructor(host: ReactiveControllerHost, ask: () => Promise<T>) {
    this.#host = host
    this.#ask = ask
    host.addController(this)
  }

  /** As last answered; undefined: never yet. */
  get value(): T | undefined {
    return this.#value
  }

  /** Why the last question, or what was done on a plan, failed. */
  get error(): ApiError | undefined {
    return this.#error
  }

  /** Whether the form has changed since. */
  get stale(): boolean {
    return this.#stale
  }

  hostDisconnected(): void {
    clearTimeout(this.#typing)
  }

  /** Asks once nothing has been typed for a moment. */
  soon(): void {
    this.#stale = true
    clearTimeout(this.#typing)
    this.#typing = setTimeout(() => void this.now(), PAUSE_MS)
    this.#host.requestUpdate()
  }

  async now(): Promise<void> {
    clearTimeout(this.#typing)
    this.#stale = true
    this.#asked += 1
    const asked = this.#asked
    this.#host.requestUpdate()
    try {
      const value = await this.#ask()
      if (asked !== this.#asked) return
      this.#value = value
      this.#error = undefined
    } catch (error) {
      if (asked !== this.#asked) return
      this.#error = asApiError(error)
    }
    this.#stale = false
    this.#host.requestUpdate()
  }

  /** For another form: there is no plan, and answers to questions about the last one do not count. */
  clear(): void {
    clearTimeout(this.#typing)
    this.#asked += 1
    this.#value = undefined
    this.#error = undefined
    this.#stale = false
    this.#host.requestUpdate()
  }

  /** What was to be done on the plan failed, such as for a plan that is another one by now, which is then asked for. */
  async failed(error: unknown): Promise<void> {
    const problem = asApiError(error)
    if (problem.code === 'plan_changed') await this.now()
    this.#error = problem
    this.#host.requestUpdate()
  }
}
