import { parse as parseToml, TomlError } from 'smol-toml'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { type ConfigChange, type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'
import { memberOf, onlyEntry } from './config-tables.ts'
import { checked } from './config-value.ts'

/** Files in TOML: the lines of an entry's own tables are changed. */
export const TOML_CONFIG: ConfigSyntax = {
  value: tomlOf,
  only(text) {
    const [table, name, value] = onlyEntry(tomlOf(text))
    return { table, name, value, text }
  },
  read: (text, table, name) => memberOf(tomlOf(text), table, name),
  write(text, { table, name }, entry) {
    const before = tomlOf(text)
    const lines = text === '' ? [] : text.split('\n')
    const own = new Tables(lines).linesOf(table, name)
    const first = own[0]
    if (first === undefined && memberOf(before, table, name) !== undefined) throw byHand(table, name)
    const removed = new Set(own)
    const kept = lines.filter((_, at) => !removed.has(at))
    const added = entry ? entry.text.trimEnd().split('\n') : []
    const changed =
      first === undefined ? appended(lines, added) : kept.toSpliced(first, 0, ...added, ...(entry ? [''] : []))
    return checked(before, tomlOf, [{ path: [table, name], value: entry?.value }], withOneEnd(changed))
  },
  change(text, changes) {
    const lines = text.split('\n')
    const tables = new Tables(lines)
    const edits = changes.map(change => editOf(lines, tables, change))
    // From the end, so that the numbers of earlier lines stay. A line inside of a removed table may be changed too.
    const removed = new Set(edits.flatMap(edit => edit.removed))
    const added = new Map(edits.flatMap(edit => edit.added))
    const changed = lines.flatMap((line, at) => [...(removed.has(at) ? [] : [line]), ...(added.get(at) ?? [])])
    return checked(tomlOf(text), tomlOf, changes, withOneEnd(changed))
  },
  entryOf(text, table, name) {
    const value = memberOf(tomlOf(text), table, name)
    if (!isJsonObject(value)) return undefined
    const lines = text.split('\n')
    const own = new Tables(lines).linesOf(table, name).map(at => lines[at])
    return { table, name, value, text: own.join('\n') }
  },
}

function byHand(table: string, name: string): UnreadableConfig {
  return new UnreadableConfig(`the entry "${name}" is not a table [${table}.${name}] of its own: change it by hand`)
}

function withOneEnd(lines: readonly string[]): string {
  return lines.join('\n').replace(/\n{3,}$/, '\n')
}

function appended(lines: readonly string[], added: readonly string[]): readonly string[] {
  if (added.length === 0) return lines
  const kept = lines.join('\n').trimEnd()
  return [...(kept === '' ? [] : [kept, '']), ...added, '']
}

/** Numbers of lines: which are removed, and after which others are added. */
interface LineEdit {
  readonly removed: readonly number[]
  readonly added: readonly (readonly [after: number, lines: readonly string[]])[]
}

/** One member of the table `[table.name]`, or the table itself. The value is written as JSON, which TOML has for texts and switches. */
function editOf(lines: readonly string[], tables: Tables, { path, value }: ConfigChange): LineEdit {
  const [table, name, field] = path.map(String)
  if (table === undefined || name === undefined) throw new UnreadableConfig('it has no such table')
  if (field === undefined) {
    const removed = tables.linesOf(table, name)
    if (removed.length === 0 || value !== undefined) throw byHand(table, name)
    return { removed, added: [] }
  }
  const header = tables.headerOf(table, name)
  if (header === undefined) throw byHand(table, name)
  const member = new RegExp(`^(\\s*(?:"${escaped(field)}"|${escaped(field)})\\s*=\\s*)(?:true|false)`)
  const present = tables.bodyOf(header).find(at => member.test(lines[at] ?? ''))
  const end = (lines[header] ?? '').endsWith('\r') ? '\r' : ''
  if (present === undefined) {
    return { removed: [], added: [[header, [`${field} = ${JSON.stringify(value ?? null)}${end}`]]] }
  }
  const written = (lines[present] ?? '').replace(
    member,
    (_, start: string) => `${start}${JSON.stringify(value ?? null)}`,
  )
  return { removed: [present], added: [[present, [written]]] }
}

function escaped(word: string): string {
  return word.replaceAll(/[^\w]/g, character => `\\${character}`)
}

/** The tables of a text by their headers. A header inside of a text of several lines is taken for one; `checked` finds that. */
class Tables {
  readonly #lineCount: number
  readonly #headers: readonly { readonly at: number; readonly path: readonly string[]; readonly isList: boolean }[]

  constructor(lines: readonly string[]) {
    this.#lineCount = lines.length
    this.#headers = lines.flatMap((line, at) => {
      const [brackets] = /^\s*\[{1,2}/.exec(line) ?? []
      const path = brackets === undefined ? undefined : wordsAt(line, brackets.length)
      return path === undefined ? [] : [{ at, path, isList: brackets?.endsWith('[[') === true }]
    })
  }

  /** Lines of `[table.name]` and the tables below it. */
  linesOf(table: string, name: string): readonly number[] {
    return this.#headers.flatMap(({ at, path }, index) =>
      path[0] === table && path[1] === name ? range(at, this.#endOf(index)) : [],
    )
  }

  /** The line of `[table.name]`. */
  headerOf(table: string, name: string): number | undefined {
    return this.#headers.find(
      ({ path, isList }) => path.length === 2 && path[0] === table && path[1] === name && !isList,
    )?.at
  }

  /** Lines between this header and the next one. */
  bodyOf(header: number): readonly number[] {
    const index = this.#headers.findIndex(({ at }) => at === header)
    return range(header + 1, this.#endOf(index))
  }

  #endOf(index: number): number {
    return this.#headers[index + 1]?.at ?? this.#lineCount
  }
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)
}

/** The words of a dotted name up to a bracket, in quotes or without; undefined when there is no such name. */
function wordsAt(line: string, from: number): readonly string[] | undefined {
  const word = /\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))\s*([.\]])/y
  word.lastIndex = from
  const words: string[] = []
  for (;;) {
    const match = word.exec(line)
    if (!match) return undefined
    const [, double, single, bare, end] = match
    words.push(double === undefined ? (single ?? bare ?? '') : unescaped(double))
    if (end === ']') return words
  }
}

function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`))
  } catch {
    return text
  }
}

function tomlOf(text: string): JsonObject {
  try {
    // Dates, which JSON does not have, become texts: they are only compared.
    return JSON.parse(JSON.stringify(parseToml(text, { integersAsBigInt: 'asNeeded' }), bigToText)) as JsonObject
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    throw new UnreadableConfig(`line ${error.line}, column ${error.column}: ${error.message.split('\n')[0]}`)
  }
}

function bigToText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
