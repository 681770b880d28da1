import { printParseErrorCode, visit } from 'jsonc-parser'
import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { stringEnd } from './json-depth.ts'
import { pointerToken } from './json-pointer.ts'
import { quoteName } from './names.ts'

/** Limits of a JSON text that somebody else wrote. */
export interface JsonLimits {
  /** Deepest nesting; the outermost object is 1. Default 64. */
  readonly depth?: number
  /** Members and array elements in all. Default 10_000. */
  readonly members?: number
  /** Parts that are data of a foreign form (an inline OpenAPI document): own limits, and only `__proto__` is refused there. */
  readonly foreign?: {
    /** How the JSON Pointers of such parts end, such as `/openapi/schema`. */
    readonly endings: readonly string[]
    readonly depth: number
    readonly members: number
  }
}

export const JSON_DEPTH = 64
export const JSON_MEMBERS = 10_000
const NEVER = '__proto__'
const NOT_IN_OWN_OBJECTS = new Set(['constructor', 'prototype'])

/**
 * Parses a JSON text that must be an object: RFC 8259 to the letter, no key twice in one object, no key that reaches a
 * prototype. Throws HubError `json_empty`, `json_invalid` (line and column in `data`), `json_not_object`,
 * `json_duplicate_key`, `json_too_deep`, `json_too_large`, `key_forbidden`.
 */
export function parseJsonObject(text: string, limits: JsonLimits = {}): JsonObject {
  if (text.trim() === '') throw new HubError('json_empty', 'The body is empty; a JSON object is wanted')
  const shape = scanShape(text)
  // Judged before parsing: a parser that recurses would meet the nesting first.
  const deepest = (limits.depth ?? JSON_DEPTH) + (limits.foreign?.depth ?? 0)
  if (shape.depth > deepest) throw tooDeep(deepest)
  const value = parseStrictly(text)
  if (!isJsonObject(value)) {
    const what = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
    throw new HubError('json_not_object', `The body is ${what}; a JSON object is wanted`)
  }
  const named = guardJson(value, limits)
  // Parsing keeps the last of two equal keys, so that fewer members than colons means a duplicate.
  if (shape.colons !== named) throw duplicateKey(text)
  return value
}

/** The same limits for a value that is parsed already. Returns the number of object members in it. */
function guardJson(root: JsonValue, limits: JsonLimits = {}): number {
  const endings = limits.foreign?.endings ?? []
  let named = 0

  const walk = (value: JsonValue, pointer: string, depth: number, scope: Scope): void => {
    if (typeof value !== 'object' || value === null) return
    if (depth > scope.depth) throw tooDeep(scope.depth)
    const names = Array.isArray(value) ? undefined : Object.keys(value)
    scope.left -= names?.length ?? (value as JsonValue[]).length
    if (scope.left < 0) throw new HubError('json_too_large', `The JSON has more than ${scope.members} members`)
    if (names) {
      named += names.length
      for (const name of names) {
        if (name === NEVER || (!scope.foreign && NOT_IN_OWN_OBJECTS.has(name))) {
          throw new HubError('key_forbidden', `The key "${name}" at #${pointer} is never accepted`)
        }
        const child = (value as JsonObject)[name]
        if (typeof child !== 'object' || child === null) continue
        const at = endings.length > 0 && !scope.foreign ? `${pointer}/${pointerToken(name)}` : pointer
        if (!scope.foreign && limits.foreign && endings.some(ending => at.endsWith(ending))) {
          walk(child, at, 1, { ...scopeOf(limits.foreign), foreign: true })
        } else walk(child, at, depth + 1, scope)
      }
    } else for (const item of value as JsonValue[]) walk(item, pointer, depth + 1, scope)
  }

  walk(root, '', 1, { ...scopeOf(limits), foreign: false })
  return named
}

interface Scope {
  readonly depth: number
  readonly members: number
  readonly foreign: boolean
  left: number
}

function scopeOf(limits: { depth?: number; members?: number }): Omit<Scope, 'foreign'> {
  const members = limits.members ?? JSON_MEMBERS
  return { depth: limits.depth ?? JSON_DEPTH, members, left: members }
}

/** Nesting and number of colons outside strings, in one pass and without recursion. */
function scanShape(text: string): { depth: number; colons: number } {
  let depth = 0
  let deepest = 0
  let colons = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = stringEnd(text, at)
        break
      case 0x3a:
        colons += 1
        break
      case 0x5b:
      case 0x7b:
        depth += 1
        if (depth > deepest) deepest = depth
        break
      case 0x5d:
      case 0x7d:
        depth -= 1
        break
    }
  }
  return { depth: deepest, colons }
}

function parseStrictly(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    const at = firstError(text)
    const where = `line ${at.line}, column ${at.column}`
    throw new HubError('json_invalid', `The body is not JSON: ${where}: ${at.what}`, {
      cause,
      data: { line: at.line, column: at.column },
    })
  }
}

function firstError(text: string): { line: number; column: number; what: string } {
  let found: { line: number; column: number; what: string } | undefined
  visit(
    text,
    {
      onError: (code, _offset, _length, line, column) => {
        const what = printParseErrorCode(code)
          .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
          .toLowerCase()
        found ??= { line: line + 1, column: column + 1, what }
      },
    },
    { disallowComments: true },
  )
  return found ?? { line: 1, column: 1, what: 'not JSON' }
}

/** Reads the text again to say where the second of two equal keys stands. */
function duplicateKey(text: string): HubError {
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

function tooDeep(depth: number): HubError {
  return new HubError('json_too_deep', `The JSON is nested deeper than ${depth} levels`)
}
