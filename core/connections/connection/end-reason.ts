import { errorLine, errorWords } from '../../domain/text/error-line.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { Child } from '../spawn/children.ts'
import { within } from '../within.ts'

/** Longest wait for the exit code of a process whose output has ended, so that the reason can name it. */
const EXIT_MS = 250
/** Longest wait for the last output of an exited process, in milliseconds: its stderr arrives through another descriptor. */
const LAST_WORDS_MS = 100

interface ExplainedEnd {
  readonly explained: WireError
  /** True when the process exited by itself. */
  readonly exited: boolean
  /** The line of its stderr that says why. Empty without one. */
  readonly said: string
}

/** Why a connection has ended, from its process's exit and its stderr if there is one. `wasOpen`: it had been open. */
export async function explainEnd(child: Child | undefined, reason: WireError, wasOpen: boolean): Promise<ExplainedEnd> {
  if (!child) return { explained: reason, exited: false, said: '' }
  const how = await within(child.exited, EXIT_MS)
  if (how === undefined) {
    const said = wasOpen ? '' : (errorLine(child.errorLines()) ?? '')
    return { explained: reason, exited: false, said }
  }
  await within(child.errorsEnded, LAST_WORDS_MS)
  const failure = child.sandboxed ? child.startFailure() : undefined
  if (failure) return { explained: failure, exited: false, said: '' }
  const said = errorWords(child.errorLines())
  if (reason.code !== 'connection_lost') return { explained: reason, exited: true, said }
  const message = `The process of the server ended with ${how}`
  return { explained: { code: reason.code, message }, exited: true, said }
}

/** The message of a reason with the line that the process wrote about it. */
export function withSaid<R extends WireError>(reason: R, said: string | undefined): R {
  return said === undefined || said === '' ? reason : { ...reason, message: `${reason.message}; it wrote: ${said}` }
}
