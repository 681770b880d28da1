import { load, YAMLException } from 'js-yaml'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { type ConfigEntry, type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'
import { checked } from './config-value.ts'
import { type Block, blockAt, childrenOf, indentOf, itemLines, type YamlPath, yamlLines } from './yaml-lines.ts'

/** Files in YAML. A table may be a map, or a list whose items have a `name`. Only lines of the entry change. */
export const YAML_CONFIG: ConfigSyntax = {
  value: yamlOf,
  only(text) {
    const [table = '', entries] = Object.entries(yamlOf(text))[0] ?? []
    const list = Array.isArray(entries)
    const item = list ? entries[0] : undefined
    const [name, value] = isJsonObject(entries) ? (Object.entries(entries)[0] ?? []) : [nameIn(item), item]
    if (typeof name !== 'string' || !isJsonObject(value)) throw new UnreadableConfig('the hub gave no entry for a file')
    return { table, name, value, list, text: '' }
  },
  read(text, table, name) {
    const value = yamlOf(text)
    const path = pathOf(value, table, name)
    return path && memberAt(value, path)
  },
  entryOf(text, table, name) {
    const document = yamlOf(text)
    const path = pathOf(document, table, name)
    const value = path && memberAt(document, path)
    if (!path || !isJsonObject(value)) return undefined
    const lines = text.split('\n')
    const block = blockAt(lines, path)
    const own = block
      ? lines.slice(block.from, block.to).map(line => line.slice(Math.min(block.indent, indentOf(line))))
      : []
    return { table, name, value, list: typeof path[1] === 'number', text: own.join('\n') }
  },
  write(text, { table, name }, entry) {
    const before = yamlOf(text)
    const path = pathOf(before, table, name)
    if (path) return entry ? replaced(text, before, path, entry) : YAML_CONFIG.set(text, path, undefined)
    return entry ? added(text, before, entry) : text
  },
  set(text, path, value) {
    const before = yamlOf(text)
    const lines = text.split('\n')
    const block = blockAt(lines, path)
    if (value === undefined) {
      if (!block) throw byHand(path)
      const kept = lines.toSpliced(block.from, block.to - block.from)
      const parent = path.slice(0, -1)
      const isLast = countIn(memberAt(before, parent)) === 1
      return checked(
        before,
        yamlOf,
        path,
        undefined,
        (isLast ? emptied(kept, parent, memberAt(before, parent)) : kept).join('\n'),
      )
    }
    const eol = text.includes('\r\n') ? '\r' : ''
    const written = `${JSON.stringify(path.at(-1))}: ${JSON.stringify(value)}`.replace(/^"([A-Za-z_]\w*)"/, '$1')
    if (block) {
      const line = lines[block.from] ?? ''
      const comment = / +#.*$/.exec(line.trimEnd())?.[0] ?? ''
      const start = /^ *(?:- +)?/.exec(line)?.[0] ?? ''
      const changed = lines.toSpliced(block.from, block.to - block.from, `${start}${written}${comment}${eol}`)
      return checked(before, yamlOf, path, value, changed.join('\n'))
    }
    const parent = blockAt(lines, path.slice(0, -1))
    const first = parent && childrenOf(lines, parent)[0]
    if (!parent || !first) throw byHand(path)
    const at = first.from === parent.from ? first.to : first.from
    const changed = lines.toSpliced(at, 0, `${' '.repeat(first.indent)}${written}${eol}`)
    return checked(before, yamlOf, path, value, changed.join('\n'))
  },
}

function byHand(path: YamlPath): UnreadableConfig {
  return new UnreadableConfig(`"${path.join('.')}" is not written on lines of its own: change it by hand`)
}

function countIn(value: JsonValue | undefined): number {
  return value !== null && typeof value === 'object' ? Object.keys(value).length : 0
}

/** A key without a value would be null, which not every program takes for an empty map. */
function emptied(lines: readonly string[], path: YamlPath, was: JsonValue | undefined): readonly string[] {
  const block = blockAt(lines, path)
  if (!block) return lines
  const line = lines[block.from] ?? ''
  const filled = line.replace(/:( *)(#.*)?(\r?)$/, (_, blanks: string, comment = '', end: string) => {
    return `: ${Array.isArray(was) ? '[]' : '{}'}${comment === '' ? '' : `${blanks === '' ? ' ' : blanks}${comment}`}${end}`
  })
  return lines.with(block.from, filled)
}

function replaced(text: string, before: JsonObject, path: YamlPath, entry: ConfigEntry): string {
  const lines = text.split('\n')
  const block = blockAt(lines, path)
  if (!block) throw byHand(path)
  const changed = lines.toSpliced(block.from, block.to - block.from, ...linesOf(entry, block.indent, text))
  return checked(before, yamlOf, path, entry.value, changed.join('\n'))
}

function added(text: string, before: JsonObject, entry: ConfigEntry): string {
  const { table, name, value, list } = entry
  const entries = before[table]
  const lines = text.split('\n')
  const place = [table, list ? countIn(entries) : name]
  const isWrong = countIn(entries) > 0 && Array.isArray(entries) !== (list === true)
  if (isWrong) throw new UnreadableConfig(`"${table}" is ${list ? 'no list' : 'a list'}`)
  const block = blockAt(lines, [table])
  if (!block && entries !== undefined) throw byHand([table])
  const last = block && childrenOf(lines, block).at(-1)
  if (last) {
    const changed = lines.toSpliced(last.to, 0, ...linesOf(entry, last.indent, text))
    return checked(before, yamlOf, place, value, changed.join('\n'))
  }
  if (block) return checked(before, yamlOf, place, value, filledTable(lines, block, entry, text).join('\n'))
  const start = text.trim() === '' ? [] : [...withoutEnd(lines)]
  const eol = text.includes('\r\n') ? '\r' : ''
  const changed = [...start, `${table}:${eol}`, ...linesOf(entry, 2, text), '']
  return checked(before, yamlOf, place, value, changed.join('\n'))
}

/** An empty table: `servers:`, `servers: {}`, `servers: []`. */
function filledTable(lines: readonly string[], { from }: Block, entry: ConfigEntry, text: string): readonly string[] {
  const line = lines[from] ?? ''
  const opened = line.replace(/: *(?:\{ *\}|\[ *\]|null|~)/, ':')
  return [...lines.slice(0, from), opened, ...linesOf(entry, indentOf(line) + 2, text), ...lines.slice(from + 1)]
}

function withoutEnd(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex(line => line.trim() !== '')
  return lines.slice(0, last + 1)
}

function linesOf({ name, value, list = false, text }: ConfigEntry, indent: number, whole: string): readonly string[] {
  const eol = whole.includes('\r\n') ? '\r' : ''
  // The lines of an entry that comes back are as they were.
  if (text !== '') return text.split('\n').map(line => (line.trim() === '' ? line : `${' '.repeat(indent)}${line}`))
  const made = list ? itemLines(value, indent) : yamlLines({ [name]: value }, indent)
  return made.map(line => `${line}${eol}`)
}

function pathOf(document: JsonObject, table: string, name: string): YamlPath | undefined {
  const entries = Object.hasOwn(document, table) ? document[table] : undefined
  if (entries === undefined || entries === null) return undefined
  if (Array.isArray(entries)) {
    const at = entries.findIndex(item => nameIn(item) === name)
    return at < 0 ? undefined : [table, at]
  }
  if (!isJsonObject(entries)) throw new UnreadableConfig(`"${table}" is neither a map nor a list`)
  return Object.hasOwn(entries, name) ? [table, name] : undefined
}

function nameIn(item: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(item) ? item.name : undefined
}

function memberAt(root: JsonValue, path: YamlPath): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((value, part) => {
    if (Array.isArray(value)) return value[Number(part)]
    return isJsonObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  }, root)
}

const MOST_LEVELS = 64

function yamlOf(text: string): JsonObject {
  let value: unknown
  // The parser refuses a text without a value.
  if (!/^(?!\s*(?:#|$|---\s*$))/m.test(text.replace(/^\ufeff/, ''))) return {}
  try {
    // Dates, which JSON has not, become texts: they are only compared.
    value = JSON.parse(JSON.stringify(load(text.replace(/^\ufeff/, ''), { maxDepth: MOST_LEVELS }) ?? {}))
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { line = 0, column = 0 } = error.mark ?? {}
    throw new UnreadableConfig(`line ${line + 1}, column ${column + 1}: ${error.reason.slice(0, 300)}`)
  }
  if (isJsonObject(value as JsonValue)) return value as JsonObject
  throw new UnreadableConfig('line 1: it is no map')
}
