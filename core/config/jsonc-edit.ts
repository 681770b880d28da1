import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import { isJsonObject, type JsonValue } from '../contract/json.ts'
import { TOKEN } from './jsonc.ts'

/** Keys and array indices from the root. */
export type Path = readonly (string | number)[]

interface Change {
  readonly offset: number
  readonly length: number
  readonly content: string
}

/**
 * Sets the value at `path`, or removes it when `undefined`; everything else stays, comments included. Missing objects
 * on the path are created; throws when another value is there. A byte order mark and trailing commas stay: the parser passes
 * over them, in a text that `readJsonc` has accepted. The parser package's `modify` is not used: it re-indents
 * lines, and removing the last item of a one-line array leaves text with another meaning.
 */
export function setAt(text: string, path: Path, value: JsonValue | undefined): string {
  return setAllAt(text, [{ path, value }])
}

/** The same for several paths of the given text, which is parsed once. An object may get one new member at most. */
export function setAllAt(
  text: string,
  wanted: readonly { readonly path: Path; readonly value: JsonValue | undefined }[],
): string {
  const style = styleOf(text)
  const root = parseTree(text)
  const removed = new Map<Node, Node[]>()
  const changes = wanted.flatMap(({ path, value }) => {
    const known = existing(root, path)
    if (value !== undefined)
      return known ? [replacement(text, known, value, style)] : insertion(text, root, path, value, style)
    const item = known?.parent?.type === 'property' ? known.parent : known
    if (item?.parent) removed.set(item.parent, [...(removed.get(item.parent) ?? []), item])
    return []
  })
  const removals = [...removed].flatMap(([parent, items]) =>
    removal(text, parent.children ?? [], new Set(items), style),
  )
  return apply(text, [...changes, ...removals])
}

function replacement(text: string, { offset, length }: Node, value: JsonValue, style: Style): Change {
  return { offset, length, content: render(value, lineIndent(text, offset), style) }
}

function insertion(
  text: string,
  root: Node | undefined,
  path: Path,
  value: JsonValue,
  style: Style,
): readonly Change[] {
  let depth = path.length - 1
  while (depth > 0 && !existing(root, path.slice(0, depth))) depth -= 1
  const parent = existing(root, path.slice(0, depth))
  const wrapped = path.slice(depth + 1).reduceRight<JsonValue>((inner, key) => ({ [String(key)]: inner }), value)
  const key = path[depth]
  if (!parent || key === undefined || (parent.type !== 'object' && parent.type !== 'array')) {
    const where = path.slice(0, depth).join('.') || 'the whole text'
    throw new Error(`Cannot set ${path.join('.')}: ${where} is neither an object nor an array`)
  }
  return insertInto(text, parent, parent.type === 'object' ? String(key) : undefined, wrapped, style)
}

/** Changes the value at `path` to `wanted`, member by member, touching only what differs. */
export function mergeAt(text: string, path: Path, present: JsonValue | undefined, wanted: JsonValue): string {
  if (present !== undefined && sameJson(present, wanted)) return text
  if (!isJsonObject(present) || !isJsonObject(wanted)) return setAt(text, path, wanted)
  let edited = text
  for (const key of Object.keys(present)) {
    if (!Object.hasOwn(wanted, key)) edited = setAt(edited, [...path, key], undefined)
  }
  for (const [key, value] of Object.entries(wanted)) {
    edited = mergeAt(edited, [...path, key], Object.hasOwn(present, key) ? present[key] : undefined, value)
  }
  return edited
}

/** Renames one member of an object in place. */
export function renameKey(text: string, path: Path, key: string): string {
  const name = existing(parseTree(text), path)?.parent?.children?.[0]
  return name ? apply(text, [{ offset: name.offset, length: name.length, content: JSON.stringify(key) }]) : text
}

/** Deep equality of two JSON values; ignores the order of an object's members. */
export function sameJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]))
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every(key => Object.hasOwn(right, key) && sameJson(left[key], right[key]))
  )
}

interface Style {
  readonly step: string
  readonly eol: string
}

