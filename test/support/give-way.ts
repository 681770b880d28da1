import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** The scheduler gives a thread of this niceness a tenth of the usual time. */
const NICENESS = 10

/**
 * Runs `work` while all threads of this process have a low priority. When a test attacks a hub, its own work represents another
 * machine: on a few processors, creating and sending megabytes would slow the hub down by itself.
 */
export async function givingWay<T>(work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work()
  niceAll(NICENESS)
  try {
    return await work()
  } finally {
    niceAll(constants.priority.PRIORITY_NORMAL)
  }
}

/** On Linux each thread has its own niceness, which those that it starts inherit. */
function niceAll(niceness: number): void {
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), niceness)
    } catch {
      // It has ended, or this user may only lower a priority.
    }
  }
}
