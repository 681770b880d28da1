import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { shellWords } from '../../domain/program/shell-words.ts'

/** The form in which a text names one value: `env` as `KEY=value`, `headers` as `Name: value`. */
export type PairKind = 'env' | 'headers'

const PAIR: Readonly<Record<PairKind, readonly RegExp[]>> = {
  env: [/^(?:export\s+|set\s+|-e\s+)?([A-Za-z_][\w.-]*)\s?=\s?(.*)$/s, /^([A-Za-z_][\w.-]*):\s+(.*)$/s],
  headers: [/^([\w!#$%&'*+.^`|~-]+)\s*:\s*(.*)$/s, /^([\w-]+)\s?=\s?(.*)$/s],
}
const NAMES = ['name', 'key', 'header', 'variable', 'id']
const VALUES = ['value', 'val', 'default']
/** Most characters of a text that is taken apart. */
const MOST_CHARACTERS = 256 * 1024

/**
 * The names and values of a list of texts or of objects with name and value, or of a text with one pair a line. A map with names
 * alone is one of references. Any other value is returned unchanged, so that it is reported.
 */
export function pairsOf(value: JsonValue, kind: PairKind): JsonValue {
  if (typeof value === 'string') return ofText(value, kind) ?? value
  if (!Array.isArray(value)) return value
  const pairs = value.filter(item => item !== null).map(item => pairOf(item, kind))
  return pairs.every(pair => pair !== undefined) ? Object.fromEntries(pairs.flat()) : value
}

type Pairs = readonly (readonly [string, JsonValue])[]

function pairOf(item: JsonValue, kind: PairKind): Pairs | undefined {
  if (typeof item === 'string') return ofWord(item.trim(), kind)
  if (Array.isArray(item)) {
    const [name, value = '', ...others] = item
    return typeof name === 'string' && others.length === 0 ? [[name, value]] : undefined
  }
  return isJsonObject(item) ? ofObject(item, kind) : undefined
}

function ofWord(text: string, kind: PairKind): Pairs | undefined {
  const pair = split(text, kind)
  if (pair) return [pair]
  // A name alone is that of a variable which the client takes from its own environment.
  return kind === 'env' && /^[A-Za-z_]\w*$/.test(text) ? [[text, `\${${text}}`]] : undefined
}

/** `{"name": "A", "value": "1"}`, or `{"A": "1"}`. */
function ofObject(item: JsonObject, kind: PairKind): Pairs | undefined {
  const name = NAMES.map(key => item[key]).find(text => typeof text === 'string')
  if (typeof name === 'string') {
    const key = VALUES.find(value => item[value] !== undefined)
    const missing = kind === 'env' ? `\${${name}}` : ''
    return [[name, key === undefined ? missing : (item[key] ?? '')]]
  }
  const members = Object.entries(item)
  return members.length > 0 && members.every(([, inner]) => typeof inner !== 'object') ? members : undefined
}

function split(text: string, kind: PairKind): readonly [string, string] | undefined {
  for (const form of PAIR[kind]) {
    const [, name, value = ''] = form.exec(text) ?? []
    if (name !== undefined) return [name, unquoted(value.trim())]
  }
  return undefined
}

function unquoted(value: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(value) ? value.slice(1, -1) : value
}

/** A text as JSON, with a pair in each line, or with pairs between commas, semicolons or blanks. */
function ofText(text: string, kind: PairKind): JsonObject | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  if (text.trim() === '') return {}
  const json = objectIn(text)
  if (json) return json
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '' && !line.trim().startsWith('#'))
  const parts = lines.length > 1 ? lines : partsOf(text, kind)
  const pairs = parts.map(part => split(part.trim(), kind))
  return pairs.every(pair => pair !== undefined) ? Object.fromEntries(pairs) : undefined
}

function objectIn(text: string): JsonObject | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    const value = JSON.parse(text) as JsonValue
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function partsOf(text: string, kind: PairKind): readonly string[] {
  for (const separator of [',', ';']) {
    const parts = text.split(separator).filter(part => part.trim() !== '')
    if (parts.length > 1 && parts.every(part => PAIR[kind][0]?.test(part.trim()))) return parts
  }
  if (kind === 'headers') return [text]
  const read = shellWords(`${text} x`)
  const isAll = read.ok && read.words.length === 1 && Object.keys(read.variables).length > 1
  return isAll ? Object.entries(read.variables).map(([name, value]) => `${name}=${value}`) : [text]
}
