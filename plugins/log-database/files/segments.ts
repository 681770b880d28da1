import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryOptions } from '../protocol.ts'
import { assertRoom } from './disk.ts'
import { openOrPutAside } from './put-aside.ts'
import { type Row, Segment } from './segment.ts'

const NAME = /^log-\d{4}-\d{2}-\d{2}(?:\.\d+)?\.db$/
const MOST_RECORDS = 1_000_000
const MOST_BYTES = 256 * 1024 * 1024
/** Number of records after which sizes are read again. */
const LOOK_RECORDS = 20_000
const DAY_MS = 86_400_000

/**
 * All segments of the log. A new one begins with each UTC day, and when the last one is full. While one of them cannot be
 * opened, nothing is stored or found, since ids continue after those of the newest one: every use tries again.
 */
export class Segments {
  readonly #options: HistoryOptions
  readonly #note: (text: string) => void
  /** By the ids of their records. */
  #all: Segment[] = []
  #nextId = 1
  #isOpen = false
  #sinceLook = 0
  #isFull = false

  /** `note` reports each damaged segment that is put aside. */
  constructor(options: HistoryOptions, note: (text: string) => void) {
    this.#options = options
    this.#note = note
  }

  /** In the order of their ids. Throws the error of a segment that cannot be opened now. */
  get all(): readonly Segment[] {
    this.#open()
    return this.#all
  }

  /** Stores rows of one or more days. Throws the database's error, or that the disk is nearly full. */
  append(rows: readonly Row[]): void {
    this.#open()
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
    const { retentionMs, maxBytes } = this.#options
    this.#open()
    const old = this.#all.slice(0, -1)
    for (const segment of old) if (segment.times.greatest < nowMs - retentionMs) this.#remove(segment)
    let bytes = this.#all.reduce((sum, segment) => sum + segment.bytes, 0)
    while (this.#all.length > 1 && bytes > maxBytes) {
      const [oldest] = this.#all
      if (!oldest) return
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
    const segment = this.#make(join(this.#options.folder, name))
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

  #make(path: string): Segment {
    try {
      return new Segment(path, this.#options)
    } catch (error) {
      removeFiles(path)
      throw error
    }
  }

  /** Opens the segments that are not open yet. Segments already open stay so if a later one fails. */
  #open(): void {
    if (this.#isOpen) return
    const { folder } = this.#options
    const open = new Set(this.#all.map(({ path }) => path))
    for (const name of readdirSync(folder).filter(each => NAME.test(each))) {
      const path = join(folder, name)
      if (open.has(path)) continue
      const segment = openOrPutAside(path, () => new Segment(path, this.#options), this.#note)
      if (segment) this.#all.push(segment)
    }
    this.#all.sort((a, b) => a.firstId - b.firstId)
    this.#nextId = Math.max(0, ...this.#all.map(segment => segment.lastId)) + 1
    this.#isOpen = true
  }

  #remove(segment: Segment): void {
    segment.close()
    this.#all = this.#all.filter(each => each !== segment)
    removeFiles(segment.path)
  }
}

function removeFiles(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(path + end, { force: true })
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}
