import { visit } from 'jsonc-parser'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { cutShort } from '../cut-short.ts'
import { quoteName } from '../names.ts'
import { isPlainObject, isRawNumber, parseAsWritten } from './exact-json.ts'
import { aKind } from './fields.ts'
import { jsonFault, shownFault } from './json-fault.ts'
import { pointerToken } from './json-pointer.ts'
import { mustHoldMore, scanShape } from './json-shape.ts'

/** Limits of an untrusted JSON text. */
export interface JsonLimits {
  /** Deepest nesting; the outermost object is 1. Default 64. */
  readonly depth?: number
  /** Members and array elements in total. Default 10_000. */
  readonly members?: number
  /** Characters of all keys and strings in total, without foreign parts. Default: only the body's own limit. */
  readonly characters?: number
  /**
   * Highest number of members and elements of a large body, with its inline OpenAPI documents counted as texts; all of them are
   * copied from the thread that parsed the body, and visited. Default: no separate limit.
   */
  readonly copied?: number
  /** Keeps numbers as written (see `parseAsWritten`). Default: the nearest doubles. */
  readonly asWritten?: true
  /** Parts in a foreign format, such as an inline OpenAPI document: own limits, and `constructor` is an ordinary key. */
  readonly foreign?: {
    /** Endings of the JSON Pointers of such parts, such as `/openapi/schema`. A string there is foreign as well. */
    readonly endings: readonly string[]
    readonly depth: number
    readonly members: number
    /** `__proto__` is an ordinary key too, since these parts are passed on unchanged. Default: rejected. */
    readonly anyKey?: true
  }
}

/** Default limit of nesting levels. */
export const JSON_DEPTH = 64
/** Default limit of object members in one text. */
export const JSON_MEMBERS = 10_000
/** Longest path of keys to a value in the hub's own objects: messages and secrets refer to values by JSON Pointer. */
export const JSON_PATH_CHARACTERS = 1_024
const NEVER = '__proto__'
const NOT_IN_OWN_OBJECTS = new Set(['constructor', 'prototype'])
/** Longest pointer in a message. Pointers into own objects are shorter; pointers into foreign parts may have any
 * length. */
const POINTER_CHARACTERS = 4 * JSON_PATH_CHARACTERS

/**
 * Parses a JSON text that must be an object: strict RFC 8259, no duplicate keys, no key that reaches a prototype.
 * Throws HubError `json_empty`, `json_invalid` (line and column in `data`), `json_not_object`, `json_duplicate_key`,
 * `json_too_deep`, `json_too_large`, `key_forbidden`.
 */
export function parseJsonObject(text: string, limits: JsonLimits = {}): JsonObject {
  if (text.trim() === '') throw new HubError('json_empty', 'The body is empty; a JSON object is wanted')
  const shape = scanShape(text)
  // Checked before parsing: a recursive parser would overflow first, and each value costs up to a microsecond.
  const deepest = (limits.depth ?? JSON_DEPTH) + (limits.foreign?.depth ?? 0)
  if (shape.depth > deepest) throw tooDeep(deepest)
  const most = (limits.members ?? JSON_MEMBERS) + (limits.foreign?.members ?? 0)
  if (mustHoldMore(shape, most)) throw tooMany(most)
  const value = parseStrictly(text, limits.asWritten ? parseAsWritten : JSON.parse)
  if (!isPlainObject(value)) {
    const what = isRawNumber(value) ? 'a number' : aKind(value)
    throw new HubError('json_not_object', `The body is ${what}; a JSON object is wanted`)
  }
  const named = guardJson(value, limits)
  // JSON.parse keeps the last of two equal keys, so fewer members than colons means a duplicate.
  if (shape.colons !== named) throw duplicateKey(text)
  return value
}

