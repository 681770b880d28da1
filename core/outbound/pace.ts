import type { Readable, Writable } from 'node:stream'

/** What may pass at once after a rest, in milliseconds of the rate. */
const BURST_MS = 50

/** How long to wait, in milliseconds, after so many bytes more. */
export type Pace = (bytes: number) => number

/** One measure for all streams that share it. */
export function createPace(bytesPerSecond: number): Pace {
  let paidUntilMs = Number.NEGATIVE_INFINITY
  return bytes => {
    const now = performance.now()
    paidUntilMs = Math.max(paidUntilMs, now - BURST_MS) + (bytes * 1_000) / bytesPerSecond
    return Math.max(0, paidUntilMs - now)
  }
}

/** What a carrier does with bytes between reading them and their being taken. */
export interface Carried {
  readonly pace: Pace
  /** Hears of bytes that are held, and of them again when they are not held any more. */
  held(bytes: number): void
  gone(bytes: number): void
}

/**
 * Carries what comes out of one stream into another at this pace, with its end: one piece at a time, and the next is not read
 * before that is taken.
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
  // It may come while the last piece still waits.
  from.on('end', () => {
    ended = true
    if (bytes === 0) to.end()
  })
  to.on('close', settle)
  from.resume()
}
