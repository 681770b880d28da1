import type { JsonObject } from '../../contract/json.ts'
import type { CatalogTexts, ListKind } from '../protocol.ts'
import { type Ask, type ListWish, readCatalog } from './catalog-reader.ts'
import type { Expiring } from './deadlines.ts'

export const ALL_KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources', 'resourceTemplates']

/** Between the beginnings of two readings, however often the upstream says that its lists changed. */
const REREAD_MS = 250

const CHANGED: Readonly<Record<string, readonly ListKind[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'resourceTemplates'],
}

/** The kinds that a notification makes stale; undefined for any other notification. */
export function kindsOf(method: string): readonly ListKind[] | undefined {
  return Object.hasOwn(CHANGED, method) ? CHANGED[method] : undefined
}

export interface ListWatchOptions {
  readonly ask: Ask
  readonly capabilities: JsonObject
  readonly wish?: ListWish
  readonly arm: (atMs: number) => void
  /** `noticed`: what the upstream had called changed before the reading began. `more`: some of it is stale again already. */
  readonly read: (texts: CatalogTexts, noticed: readonly ListKind[], more: boolean) => void
}

/** Reads the lists, one reading at a time; what becomes stale meanwhile is read again afterwards. */
export class ListWatch implements Expiring {
  readonly #options: ListWatchOptions
  #stale = new Set<ListKind>()
  #noticed = new Set<ListKind>()
  #reading = false
  #notBeforeMs = 0

  constructor(options: ListWatchOptions) {
    this.#options = options
  }

  /** `noticed`: the upstream said so. Returns whether that is news to the next reading. */
  stale(kinds: readonly ListKind[], noticed: boolean): boolean {
    const isNew = kinds.some(kind => !this.#stale.has(kind) || (noticed && !this.#noticed.has(kind)))
    for (const kind of kinds) {
      this.#stale.add(kind)
      if (noticed) this.#noticed.add(kind)
    }
    this.#next(performance.now())
    return isNew
  }

  sweep(nowMs: number): number {
    return this.#next(nowMs)
  }

  #next(nowMs: number): number {
    if (this.#reading || this.#stale.size === 0) return Number.POSITIVE_INFINITY
    if (nowMs < this.#notBeforeMs) {
      this.#options.arm(this.#notBeforeMs)
      return this.#notBeforeMs
    }
    this.#notBeforeMs = nowMs + REREAD_MS
    void this.#read()
    return Number.POSITIVE_INFINITY
  }

  async #read(): Promise<void> {
    const kinds = [...this.#stale]
    const noticed = [...this.#noticed]
    this.#stale = new Set()
    this.#noticed = new Set()
    this.#reading = true
    // readCatalog reports a failing list in its warnings and never rejects.
    const { ask, capabilities, wish } = this.#options
    const texts = await readCatalog(ask, capabilities, kinds, wish)
    this.#reading = false
    this.#options.read(texts, noticed, this.#stale.size > 0)
    this.#next(performance.now())
  }
}
