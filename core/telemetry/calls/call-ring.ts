import type { CallOutcome } from '../../features/call-records.ts'
import { Histogram } from '../histogram.ts'
import { type EndedCall, isFailedCall, reachedServer } from './ended-call.ts'

/** Length of a slot, in milliseconds. */
const SLOT_MS = 10_000
/** Time for which calls are kept, in milliseconds. */
export const RING_MS = 60 * 60_000
/** Rows of a slot. A caller with its share of them gets one for each owner and outcome, and beyond twice as many all share one. */
const MOST_IN_SLOT = 500
/** Rows of all slots, about 25 MB; beyond them the oldest slots are dropped. */
const MOST_ROWS = 100_000

/** Calls of one kind. Fields are empty where more kinds came than are kept apart. */
export interface CallKind extends Readonly<Record<'ownerId' | 'serverId' | 'server' | 'tool' | 'userId', string>> {
  readonly outcome: CallOutcome
  /** False for calls that reached no server. */
  readonly isSent: boolean
}

/** Numbers of calls of one kind in one slot. Durations are in microseconds, of the calls that reached a server. */
export interface CallRow extends CallKind {
  calls: number
  failed: number
  resultBytes: number
  timed: number
  sum: number
  least: number
  greatest: number
  /** Written as bytes after a while. */
  durations: Histogram | Uint8Array | undefined
}

interface Slot {
  readonly at: number
  readonly rows: Map<string, CallRow>
  /** Rows of each caller. */
  readonly callers: Map<string, number>
  isTaken: boolean
  isPacked: boolean
}

/** A call as far as it is counted. */
export type CountedCall = Pick<EndedCall, Exclude<keyof CallKind, 'isSent'> | 'durationMs' | 'resultBytes'>

/**
 * The calls of the last hour in slots of 10 s, by owner, server, tool, caller and outcome. A call takes a fraction of a
 * microsecond; memory is bounded, and one caller's kinds of calls do not displace those of others in a slot.
 */
