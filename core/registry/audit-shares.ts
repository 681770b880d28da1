import { LIMITS } from '../config/limits.ts'

const HOUR_MS = 60 * 60_000

interface Share<Row> {
  readonly sinceMs: number
  readonly first: Row
  written: number
  skipped: number
}

/** Rows of one share that were counted but not written. */
export interface SkippedRows<Row> {
  /** The first row of the hour, with the user's columns. */
  readonly first: Row
  readonly skipped: number
  readonly sinceMs: number
}

/**
 * Limits the audit rows that each user may cause in an hour, so that one user cannot fill the database or displace other users'
 * rows. Rows beyond the limit are counted; the count is written as one row when the hour ends.
 */
export class AuditShares<Row> {
  readonly #shares = new Map<string, Share<Row>>()

  /** True when the row may be written. Calls `over` for the share's previous hour if rows were skipped in it. */
  take(key: string, row: Row, nowMs: number, over: (skipped: SkippedRows<Row>) => void): boolean {
    const known = this.#shares.get(key)
    if (!known || nowMs - known.sinceMs >= HOUR_MS) {
      if (known && known.skipped > 0) over(known)
      this.#shares.set(key, { sinceMs: nowMs, first: row, written: 1, skipped: 0 })
      return true
    }
    if (known.written < LIMITS.auditRowsPerHour) {
      known.written += 1
      return true
    }
    known.skipped += 1
    return false
  }

  /** Ends the hours that are over, or all; returns those with skipped rows. */
  end(nowMs: number, all = false): readonly SkippedRows<Row>[] {
    const over: SkippedRows<Row>[] = []
    for (const [key, share] of this.#shares) {
      if (!all && nowMs - share.sinceMs < HOUR_MS) continue
      this.#shares.delete(key)
      if (share.skipped > 0) over.push(share)
    }
    return over
  }
}
