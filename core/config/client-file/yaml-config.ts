import { stringify } from 'yaml'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Path } from '../jsonc-edit.ts'
import { type ConfigChange, type ConfigEntry, type ConfigSyntax, UnreadableConfig } from './config-syntax.ts'
import { checked } from './config-value.ts'
import { type Block, YamlSource } from './yaml-source.ts'

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
    const source = new YamlSource(text)
    const path = pathOf(source.value, table, name)
    const value = path && memberAt(source.value, path)
    if (!path || !isJsonObject(value)) return undefined
    const block = source.blockAt(path)
    const lines = block ? text.slice(block.from, block.to).trimEnd().split('\n') : []
    const own = lines.map(line => line.slice(Math.min(block?.column ?? 0, line.length - line.trimStart().length)))
    return { table, name, value, list: typeof path[1] === 'number', text: own.join('\n') }
  },
  write(text, { table, name }, entry) {
    const source = new YamlSource(text)
    const path = pathOf(source.value, table, name)
    if (path && entry) return replaced(source, path, entry)
    if (path) return YAML_CONFIG.change(text, [{ path, value: undefined }])
    return entry ? added(source, entry) : text
  },
  change(text, changes) {
    const source = new YamlSource(text)
    const removals = changes.filter(({ value }) => value === undefined)
    const splices = changes.flatMap(change =>
      change.value === undefined ? removal(source, change.path) : setting(source, change),
    )
    const after = spliced(text, [...splices, ...emptied(source, removals)])
    return checked(source.value, yamlOf, changes, after)
  },
}

/** Text that takes the place of other text. */
interface Splice {
  readonly from: number
  readonly to: number
  readonly text: string
}

function spliced(text: string, splices: readonly Splice[]): string {
  // From the end, so that the places of earlier ones stay.
  return splices
    .toSorted((one, other) => other.from - one.from)
    .reduce((changed, { from, to, text: part }) => changed.slice(0, from) + part + changed.slice(to), text)
}

function removal(source: YamlSource, path: Path): readonly Splice[] {
  const { from, to } = blockOf(source, path)
  return [{ from, to, text: '' }]
}

/** A key without a value would be null, which not every program takes for an empty map. */
function emptied(source: YamlSource, removals: readonly ConfigChange[]): readonly Splice[] {
  const parents = Map.groupBy(removals, ({ path }) => path.slice(0, -1).join('\0'))
  return [...parents.values()].flatMap(removed => {
    const parent = removed[0]?.path.slice(0, -1) ?? []
    const value = memberAt(source.value, parent)
    const at = source.valueStart(parent)
    if (at === undefined || countIn(value) > removed.length) return []
    return [{ from: at, to: at, text: Array.isArray(value) ? ' []' : ' {}' }]
  })
}

function setting(source: YamlSource, { path, value = null }: ConfigChange): readonly Splice[] {
  const written = JSON.stringify(value)
  if (memberAt(source.value, path) !== undefined) {
    const scalar = source.scalarAt(path)
    if (!scalar) throw byHand(path)
    return [{ ...scalar, text: scalar.from === scalar.to ? ` ${written}` : written }]
  }
  const last = source.lastIn(path.slice(0, -1))
  if (!last) throw byHand(path)
  return [inserted(source, last, [`${key(path)}: ${written}`])]
}

function key(path: Path): string {
  return stringify(String(path.at(-1))).trimEnd()
}

/** Lines behind a block, in its column. */
function inserted(
  { text, eol }: YamlSource,
  { to, column }: Pick<Block, 'to' | 'column'>,
  lines: readonly string[],
): Splice {
  const own = lines.map(line => (line.trim() === '' ? line : `${' '.repeat(column)}${line}`))
  const isClosed = to === 0 || text[to - 1] === '\n'
  const joined = own.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line)).join(eol)
  return { from: to, to, text: isClosed ? `${joined}${eol}` : `${eol}${joined}` }
}

function byHand(path: Path): UnreadableConfig {
  return new UnreadableConfig(`"${path.join('.')}" is not written on lines of its own: change it by hand`)
}

function blockOf(source: YamlSource, path: Path): Block {
  const block = source.blockAt(path)
  if (!block) throw byHand(path)
  return block
}

function countIn(value: JsonValue | undefined): number {
  return value !== null && typeof value === 'object' ? Object.keys(value).length : 0
}

function replaced(source: YamlSource, path: Path, entry: ConfigEntry): string {
  const { from, to, column } = blockOf(source, path)
  const { text } = inserted(source, { to: from, column }, linesOf(entry))
  const changes = [{ path, value: entry.value }]
  return checked(source.value, yamlOf, changes, spliced(source.text, [{ from, to, text }]))
}

function added(source: YamlSource, entry: ConfigEntry): string {
  const { table, name, value, list } = entry
  const entries = source.value[table]
  const isWrong = countIn(entries) > 0 && Array.isArray(entries) !== (list === true)
  if (isWrong) throw new UnreadableConfig(`"${table}" is ${list ? 'no list' : 'a list'}`)
  const changes = [{ path: [table, list ? countIn(entries) : name], value }]
  const done = (splices: readonly Splice[]) => checked(source.value, yamlOf, changes, spliced(source.text, splices))
  if (entries === undefined) return done([newTable(source, entry)])
  const last = source.lastIn([table])
  if (last) return done([inserted(source, last, linesOf(entry))])
  // An empty table: `servers:`, `servers: {}`, `servers: []`.
  const scalar = countIn(entries) === 0 ? source.scalarAt([table]) : undefined
  if (!scalar) throw byHand([table])
  const { to, column } = blockOf(source, [table])
  const emptyValue = { ...scalar, text: '' }
  return done([emptyValue, inserted(source, { to, column: column + 2 }, linesOf(entry))])
}

function newTable({ text, eol }: YamlSource, entry: ConfigEntry): Splice {
  const from = text.trimEnd().length
  const lines = [`${entry.table}:`, ...linesOf(entry).map(line => `  ${line}`)].join(eol)
  return { from, to: text.length, text: `${from === 0 ? '' : eol}${lines}${eol}` }
}

/** The lines of an entry that comes back are as they were. */
function linesOf({ name, value, list = false, text }: ConfigEntry): readonly string[] {
  const made = text === '' ? stringify(list ? [value] : { [name]: value }, { lineWidth: 0 }).trimEnd() : text
  return made.split('\n')
}

function pathOf(document: JsonObject, table: string, name: string): Path | undefined {
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

function memberAt(root: JsonValue, path: Path): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((value, part) => {
    if (Array.isArray(value)) return value[Number(part)]
    return isJsonObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  }, root)
}

function yamlOf(text: string): JsonObject {
  return new YamlSource(text).value
}
