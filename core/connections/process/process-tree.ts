import { readFileSync } from 'node:fs'

/** One process, recognisable after its number may have been given to another. */
export interface ProcessMark {
  readonly pid: number
  readonly startTime: string
}

/** When a process began, in a form that is only compared; undefined when it is gone or the system does not say. */
export function startTimeOf(pid: number): string | undefined {
  return statFields(pid)?.[19]
}

/** Everything below a process, nearest first; empty where the kernel keeps no list of children. */
export function processesBelow(pid: number): readonly ProcessMark[] {
  const found: ProcessMark[] = []
  const open = [pid]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    for (const child of childrenOf(next)) {
      const startTime = startTimeOf(child)
      if (startTime === undefined) continue
      found.push({ pid: child, startTime })
      open.push(child)
    }
  }
  return found
}

/** False for one that has ended and only waits to be collected. */
export function stillRuns({ pid, startTime }: ProcessMark): boolean {
  const fields = statFields(pid)
  return fields !== undefined && fields[19] === startTime && fields[0] !== 'Z' && fields[0] !== 'X'
}

/** The fields of /proc/<pid>/stat from the third (the state) on. */
function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command in brackets may hold blanks and brackets; the fields count from behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
