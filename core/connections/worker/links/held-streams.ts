import type { JsonValue } from '../../../contract/json.ts'

/**
 * Time for which a replaced stream is still read: longer than its last notifications may be in flight. The streams are separate
 * connections, so they may arrive after the new stream's acknowledgement.
 */
const OVERLAP_MS = 500
/**
 * Time for which a replaced stream that delivered a notification first is kept, so that the other stream's copy is recognized.
 */
const COPY_MS = 250
/** A replaced stream that always has something new is kept no longer than this. */
const LONGEST_OVERLAP_MS = 2_000
/** Most listen streams that one upstream holds open for the hub, including the newest. */
const MAX_STREAMS = 4
/** Distinct notifications counted on one stream meanwhile, and the longest of them in characters. */
const MOST_COUNTED = 2_000
const LONGEST_COUNTED = 1_024

interface HeldStream {
  readonly id: number
  readonly uris: ReadonlySet<string>
  readonly sinceMs: number
  /** Number of times that each notification arrived on it. */
  readonly counts: Map<string, number>
  /** Time at which a notification last arrived on it before it arrived on the other streams. */
  newsAtMs: number
}

/**
 * The listen streams of one upstream: the current one, and replaced ones for a short overlap. A notification that
 * arrives on several of them is delivered once. Times are those of `performance.now()`, in milliseconds.
 */
export class HeldStreams {
  /** Oldest first. */
  readonly #streams: HeldStream[] = []
  readonly #seenCounts = new Map<string, number>()

  /** The newest stream, which carries all current subscriptions. */
  get current(): Pick<HeldStream, 'id' | 'uris' | 'sinceMs'> | undefined {
    return this.#streams.at(-1)
  }

  /** True when no further stream may be opened before one of these is dropped. */
  get full(): boolean {
    return this.#streams.length >= MAX_STREAMS
  }

  add(id: number, uris: ReadonlySet<string>, sinceMs: number): void {
    this.#streams.push({ id, uris, sinceMs, counts: new Map(), newsAtMs: Number.NEGATIVE_INFINITY })
    this.#catchUp(this.#streams.length - 1)
  }

  /** True when a notification on this stream has not been delivered yet. */
  news(id: unknown, method: string, uri: JsonValue | undefined, nowMs: number): boolean {
    const notice = JSON.stringify([method, uri])
    const stream = this.#streams.find(each => each.id === id)
    if (!stream) return false
    if (this.#streams.length === 1) return true
    // Delivering twice is better than storing whatever a server invents.
    if (notice.length > LONGEST_COUNTED) return true
    if (!stream.counts.has(notice) && stream.counts.size >= MOST_COUNTED) return true
    const count = (stream.counts.get(notice) ?? 0) + 1
    stream.counts.set(notice, count)
    if (count <= (this.#seenCounts.get(notice) ?? 0)) return false
    this.#seenCounts.set(notice, count)
    stream.newsAtMs = nowMs
    return true
  }

  /** Removes the streams that have expired, and returns their ids. */
  expire(nowMs: number): readonly number[] {
    const ids: number[] = []
    for (let [oldest, next] = this.#streams; oldest && next && nowMs >= this.nextMs; [oldest, next] = this.#streams) {
      ids.push(oldest.id)
      this.#streams.shift()
      this.#catchUp()
    }
    this.#settle()
    return ids
  }

  /** When the next stream expires. */
  get nextMs(): number {
    const [oldest, second] = this.#streams
    if (!oldest || !second) return Number.POSITIVE_INFINITY
    const copied = Math.min(oldest.newsAtMs + COPY_MS, second.sinceMs + LONGEST_OVERLAP_MS)
    return Math.max(second.sinceMs + OVERLAP_MS, copied)
  }

  /** The upstream ended this stream. */
  remove(id: number): void {
    const at = this.#streams.findIndex(each => each.id === id)
    if (at >= 0) this.#streams.splice(at, 1)
    this.#catchUp()
    this.#settle()
  }

  /** Removes all streams, and returns their ids. */
  clear(): readonly number[] {
    const ids = this.#streams.splice(0).map(({ id }) => id)
    this.#settle()
    return ids
  }

  /** Notifications delivered before a stream began will not arrive on it: they count as received there. */
  #catchUp(from = 0): void {
    for (let at = from; at < this.#streams.length; at += 1) {
      const { counts } = this.#streams[at] as HeldStream
      const before = this.#streams.slice(0, at)
      for (const [notice, count] of this.#seenCounts)
        if (!before.some(({ uris }) => carries(uris, notice))) counts.set(notice, count)
    }
  }

  #settle(): void {
    if (this.#streams.length > 1) return
    this.#seenCounts.clear()
    for (const { counts } of this.#streams) counts.clear()
  }
}

/** True when a stream for these URIs can carry this notification; an update may be of a part of a resource. */
function carries(uris: ReadonlySet<string>, notice: string): boolean {
  const [, uri] = JSON.parse(notice) as [string, JsonValue]
  if (typeof uri !== 'string' || uris.has(uri)) return true
  for (const whole of uris) if (uri.startsWith(whole)) return true
  return false
}
