import type { CatalogItem } from '../../../domain/tools/catalog-item.ts'
import type { ListEntry, ListKind } from '../../protocol.ts'

/** Characters sent at once: main processes them within some milliseconds. */
const PART_CHARACTERS = 128 * 1024
const PART_ITEMS = 250

interface KnownItem {
  readonly fingerprint: number
  readonly index: number
}

/** The items of each list that main has, by key, so that only changes are sent. */
export class KnownItems {
  readonly #lists = new Map<ListKind, Map<string, KnownItem>>()
  readonly #next = new Map<ListKind, Map<string, KnownItem> | undefined>()

  begin(kind: ListKind): void {
    this.#next.set(kind, new Map())
  }

  /** The item as it is sent: a number if main has it already. */
  entry(kind: ListKind, item: CatalogItem): ListEntry {
    const next = this.#next.get(kind)
    next?.set(item.key, { fingerprint: item.fingerprint, index: next.size })
    const known = this.#lists.get(kind)?.get(item.key)
    return known?.fingerprint === item.fingerprint ? known.index : item
  }

  /** Main has not accepted all of this list. */
  cut(kind: ListKind): void {
    this.#next.set(kind, undefined)
  }

  commit(kind: ListKind): void {
    const next = this.#next.get(kind)
    if (next) this.#lists.set(kind, next)
    else this.#lists.delete(kind)
    this.#next.delete(kind)
  }
}

/** Collects the items of one reading of one list, and sends them in parts, one at a time. */
export class ListParts {
  readonly #kind: ListKind
  readonly #known: KnownItems
  readonly #take: (kind: ListKind, entries: readonly ListEntry[]) => Promise<string | undefined>
  #entries: ListEntry[] = []
  #characters = 0
  #full: string | undefined

  constructor(
    kind: ListKind,
    known: KnownItems,
    take: (kind: ListKind, entries: readonly ListEntry[]) => Promise<string | undefined>,
  ) {
    this.#kind = kind
    this.#known = known
    this.#take = take
  }

  /** True when no more is accepted. */
  get full(): boolean {
    return this.#full !== undefined
  }

  async add(item: CatalogItem): Promise<void> {
    const entry = this.#known.entry(this.#kind, item)
    this.#entries.push(entry)
    if (typeof entry !== 'number') this.#characters += item.text.length
    if (this.#characters >= PART_CHARACTERS || this.#entries.length >= PART_ITEMS) await this.#hand()
  }

  /** Sends the rest; returns the reason when not all was accepted. */
  async end(): Promise<string | undefined> {
    if (this.#entries.length > 0) await this.#hand()
    return this.#full
  }

  async #hand(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    this.#characters = 0
    if (this.#full !== undefined) return
    this.#full = await this.#take(this.#kind, entries)
    if (this.#full !== undefined) this.#known.cut(this.#kind)
  }
}
