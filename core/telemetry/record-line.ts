import { Buffer } from 'node:buffer'
import { escapeHidden } from '../domain/text/visible-text.ts'
import type { LogLevel } from '../features/log-records.ts'

/** Longest line, in characters; of a longer record only its first members are written. */
const LINE_LIMIT = 32 * 1024
const FIRST_BYTES = 8 * 1024
/** Room for any line that is written in full; the additional memory of a longer record is freed. */
const KEPT_BYTES = 128 * 1024
/** Most bytes of one UTF-16 code unit in UTF-8. */
const WIDEST = 3
/** A text up to this length is written faster by a loop than by a call of the runtime. */
const LOOPED = 100
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const ZERO = 0x30
const SPACE = 0x20
const TILDE = 0x7e
/** Characters that JSON escapes, and all that are not printable ASCII, including C1 controls and Unicode line ends. */
const NOT_PLAIN = /[^ !#-[\]-~]/

/**
 * Builds one line of the log after the other: a record as JSON in UTF-8, its members in the order of the specification. A line
 * is written into the same bytes each time, since discarded texts are work for the garbage collector, and calls wait for it: at
 * 20,000 records a second it took a call in a hundred twice as long.
 */
export class RecordLine {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  #characters = 0

  /** In bytes. */
  get length(): number {
    return this.#length
  }

  /** Bytes that are kept for further lines. */
  get room(): number {
    return this.#bytes.length
  }

  begin(level: LogLevel, timestamp: string): void {
    this.#length = 0
    this.#characters = 0
    this.#plain('{"level":', false)
    this.#quoted(level)
    this.#plain(',"timestamp":', false)
    this.#quoted(timestamp)
  }

  /** Values without a JSON form are left out. */
  member(name: string, value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#name(name)
        return this.#quoted(value)
      case 'number':
        this.#name(name)
        return this.#number(value)
      case 'boolean':
      case 'bigint':
      case 'object':
        return this.#other(name, jsonOf(value))
      default:
    }
  }

  /** Ends the line with the message and a line feed. */
  end(message: string): void {
    this.member('message', message)
    this.#plain('}\n', false)
    if (this.#characters <= LINE_LIMIT) return
    const short = shortened(this.toString(), this.#characters)
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#length = 0
    this.#text(short)
  }

  /** Writes the line to `target`, which has room for it from `at` on. Returns its bytes. */
  copyTo(target: Buffer, at: number): number {
    return this.#bytes.copy(target, at, 0, this.#length)
  }

  toString(): string {
    return this.#bytes.toString('utf8', 0, this.#length)
  }

  #name(name: string): void {
    this.#room(1)
    this.#bytes[this.#length++] = COMMA
    this.#quoted(name)
    this.#room(1)
    this.#bytes[this.#length++] = COLON
    this.#characters += 2
  }

  #quoted(text: string): void {
    const from = this.#length
    this.#room(1)
    this.#bytes[this.#length++] = QUOTE
    if (this.#plain(text, true)) {
      this.#room(1)
      this.#bytes[this.#length++] = QUOTE
      this.#characters += 2
    } else {
      this.#length = from
      this.#text(escapeHidden(JSON.stringify(text)))
    }
  }

  #number(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > 0x7fffffff) {
      this.#text(Number.isFinite(value) ? String(value) : 'null')
      return
    }
    let digits = 1
    for (let rest = value; rest >= 10; rest = Math.trunc(rest / 10)) digits += 1
    this.#room(digits)
    let rest = value
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      this.#bytes[at] = ZERO + (rest % 10)
      rest = Math.trunc(rest / 10)
    }
    this.#length += digits
    this.#characters += digits
  }

  #other(name: string, json: string | undefined): void {
    if (json === undefined) return
    this.#name(name)
    this.#text(json)
  }

  /** Writes nothing and returns false if `checked` and the text has a character that is not plain. */
  #plain(text: string, checked: boolean): boolean {
    const { length } = text
    this.#room(length)
    const bytes = this.#bytes
    if (length > LOOPED) {
      if (checked && NOT_PLAIN.test(text)) return false
      bytes.write(text, this.#length, 'latin1')
    } else {
      const from = this.#length
      for (let index = 0; index < length; index += 1) {
        const code = text.charCodeAt(index)
        if (checked && (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH)) return false
        bytes[from + index] = code
      }
    }
    this.#length += length
    this.#characters += length
    return true
  }

  /** Any text as it is. */
  #text(text: string): void {
    this.#room(text.length * WIDEST)
    this.#length += this.#bytes.write(text, this.#length)
    this.#characters += text.length
  }

  /** Makes room for this many further bytes. */
  #room(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Serializes a value. Plugins may log big integers, which JSON does not support. Undefined for values without a JSON form. */
function jsonOf(value: unknown): string | undefined {
  const json = JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item))
  return json === undefined ? undefined : escapeHidden(json)
}

function shortened(line: string, characters: number): string {
  const { level, timestamp, component, message } = JSON.parse(line) as Record<string, unknown>
  const cut = `the record had ${characters} characters`
  return `${escapeHidden(JSON.stringify({ level, timestamp, component, message, cut }))}\n`
}

/** Formats a line for a person who watches the log: the time of day, the level and the message, followed by the other members. */
export function prettyLine(line: string): string {
  const { level, timestamp, message, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  const text = `${String(timestamp).slice(11, 23)} ${String(level).padEnd(5)} ${JSON.stringify(message).slice(1, -1)}`
  return escapeHidden(`${text}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}\n`)
}
