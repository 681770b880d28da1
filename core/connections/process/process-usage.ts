import { readFileSync } from 'node:fs'
import { nextTurn } from '../../domain/next-turn.ts'
import { processesBelow, statFields } from './process-tree.ts'

/** Memory and processor time of a program with its descendants. */
export interface ProcessUsage {
  readonly residentBytes: number
  /** Seconds used by the processes that run now, and by the ended ones that they have waited for. */
  readonly cpuSeconds: number
}

/** Clock ticks per second in /proc/<pid>/stat: 100 on every architecture of Linux (USER_HZ). */
const TICKS = 100
/** Processes that are read in one turn of the event loop; those of one program are found together. */
const IN_ONE_TURN = 50

/** The use of each of these processes with their descendants; those that have ended are left out. */
export async function processUsage(pids: readonly number[]): Promise<ReadonlyMap<number, ProcessUsage>> {
  const found = new Map<number, ProcessUsage>()
  let inTurn = 0
  for (const pid of pids) {
    let [residentBytes, cpuSeconds] = [0, 0]
    for (const each of [pid, ...processesBelow(pid).map(below => below.pid)]) {
      inTurn += 1
      if (inTurn % IN_ONE_TURN === 0) await nextTurn()
      const use = usageOf(each)
      residentBytes += use?.residentBytes ?? 0
      cpuSeconds += use?.cpuSeconds ?? 0
    }
    if (residentBytes > 0) found.set(pid, { residentBytes, cpuSeconds })
  }
  return found
}

function usageOf(pid: number): ProcessUsage | undefined {
  const fields = statFields(pid)
  if (!fields) return undefined
  // utime, stime, cutime and cstime: fields 14 to 17 of proc(5), counted here from the third.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { residentBytes: residentBytesOf(pid), cpuSeconds: ticks / TICKS }
}

function residentBytesOf(pid: number): number {
  try {
    const [, kibibytes = 0] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return Number(kibibytes) * 1_024
  } catch {
    return 0
  }
}
