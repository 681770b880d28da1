import { readFileSync } from 'node:fs'

/** One process, identified even after its number was reused. */
export interface ProcessMark {
  readonly pid: number
  readonly startTime: string
}

/** When a process started, in a form that is only compared; undefined when it has ended or the system does not say. */
export function startTimeOf(pid: number): string | undefined {
  return statFields(pid)?.[19]
}

/** All descendants of a process, nearest first; empty where the kernel has no list of children. */
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

/** False for a process that has ended and waits to be reaped. */
export function stillRuns({ pid, startTime }: ProcessMark): boolean {
  const fields = statFields(pid)
  return fields !== undefined && fields[19] === startTime && fields[0] !== 'Z' && fields[0] !== 'X'
}

/** The fields of /proc/<pid>/stat from the third (the state) on. */
export function statFields(pid: number): readonly string[] | undefined {
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
