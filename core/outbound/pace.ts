import type { Readable, Writable } from 'node:stream'

/** Amount that may pass at once after a pause, in milliseconds of the rate. */
const BURST_MS = 50

/** Takes a number of bytes; returns the time to wait after them, in milliseconds. */
export type Pace = (bytes: number) => number

/** One rate limit for all streams that share it. */
export function createPace(bytesPerSecond: number): Pace {
  let paidUntilMs = Number.NEGATIVE_INFINITY
  return bytes => {
    const now = performance.now()
    paidUntilMs = Math.max(paidUntilMs, now - BURST_MS) + (bytes * 1_000) / bytesPerSecond
    return Math.max(0, paidUntilMs - now)
  }
}

/** Callbacks for bytes that were read and not yet written. */
export interface Carried {
  readonly pace: Pace
  /** `held`: this many bytes were read and are buffered; `gone`: they were written. */
  held(bytes: number): void
  gone(bytes: number): void
}

/**
 * Copies one stream into another at this pace, with its end: one piece at a time, and the next is not read before that
 * is written.
 */
export function carry(from: Readable, to: Writable, carried: Carried): void {
  let bytes = 0
  let ended = false
  const settle = (): void => {
    carried.gone(bytes)
    bytes = 0
  }
  from.on('data', (piece: Buffer) => {
    from.pause()
    if (to.destroyed) return
    bytes = piece.length
    carried.held(bytes)
    const write = (): void => {
      if (to.destroyed) return
      to.write(piece, () => {
        settle()
        if (ended) to.end()
        else from.resume()
      })
    }
    const waitMs = carried.pace(piece.length)
    if (waitMs === 0) write()
    else setTimeout(write, waitMs)
  })
  // It may be emitted while the last piece is not written.
  from.on('end', () => {
    ended = true
    if (bytes === 0) to.end()
  })
  to.on('close', settle)
  from.resume()
}
