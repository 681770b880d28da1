import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import { guardJson, JSON_PATH_CHARACTERS } from '../domain/json/json-guard.ts'
import { scanShape } from '../domain/json/json-shape.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import { JsoncError } from './jsonc.ts'
import { readLooseJson } from './loose-json.ts'

/** Format of an imported file's text; JSON may have comments. */
export type TextFormat = 'json' | 'toml' | 'yaml'

/** The value of a text, or a sentence about why it has none. */
export type TextValue = { readonly value: JsonValue } | { readonly problem: string }

/** Most servers in one document; each is validated and saved separately. */
export const MOST_ENTRIES = 500
/** Longest JSON text that is read as a value. */
export const JSON_CHARACTERS = 2 * 1024 * 1024
/** Limit of characters for JSON with comments, TOML and YAML, whose parsers are slower: this much takes half a second. */
export const OTHER_CHARACTERS = 256 * 1024
/** Limit of values in a TOML or YAML file; an alias counts at each place of use. */
const MOST_VALUES = 20_000
/** Limit of characters of all keys and texts together, counted in the same way. */
const MOST_CHARACTERS = 1024 * 1024
const MOST_LEVELS = 64

/**
 * Parses the text of an imported file. The result is JSON: a time is its text, `inf` and `nan` and integers that a double cannot
 * hold are texts too, so that fields of numbers reject them and fields of texts keep them. Takes up to a second for 256 KiB of YAML: call
 * it in a worker for texts of more than some KiB.
 */
export async function parseImportText(text: string, format: TextFormat): Promise<TextValue> {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    if (format === 'json') return { value: json(plain) }
    if (plain.length > OTHER_CHARACTERS) return { problem: `it has more than ${OTHER_CHARACTERS} characters` }
    return { value: new PlainCopy().of(format === 'toml' ? await toml(plain) : await yaml(plain)) }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof JsoncError || error instanceof HubError) {
      return { problem: error.message }
    }
    throw error
  }
}

class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

function json(text: string): JsonValue {
  if (text.length > JSON_CHARACTERS) throw new Unreadable(`it has more than ${JSON_CHARACTERS} characters`)
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    if (text.length > OTHER_CHARACTERS) throw new Unreadable('it is no JSON')
    const read = readLooseJson(text)
    guardJson(read, SERVER_JSON)
    return read
  }
  // JSON.parse keeps only the last of two equal keys.
  if (guardJson(value, SERVER_JSON) !== scanShape(text).colons)
    throw new Unreadable('an object of it names a key twice')
  return value
}

async function toml(text: string): Promise<unknown> {
  // Loaded when it is needed, which is seldom.
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(text, { integersAsBigInt: 'asNeeded', maxDepth: MOST_LEVELS })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new Unreadable(`line ${error.line}, column ${error.column}: ${reason}`)
  }
}

async function yaml(text: string): Promise<unknown> {
  const { load, YAMLException } = await import('js-yaml')
  try {
    return load(text, { maxDepth: MOST_LEVELS })
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const where = error.mark ? `line ${error.mark.line + 1}, column ${error.mark.column + 1}: ` : ''
    throw new Unreadable(`${where}${error.reason.slice(0, 300)}`)
  }
}

/** Copies a parser's result into a JSON value without shared or circular parts: a short text can represent a billion values. */
class PlainCopy {
  #values = MOST_VALUES
  #characters = MOST_CHARACTERS
  /** Characters of the keys that lead to the present value. */
  #path = 0
  readonly #within = new Set<object>()

  of(value: unknown): JsonValue {
    this.#values -= 1
    if (this.#values < 0) throw new Unreadable(`it holds more than ${MOST_VALUES} values`)
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'bigint') return String(value)
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
    if (value === null || typeof value === 'boolean') return value
    if (value instanceof Date) return value.toISOString()
    if (typeof value !== 'object') throw new Unreadable('it holds a value that JSON has no form for')
    return this.#inside(value)
  }

  #inside(value: object): JsonValue {
    if (this.#within.has(value)) throw new Unreadable('an alias stands for what it is a part of')
    if (this.#within.size >= MOST_LEVELS) throw new Unreadable(`it is nested deeper than ${MOST_LEVELS} levels`)
    this.#within.add(value)
    // fromEntries makes `__proto__` an own member; an assignment would change the prototype.
    const copy = Array.isArray(value)
      ? value.map(item => this.of(item))
      : Object.fromEntries(Object.entries(value).map(([key, item]) => this.#member(key, item)))
    this.#within.delete(value)
    return copy
  }

  #member(key: string, value: unknown): [key: string, value: JsonValue] {
    this.#path += key.length
    if (this.#path > JSON_PATH_CHARACTERS) {
      throw new Unreadable(`the keys that lead to a value are longer than ${JSON_PATH_CHARACTERS} characters`)
    }
    const member: [string, JsonValue] = [this.#text(key), this.of(value)]
    this.#path -= key.length
    return member
  }

  #text(text: string): string {
    this.#characters -= text.length
    if (this.#characters < 0) throw new Unreadable(`its texts have more than ${MOST_CHARACTERS} characters`)
    return text
  }
}
