import { HttpSession, type HttpTarget } from '../bench/http-client.ts'

/** Errors that a call may get while its server is killed, restarted or edited. Every other error is a fault of the hub. */
const LOST = /"code":"(connection_lost|server_offline|starting|upstream_timeout|upstream_dns_error|stopped)"/
const REPEAT_MS = 20
const STUCK_MS = 60_000

export interface CallerPlan {
  readonly target: HttpTarget
  readonly sessions: number
  /** Faults are made here, so that calls may be refused; else each must be answered. */
  readonly shaky: boolean
}

/** Sessions that call until they have made the calls they were given, and check each answer. */
export class Callers {
  answered = 0
  refused = 0
  /** Answers that were wrong, crossed or lost. */
  readonly wrong: string[] = []
  readonly #sessions: HttpSession[] = []
  #left = 0
  #busy = 0
  #idle = Promise.withResolvers<void>()

  static async open(plans: readonly CallerPlan[]): Promise<Callers> {
    const callers = new Callers()
    for (const { target, sessions, shaky } of plans) {
      for (let index = 0; index < sessions; index += 1) {
        // All marks have the same length, since the client relies on it; no two sessions have the same mark.
        const mark = `${target.wire ?? 'legacy'}-${callers.#sessions.length}-`
        await callers.#open({ ...target, mark }, shaky)
      }
    }
    return callers
  }

  /** Makes this many calls, and resolves when all sessions are at rest again. Rejects when no more answers come. */
  async run(calls: number): Promise<void> {
    this.#left = calls
    this.#idle = Promise.withResolvers<void>()
    this.#busy = this.#sessions.length
    for (const session of this.#sessions) this.#next(session)
    let seen = -1
    const watch = setInterval(() => {
      const now = this.answered + this.refused
      if (now === seen) this.#idle.reject(new Error(`No answer for ${STUCK_MS} ms: ${this.#busy} calls are lost`))
      seen = now
    }, STUCK_MS)
    try {
      await this.#idle.promise
    } finally {
      clearInterval(watch)
    }
  }

  close(): void {
    for (const session of this.#sessions) session.close()
  }

  async #open(target: HttpTarget, shaky: boolean): Promise<void> {
    const session: HttpSession = await HttpSession.open(target, (_, error) => {
      if (error === undefined) this.answered += 1
      else if (shaky && LOST.test(error)) {
        this.refused += 1
        setTimeout(() => this.#next(session), REPEAT_MS)
        return false
      } else {
        this.wrong.push(error)
        // A closed connection answers nothing more.
        if (!error.startsWith('HTTP/')) {
          this.#rest()
          return false
        }
      }
      if (this.#left > 0) {
        this.#left -= 1
        return true
      }
      this.#rest()
      return false
    })
    this.#sessions.push(session)
  }

  #next(session: HttpSession): void {
    if (this.#left <= 0) return this.#rest()
    this.#left -= 1
    session.call()
  }

  #rest(): void {
    this.#busy -= 1
    if (this.#busy === 0) this.#idle.resolve()
  }
}