function styleOf(text: string): Style {
  return { step: /^([ \t]+)["}\]{[]/m.exec(text)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function existing(root: Node | undefined, path: Path): Node | undefined {
  return root && findNodeAtLocation(root, [...path])
}

function apply(text: string, changes: readonly Change[]): string {
  const last = [...changes].sort((one, other) => other.offset - one.offset)
  return last.reduce(
    (edited, { offset, length, content }) => edited.slice(0, offset) + content + edited.slice(offset + length),
    text,
  )
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1
}

function lineIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''
}

/** The gap between two nodes: the offset of its comma, and the end of the comments on the first node's line. */
function gapAfter(text: string, offset: number): { readonly comma: number | undefined; readonly lineEnd: number } {
  const scanner = createScanner(text, false)
  scanner.setPosition(offset)
  let comma: number | undefined
  let lineEnd = offset
  let sameLine = true
  for (;;) {
    const token: number = scanner.scan()
    const end = scanner.getTokenOffset() + scanner.getTokenLength()
    if (token === TOKEN.comma && comma === undefined) comma = scanner.getTokenOffset()
    else if (token === TOKEN.lineBreak) sameLine = false
    else if (token !== TOKEN.blank && token !== TOKEN.lineComment && token !== TOKEN.blockComment)
      return { comma, lineEnd }
    if (sameLine && token !== TOKEN.blank) lineEnd = end
    if (!sameLine && comma !== undefined) return { comma, lineEnd }
  }
}

function insertInto(
  text: string,
  parent: Node,
  key: string | undefined,
  value: JsonValue,
  style: Style,
): readonly Change[] {
  const children = parent.children ?? []
  const last = children.at(-1)
  const label = key === undefined ? '' : `${JSON.stringify(key)}: `
  const outer = lineIndent(text, parent.offset)
  const inside = text.slice(parent.offset, parent.offset + parent.length)
  if (last && !inside.includes('\n')) {
    const comma = gapAfter(text, last.offset + last.length).comma
    const end = comma === undefined ? last.offset + last.length : comma + 1
    const added = `${comma === undefined ? ', ' : ' '}${label}${inline(value)}`
    return [{ offset: end, length: 0, content: added }]
  }
  const indent = last ? lineIndent(text, last.offset) : outer + style.step
  const line = `${style.eol}${indent}${label}${render(value, indent, style)}`
  if (!last) {
    const close = parent.offset + parent.length - 1
    const rest = text.slice(parent.offset + 1, close)
    const kept = rest.trimEnd()
    const content = `${kept}${line}${style.eol}${outer}`
    return [{ offset: parent.offset + 1, length: rest.length, content }]
  }
  const { comma, lineEnd } = gapAfter(text, last.offset + last.length)
  if (comma !== undefined) return [{ offset: Math.max(lineEnd, comma + 1), length: 0, content: `${line},` }]
  return [
    { offset: lineEnd, length: 0, content: lineEnd === last.offset + last.length ? `,${line}` : line },
    ...(lineEnd === last.offset + last.length ? [] : [{ offset: last.offset + last.length, length: 0, content: ',' }]),
  ]
}

/** Removes members of one object or list. */
function removal(text: string, siblings: readonly Node[], removed: ReadonlySet<Node>, style: Style): readonly Change[] {
  const changes: Change[] = []
  for (const item of siblings.filter(sibling => removed.has(sibling))) {
    const { comma } = gapAfter(text, item.offset + item.length)
    const end = comma === undefined ? item.offset + item.length : comma + 1
    const change = wholeLine(text, item.offset, end, style)
    const last = changes.at(-1)
    // The blanks between two removed members belong to both.
    if (last && last.offset + last.length > change.offset) {
      changes[changes.length - 1] = { ...last, length: change.offset + change.length - last.offset }
    } else changes.push(change)
    if (comma !== undefined || item !== siblings.at(-1)) continue
    const kept = siblings.findLast(sibling => !removed.has(sibling))
    const before = kept && gapAfter(text, kept.offset + kept.length).comma
    if (before !== undefined) changes.push({ offset: before, length: 1, content: '' })
  }
  return changes
}

/** The range to delete: the whole line when nothing else is on it, else the range with the blanks after (or before) it. */
function wholeLine(text: string, start: number, end: number, style: Style): Change {
  const from = lineStart(text, start)
  const rest = /^[ \t]*(\r?\n)?/.exec(text.slice(end))
  if (text.slice(from, start).trim() === '' && rest?.[1] !== undefined) {
    return { offset: from, length: end + rest[0].length - from, content: '' }
  }
  const behind = rest?.[0].replace(style.eol, '').length ?? 0
  if (behind > 0) return { offset: start, length: end + behind - start, content: '' }
  const before = /[ \t]*$/.exec(text.slice(from, start))?.[0].length ?? 0
  return { offset: start - before, length: end - start + before, content: '' }
}

/** Longest one-line array of scalars, in characters; longer ones get one line per item. */
const INLINE_CHARACTERS = 80

function render(value: JsonValue, indent: string, style: Style): string {
  const inner = indent + style.step
  if (Array.isArray(value)) {
    if (value.every(item => item === null || typeof item !== 'object')) {
      const short = inline(value)
      if (short.length <= INLINE_CHARACTERS) return short
    }
    const lines = value.map(item => `${inner}${render(item, inner, style)}`)
    return `[${style.eol}${lines.join(`,${style.eol}`)}${style.eol}${indent}]`
  }
  if (!isJsonObject(value)) return JSON.stringify(value)
  const lines = Object.entries(value).map(
    ([key, item]) => `${inner}${JSON.stringify(key)}: ${render(item, inner, style)}`,
  )
  return lines.length === 0 ? '{}' : `{${style.eol}${lines.join(`,${style.eol}`)}${style.eol}${indent}}`
}

function inline(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${inline(item)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
