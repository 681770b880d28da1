import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { type ApiError, asApiError } from '../api/problem.ts'

/** Time after the last keystroke until the plan is requested again, in milliseconds. */
const PAUSE_MS = 250

/**
 * Preview of submitting a form, requested again after each change of the form. Of several requests the last one's answer counts;
 * until it arrives the plan is stale, and must not be submitted.
 */
export class Plan<T> implements ReactiveController {
  readonly #host: ReactiveControllerHost
  readonly #ask: () => Promise<T>
  #value: T | undefined
  #error: ApiError | undefined
  #stale = false
  #requests = 0
  #typing: ReturnType<typeof setTimeout> | undefined

  constructor(host: ReactiveControllerHost, ask: () => Promise<T>) {
    this.#host = host
    this.#ask = ask
    host.addController(this)
  }

  /** The last answer; undefined: none yet. */
  get value(): T | undefined {
    return this.#value
  }

  /** Error of the last request, or of submitting a plan. */
  get error(): ApiError | undefined {
    return this.#error
  }

  /** True when the form has changed since the last answer. */
  get stale(): boolean {
    return this.#stale
  }

  hostDisconnected(): void {
    clearTimeout(this.#typing)
  }

  /** Requests the plan after a pause in typing. */
  soon(): void {
    this.#stale = true
    clearTimeout(this.#typing)
    this.#typing = setTimeout(() => void this.now(), PAUSE_MS)
    this.#host.requestUpdate()
  }

  async now(): Promise<void> {
    clearTimeout(this.#typing)
    this.#stale = true
    this.#requests += 1
    const request = this.#requests
    this.#host.requestUpdate()
    try {
      const value = await this.#ask()
      if (request !== this.#requests) return
      this.#value = value
      this.#error = undefined
    } catch (error) {
      if (request !== this.#requests) return
      this.#error = asApiError(error)
    }
    this.#stale = false
    this.#host.requestUpdate()
  }

  /** Resets for another form: there is no plan, and answers to earlier requests are ignored. */
  clear(): void {
    clearTimeout(this.#typing)
    this.#requests += 1
    this.#value = undefined
    this.#error = undefined
    this.#stale = false
    this.#host.requestUpdate()
  }

  /** Reports that submitting the plan failed; if the plan has changed meanwhile, it is requested again. */
  async failed(error: unknown): Promise<void> {
    const problem = asApiError(error)
    if (problem.code === 'plan_changed') await this.now()
    this.#error = problem
    this.#host.requestUpdate()
  }
}
