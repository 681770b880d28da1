import { LIMITS } from '../../config/limits.ts'
import { visibleText } from '../../domain/text/visible-text.ts'

const LINE_CHARACTERS = 2_000
/** Only the end of a chunk is processed: earlier lines would be dropped anyway. */
const CHUNK_BYTES = 32 * 1024
/** Longest incomplete line that is held unredacted, so that a secret in it is complete when it is searched for. */
const BEGUN_CHARACTERS = 8 * 1024
/** Number of processes whose incomplete lines are held separately. */
const BEGUN_LINES = 64

/** Colours of a terminal say nothing in a list of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequence that is meant
const COLOURS = /\x1b\[[\d;]*m/g

/** One line of stderr; `at` is ISO 8601 UTC. */
export interface TailLine {
  readonly at: string
  readonly line: string
}

/** Receives the stderr of one process. */
export interface StderrWriter {
  push(chunk: Buffer): void
  add(line: string): void
}

/** The last lines that a server wrote to stderr, over all its starts. */
export class StderrTail {
  readonly #lines: TailLine[] = []
  readonly #begun = new Map<BegunLine, string>()
  readonly #onLine: ((line: string) => void) | undefined

  /** `onLine` is called with each whole line. */
  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine
  }

  /** `redact` removes secrets from each line before it is stored: they may be forgotten before the line is. */
  writer(redact: (text: string) => string): StderrWriter {
    const begun: BegunLine = { redact }
    return {
      push: chunk => this.#push(begun, chunk),
      add: line => this.#add(redact(line)),
    }
  }

  /** Oldest first. */
  lines(): readonly TailLine[] {
    const at = new Date().toISOString()
    const begun = [...this.#begun].map(([{ redact }, text]) => ({
      at,
      line: shown(redact(text)).slice(-LINE_CHARACTERS),
    }))
    return begun.length === 0 ? this.#lines : [...this.#lines, ...begun].slice(-LIMITS.stderrLines)
  }

  #push(begun: BegunLine, chunk: Buffer): void {
    const skipped = chunk.length > CHUNK_BYTES
    const text = chunk.toString('utf8', skipped ? chunk.length - CHUNK_BYTES : 0)
    const parts = ((skipped ? '' : (this.#begun.get(begun) ?? '')) + text).split('\n')
    // A line with its beginning cut off may begin with a part of a secret.
    if (skipped) parts[0] = parts.length > 1 ? '' : (parts[0] ?? '').slice(LINE_CHARACTERS)
    const rest = parts.pop() ?? ''
    this.#begin(begun, rest.length > BEGUN_CHARACTERS ? begun.redact(rest).slice(-LINE_CHARACTERS) : rest)
    for (const line of parts.slice(-LIMITS.stderrLines)) this.#add(begun.redact(line))
  }

  #begin(begun: BegunLine, text: string): void {
    this.#begun.delete(begun)
    if (text !== '') this.#begun.set(begun, text)
    if (this.#begun.size <= BEGUN_LINES) return
    const [oldest] = this.#begun
    if (!oldest) return
    this.#begun.delete(oldest[0])
    this.#add(oldest[0].redact(oldest[1]))
  }

  #add(redacted: string): void {
    const line = shown(redacted.trimEnd()).slice(0, LINE_CHARACTERS)
    if (line === '') return
    this.#lines.push({ at: new Date().toISOString(), line })
    this.#onLine?.(line)
    if (this.#lines.length > LIMITS.stderrLines) this.#lines.splice(0, this.#lines.length - LIMITS.stderrLines)
  }
}

/** Without colours, hidden characters shown. */
function shown(line: string): string {
  // Cut first, since a hidden character becomes eight; colours may be most of a line.
  return visibleText(line.slice(0, 4 * LINE_CHARACTERS).replaceAll(COLOURS, ''))
}

/** Identifies a process whose last line is incomplete. */
interface BegunLine {
  readonly redact: (text: string) => string
}
