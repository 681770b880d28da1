import { nextTurn } from '../../domain/next-turn.ts'
import { isAdmin } from '../../domain/ownership.ts'
import type { CallField, CallQuery, CallStats } from '../../features/calls.ts'
import { Histogram } from '../histogram.ts'
import { addRow, type CallRing, type CallRow, emptyRow, RING_MS } from './call-ring.ts'

const USUAL_ROWS = 1_000
/** Longest time for which the work holds the event loop, in milliseconds. */
const HELD_MS = 4

/** The members of a row that a field has. */
const MEMBERS = {
  owner: ({ ownerId }) => ({ ownerId }),
  server: ({ serverId, server }) => ({ serverId, server }),
  tool: ({ tool }) => ({ tool }),
  caller: ({ userId }) => ({ userId }),
  outcome: ({ outcome }) => ({ outcome }),
} as const satisfies Readonly<Record<CallField, (row: CallRow) => Partial<CallStats>>>

const VALUES: Readonly<Record<CallField, (row: CallRow) => string>> = {
  owner: ({ ownerId }) => ownerId,
  server: ({ serverId }) => serverId,
  tool: ({ tool }) => tool,
  caller: ({ userId }) => userId,
  outcome: ({ outcome }) => outcome,
}
const FIELDS = Object.keys(VALUES) as CallField[]

/** Adds up the calls of the ring, in pieces between which the hub handles requests. */
export async function callStats(ring: CallRing, { by, range, where = {}, for: reader, limit = USUAL_ROWS }: CallQuery) {
  const asked = ring.present + ring.slotMs - Math.min(Math.max(range, ring.slotMs), RING_MS)
  const from = Math.max(Math.ceil(asked / ring.slotMs) * ring.slotMs, ring.oldest)
  const wanted = FIELDS.flatMap(field => (where[field] === undefined ? [] : [[VALUES[field], where[field]] as const]))
  const mayRead = ({ ownerId, userId }: CallRow): boolean =>
    reader === undefined || isAdmin(reader) || ownerId === reader.userId || userId === reader.userId
  const distinct = FIELDS.filter(field => by.includes(field))
  const sums = new Map<string, CallRow>()
  let since = performance.now()
  for (const [, row] of ring.rows(from)) {
    if (performance.now() - since > HELD_MS) {
      await nextTurn()
      since = performance.now()
    }
    if (!mayRead(row) || wanted.some(([value, text]) => value(row) !== text)) continue
    const key = distinct.map(field => VALUES[field](row)).join('\n')
    const sum = sums.get(key) ?? emptyRow(row)
    sums.set(key, sum)
    addRow(sum, row)
  }
  const largest = [...sums.values()].sort((a, b) => b.calls - a.calls).slice(0, limit)
  return { from, rows: largest.map(row => statsOf(row, distinct)) }
}

function statsOf(row: CallRow, fields: readonly CallField[]): CallStats {
  const { calls, failed, resultBytes, timed, sum, greatest, durations } = row
  const histogram = durations instanceof Histogram ? durations : new Histogram()
  const ms = (micros: number | undefined): number | null => (micros === undefined ? null : micros / 1_000)
  const quantile = (part: number) => ms(histogram.quantile(part))
  return {
    ...Object.assign({}, ...fields.map(field => MEMBERS[field](row))),
    ...{ calls, failed, resultBytes },
    avgMs: timed === 0 ? null : sum / timed / 1_000,
    maxMs: timed === 0 ? null : greatest / 1_000,
    ...{ p50Ms: quantile(0.5), p95Ms: quantile(0.95), p99Ms: quantile(0.99) },
  }
}
