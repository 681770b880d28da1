import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assertRoom, freeBytes } from './disk.ts'
import type { HistoryOptions } from './protocol.ts'
import { openOrPutAside } from './put-aside.ts'
import { type Row, Segment } from './segment.ts'

const NAME = /^log-\d{4}-\d{2}-\d{2}(?:\.\d+)?\.db$/
const MOST_RECORDS = 1_000_000
const MOST_BYTES = 256 * 1024 * 1024
/** Segments go while the disk has less room than this. */
const LEAST_FREE_BYTES = 200 * 1024 * 1024
/** Sizes are asked for once in so many records. */
const LOOK_RECORDS = 20_000
const DAY_MS = 86_400_000

/** All segments of the log. A new one begins with each UTC day, and when the last one is full. */
export class Segments {
  readonly #options: HistoryOptions
  readonly #note: (text: string) => void
  /** By the ids of their records. */
  #all: Segment[] = []
  #nextId = 1
  #sinceLook = 0
  #isFull = false

  /** Opens what is there. A damaged segment is put aside, and `note` reports it. */
  constructor(options: HistoryOptions, note: (text: string) => void) {
    this.#options = options
    this.#note = note
    for (const name of readdirSync(options.folder).filter(each => NAME.test(each))) {
      const segment = this.#open(name)
      if (segment) this.#all.push(segment)
    }
    this.#all.sort((a, b) => a.firstId - b.firstId)
    this.#nextId = Math.max(0, ...this.#all.map(segment => segment.lastId)) + 1
  }

  /** In the order of their ids. */
  get all(): readonly Segment[] {
    return this.#all
  }

  /** Stores rows of one or more days. Throws the database's error, or that the disk is nearly full. */
  append(rows: readonly Row[]): void {
    assertRoom(this.#options.folder)
    let at = 0
    while (at < rows.length) {
      const day = dayOf(rows[at]?.at ?? 0)
      let end = at + 1
      while (end < rows.length && dayOf(rows[end]?.at ?? 0) === day) end += 1
      const part = rows.slice(at, end)
      this.#current(day).append(part, this.#nextId)
      this.#nextId += part.length
      this.#sinceLook += part.length
      at = end
    }
  }

  /** Removes segments that are too old or too many; the newest one stays. */
  retain(nowMs: number): void {
    const { retentionMs, maxBytes, folder } = this.#options
    const old = this.#all.slice(0, -1)
    for (const segment of old) if (segment.times.greatest < nowMs - retentionMs) this.#remove(segment)
    let bytes = this.#all.reduce((sum, segment) => sum + segment.bytes, 0)
    while (this.#all.length > 1) {
      const [oldest] = this.#all
      if (!oldest || (bytes <= maxBytes && freeBytes(folder) >= LEAST_FREE_BYTES)) return
      bytes -= oldest.bytes
      this.#remove(oldest)
    }
  }

  close(): void {
    for (const segment of this.#all) segment.close()
  }

  /** The newest segment, if it has room and is of this day; else a new one. */
  #current(day: number): Segment {
    const last = this.#all.at(-1)
    if (last && last.records === 0) return last
    if (last && dayOf(last.times.greatest) === day && dayOf(last.times.least) === day && !this.#full(last)) return last
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10)
    const names = new Set(readdirSync(this.#options.folder))
    let name = `log-${date}.db`
    for (let number = 1; names.has(name); number += 1) name = `log-${date}.${number}.db`
    const segment = new Segment(join(this.#options.folder, name), this.#options)
    this.#isFull = false
    this.#all.push(segment)
    return segment
  }

  #full(segment: Segment): boolean {
    if (this.#sinceLook >= LOOK_RECORDS) {
      this.#sinceLook = 0
      this.#isFull = segment.bytes > MOST_BYTES
    }
    return this.#isFull || segment.records >= MOST_RECORDS
  }

  #open(name: string): Segment | undefined {
    return openOrPutAside(join(this.#options.folder, name), path => new Segment(path, this.#options), this.#note)
  }

  #remove(segment: Segment): void {
    segment.close()
    this.#all = this.#all.filter(each => each !== segment)
    for (const end of ['', '-wal', '-shm']) rmSync(segment.path + end, { force: true })
  }
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}
