import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Niceness of servers, against 0 of the hub: they get about a third of its share when both want the same processor. */
const NICENESS = 5

/**
 * A server that computes without end gets what is left, so that the hub and other servers still respond. Where sessions
 * are scheduled as groups (each server is a session of its own), the group counts, not the process.
 */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // Ended already, no such groups here, or changed too often in a second for a process that is not root.
  }
}

/**
 * The kernel kills this process before others when memory runs out: its limits hold private memory alone, process by
 * process. Its children inherit the score, and /proc, where they could change it, is read-only for them.
 */
export function raiseOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // Ended already, or the system has no such setting.
  }
}
