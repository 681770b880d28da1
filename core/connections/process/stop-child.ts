import { within } from '../within.ts'
import { type ProcessMark, processesBelow, statFields, stillRuns } from './process-tree.ts'

const STDIN_GRACE_MS = 500
const TERM_GRACE_MS = 2_000
const GONE_MS = 1_000
const POLL_MS = 5
/** Between two looks at whether a process was stopped, in milliseconds. */
const STOPPED_POLL_MS = 100

/** A running process, as `stopChild` needs it. */
export interface Stoppable {
  readonly pid: number
  readonly exited: Promise<string>
  readonly confined: boolean
  /** Adds the current descendants of the process to `below`. */
  poll(): void
  /** Its recorded descendants, by process id. */
  readonly below: ReadonlyMap<number, ProcessMark>
}

/** Returns what stops this process as `stopChild` does; further calls return the same promise. */
export function stopOnce(child: Stoppable): () => Promise<void> {
  let stopping: Promise<void> | undefined
  return () => {
    stopping ??= stopChild(child)
    return stopping
  }
}

/**
 * Ends stdin of a process, then sends TERM, then KILL; resolves when no process of its group, its sandbox or its
 * descendants is left. A process that was stopped (SIGSTOP) gets KILL at once, since it handles nothing else.
 */
async function stopChild(child: Stoppable): Promise<void> {
  const { pid, confined } = child
  // Before it may end: descendants outside its group cannot be found once their parent has exited.
  child.poll()
  // The carrying thread closes the child's stdin, which is how most servers expect to be stopped.
  if (await endsWithin(child, STDIN_GRACE_MS)) return finish(child)
  child.poll()
  if (!confined) signalGroup(pid, 'SIGTERM')
  // The group is the sandbox's own; a signal to it would KILL all inside. Its first process only waits for others.
  else for (const mark of processesBelow(pid).slice(1)) signal(mark, 'SIGTERM')
  if (!(await endsWithin(child, TERM_GRACE_MS))) {
    child.poll()
    signalGroup(pid, 'SIGKILL')
  }
  return finish(child)
}

/** Waits until the process has ended; false after `ms`, or as soon as it stands still and cannot end by itself. */
async function endsWithin(child: Stoppable, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  for (let left = ms; left > 0 && !isStopped(child); left = end - performance.now())
    if ((await within(child.exited, Math.min(left, STOPPED_POLL_MS))) !== undefined) return true
  return false
}

/** True when the process is stopped by a signal. In a sandbox the program is a child of the process that the hub started. */
function isStopped({ pid, confined }: Stoppable): boolean {
  const pids = confined ? processesBelow(pid).map(mark => mark.pid) : [pid]
  return pids.some(each => statFields(each)?.[0] === 'T')
}

async function finish({ pid, exited, below: seen }: Stoppable): Promise<void> {
  await exited
  signalGroup(pid, 'SIGKILL')
  // All processes of a sandbox die with its first one, but are killed here too; outside of sandboxes this ends
  // descendants with a session of their own.
  const below = [...seen.values()]
  for (const mark of below) signal(mark, 'SIGKILL')
  const end = performance.now() + GONE_MS
  while (below.some(stillRuns) && performance.now() < end) await new Promise(resolve => setTimeout(resolve, POLL_MS))
}

/** False when there is no such group. */
export function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, name)
    return true
  } catch {
    return false
  }
}

function signal(mark: ProcessMark, name: NodeJS.Signals): void {
  try {
    if (stillRuns(mark)) process.kill(mark.pid, name)
  } catch {
    // It ended in between.
  }
}
