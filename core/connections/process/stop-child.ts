import { within } from '../within.ts'
import { type ProcessMark, processesBelow, stillRuns } from './process-tree.ts'

const STDIN_GRACE_MS = 500
const TERM_GRACE_MS = 2_000
const GONE_MS = 1_000
const LOOK_MS = 5

export interface Stoppable {
  readonly pid: number
  readonly exited: Promise<string>
  readonly confined: boolean
  /** Adds to `below` what is below the process now. */
  poll(): void
  /** What was seen below it, by its number. */
  readonly below: ReadonlyMap<number, ProcessMark>
}

/**
 * Asks a process by end of input, then TERM, then KILL; resolves when nothing of its group, its sandbox or the tree below it
 * is left.
 */
export async function stopChild(child: Stoppable): Promise<void> {
  const { pid, exited, confined } = child
  // Looked at before it may end: what has left its group cannot be found any more once its parent is gone.
  child.poll()
  // The carrying thread closes the child's input; that is how most servers want to be asked.
  if ((await within(exited, STDIN_GRACE_MS)) !== undefined) return finish(child)
  child.poll()
  if (!confined) signalGroup(pid, 'SIGTERM')
  // The group is the sandbox's own; its end would be a KILL for all inside. The first one below it only waits for them.
  else for (const mark of processesBelow(pid).slice(1)) signal(mark, 'SIGTERM')
  if ((await within(exited, TERM_GRACE_MS)) === undefined) {
    child.poll()
    signalGroup(pid, 'SIGKILL')
  }
  return finish(child)
}

async function finish({ pid, exited, below: seen }: Stoppable): Promise<void> {
  await exited
  signalGroup(pid, 'SIGKILL')
  // What is in a sandbox dies with its first process, which is not left to that process alone; of other trees this ends
  // what went into a session of its own.
  const below = [...seen.values()]
  for (const mark of below) signal(mark, 'SIGKILL')
  const end = performance.now() + GONE_MS
  while (below.some(stillRuns) && performance.now() < end) await new Promise(resolve => setTimeout(resolve, LOOK_MS))
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
    // Gone in between.
  }
}
