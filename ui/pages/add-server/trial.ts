import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { type ApiError, asApiError } from '../../api/problem.ts'
import { sendForEvents } from '../../api/stream.ts'
import type { ToolRecord } from '../../api/types.ts'
import type { Body } from './draft.ts'

/** A step of a trial; without `ok` it runs now. */
export interface Step {
  readonly name: string
  readonly ok?: boolean
  readonly durationMs?: number
  /** Code of a failed step. */
  readonly code?: string
  /** Number of tools, for the step that lists them. */
  readonly count?: number
  readonly detail?: string
}

/** Result of a trial. */
export interface TrialReport {
  readonly ok: boolean
  readonly steps: readonly Step[]
  readonly tools: readonly ToolRecord[]
  readonly tokens: number
  readonly warnings: readonly string[]
  readonly error?: { readonly code: string; readonly message: string }
}

/** One connection with a configuration that is not saved, its steps shown as they happen. */
export class Trial implements ReactiveController {
  steps: readonly Step[] = []
  report: TrialReport | undefined
  /** Why the hub did not even try. */
  error: ApiError | undefined
  readonly #host: ReactiveControllerHost
  #abort: AbortController | undefined

  constructor(host: ReactiveControllerHost) {
    this.#host = host
    host.addController(this)
  }

  get running(): boolean {
    return this.#abort !== undefined
  }

  hostDisconnected(): void {
    this.cancel()
  }

  cancel(): void {
    this.#abort?.abort()
    this.#abort = undefined
  }

  /** Removes the results after a change of the configuration. */
  clear(): void {
    this.cancel()
    this.steps = []
    this.report = undefined
    this.error = undefined
    this.#host.requestUpdate()
  }

  /** Never rejects; resolves with true if the server can be used. */
  async run(body: Body): Promise<boolean> {
    this.clear()
    const abort = new AbortController()
    this.#abort = abort
    try {
      const report = await sendForEvents<TrialReport>(
        '/api/servers/test',
        { body, signal: abort.signal },
        (name, data) => {
          if (name === 'step') this.#step(data as unknown as Step)
        },
      )
      this.report = report
      this.steps = report.steps
    } catch (error) {
      if (!abort.signal.aborted) this.error = asApiError(error)
    }
    if (this.#abort === abort) this.#abort = undefined
    this.#host.requestUpdate()
    return this.report?.ok === true
  }

  #step(step: Step): void {
    const last = this.steps.at(-1)
    const done = last !== undefined && last.ok === undefined && last.name === step.name
    this.steps = done ? [...this.steps.slice(0, -1), step] : [...this.steps, step]
    this.#host.requestUpdate()
  }
}
