import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { LIMITS } from '../../config/limits.ts'
import type { CatalogKind } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { LIST_MARKS, MOST_MARKS } from '../../secrets/hub-marks.ts'
import { legacyTool } from '../scope/legacy-tools.ts'
import type { ListItem } from '../scope/list-item.ts'

const MAX_PAGE_BYTES = 1_024 * 1_024
/** Characters of the first pages that are kept. */
const KEPT_CHARACTERS = 16 * 1_024 * 1_024
const CURSOR_PURPOSE = 'mcp-cursor'

/** Sealed tokens: what a client holds it can neither read nor make. */
export interface Sealer {
  sealToken(purpose: string, text: string): string
  /** What was sealed for this purpose; undefined for every other token. */
  openToken(purpose: string, token: string): JsonValue | undefined
}

/** Lists cut into pages, as the JSON text of their results. The first pages that were asked for last are kept. */
export class Pages {
  readonly #sealer: Sealer
  readonly #ownMark: string
  readonly #first = { modern: firstPages(), legacy: firstPages() }

  /** `ownMark`: by which this hub recognises its own lists. */
  constructor(sealer: Sealer, ownMark: string) {
    this.#sealer = sealer
    this.#ownMark = ownMark
  }

  /**
   * A cursor names scope, kind and the last item of its page, and goes on behind that item's place in the list even when
   * the item, or the whole member, is gone. `marks`: of the hubs that the items came through. Throws cursor_invalid.
   */
  page(
    kind: CatalogKind,
    items: readonly ListItem[],
    scopeKey: string,
    cursor: string | undefined,
    modern: boolean,
    marks: () => Iterable<string> = () => [],
  ): string {
    const readable = kind === 'tools' && !modern ? legacyTool : asIs
    const cut = (start: number): string => {
      const all = [...new Set([this.#ownMark, ...marks()])].slice(0, MOST_MARKS)
      const meta = `"_meta":${JSON.stringify({ [LIST_MARKS]: all })}`
      return this.#cut(kind, items, scopeKey, start, readable, meta)
    }
    if (cursor !== undefined) return cut(placeAfter(items, openCursor(kind, scopeKey, cursor, this.#sealer)))
    const first = modern ? this.#first.modern : this.#first.legacy
    const known = first.get(items)
    if (known !== undefined) return known
    const text = cut(0)
    first.set(items, text)
    return text
  }

  #cut(
    kind: CatalogKind,
    items: readonly ListItem[],
    scopeKey: string,
    start: number,
    readable: (text: string) => string,
    meta: string,
  ): string {
    let end = start
    let bytes = 0
    const texts: string[] = []
    for (const item of items.slice(start, start + LIMITS.pageItems)) {
      const text = readable(item.text)
      const size = Buffer.byteLength(text)
      if (end > start && bytes + size > MAX_PAGE_BYTES) break
      bytes += size
      texts.push(text)
      end++
    }
    const last = items[end - 1]
    if (end >= items.length || !last) return `{"${kind}":[${texts.join(',')}],${meta}}`
    const place = JSON.stringify([scopeKey, kind, ...placeOf(items, end, last)])
    const next = this.#sealer.sealToken(CURSOR_PURPOSE, place)
    return `{"${kind}":[${texts.join(',')}],"nextCursor":${JSON.stringify(next)},${meta}}`
  }
}

function firstPages(): LRUCache<readonly ListItem[], string> {
  return new LRUCache({ maxSize: KEPT_CHARACTERS, sizeCalculation: text => text.length + 1 })
}

function asIs(text: string): string {
  return text
}

/**
 * Where a page ended: the key of its last item; for when that is gone, its server and how many of that server's items came
 * until then; for when that has left, the servers that had begun.
 */
type Place = readonly [key: string, serverId: string, offset: number, begun: readonly string[]]

const DIGEST_CHARACTERS = 8

function placeOf(items: readonly ListItem[], end: number, { key, serverId }: ListItem): Place {
  const begun = new Set(items.slice(0, end).map(item => item.serverId))
  return [key, serverId, end - firstOf(items, serverId), [...begun].map(digest)]
}

/** Cursors of large groups name many servers. */
function digest(serverId: string): string {
  return createHash('sha256').update(serverId).digest('base64url').slice(0, DIGEST_CHARACTERS)
}

function openCursor(kind: CatalogKind, scopeKey: string, cursor: string, sealer: Sealer): Place {
  const text = sealer.openToken(CURSOR_PURPOSE, cursor)
  const [scope, ofKind, ...place]: unknown[] = typeof text === 'string' ? JSON.parse(text) : []
  if (scope === scopeKey && ofKind === kind) return place as unknown as Place
  throw new HubError(
    'cursor_invalid',
    `Cannot list ${kind}: the cursor was not made by this hub for this list; start again without one`,
  )
}

/** Each member's items stand together, so that nothing is left out that was there all the time. */
function placeAfter(items: readonly ListItem[], [key, serverId, offset, begun]: Place): number {
  const index = items.findIndex(item => item.key === key && item.serverId === serverId)
  if (index >= 0) return index + 1
  const first = firstOf(items, serverId)
  if (first < 0) {
    const known = new Map<string, boolean>()
    const next = items.findIndex(item => {
      const seen = known.get(item.serverId) ?? begun.includes(digest(item.serverId))
      known.set(item.serverId, seen)
      return !seen
    })
    return next < 0 ? items.length : next
  }
  const count = items.filter(item => item.serverId === serverId).length
  return first + Math.min(offset, count)
}

function firstOf(items: readonly ListItem[], serverId: string): number {
  return items.findIndex(item => item.serverId === serverId)
}
