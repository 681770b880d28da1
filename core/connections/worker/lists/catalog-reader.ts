import { LIMITS } from '../../../config/limits.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { type CacheHint, cacheHint, narrower } from '../../../domain/cache-hint.ts'
import { LISTS, type ListCapability, type ListKind } from '../../../domain/mcp-methods.ts'
import { MOST_MARKS, marksOf } from '../../../secrets/hub-marks.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { ListEntry, ListsOutcome } from '../../protocol.ts'
import { isRpcError, RawResult } from '../own-requests.ts'
import type { ListPaces } from './list-paces.ts'
import { listPage } from './list-page.ts'
import { type KnownItems, ListParts } from './list-parts.ts'
import { ListScreen } from './list-screen.ts'

const METHOD_NOT_FOUND = -32601
/** Longest wait for a list that the server did not declare, in milliseconds: until it is over, the server is not online. */
const UNDECLARED_MS = 3_000
/** The longest time that a reading occupies the thread without a break. */
const SLICE_MS = 5
/** Pause between the slices of a large page, so that a reading uses at most half of a core. */
const REST_MS = 5

/** Requirements of an era for lists, besides their items. */
export interface ListRequest {
  /** Why an item must be left out; undefined: it is usable. */
  readonly objection: (kind: ListKind, item: JsonObject) => string | undefined
  /** Store the results' caching members; the next cursor may be an empty text in both eras. */
  readonly caching: boolean
}

/** Sends a list request; a large result stays a `RawResult`. */
export type Ask = (
  method: string,
  params: JsonObject | undefined,
  /** Default: the server's usual limit. */
  timeoutMs?: number,
) => Promise<JsonValue | RawResult>

/** Settings and callbacks of one reading. */
export interface ReaderOptions {
  readonly ask: Ask
  readonly capabilities: JsonObject
  /** Lists of these capabilities are read although the server did not declare them: many servers forget to. */
  readonly undeclared: ReadonlySet<ListCapability>
  readonly listRequest?: ListRequest
  /** Sends items to main and resolves when they were accepted; with a reason when no more of the list is. */
  readonly take: (kind: ListKind, entries: readonly ListEntry[]) => Promise<string | undefined>
  /** The items that the last complete reading of each list sent. */
  readonly known: KnownItems
  readonly paces: ListPaces
  /** The owner whose limits apply to the reading. */
  readonly owner: string
}

/**
 * Reads the lists that the upstream's capabilities declare, every page of each, and sends the items in parts. Items
 * beyond a limit are left out and named in `warnings`. Never rejects: a kind that fails is missing in `read`, so that
 * the earlier list stays.
 */
export async function readCatalog(options: ReaderOptions, kinds: readonly ListKind[]): Promise<ListsOutcome> {
  const warnings: string[] = []
  const caching: Partial<Record<ListKind, CacheHint>> = {}
  const read: ListKind[] = []
  const again: ListKind[] = []
  const cost = { bytes: 0, items: 0, instances: new Set<string>() }
  let failed: WireError | undefined
  let signIn: WireError | undefined
  let isOpen = false
  const one = async (kind: ListKind): Promise<void> => {
    options.known.begin(kind)
    try {
      const hint = await readList(options, kind, warnings, cost)
      if (hint && options.listRequest?.caching) caching[kind] = hint
      options.known.commit(kind)
      read.push(kind)
      if (options.capabilities[LISTS[kind].capability] !== undefined) isOpen = true
    } catch (error) {
      const reason = toWireError(error)
      const { code, message, data } = reason
      if (data?.connectUrl !== undefined) signIn ??= reason
      const text = `${LISTS[kind].method}: ${message}`
      warnings.push(text)
      if (error instanceof TooMuchAtOnce) again.push(kind)
      else failed ??= { code, message: text }
    }
  }
  await Promise.all(kinds.map(one))
  // A server that opens some of its lists can be used as it is.
  if (signIn && !isOpen) failed = signIn
  const { bytes, items, instances } = cost
  const came = instances.size > 0 ? { instances: [...instances].slice(0, MOST_MARKS) } : {}
  return {
    read,
    again,
    warnings,
    bytes,
    items,
    ...came,
    ...(failed ? { failed } : {}),
    ...(options.listRequest?.caching ? { caching } : {}),
  }
}

/** Reads one list; undefined when the server has no such list, which counts as an empty one. */
async function readList(
  options: ReaderOptions,
  kind: ListKind,
  warnings: string[],
  cost: Cost,
): Promise<CacheHint | undefined> {
  const { method, capability } = LISTS[kind]
  const isDeclared = options.capabilities[capability] !== undefined
  if (!isDeclared && !options.undeclared.has(capability)) return undefined
  const reader = new ListReader(options, kind, warnings, cost, isDeclared ? undefined : UNDECLARED_MS)
  try {
    const hint = await reader.read()
    if (!isDeclared && reader.kept > 0)
      warnings.push(
        `${method}: the server declares no capability "${capability}", and has ${reader.kept} items all the same, which are used`,
      )
    return hint
  } catch (error) {
    // A server that declared none owes no answer.
    if (!isDeclared && !(error instanceof TooMuchAtOnce)) return undefined
    // Many servers with resources have no templates and reject the method instead of leaving it out.
    if (isRpcError(error, METHOD_NOT_FOUND)) return undefined
    throw error
  }
}

