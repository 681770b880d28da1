import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { parseExact } from '../json/exact-json.ts'
import { LISTS, type ListKind } from '../mcp-methods.ts'
import { visibleName } from '../text/visible-text.ts'
import { quarterTokens, quarterTokensOfTool } from './about-tokens.ts'
import { MARK } from './param-marks.ts'
import { definitionHash } from './tool-definition.ts'
import { onlyForApps, uiUris } from './ui-uris.ts'

/** Memory of an item beside its text, in bytes: its object, names in tables, row of definitions. */
const OVERHEAD_BYTES = 512
const SUMMARY_CHARACTERS = 1_024
const NOT_LATIN1 = /[^\0-\xff]/

/**
 * One entry of an upstream's list. Its JSON is kept as text, since parsed lists need five to ten times the memory,
 * together with the values for names, lists and checks, so that only items that are shown or called are parsed.
 */
export interface CatalogItem {
  /**
   * `name` of a tool or prompt, with hidden characters shown (`visibleName`); `uri`, `uriTemplate`. Everything but the call itself
   * uses it; `upstreamName` has the name for the call.
   */
  readonly key: string
  /** JSON without raw line ends. */
  readonly text: string
  /** First 48 bits of the SHA-256 of the text. */
  readonly fingerprint: number
  /** Memory: one byte per character, two in a text with a character beyond Latin-1, plus 512. */
  readonly bytes: number
  /** Approximate cost for a model to read it, in quarters of a token. */
  readonly quarterTokens: number
  /** SHA-256 (hex) of a tool's definition before redaction; empty for other kinds. */
  readonly hash: string
  /** `description`, truncated to 1,024 characters; absent if there is none. */
  readonly summary?: string
  /** UI resources of a tool (MCP Apps); mostly none. */
  readonly uiUris?: readonly string[]
  /** Set for a tool that models do not get; see `onlyForApps`. */
  readonly onlyFor?: 'apps' | 'widgets'
  /** Some argument is also sent as a header. */
  readonly marked?: true
}

/** The key of an item that the upstream lists under this name or address. */
export function itemKey(kind: ListKind, listed: string): string {
  return kind === 'tools' || kind === 'prompts' ? visibleName(listed) : listed
}

/** A tool's or prompt's name as its server wrote it, for requests to that server. */
export function upstreamName(item: Pick<CatalogItem, 'key' | 'text'>): string {
  // Only names with a mark of `visibleName` may differ; the others need not be parsed.
  if (!item.key.includes('⟨U+')) return item.key
  const { name } = itemJson(item)
  return typeof name === 'string' ? name : item.key
}

/** An item of a list of this kind, which determines its key and hash. `text`: its JSON, if available. */
export function catalogItem(kind: ListKind, item: JsonObject, text = JSON.stringify(item)): CatalogItem {
  const uris = kind === 'tools' ? uiUris(item) : []
  const onlyFor = kind === 'tools' ? onlyForApps(item) : undefined
  const { description } = item
  const key = itemKey(kind, String(item[LISTS[kind].itemKey]))
  const summary = typeof description === 'string' ? description.slice(0, SUMMARY_CHARACTERS) : undefined
  return {
    key,
    text,
    fingerprint: fingerprintOf(text),
    bytes: [key, text, summary ?? '', ...uris].reduce((sum, each) => sum + textBytes(each), OVERHEAD_BYTES),
    quarterTokens: kind === 'tools' ? quarterTokensOfTool(item) : quarterTokens(text),
    hash: kind === 'tools' ? definitionHash(item) : '',
    ...(summary === undefined ? {} : { summary }),
    ...(uris.length > 0 ? { uiUris: uris } : {}),
    ...(onlyFor === undefined ? {} : { onlyFor }),
    ...(kind === 'tools' && text.includes(MARK) ? { marked: true as const } : {}),
  }
}

/** The item as an object, parsed again at each call: use it only for items that are shown, called or changed. */
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

/** True when two lists have the same items in the same order. */
export function sameItems(one: readonly CatalogItem[], other: readonly CatalogItem[]): boolean {
  if (one === other) return true
  if (one.length !== other.length) return false
  return one.every((item, index) => item.key === other[index]?.key && item.fingerprint === other[index]?.fingerprint)
}
