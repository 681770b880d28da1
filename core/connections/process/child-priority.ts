import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of servers, against 0 of the hub: about a third of its share where both want the same processor. */
const NICENESS = 5

/**
 * A server that computes without end takes what is left, and the hub and its other servers answer meanwhile. Where sessions
 * are scheduled as groups (each server is a session of its own), the group counts, not the process.
 */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // Ended already, no such groups here, or changed too often in a second for someone who is not root.
  }
}

/**
 * Where memory runs out, the kernel ends this process before others: its limits hold private memory alone, process by
 * process. What it starts inherits that, and finds /proc read-only, where it would change it.
 */
export function raiseOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // Ended already, or the system does not say how it chooses.
  }
}
