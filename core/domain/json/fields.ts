import { Buffer } from 'node:buffer'
import type { FieldCode, FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { quoteName } from '../names.ts'
import { nearest, SUGGESTIONS } from '../nearest.ts'
import { wordIn } from '../spelling/words.ts'
import { MOST_ERRORS } from '../validation-error.ts'
import { pointerToken } from './json-pointer.ts'

/** Members of every answered setting of an owner that a body may repeat, and that change nothing. */
export const ANSWERED_FIELDS = [
  'id',
  'ref',
  'owner',
  'origin',
  'revision',
  'createdAt',
  'updatedAt',
  'limited',
] as const

/** Default limit of a string field, in UTF-8 bytes. */
export const STRING_BYTES = 8 * 1024

/**
 * Reads the members of one JSON object and collects all problems instead of stopping at the first. Each reader returns
 * undefined for a member that is absent or invalid; `errors` shows which.
 */
export class Fields {
  readonly errors: FieldError[]
  readonly #body: JsonObject
  readonly #at: string

  /** `at` is the pointer of the object itself, `#` for the body. Nested readers share the list of errors. */
  constructor(body: JsonObject, at = '#', errors: FieldError[] = []) {
    this.#body = body
    this.#at = at
    this.errors = errors
  }

  pointer(name: string | number): string {
    return `${this.#at}/${pointerToken(name)}`
  }

  problem(name: string, code: FieldCode, detail: string): undefined {
    this.errors.push({ pointer: this.pointer(name), code, detail })
    return undefined
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#body, name)
  }

  names(): readonly string[] {
    return Object.keys(this.#body)
  }

  raw(name: string): JsonValue | undefined {
    return this.has(name) ? this.#body[name] : undefined
  }

  required(name: string): boolean {
    if (this.has(name)) return true
    this.problem(name, 'required', `"${name}" is missing`)
    return false
  }

  /** Reports each member that is not in the list; the first ones with a suggestion. */
  refuseUnknown(known: Iterable<string>): void {
    const names = new Set(known)
    for (const name of Object.keys(this.#body)) {
      if (names.has(name)) continue
      // No more errors than this are shown.
      if (this.errors.length >= MOST_ERRORS) return
      const near = this.errors.length < SUGGESTIONS ? nearest(name, names) : undefined
      this.problem(
        name,
        'unknown_field',
        `${quoteName(name)} is not a field here${near ? `; did you mean "${near}"?` : ''}`,
      )
    }
  }

  string(name: string, maxBytes = STRING_BYTES): string | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.problem(name, 'type', `"${name}" must be a string`)
    if (Buffer.byteLength(value) > maxBytes) {
      return this.problem(name, 'length', `"${name}" is longer than ${maxBytes} bytes`)
    }
    return value
  }

  /** A human-readable string. `format` when not every database could store it. */
  text(name: string): string | undefined {
    const value = this.string(name)
    if (value === undefined || isPlainText(value)) return value
    return this.problem(name, 'format', `"${name}" holds a NUL character or half a character`)
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    return this.problem(name, 'type', `"${name}" must be true or false`)
  }

  /** A whole number from `min` to `max`; the message names `unit`. */
  integer(name: string, min: number, max: number, unit = ''): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    const wanted = `a whole number${unit === '' ? '' : ` of ${unit}`}`
    if (typeof value !== 'number') return this.problem(name, 'type', `"${name}" must be ${wanted}, not ${aKind(value)}`)
    if (value < min || value > max) {
      return this.problem(name, 'range', `"${name}" is ${value}; it must be ${wanted} from ${min} to ${max}`)
    }
    if (!Number.isInteger(value)) return this.problem(name, 'type', `"${name}" is ${value}; it must be ${wanted}`)
    return value
  }

  /** One of these words, in any letter case; see `wordIn`. */
  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.problem(name, 'type', `"${name}" must be a string`)
    const match = wordIn(values, value)
    if (match !== undefined) return match
    return this.problem(name, 'enum', `"${name}" is ${quoteName(value)}; it must be one of ${values.join(', ')}`)
  }

  object(name: string): JsonObject | undefined {
    const value = this.raw(name)
    if (value === undefined || isJsonObject(value)) return value
    return this.problem(name, 'type', `"${name}" must be an object, not ${aKind(value)}`)
  }

  array(name: string): JsonValue[] | undefined {
    const value = this.raw(name)
    if (value === undefined || Array.isArray(value)) return value
    return this.problem(name, 'type', `"${name}" must be an array, not ${aKind(value)}`)
  }

  /** Reports a list or map of more than `most` entries before any is read. Returns true when it may be read. */
  atMost(name: string, most: number): boolean {
    const value = this.raw(name)
    const count = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
    if (count <= most) return true
    this.problem(name, 'length', `"${name}" has ${count} entries; at most ${most} are taken`)
    return false
  }

  /** A reader of a member that is an object; undefined when it is absent or invalid. */
  nested(name: string): Fields | undefined {
    const value = this.object(name)
    return value && new Fields(value, this.pointer(name), this.errors)
  }

  strings(name: string): readonly string[] | undefined {
    const list = this.array(name)
    if (!list) return undefined
    const wrong = list.flatMap((item, index) => (typeof item === 'string' ? [] : [index]))
    for (const index of wrong) {
      const detail = `Element ${index} of "${name}" must be a string`
      this.errors.push({ pointer: `${this.pointer(name)}/${index}`, code: 'type', detail })
    }
    return wrong.length === 0 ? (list as string[]) : undefined
  }

  stringMap(name: string): Readonly<Record<string, string>> | undefined {
    const map = this.object(name)
    if (!map) return undefined
    const wrong = Object.entries(map).filter(([, value]) => typeof value !== 'string')
    for (const [key, value] of wrong) {
      const detail = `The value of ${quoteName(key)} in "${name}" must be a string, not ${aKind(value)}`
      this.errors.push({ pointer: `${this.pointer(name)}/${pointerToken(key)}`, code: 'type', detail })
    }
    return wrong.length === 0 ? (map as Record<string, string>) : undefined
  }
}

/** True when a text has no NUL and no lone surrogates, which UTF-8 cannot encode. */
export function isPlainText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** A value's type with its article, for a message: `null`, `an array`, `a number`. */
export function aKind(value: JsonValue): string {
  const word = kind(value)
  return word === 'null' ? word : `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
}

/** A JSON value's type, for a message. */
export function kind(value: JsonValue): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
