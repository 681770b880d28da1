import { Transform } from 'node:stream'

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

/** Passes on what it gets, at this pace. */
export function paced(pace: Pace): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const waitMs = pace(chunk.length)
      if (waitMs === 0) done(null, chunk)
      else setTimeout(done, waitMs, null, chunk)
    },
  })
}
