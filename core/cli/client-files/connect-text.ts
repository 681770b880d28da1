import { parse as parseToml, TomlError } from 'smol-toml'
import { JsoncError, readJsonc } from '../../config/jsonc.ts'
import { sameJson, setAt } from '../../config/jsonc-edit.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** A client's file that cannot be read, or in which an entry cannot be set without touching more. */
export class UnreadableConfig extends Error {}

/** One entry of a client's file: its table, name and value. */
export interface ConfigEntry {
  readonly table: string
  readonly name: string
  readonly value: JsonObject
  /** The entry as text, for files that are not JSON. */
  readonly text: string
}

/** Syntax of a client's file. */
export interface ConfigSyntax {
  /** The only entry of a text that the hub wrote for a client. Throws UnreadableConfig. */
  only(text: string): ConfigEntry
  /** Value of an entry; undefined if there is none. Throws UnreadableConfig for a text that cannot be parsed. */
  read(text: string, table: string, name: string): JsonValue | undefined
  /** The text with another entry, or without it; all other text is unchanged. Throws UnreadableConfig. */
  write(text: string, entry: Pick<ConfigEntry, 'table' | 'name'>, value: ConfigEntry | undefined): string
  /** The entry as written in a text. */
  entryOf(text: string, table: string, name: string): ConfigEntry | undefined
}

/** Files in JSON, which may have comments and trailing commas. */
export const JSON_CONFIG: ConfigSyntax = {
  only(text) {
    const [table, name, value] = onlyEntry(jsonOf(text))
    return { table, name, value, text: '' }
  },
  read: (text, table, name) => memberOf(jsonOf(text), table, name),
  write(text, { table, name }, entry) {
    const whole = text.trim() === '' ? '{}\n' : text
    const before = jsonOf(whole)
    const after = setAt(whole, [table, name], entry?.value)
    return checked(before, jsonOf(after), table, name, entry?.value, after)
  },
  entryOf(text, table, name) {
    const value = memberOf(jsonOf(text), table, name)
    return isJsonObject(value) ? { table, name, value, text: '' } : undefined
  },
}

/** Files in TOML: the lines of an entry's own tables are changed. */
export const TOML_CONFIG: ConfigSyntax = {
  only(text) {
    const [table, name, value] = onlyEntry(tomlOf(text))
    return { table, name, value, text }
  },
  read: (text, table, name) => memberOf(tomlOf(text), table, name),
  write(text, { table, name }, entry) {
    const before = tomlOf(text)
    const lines = text === '' ? [] : text.split('\n')
    const own = linesOf(lines, table, name)
    const first = own.findIndex(Boolean)
    if (first < 0 && memberOf(before, table, name) !== undefined) {
      throw new UnreadableConfig(`the entry "${name}" is not a table [${table}.${name}] of its own: change it by hand`)
    }
    const kept = lines.filter((_, at) => own[at] !== true)
    const added = entry ? entry.text.trimEnd().split('\n') : []
    const after = (first < 0 ? appended(lines, added) : kept.toSpliced(first, 0, ...added, ...(entry ? [''] : [])))
      .join('\n')
      .replace(/\n{3,}$/, '\n')
    return checked(before, tomlOf(after), table, name, entry?.value, after)
  },
  entryOf(text, table, name) {
    const value = memberOf(tomlOf(text), table, name)
    if (!isJsonObject(value)) return undefined
    const lines = text.split('\n')
    const own = linesOf(lines, table, name)
    return { table, name, value, text: lines.filter((_, at) => own[at] === true).join('\n') }
  },
}

function appended(lines: readonly string[], added: readonly string[]): readonly string[] {
  if (added.length === 0) return lines
  const kept = lines.join('\n').trimEnd()
  return [...(kept === '' ? [] : [kept, '']), ...added, '']
}

/** True for each line that belongs to `[table.name]` or the tables below it. */
function linesOf(lines: readonly string[], table: string, name: string): readonly boolean[] {
  const part = (word: string): string => `\\s*(?:"${escaped(word)}"|'${escaped(word)}'|${escaped(word)})\\s*`
  const own = new RegExp(`^\\s*\\[{1,2}${part(table)}\\.${part(name)}[.\\]]`)
  let inside = false
  return lines.map(line => {
    if (/^\s*\[/.test(line)) inside = own.test(line)
    return inside
  })
}

function escaped(word: string): string {
  return word.replaceAll(/[^\w]/g, character => `\\${character}`)
}

function jsonOf(text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const { value } = readJsonc(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    throw new UnreadableConfig(`line ${error.line}, column ${error.column}: ${error.message}`)
  }
  throw new UnreadableConfig('line 1: it is no JSON object')
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

function onlyEntry(document: JsonObject): [table: string, name: string, value: JsonObject] {
  const [table = '', entries] = Object.entries(document)[0] ?? []
  const [name = '', value] = isJsonObject(entries) ? (Object.entries(entries)[0] ?? []) : []
  if (!isJsonObject(value)) throw new UnreadableConfig('the hub gave no entry for a file')
  return [table, name, value]
}

function memberOf(document: JsonObject, table: string, name: string): JsonValue | undefined {
  const entries = document[table]
  if (entries === undefined) return undefined
  if (!isJsonObject(entries)) throw new UnreadableConfig(`"${table}" is no object`)
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}

/** Returns the changed text after verifying that exactly the intended change was made. */
function checked(
  before: JsonObject,
  after: JsonObject,
  table: string,
  name: string,
  value: JsonObject | undefined,
  text: string,
): string {
  const entries = { ...(before[table] as JsonObject | undefined) }
  if (value === undefined) delete entries[name]
  else entries[name] = value
  const meant = { ...before, [table]: entries }
  const isEmpty = Object.keys(entries).length === 0
  const fits = sameJson(after, meant) || (isEmpty && sameJson({ [table]: {}, ...after }, meant))
  if (fits) return text
  throw new UnreadableConfig(`the entry "${name}" cannot be changed without changing more: change it by hand`)
}
