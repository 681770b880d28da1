import { readdirSync, readFileSync } from 'node:fs'

/** The threads of this process, on Linux. */
const TASKS = '/proc/self/task'
/** The kernel keeps the first 15 bytes of a thread's name. */
const NAME_BYTES = 15
/** The thread's name and its state, as `/proc/PID/task/ID/stat` has them. */
const STAT = /^\d+ \((.*)\) (\S)/s
/** Waits for the disk, or is stopped by a debugger: such a thread takes no signal. */
const DEAF = /^[DTt]$/
const AGAIN_MS = 100

/**
 * Terminates a worker that was started under this name, as soon as no thread of the name waits for the disk. The runtime sends the
 * thread a signal and waits until it is handled, and the kernel delivers none to a thread whose disk does not answer, so that
 * the calling thread would wait for the disk, too. Elsewhere than on Linux the worker is terminated at once.
 */
export function endThread(worker: Worker, name: string): void {
  if (!isDeaf(name.slice(0, NAME_BYTES))) return worker.terminate()
  const timer = setTimeout(() => endThread(worker, name), AGAIN_MS)
  timer.unref()
}

function isDeaf(name: string): boolean {
  return tasks().some(id => {
    const [, own, state = ''] = STAT.exec(statOf(id)) ?? []
    return own === name && DEAF.test(state)
  })
}

function tasks(): readonly string[] {
  try {
    return readdirSync(TASKS)
  } catch {
    return []
  }
}

/** Empty for a thread that has ended. */
function statOf(id: string): string {
  try {
    return readFileSync(`${TASKS}/${id}/stat`, 'utf8')
  } catch {
    return ''
  }
}
