import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ScopeTool } from 'patchbay/features'
import type { Words } from './words.ts'

/** Weights of a tool's texts. A word in its name is more significant than one in the description of an argument. */
export const FIELDS = [
  ['tool', 3],
  ['server', 3],
  ['title', 2],
  ['description', 1],
  ['argument', 0.5],
  ['about arguments', 0.4],
] as const

/** Characters of a description that are searched, and of all about the arguments. */
const DESCRIPTION_CHARACTERS = 2_000
const ARGUMENT_CHARACTERS = 6_000
/** Levels of a schema that are read. */
const DEPTH = 4
const MOST_CHOICES = 50
const MOST_BRANCHES = 20
/** Units of 32 bits. */
const MARK_WORDS = 32
/** A count has five bits. */
const MOST_TIMES = 31

/** The words of one tool, in 8 bytes each, and 128 bytes. */
export interface ToolDocument {
  /** Hashes of the words, ascending. */
  readonly words: Uint32Array
  /** A bit for the ten lowest bits of each hash: most words that a tool does not have are excluded by it at once. */
  readonly marks: Uint32Array
  /** Frequencies of each word by field: five bits a field. */
  readonly counts: Uint32Array
  /** Words in each field. */
  readonly lengths: readonly number[]
}

/** The searchable words of a tool. */
export function toolDocument({ name, server, definition }: ToolText, words: Words): ToolDocument {
  const { title, description, annotations, inputSchema } = definition
  const marks = annotations as JsonObject | undefined
  const { names, about } = argumentTexts(inputSchema)
  const texts = [
    name,
    server,
    [title, marks?.title].filter(text => typeof text === 'string').join(' '),
    typeof description === 'string' ? description.slice(0, DESCRIPTION_CHARACTERS) : '',
    names.join(' ').slice(0, ARGUMENT_CHARACTERS),
    about.join(' ').slice(0, ARGUMENT_CHARACTERS),
  ]
  const counts = new Map<number, number[]>()
  const lengths = texts.map((text, field) => {
    const found = words.ofText(text)
    for (const word of found) {
      const key = hashOf(word)
      const times = counts.get(key) ?? FIELDS.map(() => 0)
      times[field] = Math.min(MOST_TIMES, (times[field] ?? 0) + 1)
      counts.set(key, times)
    }
    return found.length
  })
  const keys = Uint32Array.from(counts.keys()).sort()
  const bits = new Uint32Array(MARK_WORDS)
  for (const key of keys) bits[markAt(key)] = (bits[markAt(key)] ?? 0) | (1 << (key & 31))
  return { words: keys, marks: bits, counts: Uint32Array.from(keys, key => packed(counts.get(key) ?? [])), lengths }
}

/** A tool with its definition read. */
interface ToolText extends Pick<ScopeTool, 'name' | 'server'> {
  readonly definition: JsonObject
}

/** FNV-1a of the UTF-16 units: words are distinguished by 32 bits. */
export function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at += 1) {
    hash ^= word.charCodeAt(at)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}

/** Frequencies of a word by field, packed as in `counts`; 0: none. */
export function timesOf({ words, counts, marks }: ToolDocument, word: number): number {
  if ((((marks[markAt(word)] ?? 0) >>> (word & 31)) & 1) === 0) return 0
  let from = 0
  let to = words.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((words[middle] ?? 0) < word) from = middle + 1
    else to = middle
  }
  return words[from] === word ? (counts[from] ?? 0) : 0
}

function markAt(word: number): number {
  return (word >>> 5) % MARK_WORDS
}

function packed(times: readonly number[]): number {
  return times.reduce((sum, count, field) => sum | (count << (field * 5)), 0) >>> 0
}

/** Names of arguments, and texts about them: descriptions, titles and values to choose from. */
function argumentTexts(schema: JsonValue | undefined) {
  const names: string[] = []
  const about: string[] = []
  let left = ARGUMENT_CHARACTERS
  const read = (value: JsonValue | undefined, depth: number): void => {
    if (depth > DEPTH || left <= 0) return
    const node = asObject(value)
    for (const text of [node.title, node.description, ...listOf(node.enum, MOST_CHOICES)]) {
      if (typeof text !== 'string' || left <= 0) continue
      about.push(text.slice(0, left))
      left -= text.length
    }
    const properties = asObject(node.properties)
    names.push(...Object.keys(properties))
    const choices = [node.anyOf, node.oneOf, node.allOf].flatMap(list => listOf(list, MOST_BRANCHES))
    for (const inner of [...Object.values(properties), node.items, ...choices]) read(inner, depth + 1)
  }
  read(schema, 0)
  return { names, about }
}

function listOf(value: JsonValue | undefined, most: number): readonly JsonValue[] {
  return Array.isArray(value) ? value.slice(0, most) : []
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}
