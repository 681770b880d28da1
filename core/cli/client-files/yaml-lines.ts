import { isJsonObject, type JsonValue } from '../../contract/json.ts'

/** Part of a YAML text: lines from `from` up to `to`, without `to`. `indent`: blanks before its first line. */
export interface Block {
  readonly from: number
  readonly to: number
  readonly indent: number
}

/** Keys of maps, and places in lists. */
export type YamlPath = readonly (string | number)[]

const KEY =
  /^ *(?:- +)*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#"'[\]{},&*!|>%@`-][^#]*?|-[^\s#][^#]*?)) *:(?= |\r?$)/

/** The lines of the value at a path that is written as blocks; undefined: it is not there, or is written in one line with others. */
export function blockAt(lines: readonly string[], path: YamlPath): Block | undefined {
  return path.reduce<Block | undefined>(
    (block, part) => block && childrenOf(lines, block).find((child, at) => isPart(lines, child, at, part)),
    { from: 0, to: lines.length, indent: -1 },
  )
}

function isPart(lines: readonly string[], { from }: Block, at: number, part: string | number): boolean {
  const line = lines[from] ?? ''
  if (typeof part === 'number') return isItem(line) && at === part
  return keyOf(line) === part
}

/** The members of a map or the items of a list, as blocks. */
export function childrenOf(lines: readonly string[], { from, to, indent }: Block): readonly Block[] {
  const inner = startsOf(lines, indent < 0 ? from : from + 1, to)
  const own = lines[from] ?? ''
  // The first member of a map in a list is on the line of its dash.
  const beginsHere = indent >= 0 && isItem(own) && keyOf(own) !== undefined
  const first = lines[beginsHere ? from : (inner[0] ?? from)] ?? ''
  const isList = !beginsHere && isItem(first)
  const level = beginsHere ? dashWidth(own) : indentOf(first)
  if (!beginsHere && (inner.length === 0 || level < indent || (level === indent && !isList))) return []
  const starts = inner.filter(at => indentOf(lines[at] ?? '') === level && isItem(lines[at] ?? '') === isList)
  const all = beginsHere ? [from, ...starts] : starts
  return all.map((start, at) => ({ from: start, to: endOf(lines, start, all[at + 1] ?? to, level), indent: level }))
}

/** Positions of lines with content. Comments, blank lines, and the marks of documents are passed over. */
function startsOf(lines: readonly string[], from: number, to: number): readonly number[] {
  return lines.flatMap((line, at) => (at >= from && at < to && !/^\s*(?:#|$)|^(?:---|\.\.\.|%)/.test(line) ? [at] : []))
}

/** Blank lines, and comments that are not indented deeper, belong to what follows. */
function endOf(lines: readonly string[], from: number, to: number, level: number): number {
  let end = to
  while (end > from + 1 && /^\s*(?:#|$)|^\.\.\./.test(lines[end - 1] ?? '') && !isDeeper(lines[end - 1] ?? '', level))
    end -= 1
  return end
}

function isDeeper(line: string, level: number): boolean {
  return line.trim() !== '' && indentOf(line) > level
}

/** Number of blanks before the first other character. */
export function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function isItem(line: string): boolean {
  return /^\s*-(?:\s|$)/.test(line)
}

function dashWidth(line: string): number {
  return /^\s*-\s+/.exec(line)?.[0].length ?? 0
}

function keyOf(line: string): string | undefined {
  const [, double, single, plain] = KEY.exec(line) ?? []
  if (double !== undefined) return doubleQuoted(double)
  return single?.replaceAll("''", "'") ?? plain
}

function doubleQuoted(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`))
  } catch {
    return text
  }
}

/** A value as lines of YAML: maps as blocks, everything else in one line. */
export function yamlLines(value: JsonValue, indent = 0): readonly string[] {
  const blanks = ' '.repeat(indent)
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [`${blanks}${yamlScalar(value)}`]
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = `${blanks}${yamlScalar(key)}:`
    if (Array.isArray(inner) && inner.some(isJsonObject))
      return [name, ...inner.flatMap(item => itemLines(item, indent + 2))]
    return isJsonObject(inner) && Object.keys(inner).length > 0
      ? [name, ...yamlLines(inner, indent + 2)]
      : [`${name} ${yamlScalar(inner)}`]
  })
}

/** An item of a list, whose first line has the dash. */
export function itemLines(value: JsonValue, indent: number): readonly string[] {
  const [first = '', ...rest] = yamlLines(value, indent + 2)
  return [`${' '.repeat(indent)}- ${first.trimStart()}`, ...rest]
}

/** Texts without quotes mean themselves only where they cannot be read as anything else. */
const PLAIN = /^[A-Za-z_][\w./-]*$/
const OTHER_WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

function yamlScalar(value: JsonValue): string {
  // JSON is YAML in one line.
  return typeof value === 'string' && PLAIN.test(value) && !OTHER_WORDS.test(value) ? value : JSON.stringify(value)
}
