import { createHash } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { ListKind } from '../../domain/mcp-methods.ts'
import { LIST_MARKS, MOST_MARKS } from '../../secrets/hub-marks.ts'
import { SharedCache } from '../../transport-kit/shared-cache.ts'
import { legacyTool } from '../scope/legacy-tools.ts'
import type { ListItem } from '../scope/list-item.ts'

const MAX_PAGE_BYTES = 1_024 * 1_024
/** Most characters of cached first pages. */
const KEPT_CHARACTERS = 16 * 1_024 * 1_024
const CURSOR_PURPOSE = 'mcp-cursor'

/** Sealed tokens: a client can neither read nor forge them. */
export interface Sealer {
  sealToken(purpose: string, text: string): string
  /** The text sealed for this purpose; undefined for every other token. */
  openToken(purpose: string, token: string): JsonValue | undefined
}

/** Paginates lists, as the JSON text of their results. The most recently used first pages are cached. */
export class Pages {
  readonly #sealer: Sealer
  readonly #ownMark: string
  readonly #first = { modern: firstPages(), legacy: firstPages() }

  /** `ownMark`: by which this hub recognizes its own lists. */
  constructor(sealer: Sealer, ownMark: string) {
    this.#sealer = sealer
    this.#ownMark = ownMark
  }

  /**
   * A cursor contains scope, kind and the last item of its page; the next page continues behind that item's position
   * even when the item, or its member, is gone. `marks`: of the hubs that the items passed. Throws cursor_invalid.
   */
  page(
    kind: ListKind,
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
    // A scope's key begins with the user's id.
    const holder = scopeKey.slice(0, Math.max(0, scopeKey.indexOf('|')))
    const known = first.get(holder, items)
    if (known !== undefined) return known
    const text = cut(0)
    first.set(holder, items, text)
    return text
  }

  #cut(
    kind: ListKind,
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

function firstPages(): SharedCache<readonly ListItem[], string> {
  return new SharedCache({ maxSize: KEPT_CHARACTERS, sizeOf: text => text.length + 1 })
}

function asIs(text: string): string {
  return text
}

/**
 * The end of a page: the key of its last item; if that is gone, its server and the number of that server's items up to
 * it; if that is gone too, the servers that had begun.
 */
type Place = readonly [key: string, serverId: string, offset: number, begun: readonly string[]]

const DIGEST_CHARACTERS = 8

function placeOf(items: readonly ListItem[], end: number, { key, serverId }: ListItem): Place {
  const begun = new Set(items.slice(0, end).map(item => item.serverId))
  return [key, serverId, end - firstOf(items, serverId), [...begun].map(digest)]
}

/** Hashed and shortened, as cursors of large groups name many servers. */
function digest(serverId: string): string {
  return createHash('sha256').update(serverId).digest('base64url').slice(0, DIGEST_CHARACTERS)
}

function openCursor(kind: ListKind, scopeKey: string, cursor: string, sealer: Sealer): Place {
  const text = sealer.openToken(CURSOR_PURPOSE, cursor)
  const [scope, ofKind, ...place]: unknown[] = typeof text === 'string' ? JSON.parse(text) : []
  if (scope === scopeKey && ofKind === kind) return place as unknown as Place
  throw new HubError(
    'cursor_invalid',
    `Cannot list ${kind}: the cursor was not made by this hub for this list; start again without one`,
  )
}

/** Each member's items are adjacent, so that no item that was there all the time is skipped. */
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
