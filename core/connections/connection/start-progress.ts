import type { ServerStart } from '../../domain/server/status.ts'

/** Replacement for a carriage return in lines of stderr. */
const CARRIAGE_RETURN = '⟨U+000D⟩'
/** Most characters of the line that is shown while a server starts. */
const SHOWN_LINE = 200

/** The public view of an attempt that began at `sinceMs` (`performance.now()`); `last`: the last line of the program's stderr. */
export function startProgress(
  sinceMs: number,
  last: { readonly at: string; readonly line: string } | undefined,
): ServerStart {
  const forMs = Math.round(performance.now() - sinceMs)
  const since = new Date(Date.now() - forMs).toISOString()
  if (last === undefined || last.at < since) return { forMs }
  // A progress bar overwrites its line.
  const [line = ''] = last.line
    .split(CARRIAGE_RETURN)
    .filter(part => part.trim() !== '')
    .slice(-1)
  return { forMs, line: line.trim().slice(0, SHOWN_LINE) }
}
