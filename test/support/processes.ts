import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second of the times in /proc; 100 on every Linux that Bun runs on. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096

export interface ProcessStat {
  readonly pid: number
  readonly parent: number
  /** One letter: R, S, D, T, Z, … */
  readonly state: string
  /** Processor time so far, user and system, in microseconds. */
  readonly cpuMicros: number
  readonly residentBytes: number
  readonly niceness: number
}

/** Undefined when there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  let line: string
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The second field is the program's name in parentheses and may hold spaces and parentheses itself.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const number = (index: number): number => Number(fields[index])
  return {
    pid,
    state: fields[0] ?? '?',
    parent: number(1),
    cpuMicros: ((number(11) + number(12)) / TICKS_PER_SECOND) * 1e6,
    residentBytes: number(21) * PAGE_BYTES,
    niceness: number(16),
  }
}

/** The program and its arguments, each ended by a NUL; empty when there is no such process. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Ids of processes that run with exactly this argument, of any parent; zombies do not count. */
export function runningWith(argument: string): number[] {
  return allProcesses()
    .filter(({ pid }) => commandOf(pid).split('\0').slice(1).includes(argument))
    .map(({ pid }) => pid)
    .filter(alive)
}

/** A zombie does not count: it has ended and only waits to be collected. */
export function alive(pid: number): boolean {
  const stat = processStat(pid)
  return stat !== undefined && stat.state !== 'Z'
}

function allProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => processStat(Number(name)) ?? [])
}

/** All descendants of a process, zombies included, the process itself not. */
export function descendants(pid: number): ProcessStat[] {
  const all = allProcesses()
  const found: ProcessStat[] = []
  const wanted = new Set([pid])
  for (let grown = true; grown; ) {
    grown = false
    for (const stat of all) {
      if (wanted.has(stat.pid) || !wanted.has(stat.parent)) continue
      wanted.add(stat.pid)
      found.push(stat)
      grown = true
    }
  }
  return found
}
