import { LIMITS } from '../config/limits.ts'

const LINE_CHARACTERS = 2_000
/** Of one chunk only the end is looked at: more than the kept lines cannot matter. */
const CHUNK_BYTES = 32 * 1024

export interface TailLine {
  readonly at: string
  readonly line: string
}

/** The last lines that a server wrote to stderr, over all its starts. */
export class StderrTail {
  readonly #lines: TailLine[] = []
  readonly #redact: (text: string) => string
  #partial = ''

  /** `redact` takes secrets out of each line before it is kept: they may be forgotten while the line is still here. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact
  }

  push(chunk: Buffer): void {
    const skipped = chunk.length > CHUNK_BYTES
    const text = chunk.toString('utf8', skipped ? chunk.length - CHUNK_BYTES : 0)
    const parts = ((skipped ? '' : this.#partial) + text).split('\n')
    // What begins in the middle may begin in the middle of a secret.
    if (skipped) parts[0] = parts.length > 1 ? '' : (parts[0] ?? '').slice(LINE_CHARACTERS)
    const rest = parts.pop() ?? ''
    this.#partial = rest.length > LINE_CHARACTERS ? this.#redact(rest).slice(-LINE_CHARACTERS) : rest
    for (const line of parts.slice(-LIMITS.stderrLines)) this.add(line)
  }

  add(line: string): void {
    const clean = this.#redact(line).trimEnd()
    if (clean === '') return
    this.#lines.push({ at: new Date().toISOString(), line: clean.slice(0, LINE_CHARACTERS) })
    if (this.#lines.length > LIMITS.stderrLines) this.#lines.splice(0, this.#lines.length - LIMITS.stderrLines)
  }

  /** Oldest first. */
  lines(): readonly TailLine[] {
    return this.#partial === ''
      ? this.#lines
      : [...this.#lines, { at: new Date().toISOString(), line: this.#redact(this.#partial) }].slice(-LIMITS.stderrLines)
  }
}
