import { visit } from 'jsonc-parser'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { cutShort } from '../cut-short.ts'
import { quoteName } from '../names.ts'
import { isPlainObject, isRawNumber, parseAsWritten } from './exact-json.ts'
import { aKind } from './fields.ts'
import { stringEnd } from './json-depth.ts'
import { jsonFault, shownFault } from './json-fault.ts'
import { pointerToken } from './json-pointer.ts'

/** Limits of a JSON text that somebody else wrote. */
export interface JsonLimits {
  /** Deepest nesting; the outermost object is 1. Default 64. */
  readonly depth?: number
  /** Members and array elements in all. Default 10_000. */
  readonly members?: number
  /** Characters of all keys and strings in all, foreign parts left out. Default no limit but that of the body. */
  readonly characters?: number
  /** Numbers are kept as they are written (see `parseAsWritten`). Default: they become the nearest doubles. */
  readonly asWritten?: true
  /** Parts that are data of a foreign form, such as an inline OpenAPI document: own limits, and `constructor` is a key like others. */
  readonly foreign?: {
    /** How the JSON Pointers of such parts end, such as `/openapi/schema`. A text in such a place is foreign as well. */
    readonly endings: readonly string[]
    readonly depth: number
    readonly members: number
    /** `__proto__` is a key like others too, since these parts are passed on as they are. Default: it is refused. */
    readonly anyKey?: true
  }
}

export const JSON_DEPTH = 64
export const JSON_MEMBERS = 10_000
/** Longest way of keys to any value of the hub's own objects: messages and secrets name values by their JSON Pointers. */
export const JSON_PATH_CHARACTERS = 1_024
const NEVER = '__proto__'
const NOT_IN_OWN_OBJECTS = new Set(['constructor', 'prototype'])
/** Of a pointer in a message. One into the hub's own objects is shorter; one into a foreign part may have any length. */
const POINTER_CHARACTERS = 4 * JSON_PATH_CHARACTERS

/**
 * Parses a JSON text that must be an object: RFC 8259 to the letter, no key twice in one object, no key that reaches a
 * prototype. Throws HubError `json_empty`, `json_invalid` (line and column in `data`), `json_not_object`,
 * `json_duplicate_key`, `json_too_deep`, `json_too_large`, `key_forbidden`.
 */
export function parseJsonObject(text: string, limits: JsonLimits = {}): JsonObject {
  if (text.trim() === '') throw new HubError('json_empty', 'The body is empty; a JSON object is wanted')
  const shape = scanShape(text)
  // Judged before parsing: a parser that recurses would meet the nesting first, and one value costs up to a microsecond.
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
  // Parsing keeps the last of two equal keys, so that fewer members than colons means a duplicate.
  if (shape.colons !== named) throw duplicateKey(text)
  return value
}

/** The same limits for a value that is parsed already. Returns the number of object members in it. */
export function guardJson(root: JsonValue, limits: JsonLimits = {}): number {
  const endings = limits.foreign?.endings ?? []
  const isForeign = (pointer: string) => endings.some(ending => pointer.endsWith(ending))
  let characters = limits.characters ?? Number.POSITIVE_INFINITY
  let named = 0

  const walk = (value: JsonValue, pointer: string, depth: number, scope: Scope): void => {
    if (typeof value === 'string' && !scope.foreign) {
      characters -= isForeign(pointer) ? 0 : value.length
      if (characters < 0) throw tooLong(limits.characters)
    }
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return
    if (depth > scope.depth) throw tooDeep(scope.depth)
    const names = Array.isArray(value) ? undefined : Object.keys(value)
    scope.left -= names?.length ?? (value as JsonValue[]).length
    if (scope.left < 0) throw tooMany(scope.members)
    if (!names) {
      for (const item of value as JsonValue[]) walk(item, pointer, depth + 1, scope)
      return
    }
    named += names.length
    for (const name of names) {
      if (name === NEVER ? !scope.anyKey : !scope.foreign && NOT_IN_OWN_OBJECTS.has(name)) {
        throw keyForbidden(root, limits.foreign)
      }
      const child = (value as JsonObject)[name] ?? null
      if (scope.foreign) {
        walk(child, pointer, depth + 1, scope)
        continue
      }
      characters -= name.length
      // Before the pointer is built, of which there will be one for each value.
      if (pointer.length + name.length > JSON_PATH_CHARACTERS) throw keysTooLong()
      const at = `${pointer}/${pointerToken(name)}`
      const foreign = limits.foreign && typeof child === 'object' && isForeign(at)
      if (foreign)
        walk(child, at, 1, { ...scopeOf(limits.foreign ?? {}), foreign, anyKey: limits.foreign?.anyKey ?? false })
      else walk(child, at, depth + 1, scope)
    }
  }

  walk(root, '', 1, { ...scopeOf(limits), foreign: false, anyKey: false })
  return named
}