/** Throws `json_too_large` when a value has more than this number of members and elements. */
export function refuseMore(root: JsonValue, most: number): void {
  let left = most
  const count = (value: JsonValue): void => {
    if (typeof value !== 'object' || value === null) return
    const items = Object.values(value)
    left -= items.length
    if (left < 0) throw tooMany(most)
    for (const item of items) count(item)
  }
  count(root)
}

/** Applies the same limits to a parsed value. Returns the number of object members. */
export function guardJson(root: JsonValue, limits: JsonLimits = {}): number {
  const guard = new Guard(root, limits)
  guard.walk(root, '', 1, { ...scopeOf(limits), foreign: false, anyKey: false })
  return guard.named
}

/** One walk over one value. Recursive: the depth of the input is limited. */
class Guard {
  /** Object members seen. */
  named = 0
  readonly #root: JsonValue
  readonly #limits: JsonLimits
  #characters: number

  constructor(root: JsonValue, limits: JsonLimits) {
    this.#root = root
    this.#limits = limits
    this.#characters = limits.characters ?? Number.POSITIVE_INFINITY
  }

  walk(value: JsonValue, pointer: string, depth: number, scope: Scope): void {
    if (typeof value === 'string' && !scope.foreign) this.#count(this.#isForeign(pointer) ? 0 : value.length)
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return
    if (depth > scope.depth) throw tooDeep(scope.depth)
    if (!Array.isArray(value)) return this.#walkObject(value as JsonObject, pointer, depth, scope)
    takeMembers(scope, value.length)
    for (const item of value) this.walk(item, pointer, depth + 1, scope)
  }

  #walkObject(object: JsonObject, pointer: string, depth: number, scope: Scope): void {
    const names = Object.keys(object)
    takeMembers(scope, names.length)
    this.named += names.length
    for (const name of names) {
      if (isForbidden(name, scope)) throw keyForbidden(this.#root, this.#limits.foreign)
      const child = object[name] ?? null
      if (scope.foreign) this.walk(child, pointer, depth + 1, scope)
      else this.#walkMember(name, child, pointer, depth, scope)
    }
  }

  /** A member of the hub's own objects; a foreign part may begin at its value. */
  #walkMember(name: string, child: JsonValue, pointer: string, depth: number, scope: Scope): void {
    this.#count(name.length)
    // Checked before building the pointer, which happens for each value.
    if (pointer.length + name.length > JSON_PATH_CHARACTERS) throw keysTooLong()
    const at = `${pointer}/${pointerToken(name)}`
    const { foreign } = this.#limits
    if (!foreign || typeof child !== 'object' || !this.#isForeign(at)) return this.walk(child, at, depth + 1, scope)
    this.walk(child, at, 1, { ...scopeOf(foreign), foreign: true, anyKey: foreign.anyKey ?? false })
  }

  #isForeign(pointer: string): boolean {
    return this.#limits.foreign?.endings.some(ending => pointer.endsWith(ending)) ?? false
  }

  #count(characters: number): void {
    this.#characters -= characters
    if (this.#characters < 0) throw tooLong(this.#limits.characters)
  }
}

function isForbidden(name: string, { foreign, anyKey }: Pick<Scope, 'foreign' | 'anyKey'>): boolean {
  return name === NEVER ? !anyKey : !foreign && NOT_IN_OWN_OBJECTS.has(name)
}

function takeMembers(scope: Scope, count: number): void {
  scope.left -= count
  if (scope.left < 0) throw tooMany(scope.members)
}

/** The error for a forbidden key; searches again for its position, so that valid values pay nothing. */
function keyForbidden(root: JsonValue, foreign: JsonLimits['foreign']): HubError {
  const error = forbiddenKey(root, foreign)
  const detail = error?.detail ?? 'A key is never accepted'
  return new HubError('key_forbidden', detail, error ? { errors: [error] } : {})
}

