import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { parseExact } from '../json/exact-json.ts'
import { MARK } from './param-marks.ts'
import { definitionHash } from './tool-definition.ts'
import { uiUris } from './ui-uris.ts'

/** What one item costs beside its text: its object, its names in tables, its row of definitions. */
const OVERHEAD_BYTES = 512
const SUMMARY_CHARACTERS = 1_024
const NOT_LATIN1 = /[^\0-\xff]/

/**
 * One entry of an upstream's list. The hub keeps its JSON as text, since parsed lists need five to ten times the memory, and
 * beside it what names, lists and checks need, so that nothing is parsed but what is shown or called.
 */
export interface CatalogItem {
  /** `name` of a tool or prompt, `uri`, `uriTemplate`. */
  readonly key: string
  /** JSON without raw line ends. */
  readonly text: string
  /** 48 bits of the SHA-256 of the text. */
  readonly fingerprint: number
  /** Memory that it needs: one byte a character, two in a text with a character beyond Latin-1, and 512 for the rest. */
  readonly bytes: number
  /** SHA-256 (hex) of what a tool says of itself, before secrets are taken out; empty for other kinds. */
  readonly hash: string
  /** `description`, cut at 1,024 characters; absent where there is none. */
  readonly summary?: string
  /** The resources by which a tool is drawn; mostly none. */
  readonly uiUris?: readonly string[]
  /** Some argument goes out as a header too. */
  readonly marked?: true
}

/** The list that an item is from, by which its key and hash are found. */
export type CatalogItemKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

const KEYS = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const

/** The member by which the items of a list are told apart. */
export function catalogKey(kind: CatalogItemKind): 'name' | 'uri' | 'uriTemplate' {
  return KEYS[kind]
}

/** `text`: the JSON of `item`, where it is at hand. */
export function catalogItem(kind: CatalogItemKind, item: JsonObject, text = JSON.stringify(item)): CatalogItem {
  const uris = kind === 'tools' ? uiUris(item) : []
  const { description } = item
  const key = String(item[KEYS[kind]])
  const summary = typeof description === 'string' ? description.slice(0, SUMMARY_CHARACTERS) : undefined
  return {
    key,
    text,
    fingerprint: fingerprintOf(text),
    bytes: [key, text, summary ?? '', ...uris].reduce((sum, each) => sum + textBytes(each), OVERHEAD_BYTES),
    hash: kind === 'tools' ? definitionHash(item) : '',
    ...(summary === undefined ? {} : { summary }),
    ...(uris.length > 0 ? { uiUris: uris } : {}),
    ...(kind === 'tools' && text.includes(MARK) ? { marked: true as const } : {}),
  }
}

/** The item as an object, parsed anew each time: to be asked for what is shown, called or changed alone. */
export function itemJson({ text }: Pick<CatalogItem, 'text'>): JsonObject {
  const value = parseExact(text)
  return isJsonObject(value) ? value : {}
}

function textBytes(text: string): number {
  return NOT_LATIN1.test(text) ? text.length * 2 : text.length
}

function fingerprintOf(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6)
}

/** Whether two lists say the same in the same order. */
export function sameItems(one: readonly CatalogItem[], other: readonly CatalogItem[]): boolean {
  if (one === other) return true
  if (one.length !== other.length) return false
  return one.every((item, index) => item.key === other[index]?.key && item.fingerprint === other[index]?.fingerprint)
}
