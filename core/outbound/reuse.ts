import type { Http1Connection } from './http1.ts'

/**
 * Time for which a connection is kept for reuse if the server does not state one, in milliseconds: shorter than Node's 5 s, the
 * shortest of the common servers, since a POST written while the server closes is lost.
 */
const IDLE_MS = 4_000
/** A connection still open after this time was not closed with its response, even by a slow server. */
const PROOF_MS = 250
/** Time for which observations of a server are valid, in milliseconds: another server may have replaced it after that. */
const CAUTION_MS = 60_000

type Resting = Pick<Http1Connection, 'idleSinceMs'>

/**
 * Records whether a server keeps its connections open between requests. HTTP/1.1 lets it close one at any time, and it is
 * unknown whether a request written meanwhile was read. So a request that must not be lost is sent on a used connection only
 * once one was observed to outlive its response.
 */
export class ReuseTrust {
  #proven = false
  /** The server closes with each response: no used connection until then. */
  #closesUntilMs = 0
  /** Half of the shortest idle time after which the server closed a connection. */
  #seenMs = Number.POSITIVE_INFINITY
  #seenUntilMs = 0

  /** True when a request that may act can be sent on a used connection. `oldest`: the one idle for longest. */
  reuses(oldest: Resting | undefined, nowMs: number): boolean {
    if (nowMs < this.#closesUntilMs) return false
    if (!this.#proven && oldest && nowMs - oldest.idleSinceMs >= PROOF_MS) this.#proven = true
    return this.#proven
  }

  /** Longest idle time of a connection that is reused; 0: never reused. `saidMs`: the time from the server. */
  idleMs(saidMs: number | undefined, nowMs: number): number {
    if (nowMs >= this.#seenUntilMs) this.#seenMs = Number.POSITIVE_INFINITY
    return nowMs < this.#closesUntilMs ? 0 : Math.min(saidMs ?? IDLE_MS, this.#seenMs)
  }

  /** The server has closed an idle connection. */
  closedIdle({ idleSinceMs, served }: Resting & { readonly served: number }, nowMs: number): void {
    const restedMs = nowMs - idleSinceMs
    if (restedMs >= 2 * PROOF_MS) {
      this.#seenMs = Math.min(this.#seenMs, restedMs / 2)
      this.#seenUntilMs = nowMs + CAUTION_MS
      return
    }
    this.#proven = false
    // One that had carried more than one request shows that they are kept; this may be the end of the server.
    if (served === 1) this.#closesUntilMs = nowMs + CAUTION_MS
  }
}
