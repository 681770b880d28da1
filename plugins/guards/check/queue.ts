import { availableParallelism } from 'node:os'
import { HubError } from 'patchbay/contract'
import type { PluginThread } from 'patchbay/features'
import type { CheckRequest } from '../thread.ts'
import type { Checked } from './check.ts'

/** Longest check; a longer one is ended together with its thread. */
const CHECK_MS = 10_000
/** Threads that long texts are checked in. One of them is kept for owners whose checks are short. */
const THREADS = Math.max(2, Math.min(3, availableParallelism() - 1))
/** A check that takes longer makes its owner a slow one, until one of its checks is short again. */
const SLOW_MS = 1_000
/** Checks by one owner's rules of one caller's content, and their bytes, that wait. */
const MOST_WAITING = 64
const MOST_BYTES = 64 * 1024 * 1024
/** Slow owners that are remembered. */
const MOST_REMEMBERED = 10_000

export type CheckThread = PluginThread<CheckRequest, Checked>

interface Job {
  readonly owner: string
  readonly request: CheckRequest
  readonly bytes: number
  readonly done: PromiseWithResolvers<Checked>
}

/**
 * Checks of long texts, in threads. One owner's rules have one thread at a time for each caller, these take turns, and owners whose checks
 * are slow never have all threads: patterns that take long delay the checks of their owner and of other slow owners, and results that are
 * long those of their caller.
 */
export class CheckQueue {
  readonly #open: () => CheckThread
  readonly #now: () => number
  readonly #idle: CheckThread[] = []
  #threads = 0
  /** By owner and caller; the first waits longest. */
  readonly #waiting = new Map<string, Job[]>()
  /** The owner of the rules by owner and caller. */
  readonly #running = new Map<string, string>()
  readonly #slow = new Set<string>()

  /** `now`: milliseconds of a clock that never goes back. Default `performance.now`. */
  constructor(open: () => CheckThread, now: () => number = () => performance.now()) {
    this.#open = open
    this.#now = now
  }

  /** Rejects with `overloaded` when too much of the owner and caller waits, and when the check takes too long. */
  check(of: { owner: string; caller: string }, request: CheckRequest, bytes: number): Promise<Checked> {
    const { owner } = of
    const turn = `${owner} ${of.caller}`
    const jobs = this.#waiting.get(turn) ?? []
    const held = jobs.reduce((sum, job) => sum + job.bytes, bytes)
    if (jobs.length >= MOST_WAITING || (jobs.length > 0 && held > MOST_BYTES))
      throw new HubError('overloaded', 'Too much waits for a check of its content', { retryAfterSeconds: 5 })
    const job: Job = { owner, request, bytes, done: Promise.withResolvers<Checked>() }
    jobs.push(job)
    this.#waiting.set(turn, jobs)
    this.#next()
    return job.done.promise
  }

  #next(): void {
    for (const [turn, jobs] of this.#waiting) {
      const isSlow = this.#slow.has(jobs[0]?.owner ?? '')
      if (this.#running.has(turn) || (isSlow && this.#slowRunning >= THREADS - 1)) continue
      const thread = this.#idle.pop() ?? this.#opened()
      if (!thread) return
      const job = jobs.shift()
      this.#waiting.delete(turn)
      // Behind the others, for its next turn.
      if (jobs.length > 0) this.#waiting.set(turn, jobs)
      if (job) void this.#run(turn, job, thread)
      else this.#idle.push(thread)
    }
  }

  #remember(owner: string): void {
    const [oldest] = this.#slow
    if (this.#slow.size >= MOST_REMEMBERED && oldest !== undefined) this.#slow.delete(oldest)
    this.#slow.add(owner)
  }

  get #slowRunning(): number {
    let count = 0
    for (const owner of this.#running.values()) if (this.#slow.has(owner)) count += 1
    return count
  }

  #opened(): CheckThread | undefined {
    if (this.#threads >= THREADS) return undefined
    this.#threads += 1
    return this.#open()
  }

  async #run(turn: string, { owner, request, done }: Job, thread: CheckThread): Promise<void> {
    this.#running.set(turn, owner)
    const startedMs = this.#now()
    try {
      done.resolve(await thread.request(request, CHECK_MS))
    } catch (cause) {
      done.reject(
        new HubError('overloaded', 'The check of its content took too long', { cause, retryAfterSeconds: 60 }),
      )
    }
    this.#running.delete(turn)
    this.#slow.delete(owner)
    if (this.#now() - startedMs > SLOW_MS) this.#remember(owner)
    this.#idle.push(thread)
    this.#next()
  }
}