/** The refusal of a value that holds a forbidden key; looks for it again, so that nothing is noted on the way to others. */
function keyForbidden(root: JsonValue, foreign: JsonLimits['foreign']): HubError {
  const error = forbiddenKey(root, foreign)
  const detail = error?.detail ?? 'A key is never accepted'
  return new HubError('key_forbidden', detail, error ? { errors: [error] } : {})
}

/** The first forbidden key of a value, with its whole pointer. */
export function forbiddenKey(root: JsonValue, foreign?: JsonLimits['foreign']): FieldError | undefined {
  const steps: (string | number)[] = []
  const isForeign = () => {
    const last = `/${steps.at(-1)}`
    // Lists have no part in the ends of pointers, as above.
    const way = () => steps.flatMap(step => (typeof step === 'string' ? `/${pointerToken(step)}` : [])).join('')
    return foreign?.endings.some(ending => ending.endsWith(last) && way().endsWith(ending)) ?? false
  }
  const search = (value: JsonValue, inForeign: boolean): boolean => {
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return false
    if (inForeign && foreign?.anyKey) return false
    const names = Array.isArray(value) ? value.keys() : Object.keys(value)
    for (const name of names) {
      steps.push(name)
      if (name === NEVER || (!inForeign && NOT_IN_OWN_OBJECTS.has(String(name)))) return true
      const below = (value as Record<string | number, JsonValue>)[name] ?? null
      if (search(below, inForeign || (typeof below === 'object' && isForeign()))) return true
      steps.pop()
    }
    return false
  }
  if (!search(root, false)) return undefined
  const pointer = cutShort(`#${steps.map(step => `/${pointerToken(step)}`).join('')}`, POINTER_CHARACTERS)
  const detail = `The key "${steps.at(-1)}" at ${pointer} is never accepted`
  return { pointer, code: 'key_forbidden', detail }
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

/** What a JSON text holds outside of its strings. */
export interface JsonShape {
  /** Levels of nesting. */
  readonly depth: number
  readonly colons: number
  readonly commas: number
  /** Objects and arrays. */
  readonly containers: number
  /** Some number is written with a fraction or an exponent, in 16 characters or more, or as `-0`: it may not survive being parsed. */
  readonly oddNumbers: boolean
}

/** Whether a text of this shape holds more members and elements than this for certain, empty objects left aside. */
export function mustHoldMore({ commas, containers }: JsonShape, members: number): boolean {
  return commas > members || commas + containers > 2 * members
}

/** Reads the shape in one pass and without recursion; says something of valid JSON alone. */
export function scanShape(text: string): JsonShape {
  let depth = 0
  let deepest = 0
  let colons = 0
  let commas = 0
  let containers = 0
  let oddNumbers = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    switch (code) {
      case 0x22:
        at = stringEnd(text, at)
        break
      case 0x2c:
        commas += 1
        break
      case 0x3a:
        colons += 1
        break
      case 0x5b:
      case 0x7b:
        containers += 1
        depth += 1
        if (depth > deepest) deepest = depth
        break
      case 0x5d:
      case 0x7d:
        depth -= 1
        break
      default:
        if (code <= 0x39 && (code >= 0x30 || code === 0x2d)) {
          const end = numberEnd(text, at)
          oddNumbers ||= isOdd(text, at, end)
          at = end - 1
        }
    }
  }
  return { depth: deepest, colons, commas, containers, oddNumbers }
}

/** Behind the digits, with their sign; a fraction or an exponent is not read. */
function numberEnd(text: string, from: number): number {
  let at = from + 1
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at += 1
  return at
}

function isOdd(text: string, from: number, end: number): boolean {
  const next = text.charCodeAt(end)
  // . E e
  if (next === 0x2e || next === 0x45 || next === 0x65) return true
  return end - from >= 16 || (text.charCodeAt(from) === 0x2d && text.charCodeAt(from + 1) === 0x30)
}

function parseStrictly(text: string, parse: (text: string) => JsonValue): JsonValue {
  try {
    return parse(text)
  } catch (cause) {
    throw jsonInvalid('The body is not JSON', text, cause)
  }
}

/** The error for a text that JSON.parse refuses, with line and column in the message and in `data`. */
export function jsonInvalid(message: string, text: string, cause: unknown): HubError {
  const fault = jsonFault(text)
  const { line, column } = fault
  return new HubError('json_invalid', `${message}: ${shownFault(fault)}`, { cause, data: { line, column } })
}

/** The error for a text with a key twice in one object; reads the text again to say where the second one stands. */
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
