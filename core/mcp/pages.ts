import { createHash } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import type { CatalogKind } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { ListItem } from './merge.ts'

const MAX_PAGE_BYTES = 1_024 * 1_024
const CURSOR_PURPOSE = 'mcp-cursor'

/** Sealed tokens: what a client holds it can neither read nor make. */
export interface Sealer {
  sealToken(purpose: string, text: string): string
  /** What was sealed for this purpose; undefined for every other token. */
  openToken(purpose: string, token: string): JsonValue | undefined
}

/** Lists cut into pages, as the JSON text of their results. First pages are kept for as long as their list is. */
export class Pages {
  readonly #sealer: Sealer
  readonly #first = new WeakMap<readonly ListItem[], string>()

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  /**
   * A cursor names scope, kind and the last item of its page, and goes on behind that item's place in the list even when
   * the item, or the whole member, is gone. Throws cursor_invalid.
   */
  page(kind: CatalogKind, items: readonly ListItem[], scopeKey: string, cursor: string | undefined): string {
    if (cursor !== undefined)
      return this.#cut(kind, items, scopeKey, placeAfter(items, openCursor(kind, scopeKey, cursor, this.#sealer)))
    const known = this.#first.get(items)
    if (known !== undefined) return known
    const text = this.#cut(kind, items, scopeKey, 0)
    this.#first.set(items, text)
    return text
  }

  #cut(kind: CatalogKind, items: readonly ListItem[], scopeKey: string, start: number): string {
    let end = start
    let bytes = 0
    while (end < items.length && end - start < LIMITS.pageItems) {
      const size = Buffer.byteLength(items[end]?.text ?? '')
      if (end > start && bytes + size > MAX_PAGE_BYTES) break
      bytes += size
      end++
    }
    const texts = items.slice(start, end).map(item => item.text)
    const last = items[end - 1]
    if (end >= items.length || !last) return `{"${kind}":[${texts.join(',')}]}`
    const place = JSON.stringify([scopeKey, kind, ...placeOf(items, end, last)])
    const next = this.#sealer.sealToken(CURSOR_PURPOSE, place)
    return `{"${kind}":[${texts.join(',')}],"nextCursor":${JSON.stringify(next)}}`
  }
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