/** The owner's servers sent too much at the same time, so that this response was dropped; it is requested again. */
class TooMuchAtOnce extends Error {}

/** The cost of a reading of all lists, and the hubs that they came through. */
interface Cost {
  bytes: number
  items: number
  readonly instances: Set<string>
}

/** One reading of one list. */
class ListReader {
  readonly #options: ReaderOptions
  readonly #kind: ListKind
  readonly #warnings: string[]
  readonly #cost: Cost
  readonly #screen: ListScreen
  readonly #parts: ListParts
  #hint: CacheHint = { ttlMs: Number.MAX_SAFE_INTEGER, cacheScope: 'public' }
  #sliceEndMs = 0
  #counted = 0
  readonly #timeoutMs: number | undefined

  constructor(options: ReaderOptions, kind: ListKind, warnings: string[], cost: Cost, timeoutMs: number | undefined) {
    this.#options = options
    this.#timeoutMs = timeoutMs
    this.#kind = kind
    this.#warnings = warnings
    this.#cost = cost
    this.#screen = new ListScreen(kind, LISTS[kind].method, warnings, options.listRequest?.objection)
    this.#parts = new ListParts(kind, options.known, options.take)
  }

  /** Number of items so far. */
  get kept(): number {
    return this.#screen.kept
  }

  async read(): Promise<CacheHint> {
    const { method } = LISTS[this.#kind]
    let cursor: string | number | undefined
    for (let page = 1; ; page += 1) {
      const before = this.#screen.kept
      const next = await this.#page(cursor)
      if (next === false) break
      if (next === undefined) break
      if (cursor === '' && this.#screen.kept === before) break
      if (next === cursor) {
        this.#warnings.push(
          `${method}: the server names the same next page again and again; what was read so far counts`,
        )
        break
      }
      if (page >= LIMITS.catalogPages) {
        this.#warnings.push(`${method}: more than ${LIMITS.catalogPages} pages; the rest is left out`)
        break
      }
      cursor = next
    }
    const full = await this.#parts.end()
    if (full !== undefined) this.#warnings.push(`${method}: ${full}`)
    this.#screen.conclude()
    return this.#hint
  }

  /** The next cursor, undefined after the last page; false when the reading must stop. */
  async #page(cursor: string | number | undefined): Promise<string | number | undefined | false> {
    const { ask, owner, paces } = this.#options
    const { method } = LISTS[this.#kind]
    let result: JsonValue | RawResult
    try {
      result = await ask(method, cursor === undefined ? undefined : { cursor }, this.#timeoutMs)
    } catch (error) {
      if (cursor !== '') throw error
      this.#warnings.push(`${method}: the page behind an empty cursor cannot be read, so the list may be incomplete`)
      return false
    }
    const characters = result instanceof RawResult ? result.text.length : 0
    if (!paces.hold(owner, characters))
      throw new TooMuchAtOnce('upstream_flood: the servers of this user send too much at a time; it is read again')
    let next: JsonValue | undefined
    let wanted: boolean
    try {
      const { rest, items } = listPage(result, this.#kind)
      result = null
      next = rest.nextCursor
      for (const mark of marksOf(rest._meta)) this.#cost.instances.add(mark)
      this.#hint = narrower(this.#hint, cacheHint(rest))
      wanted = await this.#items(items, cursor === '', characters > 0)
    } finally {
      paces.release(owner, characters)
    }
    await this.#pace(characters)
    if (!wanted) return false
    if (typeof next === 'string' || typeof next === 'number') return next
    if (next !== undefined && next !== null)
      this.#warnings.push(`${method}: the next cursor is neither a text nor a number, so the list may be incomplete`)
    return undefined
  }

  async #pace(characters: number): Promise<void> {
    const { paces, owner } = this.#options
    const items = this.#screen.kept - this.#counted
    this.#counted = this.#screen.kept
    this.#cost.items += items
    this.#cost.bytes += characters
    const waitMs = paces.spend(owner, characters, items)
    if (waitMs >= 1) await new Promise(resolve => setTimeout(resolve, waitMs))
  }

  /** False when the reading must stop. `repeats`: items listed before are no fault. `large`: processed with pauses. */
  async #items(items: Iterable<JsonValue | RawResult>, repeats: boolean, large: boolean): Promise<boolean> {
    this.#sliceEndMs = performance.now() + SLICE_MS
    for (const raw of items) {
      if (performance.now() > this.#sliceEndMs) {
        await new Promise(resolve => (large ? setTimeout(resolve, REST_MS) : setImmediate(resolve)))
        this.#sliceEndMs = performance.now() + SLICE_MS
      }
      const verdict = this.#screen.validate(raw, repeats)
      if (verdict === 'end') return false
      if (verdict === undefined) continue
      await this.#parts.add(verdict)
      if (this.#parts.full) return false
    }
    return true
  }
}
