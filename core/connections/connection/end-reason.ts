import type { WireError } from '../../contract/errors.ts'
import type { Child } from '../spawn/children.ts'
import { within } from '../within.ts'

/** How long to wait for the exit code of a process whose output ended, so that the reason can name it. */
const EXIT_MS = 250
const LAST_WORDS_MS = 20

/** Why a connection has ended, from its process's exit if there is one. `exited`: that process exited by itself. */
export async function explainEnd(
  child: Child | undefined,
  reason: WireError,
): Promise<{ readonly explained: WireError; readonly exited: boolean }> {
  if (!child) return { explained: reason, exited: false }
  const how = await within(child.exited, EXIT_MS)
  if (how !== undefined && child.sandboxed) {
    // Its stderr arrives through another descriptor.
    await new Promise(resolve => setTimeout(resolve, LAST_WORDS_MS))
    const failure = child.startFailure()
    if (failure) return { explained: failure, exited: false }
  }
  if (how === undefined || reason.code !== 'connection_lost') return { explained: reason, exited: how !== undefined }
  return { explained: { code: reason.code, message: `The process of the server ended with ${how}` }, exited: true }
}
