import { LIMITS } from '../config/limits.ts'

const HOUR_MS = 60 * 60_000

interface Share<Row> {
  readonly sinceMs: number
  readonly first: Row
  written: number
  skipped: number
}

/** Rows of one share that were counted and not written. */
export interface SkippedRows<Row> {
  /** The first row of the hour: whose it was. */
  readonly first: Row
  readonly skipped: number
  readonly sinceMs: number
}

/**
 * How many audit rows each user may cause in an hour, so that nobody fills the database or drives out what others did.
 * Beyond it rows are counted; the count is written as one row when the hour is over.
 */
export class AuditShares<Row> {
  readonly #shares = new Map<string, Share<Row>>()

  /** Whether the row of this share is to be written. `over` hears of the share's last hour when that had rows too many. */
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

  /** Ends the hours that are over, or all: each that had rows too many is handed back once. */
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
