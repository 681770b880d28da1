import { changedCapability, type ListKind, listsOf } from '../../../domain/mcp-methods.ts'
import type { ListsOutcome } from '../../protocol.ts'
import type { Expiring } from '../deadlines.ts'
import { type ReaderOptions, readCatalog } from './catalog-reader.ts'
import { pauseAfterMs } from './list-paces.ts'

/** Least milliseconds between the starts of two readings, however often the upstream sends list_changed. */
const REREAD_MS = 250
/** Readings a minute without a longer pause; each further one lengthens it by half, up to the longest. */
const FREE_READINGS = 20
const LONGEST_PAUSE_MS = 30_000
const MINUTE_MS = 60_000
/** Delay before a list is read again that failed because too much arrived at once. */
const AGAIN_MS = 2_000
/** Pause before a list is read again for which the server answered an error; it doubles with each failure, up to the longest. */
const FAILED_MS = 5_000
const LONGEST_FAILED_MS = 300_000

/** The kinds that a notification makes stale; undefined for any other notification. */
export function kindsOf(method: string): readonly ListKind[] | undefined {
  const capability = changedCapability(method)
  return capability && listsOf(capability)
}

/** Callbacks and settings of a `ListWatch`. */
export interface ListWatchOptions {
  readonly reader: ReaderOptions
  readonly arm: (atMs: number) => void
  /** `noticed`: kinds with a list_changed before the reading began. `more`: some of them are stale again already. */
  readonly read: (lists: ListsOutcome, noticed: readonly ListKind[], more: boolean) => void
}

/** Reads the lists, one reading at a time; kinds that become stale meanwhile are read again afterwards. */
export class ListWatch implements Expiring {
  readonly #options: ListWatchOptions
  #stale = new Set<ListKind>()
  #noticed = new Set<ListKind>()
  #reading = false
  #notBeforeMs = 0
  #pauseMs = REREAD_MS
  #readings = 0
  #minuteMs = 0
  #waiting: (() => void)[] = []
  /** The kinds whose last reading failed, with the number of failures since one succeeded. */
  readonly #failures = new Map<ListKind, number>()
  #retryAtMs = Number.POSITIVE_INFINITY

  constructor(options: ListWatchOptions) {
    this.#options = options
  }

  /** `noticed`: the upstream sent list_changed. True when the next reading did not include the kinds yet. */
  stale(kinds: readonly ListKind[], noticed: boolean): boolean {
    const isNew = kinds.some(kind => !this.#stale.has(kind) || (noticed && !this.#noticed.has(kind)))
    for (const kind of kinds) {
      this.#stale.add(kind)
      if (noticed) this.#noticed.add(kind)
    }
    this.#next(performance.now())
    return isNew
  }

  sweep(nowMs: number): number {
    return this.#next(nowMs)
  }

  /** Reads these kinds again; resolves when a reading that began after this call has ended. */
  again(kinds: readonly ListKind[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.stale(kinds, false)
    return promise
  }

  /** Stops all readings. */
  end(): void {
    for (const over of this.#waiting.splice(0)) over()
  }

  #next(nowMs: number): number {
    if (this.#reading) return Number.POSITIVE_INFINITY
    if (nowMs >= this.#retryAtMs) {
      for (const kind of this.#failures.keys()) this.#stale.add(kind)
      this.#retryAtMs = Number.POSITIVE_INFINITY
    }
    if (this.#stale.size === 0) return this.#armed(this.#retryAtMs)
    if (nowMs < this.#notBeforeMs) return this.#armed(this.#notBeforeMs)
    this.#notBeforeMs = nowMs + this.#pause(nowMs)
    void this.#read()
    return Number.POSITIVE_INFINITY
  }

  #armed(atMs: number): number {
    if (atMs < Number.POSITIVE_INFINITY) this.#options.arm(atMs)
    return atMs
  }

  /** A server may be busy for a while; one that wants a sign-in is read again when it has one. */
  #keepFailures(kinds: readonly ListKind[], { read, again, failed }: ListsOutcome, nowMs: number): void {
    for (const kind of read) this.#failures.delete(kind)
    if (failed?.data?.connectUrl !== undefined) return
    for (const kind of kinds) {
      if (!read.includes(kind) && !again.includes(kind)) this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1)
    }
    const most = Math.max(0, ...this.#failures.values())
    if (most > 0) this.#retryAtMs = nowMs + Math.min(LONGEST_FAILED_MS, FAILED_MS * 2 ** (most - 1))
  }

  /** The pause grows for a server whose lists change all the time. */
  #pause(nowMs: number): number {
    if (nowMs - this.#minuteMs > MINUTE_MS) {
      this.#pauseMs = this.#readings > FREE_READINGS ? this.#pauseMs : REREAD_MS
      this.#minuteMs = nowMs
      this.#readings = 0
    }
    this.#readings += 1
    if (this.#readings > FREE_READINGS) this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 1.5)
    return this.#pauseMs
  }

  async #read(): Promise<void> {
    const kinds = [...this.#stale]
    const noticed = [...this.#noticed]
    const waiting = this.#waiting.splice(0)
    this.#stale = new Set()
    this.#noticed = new Set()
    this.#reading = true
    // readCatalog reports a failing list in its warnings and never rejects.
    const lists = await readCatalog(this.#options.reader, kinds)
    this.#reading = false
    const now = performance.now()
    this.#notBeforeMs = Math.max(this.#notBeforeMs, now + pauseAfterMs(lists.bytes, lists.items))
    this.#keepFailures(kinds, lists, now)
    for (const kind of lists.again) this.#stale.add(kind)
    if (lists.again.length > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, now + AGAIN_MS * (1 + Math.random()))
    this.#options.read(lists, noticed, this.#stale.size > 0)
    for (const over of waiting) over()
    this.#next(performance.now())
  }
}
