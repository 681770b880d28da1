import type { JsonValue } from '../../../contract/json.ts'

/**
 * How long a stream is read on after another has taken its place: longer than what was sent on it may be on its way. They
 * are connections of their own, so that it may arrive later than the word that the new one stands.
 */
const OVERLAP_MS = 500
/** What an upstream must hold at once for one hub, the newest among them. */
const MAX_STREAMS = 4

interface HeldStream {
  readonly id: number
  readonly uris: ReadonlySet<string>
  readonly sinceMs: number
  /** How often each notice came on it. */
  readonly counts: Map<string, number>
}

/**
 * The listen streams of one upstream: the one that counts, and those before it for a little while longer. A notice that
 * several of them bring is news once. Times are those of `performance.now()`, in milliseconds.
 */
export class HeldStreams {
  /** The oldest first. */
  readonly #streams: HeldStream[] = []
  readonly #seenCounts = new Map<string, number>()

  /** The newest, on which everything that is wanted comes. */
  get current(): Pick<HeldStream, 'id' | 'uris' | 'sinceMs'> | undefined {
    return this.#streams.at(-1)
  }

  /** No further stream may be opened before one of these is given up. */
  get full(): boolean {
    return this.#streams.length >= MAX_STREAMS
  }

  add(id: number, uris: ReadonlySet<string>, sinceMs: number): void {
    this.#streams.push({ id, uris, sinceMs, counts: new Map() })
    this.#catchUp(this.#streams.length - 1)
  }

  /** Whether a notice on this stream is news. */
  news(id: unknown, method: string, uri: JsonValue | undefined): boolean {
    const notice = JSON.stringify([method, uri])
    const stream = this.#streams.find(each => each.id === id)
    if (!stream) return false
    if (this.#streams.length === 1) return true
    const count = (stream.counts.get(notice) ?? 0) + 1
    stream.counts.set(notice, count)
    if (count <= (this.#seenCounts.get(notice) ?? 0)) return false
    this.#seenCounts.set(notice, count)
    return true
  }

  /** Takes out those that are not needed any more, and returns their ids. */
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

  /** When the next one is not needed any more. */
  get nextMs(): number {
    const [, second] = this.#streams
    return second ? second.sinceMs + OVERLAP_MS : Number.POSITIVE_INFINITY
  }

  /** The upstream has ended it. */
  remove(id: number): void {
    const at = this.#streams.findIndex(each => each.id === id)
    if (at >= 0) this.#streams.splice(at, 1)
    this.#catchUp()
    this.#settle()
  }

  /** Takes out all, and returns their ids. */
  clear(): readonly number[] {
    const ids = this.#streams.splice(0).map(({ id }) => id)
    this.#settle()
    return ids
  }

  /** What was told, and can come on no stream before one, was sent before that one stood: it will not come there. */
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

/** Whether this notice can come on a stream for these URIs; an update may be of a part of what is subscribed to. */
function carries(uris: ReadonlySet<string>, notice: string): boolean {
  const [, uri] = JSON.parse(notice) as [string, JsonValue]
  if (typeof uri !== 'string' || uris.has(uri)) return true
  for (const whole of uris) if (uri.startsWith(whole)) return true
  return false
}
