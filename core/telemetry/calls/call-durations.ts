import type { DurationKey, DurationRow, PendingRows } from '../../features/log-store.ts'
import { addRow, type CallRing, type CallRow, emptyRow } from './call-ring.ts'

/**
 * Rows of a series of durations, with those of the calls in the ring: calls of each server and tool, once more those of others'
 * servers for their caller, and those that reached no server.
 */
export function withCalls(series: PendingRows<DurationRow>, ring: CallRing): PendingRows<DurationRow> {
  return {
    take: () => [...series.take(), ...rowsOfCalls(ring)],
    putBack: rows => series.putBack(rows),
  }
}

function rowsOfCalls(ring: CallRing): readonly DurationRow[] {
  const sums = new Map<string, { readonly at: number; readonly key: DurationKey; readonly row: CallRow }>()
  for (const [at, row] of ring.take()) {
    for (const key of keysOf(row)) {
      const id = `${at}\n${key.kind}\n${key.owner}\n${key.serverId}\n${key.tool}`
      const known = sums.get(id)
      if (known) addRow(known.row, row)
      else sums.set(id, { at, key, row: withAdded(row) })
    }
  }
  return [...sums.values()].map(({ at, key, row: { calls, failed, sum, least, greatest, durations } }) => ({
    ...{ ...key, at, count: calls, failed, sum, least: Number.isFinite(least) ? least : 0, greatest },
    histogram: durations instanceof Uint8Array ? durations : (durations?.encode() ?? new Uint8Array()),
  }))
}

/** The first row of a sum, which addition does not change. */
function withAdded(row: CallRow): CallRow {
  const sum = emptyRow(row)
  addRow(sum, row)
  return sum
}

function keysOf({ ownerId: owner, userId, serverId, server, tool, isSent }: CallRow): readonly DurationKey[] {
  if (!isSent) return [{ kind: 'calls_unsent', owner, serverId: '', server: '', tool: '' }]
  const sent = { owner, serverId, server, tool }
  const elsewhere = userId === owner ? [] : [{ ...sent, kind: 'calls_elsewhere' as const, owner: userId }]
  return [{ ...sent, kind: 'tool_execution' }, ...elsewhere]
}