/** The first forbidden key of a value, with its full pointer. */
export function forbiddenKey(root: JsonValue, foreign?: JsonLimits['foreign']): FieldError | undefined {
  const search = new KeySearch(foreign)
  if (!search.find(root, false)) return undefined
  const { steps } = search
  const pointer = cutShort(`#${steps.map(step => `/${pointerToken(step)}`).join('')}`, POINTER_CHARACTERS)
  const detail = `The key "${steps.at(-1)}" at ${pointer} is never accepted`
  return { pointer, code: 'key_forbidden', detail }
}

class KeySearch {
  /** The path to the key after it was found. */
  readonly steps: (string | number)[] = []
  readonly #foreign: JsonLimits['foreign']

  constructor(foreign: JsonLimits['foreign']) {
    this.#foreign = foreign
  }

  find(value: JsonValue, foreign: boolean): boolean {
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return false
    const anyKey = foreign && this.#foreign?.anyKey === true
    if (anyKey) return false
    for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      this.steps.push(name)
      if (typeof name === 'string' && isForbidden(name, { foreign, anyKey })) return true
      const below = (value as Record<string | number, JsonValue>)[name] ?? null
      if (this.find(below, foreign || (typeof below === 'object' && this.#isForeign()))) return true
      this.steps.pop()
    }
    return false
  }

  #isForeign(): boolean {
    const last = `/${this.steps.at(-1)}`
    // Array indices are not part of these endings, as above.
    const way = () => this.steps.flatMap(step => (typeof step === 'string' ? `/${pointerToken(step)}` : [])).join('')
    return this.#foreign?.endings.some(ending => ending.endsWith(last) && way().endsWith(ending)) ?? false
  }
}

interface Scope {
  readonly depth: number
  readonly members: number
  readonly foreign: boolean
  readonly anyKey: boolean
  left: number
}

function scopeOf(limits: { depth?: number; members?: number }): Omit<Scope, 'foreign' | 'anyKey'> {
  const members = limits.members ?? JSON_MEMBERS
  return { depth: limits.depth ?? JSON_DEPTH, members, left: members }
}

function parseStrictly(text: string, parse: (text: string) => JsonValue): JsonValue {
  try {
    return parse(text)
  } catch (cause) {
    throw jsonInvalid('The body is not JSON', text, cause)
  }
}

/** The error for a text that JSON.parse rejects, with line and column in the message and in `data`. */
export function jsonInvalid(message: string, text: string, cause: unknown): HubError {
  const fault = jsonFault(text)
  const { line, column } = fault
  return new HubError('json_invalid', `${message}: ${shownFault(fault)}`, { cause, data: { line, column } })
}

/** The error for a text with a duplicate key; parses it again to find the second one's position. */
export function duplicateKey(text: string): HubError {
  const scopes: Set<string>[] = []
  let found: { name: string; line: number; column: number } | undefined
  visit(text, {
    onObjectBegin: () => {
      scopes.push(new Set())
    },
    onObjectEnd: () => {
      scopes.pop()
    },
    onObjectProperty: (name, _offset, _length, line, column) => {
      const scope = scopes.at(-1)
      if (scope?.has(name)) found ??= { name, line: line + 1, column: column + 1 }
      scope?.add(name)
    },
  })
  if (!found) return new HubError('json_duplicate_key', 'A JSON object names a key twice')
  const { name, line, column } = found
  return new HubError('json_duplicate_key', `The key ${quoteName(name)} comes twice: line ${line}, column ${column}`, {
    data: { line, column },
  })
}

function tooMany(members: number): HubError {
  return new HubError('json_too_large', `The JSON has more than ${members} members`)
}

function keysTooLong(): HubError {
  return new HubError(
    'json_too_large',
    `The keys that lead to a value are longer than ${JSON_PATH_CHARACTERS} characters`,
  )
}

function tooLong(characters: number | undefined): HubError {
  return new HubError(
    'body_too_large',
    `The body, without its OpenAPI documents, is longer than ${characters} characters`,
  )
}

function tooDeep(depth: number): HubError {
  return new HubError('json_too_deep', `The JSON is nested deeper than ${depth} levels`)
}
