import type { PluginHostOptions } from './host-options.ts'
import type { PointTable } from './points.ts'
import { closeToServers } from './server-points.ts'
import type { Slot } from './slot.ts'

/** Longest time for a plugin's stop, in milliseconds. */
const STOP_LIMIT_MS = 5_000

/**
 * Withdraws what a plugin contributed, and runs what was left for its end, the last first, in 5 s. The slot is closed: it takes
 * no contribution any more, and after that stores nothing.
 */
export async function endSlot(slot: Slot, options: PluginHostOptions, points: PointTable): Promise<void> {
  slot.isClosed = true
  for (const [point, id] of slot.held.splice(0)) {
    const contribution = points.remove(point, id)
    closeToServers(options, point, id, contribution)
  }
  const late = Promise.withResolvers<void>()
  const limit = setTimeout(late.resolve, STOP_LIMIT_MS)
  for (const undo of slot.undo.splice(0).reverse()) {
    try {
      await Promise.race([undo(), late.promise])
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      options.log(slot.name).warn(`Plugin "${slot.name}" threw while it was stopped: ${why}`)
    }
  }
  clearTimeout(limit)
  slot.isOver = true
}
