import { CST, isCollection, isMap, isNode, isScalar, isSeq, type ParsedNode, parseDocument } from 'yaml'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Path } from '../jsonc-edit.ts'
import { UnreadableConfig } from './config-syntax.ts'

/** A member of a map or an item of a list that is written on lines of its own: the text from `from` up to `to`. */
export interface Block {
  readonly from: number
  readonly to: number
  /** Number of characters before its key or dash. */
  readonly column: number
}

type Item = CST.BlockMap['items'][number] | CST.BlockSequence['items'][number]
interface Found {
  readonly item: Item
  readonly node: ParsedNode | null | undefined
}

/** A text in YAML, and the places of its parts. */
export class YamlSource {
  readonly text: string
  /** The line end of the text. */
  readonly eol: '\n' | '\r\n'
  readonly value: JsonObject
  readonly #root: ParsedNode | null

  /** Throws UnreadableConfig. */
  constructor(text: string) {
    this.text = text
    this.eol = text.includes('\r\n') ? '\r\n' : '\n'
    const document = parseDocument(text, { keepSourceTokens: true })
    const [error] = document.errors
    if (error) {
      const [{ line = 1, col = 1 } = {}] = error.linePos ?? []
      const [reason = ''] = error.message.split(/ at line \d|\n/)
      throw new UnreadableConfig(`line ${line}, column ${col}: ${reason.slice(0, 300)}`)
    }
    this.#root = document.contents
    this.value = plain(document)
  }

  /** The block at a path; undefined when nothing is there, or it is written in one line with others. */
  blockAt(path: Path): Block | undefined {
    const found = this.#find(path)
    const block = found && this.#blockOf(found.item)
    // Text before it on its line belongs to something else, such as the dash of a list.
    return block && this.text.slice(block.from, block.from + block.column).trim() === '' ? block : undefined
  }

  /** The last member of the map or list at a path. */
  lastIn(path: Path): Block | undefined {
    const token = this.#find(path)?.node?.srcToken
    if (token?.type !== 'block-map' && token?.type !== 'block-seq') return undefined
    const last = token.items.findLast(item => item.value !== undefined || ('sep' in item && item.sep !== undefined))
    return last && this.#blockOf(last)
  }

  /** The text of a value in one line, such as a scalar or `{}`; empty behind a key that has none. */
  scalarAt(path: Path): { readonly from: number; readonly to: number } | undefined {
    const found = this.#find(path)
    if (!found) return undefined
    const { node } = found
    const isEmpty = isCollection(node) && node.items.length === 0
    if (isNode(node) && !isScalar(node) && !isEmpty) return undefined
    const token = node?.srcToken
    if (!node?.range || token === undefined || node.range[0] === node.range[1]) {
      const at = this.valueStart(path)
      return at === undefined ? undefined : { from: at, to: at }
    }
    return node.anchor === undefined ? { from: node.range[0], to: node.range[1] } : undefined
  }

  /** The place behind the colon of a member. */
  valueStart(path: Path): number | undefined {
    const item = this.#find(path)?.item
    const colon = item && 'sep' in item ? item.sep?.find(({ type }) => type === 'map-value-ind') : undefined
    return colon && colon.offset + 1
  }

  #find(path: Path): Found | undefined {
    return path.reduce<Found | undefined>((found, part) => found && childOf(found.node, part), {
      item: { start: [] },
      node: this.#root,
    })
  }

  #blockOf(item: Item): Block {
    const start = item.start.find(({ type }) => type !== 'space' && type !== 'newline' && type !== 'comment')
    const begin = start?.offset ?? keyOf(item)?.offset ?? firstOf(item)
    const from = this.text.lastIndexOf('\n', begin - 1) + 1
    return { from, to: firstOf(item) + CST.stringify(item).length, column: begin - from }
  }
}

function childOf(node: ParsedNode | null | undefined, part: string | number): Found | undefined {
  const token = node?.srcToken
  if (isMap(node) && token?.type === 'block-map') {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
    return pair?.srcToken && { item: pair.srcToken as Item, node: pair.value as ParsedNode | null }
  }
  if (!isSeq(node) || token?.type !== 'block-seq') return undefined
  const item = token.items[Number(part)]
  return item && { item, node: node.items[Number(part)] as ParsedNode | null }
}

function keyOf(item: Item): CST.Token | null | undefined {
  return 'key' in item ? item.key : undefined
}

function firstOf(item: Item): number {
  const separator = 'sep' in item ? item.sep?.[0] : undefined
  return item.start[0]?.offset ?? keyOf(item)?.offset ?? separator?.offset ?? 0
}

/** The value as JSON. Throws UnreadableConfig for one that is no map, and for aliases that stand for very much. */
function plain(document: ReturnType<typeof parseDocument>): JsonObject {
  let value: JsonValue
  try {
    // Dates, which JSON has not, become texts: they are only compared.
    value = JSON.parse(JSON.stringify(document.toJS() ?? {})) as JsonValue
  } catch (error) {
    throw new UnreadableConfig(error instanceof Error ? error.message.slice(0, 300) : String(error))
  }
  if (isJsonObject(value)) return value
  throw new UnreadableConfig('line 1: it is no map')
}
