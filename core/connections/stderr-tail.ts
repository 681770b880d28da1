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
  #partial = ''

  push(chunk: Buffer): void {
    const skipped = chunk.length > CHUNK_BYTES
    const text = chunk.toString('utf8', skipped ? chunk.length - CHUNK_BYTES : 0)
    const parts = ((skipped ? '' : this.#partial) + text).split('\n')
    this.#partial = (parts.pop() ?? '').slice(-LINE_CHARACTERS)
    for (const line of parts.slice(-LIMITS.stderrLines)) this.add(line)
  }

  add(line: string): void {
    const clean = line.trimEnd()
    if (clean === '') return
    this.#lines.push({ at: new Date().toISOString(), line: clean.slice(0, LINE_CHARACTERS) })
    if (this.#lines.length > LIMITS.stderrLines) this.#lines.splice(0, this.#lines.length - LIMITS.stderrLines)
  }

  /** Oldest first. */
  lines(): readonly TailLine[] {
    return this.#partial === ''
      ? this.#lines
      : [...this.#lines, { at: new Date().toISOString(), line: this.#partial }].slice(-LIMITS.stderrLines)
  }
}
