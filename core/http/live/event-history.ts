import type { EventName } from '../../events/catalog.ts'
import type { LiveEvent, Topic } from './live-events.ts'

export interface HistoryLimits {
  readonly events: number
  /** Of all events together, as UTF-8. */
  readonly bytes: number
  readonly ageMs: number
}

/** What is kept of an event before its text, as JSON on a line of its own. */
type Head = readonly [id: string, name: EventName, ownerId: string | null, isPublic: boolean]

/**
 * The last events of one topic, for readers who were away. They lie in one buffer and not as objects: an object that stays,
 * made amid the short-lived ones of a busy hub, holds the memory block around it, which for a thousand events comes to megabytes.
 */
export class EventHistory {
  readonly #topic: Topic
  readonly #limits: HistoryLimits
  /** Of the kept events, in a ring: the oldest is at `#oldest`, and `#count` of them follow each other. */
  readonly #numbers: Float64Array
  readonly #timesMs: Float64Array
  readonly #starts: Uint32Array
  readonly #ends: Uint32Array
  #oldest = 0
  #count = 0
  /** Each event in one piece; behind the last that fits before the end of the buffer comes the one at its beginning. */
  #buffer: Buffer | undefined
  /** The last event that is not kept; undefined while nobody follows, so that it is not known. */
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

  /** Events will be missed from now on. */
  interrupt(): void {
    this.#count = 0
    this.#buffer = undefined
    this.#forgotten = undefined
  }

  /** What came after the event of this number; not `complete` when some of that is not kept. */
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

  /** Where so many bytes are free, after the oldest events gave way. */
  #makeRoom(length: number): number {
    if (this.#count === this.#limits.events) this.#forgetOldest()
    const newest = this.#count === 0 ? 0 : this.#ends[this.#slot(this.#count - 1)]!
    const fits = newest + length <= this.#limits.bytes
    const start = fits ? newest : 0
    // Those behind the newest are older than those at the beginning.
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
