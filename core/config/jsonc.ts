import { createScanner, type Node, type ParseError, parseTree } from 'jsonc-parser'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { jsonPhrase } from '../domain/json/json-fault.ts'

/** Deepest nesting accepted. Walkers below are recursive, and a stack overflow would give a useless error. */
const MAX_DEPTH = 256

/** Invalid JSON, or an object with a duplicate key. Line and column count from 1. */
export class JsoncError extends Error {
  override readonly name = 'JsoncError'
  readonly kind: 'syntax' | 'duplicate'
  readonly line: number
  readonly column: number

  constructor(kind: 'syntax' | 'duplicate', message: string, position: Position) {
    super(message)
    this.kind = kind
    this.line = position.line
    this.column = position.column
  }
}

/** A place in a text; both numbers begin at 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A JSON text with comments and trailing commas allowed, its value, and its syntax tree. */
export interface JsoncDocument {
  readonly text: string
  readonly root: Node
  readonly value: JsonValue
}

/** Throws JsoncError for broken syntax and for duplicate keys. A byte order mark is ignored. */
export function readJsonc(text: string): JsoncDocument {
  const body = text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text
  refuseDeep(body)
  const errors: ParseError[] = []
  const root = parseTree(body, errors, { allowTrailingComma: true })
  const first = errors[0]
  if (first) throw new JsoncError('syntax', jsonPhrase(first.error), positionAt(body, first.offset))
  if (!root) throw new JsoncError('syntax', 'the text is empty', { line: 1, column: 1 })
  return { text, root, value: toValue(root, body) }
}

/** `offset` in characters from the start of the text. */
export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  let line = 1
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line += 1
  return { line, column: offset - lineStart + 1 }
}

// The parser's own enumerations are ambient constants, as in domain/json-fault.ts.
/** Token types of the scanner of `jsonc-parser`. */
export const TOKEN = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  blank: 15,
  end: 17,
} as const

function refuseDeep(text: string): void {
  const scanner = createScanner(text, true)
  let depth = 0
  for (let token: number = scanner.scan(); token !== TOKEN.end; token = scanner.scan()) {
    if (token === TOKEN.openBrace || token === TOKEN.openBracket) depth += 1
    if (token === TOKEN.closeBrace || token === TOKEN.closeBracket) depth -= 1
    if (depth <= MAX_DEPTH) continue
    const position = positionAt(text, scanner.getTokenOffset())
    throw new JsoncError('syntax', `nested more than ${MAX_DEPTH} levels deep`, position)
  }
}

function toValue(node: Node, text: string): JsonValue {
  if (node.type === 'array') return (node.children ?? []).map(child => toValue(child, text))
  if (node.type !== 'object') return node.value as JsonValue
  const members = new Map<string, JsonValue>()
  for (const property of node.children ?? []) {
    const [key, value] = property.children ?? []
    if (!key || !value) continue
    const name = String(key.value)
    if (members.has(name)) {
      throw new JsoncError('duplicate', `the key ${JSON.stringify(name)} comes twice`, positionAt(text, key.offset))
    }
    members.set(name, toValue(value, text))
  }
  // fromEntries makes `__proto__` an own member; an assignment would change the prototype.
  return Object.fromEntries(members) as JsonObject
}