export class CallRing {
  readonly slotMs: number
  readonly #now: () => number
  /** Oldest first; the last one is filled. Two may begin at the same time. */
  readonly #slots: Slot[] = []
  #count = 0
  /** Row of the last call: the next one is often of the same kind. */
  #last: CallRow | undefined

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now, slotMs = SLOT_MS) {
    this.#now = now
    this.slotMs = slotMs
  }

  add(call: CountedCall): void {
    const at = this.#begin()
    const present = this.#slots.at(-1)
    const slot = present?.at === at && !present.isTaken ? present : this.#open(at)
    this.#last = this.#last && isSame(this.#last, call) ? this.#last : this.#row(slot, kindOf(call))
    count(this.#last, call)
  }

  /** Rows of slots that begin within these times; of the one that is filled as far as it is. */
  *rows(fromMs: number, untilMs = Number.POSITIVE_INFINITY): Generator<readonly [at: number, row: CallRow]> {
    for (const { at, rows } of [...this.#slots])
      if (at >= fromMs && at < untilMs) for (const row of rows.values()) yield [at, row]
  }

  /** The beginning of the slot of this moment. */
  get present(): number {
    return this.#begin()
  }

  /** Milliseconds until the next slot begins. */
  get leftMs(): number {
    return this.slotMs - (this.#now() % this.slotMs)
  }

  /** The beginning of the oldest slot that is kept. */
  get oldest(): number {
    return this.#slots[0]?.at ?? this.#begin()
  }

  /** Returns the rows since the last call of it, to be read at once. Those of one slot may come in several parts. */
  take(): readonly (readonly [at: number, row: CallRow])[] {
    const taken = this.#slots.filter(({ isTaken }) => !isTaken)
    this.#last = undefined
    const rows = taken.flatMap(({ at, rows: own }) => [...own.values()].map(row => [at, row] as const))
    for (const slot of taken) {
      slot.isTaken = true
      const before = this.#slots[this.#slots.indexOf(slot) - 1]
      if (before?.at === slot.at) this.#merge(before, slot)
    }
    return rows
  }

  /** Writes the durations of past slots as bytes, which need a tenth of the memory. Call it from time to time. */
  pack(): void {
    const now = this.#begin()
    for (const slot of this.#slots) {
      if (slot.isPacked || slot.at >= now) continue
      slot.isPacked = true
      for (const row of slot.rows.values()) row.durations = packed(row)
    }
  }

  #begin(): number {
    return Math.floor(this.#now() / this.slotMs) * this.slotMs
  }

  #open(at: number): Slot {
    const slot: Slot = { at, rows: new Map(), callers: new Map(), isTaken: false, isPacked: false }
    this.#slots.push(slot)
    this.#last = undefined
    const isOver = () => (this.#slots[0]?.at ?? at) < at - RING_MS || this.#count > MOST_ROWS
    while (this.#slots.length > 1 && isOver()) this.#count -= this.#slots.shift()?.rows.size ?? 0
    return slot
  }

  #row(slot: Slot, kind: CallKind): CallRow {
    const { rows, callers } = slot
    const key = keyOf(kind)
    const known = rows.get(key)
    if (known) return known
    const own = callers.get(kind.userId) ?? 0
    const isFull = rows.size >= MOST_IN_SLOT && own >= MOST_IN_SLOT / (callers.size + (own === 0 ? 1 : 0))
    if (isFull && (kind.serverId !== '' || kind.tool !== ''))
      return this.#row(slot, { ...kind, serverId: '', server: '', tool: '' })
    if (rows.size >= 2 * MOST_IN_SLOT && kind.ownerId !== '') return this.#row(slot, { ...kind, ...NOBODYS })
    const row: CallRow = { ...kind, ...NONE }
    rows.set(key, row)
    callers.set(kind.userId, own + 1)
    this.#count += 1
    return row
  }

  /** Adds the rows of a slot to those of another of the same time. */
  #merge(into: Slot, { rows }: Slot): void {
    this.#slots.splice(this.#slots.indexOf(into) + 1, 1)
    this.#count -= rows.size
    into.isPacked = false
    for (const row of rows.values()) addRow(this.#row(into, row), row)
  }
}

const NOBODYS = { ownerId: '', serverId: '', server: '', tool: '', userId: '' }
const NONE = {
  ...{ calls: 0, failed: 0, resultBytes: 0, timed: 0, sum: 0 },
  ...{ least: Number.POSITIVE_INFINITY, greatest: 0, durations: undefined },
}

/** Adds the numbers of a row to those of another. */
export function addRow(into: CallRow, row: CallRow): void {
  into.calls += row.calls
  into.failed += row.failed
  into.resultBytes += row.resultBytes
  into.timed += row.timed
  into.sum += row.sum
  into.least = Math.min(into.least, row.least)
  into.greatest = Math.max(into.greatest, row.greatest)
  if (row.durations === undefined) return
  into.durations = readable(into.durations)
  into.durations.merge(readable(row.durations))
}

/** A row without calls. */
export function emptyRow(kind: CallKind): CallRow {
  return { ...kind, ...NONE }
}

function readable(durations: CallRow['durations']): Histogram {
  if (durations instanceof Histogram) return durations
  return durations === undefined ? new Histogram() : Histogram.decode(durations)
}

function packed({ durations }: CallRow): Uint8Array | undefined {
  return durations instanceof Histogram ? durations.encode() : durations
}

/** The tool's name of a call that reached no server is the caller's: any number of different ones. */
function kindOf(call: CountedCall): CallKind {
  const { ownerId, serverId, server, userId, outcome } = call
  const isSent = reachedServer(call)
  return { ownerId, serverId, server, tool: isSent ? call.tool : '', userId, outcome, isSent }
}

function keyOf({ ownerId, serverId, tool, userId, outcome, isSent }: CallKind): string {
  return `${isSent ? '' : '-'}${ownerId}\n${serverId}\n${userId}\n${outcome}\n${tool}`
}

function isSame(row: CallRow, { ownerId, serverId, tool, userId, outcome }: CountedCall): boolean {
  return (
    row.serverId === serverId &&
    serverId !== '' &&
    row.tool === tool &&
    row.userId === userId &&
    row.ownerId === ownerId &&
    row.outcome === outcome
  )
}

function count(row: CallRow, call: CountedCall): void {
  row.calls += 1
  if (isFailedCall(call)) row.failed += 1
  row.resultBytes += call.resultBytes ?? 0
  if (!reachedServer(call)) return
  const micros = Math.round(call.durationMs * 1_000)
  row.timed += 1
  row.sum += micros
  if (micros < row.least) row.least = micros
  if (micros > row.greatest) row.greatest = micros
  row.durations = readable(row.durations)
  row.durations.add(micros)
}
