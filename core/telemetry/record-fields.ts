import type { JsonValue } from '../contract/json.ts'
import { visibleValue } from '../domain/json/visible-json.ts'
import { visibleName, visibleText } from '../domain/text/visible-text.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { RecordLine } from './record-line.ts'

/** Longest text of one field, in characters; longer ones are truncated with a mark. */
const FIELD_LIMIT = 8 * 1024
/** Members of every record; a field of this name gets another one. */
const RESERVED = new Set(['level', 'timestamp', 'message'])

/** Members of a log record as they are given; secrets in them are redacted. */
export type LogFields = Readonly<Record<string, unknown>>

/** The field of a record, or else of its logger. */
export function fieldOf(logger: LogFields, record: LogFields, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : logger[name]
}

/**
 * Writes the fields of a logger and of one record, which replace the logger's of the same name, redacted, with hidden characters
 * shown, and truncated. They are written directly into the line: a busy hub writes tens of thousands of records a second, and
 * temporary objects for them are work for the garbage collector.
 */
export class RecordFields {
  readonly #redactor: Pick<Redactor, 'member'>

  constructor(redactor: Pick<Redactor, 'member'>) {
    this.#redactor = redactor
  }

  /** In the order in which they were given, the logger's first. `copy`: gets the same members. `server`: redacts its secrets. */
  write(
    logger: LogFields,
    record: LogFields,
    line: RecordLine,
    copy: Record<string, unknown> | undefined,
    server: Pick<Redactor, 'member'> | undefined,
  ): void {
    for (const key in logger) {
      const name = nameOf(key, logger, record)
      if (name !== undefined) this.#put(name, key, fieldOf(logger, record, key), line, copy, server)
    }
    for (const key in record) {
      const name = Object.hasOwn(logger, key) ? undefined : nameOf(key, logger, record)
      if (name !== undefined) this.#put(name, key, record[key], line, copy, server)
    }
  }

  #put(
    name: string,
    key: string,
    value: unknown,
    line: RecordLine,
    copy: Record<string, unknown> | undefined,
    server: Pick<Redactor, 'member'> | undefined,
  ): void {
    if (value === undefined) return
    const text = value instanceof Error ? (value.stack ?? value.message) : value
    const safe = this.#redactor.member(key, server ? server.member(key, text) : text)
    const written =
      typeof safe === 'string' ? cut(safe) : typeof safe === 'object' ? visibleValue(safe as JsonValue) : safe
    const shownName = visibleName(name)
    line.member(shownName, written)
    if (copy) copy[shownName] = written
  }
}

/** Undefined: it is not written, or another field has the name already. */
function nameOf(key: string, logger: LogFields, record: LogFields): string | undefined {
  if (key === 'ownerId') return undefined
  if (!RESERVED.has(key)) return key
  const name = `field_${key}`
  return Object.hasOwn(logger, name) || Object.hasOwn(record, name) ? undefined : name
}

/** Returns a text with its hidden characters shown, truncated to 8,192 characters, with the number of omitted ones. */
export function cut(text: string): string {
  // The omitted part is not searched: a program may log megabytes.
  const shown = visibleText(text.slice(0, FIELD_LIMIT))
  const more = Math.max(0, text.length - FIELD_LIMIT) + Math.max(0, shown.length - FIELD_LIMIT)
  return more === 0 ? shown : `${shown.slice(0, FIELD_LIMIT)}… (${more} more characters)`
}
