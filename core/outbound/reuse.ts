import type { Http1Connection } from './http1.ts'

/**
 * How long a connection is kept for reuse when the server does not say: shorter than Node's 5 s, the shortest of the
 * common servers, since a POST written while the server closes is lost.
 */
const IDLE_MS = 4_000
/** A connection that is still open so long after its answer was not closed with it, even by a server that is short of time. */
const PROOF_MS = 250
/** What was seen of a server holds for so long: it may be another one by then. */
const CAUTION_MS = 60_000

type Resting = Pick<Http1Connection, 'idleSinceMs'>

/**
 * Whether a server keeps its connections open between requests, as seen. HTTP/1.1 lets it close one at any time without a
 * word, and of a request that is written meanwhile nobody can tell whether it was read. So what must not be lost goes out on a
 * used connection only once one was seen to outlive its answer.
 */
export class ReuseTrust {
  #proven = false
  /** The server closes with each answer: no used connection until then. */
  #closesUntilMs = 0
  /** Half of the shortest rest after which the server closed one. */
  #seenMs = Number.POSITIVE_INFINITY
  #seenUntilMs = 0

  /** Whether a request that may act can go out on a used connection. `oldest`: the one that rests for longest. */
  reuses(oldest: Resting | undefined, nowMs: number): boolean {
    if (nowMs < this.#closesUntilMs) return false
    if (!this.#proven && oldest && nowMs - oldest.idleSinceMs >= PROOF_MS) this.#proven = true
    return this.#proven
  }

  /** Longest rest of a connection that is used again; 0: none is. `saidMs`: the server's own word. */
  idleMs(saidMs: number | undefined, nowMs: number): number {
    if (nowMs >= this.#seenUntilMs) this.#seenMs = Number.POSITIVE_INFINITY
    return nowMs < this.#closesUntilMs ? 0 : Math.min(saidMs ?? IDLE_MS, this.#seenMs)
  }

  /** The server has closed a connection that rested. */
  closedIdle({ idleSinceMs, served }: Resting & { readonly served: number }, nowMs: number): void {
    const restedMs = nowMs - idleSinceMs
    if (restedMs >= 2 * PROOF_MS) {
      this.#seenMs = Math.min(this.#seenMs, restedMs / 2)
      this.#seenUntilMs = nowMs + CAUTION_MS
      return
    }
    this.#proven = false
    // One that had carried more than one request says that they are kept; this may be the end of the server.
    if (served === 1) this.#closesUntilMs = nowMs + CAUTION_MS
  }
}
