import { type ProcessMark, processesBelow, stillRuns } from './process-tree.ts'
import { within } from './within.ts'

const STDIN_GRACE_MS = 500
const TERM_GRACE_MS = 2_000
const GONE_MS = 1_000
const LOOK_MS = 5

/** Asks a process by end of input, then TERM, then KILL; resolves when nothing of its group, or sandbox, is left. */
export async function stopChild(pid: number, exited: Promise<string>, confined: boolean): Promise<void> {
  // The carrying thread has closed the child's input by now; that is how most servers want to be asked.
  if ((await within(exited, STDIN_GRACE_MS)) !== undefined) return finish(pid, exited, [])
  const inside = confined ? processesBelow(pid) : []
  if (!confined) signalGroup(pid, 'SIGTERM')
  // The group is the sandbox's own; its end would be a KILL for all inside. The first one below it only waits for them.
  for (const mark of inside.slice(1)) signal(mark, 'SIGTERM')
  if ((await within(exited, TERM_GRACE_MS)) === undefined) signalGroup(pid, 'SIGKILL')
  return finish(pid, exited, inside)
}

async function finish(pid: number, exited: Promise<string>, inside: readonly ProcessMark[]): Promise<void> {
  await exited
  signalGroup(pid, 'SIGKILL')
  // What is in a sandbox dies with its first process, a moment later; which is not left to that process alone.
  for (const mark of inside) signal(mark, 'SIGKILL')
  const end = performance.now() + GONE_MS
  while (inside.some(stillRuns) && performance.now() < end) await new Promise(resolve => setTimeout(resolve, LOOK_MS))
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
