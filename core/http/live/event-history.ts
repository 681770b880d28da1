import type { EventName } from '../../events/catalog.ts'
import type { LiveEvent, Topic } from './live-events.ts'

/** Limits of what one topic keeps; the oldest events are dropped first. */
export interface HistoryLimits {
  readonly events: number
  /** UTF-8 bytes of all events together. */
  readonly bytes: number
  readonly ageMs: number
}

/** The metadata stored before an event's text, as one line of JSON. */
type Head = readonly [id: string, name: EventName, ownerId: string | null, isPublic: boolean]

/**
 * The last events of one topic, for readers that reconnect. They are stored in one buffer, not as objects: a long-lived
 * object among the short-lived ones of a busy hub keeps its whole memory block, which for a thousand events takes
 * megabytes.
 */
export class EventHistory {
  readonly #topic: Topic
  readonly #limits: HistoryLimits
  /** Ring buffers of the kept events: the oldest is at `#oldest`, followed by `#count` - 1 others. */
  readonly #numbers: Float64Array
  readonly #timesMs: Float64Array
  readonly #starts: Uint32Array
  readonly #ends: Uint32Array
  #oldest = 0
  #count = 0
  /** Event texts, each contiguous; an event that does not fit before the end of the buffer is written at its start. */
  #buffer: Buffer | undefined
  /** The last event that is not kept; undefined while nothing is recorded, when it is unknown. */
  #forgotten: number | undefined

  /** `followed`: every event since the start of the process will be added. */
  constructor(topic: Topic, limits: HistoryLimits, followed: boolean) {
    this.#topic = topic
    this.#limits = limits
    this.#numbers = new Float64Array(limits.events)
    this.#timesMs = new Float64Array(limits.events)
    this.#starts = new Uint32Array(limits.events)
    this.#ends = new Uint32Array(limits.events)
    this.#forgotten = followed ? 0 : undefined
  }

  add({ id, name, number, ownerId, isPublic, text }: LiveEvent): void {
    this.#forgotten ??= number - 1
    this.#forgetOld()
    const head: Head = [id, name, ownerId, isPublic]
    const record = `${JSON.stringify(head)}\n${text}`
    const length = Buffer.byteLength(record)
    if (length > this.#limits.bytes) {
      this.#count = 0
      this.#forgotten = number
      return
    }
    const start = this.#makeRoom(length)
    this.#buffer ??= Buffer.alloc(this.#limits.bytes)
    this.#buffer.write(record, start)
    const slot = this.#slot(this.#count)
    this.#count += 1
    this.#numbers[slot] = number
    this.#timesMs[slot] = performance.now()
    this.#starts[slot] = start
    this.#ends[slot] = start + length
  }

  /** Recording stops: later events will be missing. */
  interrupt(): void {
    this.#count = 0
    this.#buffer = undefined
    this.#forgotten = undefined
  }

  /** The events after this number; `complete` is false when some of them are not kept. */
  after(number: number): { readonly events: readonly LiveEvent[]; readonly complete: boolean } {
    this.#forgetOld()
    const events: LiveEvent[] = []
    for (let index = 0; index < this.#count; index += 1) {
      const slot = this.#slot(index)
      if (this.#numbers[slot]! > number) events.push(this.#read(slot))
    }
    return { events, complete: this.#forgotten !== undefined && number >= this.#forgotten }
  }

  #slot(index: number): number {
    return (this.#oldest + index) % this.#limits.events
  }

  #read(slot: number): LiveEvent {
    const record = this.#buffer?.toString('utf8', this.#starts[slot], this.#ends[slot]) ?? ''
    const end = record.indexOf('\n')
    const [id, name, ownerId, isPublic] = JSON.parse(record.slice(0, end)) as Head
    const number = this.#numbers[slot]!
    return { id, name, topic: this.#topic, number, ownerId, isPublic, text: record.slice(end + 1) }
  }

  /** Returns an offset with this many free bytes, dropping the oldest events. */
  #makeRoom(length: number): number {
    if (this.#count === this.#limits.events) this.#forgetOldest()
    const newest = this.#count === 0 ? 0 : this.#ends[this.#slot(this.#count - 1)]!
    const fits = newest + length <= this.#limits.bytes
    const start = fits ? newest : 0
    // Events after the newest one in the buffer are older than those at its start.
    while (this.#count > 0 && !fits && this.#starts[this.#oldest]! >= newest) this.#forgetOldest()
    while (this.#count > 0 && this.#starts[this.#oldest]! < start + length && this.#ends[this.#oldest]! > start)
      this.#forgetOldest()
    return start
  }

  #forgetOld(): void {
    const tooOldMs = performance.now() - this.#limits.ageMs
    while (this.#count > 0 && this.#timesMs[this.#oldest]! < tooOldMs) this.#forgetOldest()
  }

  #forgetOldest(): void {
    this.#forgotten = this.#numbers[this.#oldest]
    this.#oldest = this.#slot(1)
    this.#count -= 1
  }
}
