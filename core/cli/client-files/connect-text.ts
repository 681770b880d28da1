import { parse as parseToml, TomlError } from 'smol-toml'
import { JsoncError, readJsonc } from '../../config/jsonc.ts'
import { setAt } from '../../config/jsonc-edit.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'
import { checked } from './config-value.ts'

/** Files in JSON, which may have comments and trailing commas. */
export const JSON_CONFIG: ConfigSyntax = {
  value: jsonOf,
  only(text) {
    const [table, name, value] = onlyEntry(jsonOf(text))
    return { table, name, value, text: '' }
  },
  read: (text, table, name) => memberOf(jsonOf(text), table, name),
  write(text, { table, name }, entry) {
    return JSON_CONFIG.set(text, [table, name], entry?.value)
  },
  set(text, path, value) {
    const whole = text.trim() === '' ? '{}\n' : text
    const before = jsonOf(whole)
    return checked(before, jsonOf, path, value, setAt(whole, path, value))
  },
  entryOf(text, table, name) {
    const value = memberOf(jsonOf(text), table, name)
    return isJsonObject(value) ? { table, name, value, text: '' } : undefined
  },
}

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
    return checked(before, tomlOf, [table, name], entry?.value, after)
  },
  set(text, path, value) {
    const [table, name, field] = path.map(String)
    if (table === undefined || name === undefined) throw new UnreadableConfig('it has no such table')
    if (field === undefined && value === undefined) return TOML_CONFIG.write(text, { table, name }, undefined)
    return checked(tomlOf(text), tomlOf, path, value, withField(text, table, name, field ?? '', value ?? null))
  },
  entryOf(text, table, name) {
    const value = memberOf(tomlOf(text), table, name)
    if (!isJsonObject(value)) return undefined
    const lines = text.split('\n')
    const own = linesOf(lines, table, name)
    return { table, name, value, text: lines.filter((_, at) => own[at] === true).join('\n') }
  },
}

/** With one member of the table `[table.name]`; the value is written as JSON, which TOML has for texts and switches. */
function withField(text: string, table: string, name: string, field: string, value: JsonValue): string {
  const lines = text.split('\n')
  const own = linesOf(lines, table, name)
  const header = lines.findIndex((line, at) => own[at] === true && isHeaderOf(line, table, name))
  if (header < 0) {
    throw new UnreadableConfig(`the entry "${name}" is not a table [${table}.${name}] of its own: change it by hand`)
  }
  const next = lines.findIndex((line, at) => at > header && /^\s*\[/.test(line))
  const member = new RegExp(`^(\\s*(?:"${escaped(field)}"|${escaped(field)})\\s*=\\s*)(?:true|false)`)
  const present = lines.findIndex((line, at) => at > header && (next < 0 || at < next) && member.test(line))
  const end = (lines[header] ?? '').endsWith('\r') ? '\r' : ''
  const changed =
    present < 0
      ? lines.toSpliced(header + 1, 0, `${field} = ${JSON.stringify(value)}${end}`)
      : lines.with(
          present,
          (lines[present] ?? '').replace(member, (_, start: string) => `${start}${JSON.stringify(value)}`),
        )
  return changed.join('\n')
}

function appended(lines: readonly string[], added: readonly string[]): readonly string[] {
  if (added.length === 0) return lines
  const kept = lines.join('\n').trimEnd()
  return [...(kept === '' ? [] : [kept, '']), ...added, '']
}

/** True for each line that belongs to `[table.name]` or the tables below it. */
function linesOf(lines: readonly string[], table: string, name: string): readonly boolean[] {
  const own = new RegExp(`^\\s*\\[{1,2}${part(table)}\\.${part(name)}[.\\]]`)
  let inside = false
  return lines.map(line => {
    if (/^\s*\[/.test(line)) inside = own.test(line)
    return inside
  })
}

function isHeaderOf(line: string, table: string, name: string): boolean {
  return new RegExp(`^\\s*\\[${part(table)}\\.${part(name)}\\]`).test(line)
}

/** A word of a table's name, in quotes or without. */
function part(word: string): string {
  return `\\s*(?:"${escaped(word)}"|'${escaped(word)}'|${escaped(word)})\\s*`
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
