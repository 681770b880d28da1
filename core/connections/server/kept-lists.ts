import { LIMITS } from '../../config/limits.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { ServerCatalog } from '../api.ts'
import type { ListEntry, ListKind } from '../protocol.ts'
import type { CatalogAccount } from '../store/catalog-account.ts'

interface Staged {
  readonly items: CatalogItem[]
  /** Bytes of the items that were not stored before. */
  bytes: number
  full: boolean
}

/** Charges one server's lists to its owner's account: those that are stored, and those being read to replace them. */
export class KeptLists {
  readonly #account: CatalogAccount
  readonly #owner: () => string
  readonly #kept = new Map<ListKind, number>()
  readonly #cut = new Set<ListKind>()
  readonly #staged = new Map<ListKind, Staged>()
  /** The owner whose account is charged; a change of owner alone does not move the charge. */
  #charged: string | undefined

  constructor(account: CatalogAccount, owner: () => string) {
    this.#account = account
    this.#owner = owner
  }

  /** Charges further items of a list; `known` is the stored list. Returns the reason when the account is full. */
  stage(kind: ListKind, entries: readonly ListEntry[], known: readonly CatalogItem[]): string | undefined {
    const owner = this.#chargedOwner()
    const staged = this.#staged.get(kind) ?? { items: [], bytes: 0, full: false }
    this.#staged.set(kind, staged)
    for (const entry of entries) {
      const same = typeof entry === 'number' ? known[entry] : sameAs(known[staged.items.length], entry)
      if (same) {
        staged.items.push(same)
        continue
      }
      if (typeof entry === 'number') continue
      const { bytes } = entry
      if (!this.#account.reserve(owner, bytes, this.#kept.get(kind) ?? 0)) {
        staged.full = true
        const most = LIMITS.catalogBytesPerUser
        return `quota_catalog_bytes: the lists of all servers of this user have ${most} bytes together; the rest is left out`
      }
      staged.bytes += bytes
      staged.items.push(entry)
    }
    return undefined
  }

  /** True when the list that was read last is truncated because its owner's account is full. */
  cut(kind: ListKind): boolean {
    return this.#cut.has(kind)
  }

  staged(kind: ListKind): readonly CatalogItem[] {
    return this.#staged.get(kind)?.items ?? []
  }

  /** Charges `items` as the stored list, and releases what was reserved for the staged and the previous one. */
  commit(kind: ListKind, items: readonly CatalogItem[]): void {
    const owner = this.#chargedOwner()
    const reserved = (this.#staged.get(kind)?.bytes ?? 0) + (this.#kept.get(kind) ?? 0)
    const bytes = bytesOf(items)
    if (this.#staged.get(kind)?.full) this.#cut.add(kind)
    else this.#cut.delete(kind)
    this.#staged.delete(kind)
    this.#kept.set(kind, bytes)
    this.#account.release(owner, reserved - bytes)
  }

  /** Releases what was reserved for lists that are not taken. */
  drop(): void {
    if (this.#charged === undefined) return
    for (const { bytes } of this.#staged.values()) this.#account.release(this.#charged, bytes)
    this.#staged.clear()
  }

  /** Charges stored lists; false when they exceed the account. */
  restore(lists: Pick<ServerCatalog, ListKind>): boolean {
    const owner = this.#chargedOwner()
    const sizes = Object.entries(lists).map(([kind, items]) => [kind as ListKind, bytesOf(items)] as const)
    const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0)
    if (!this.#account.reserve(owner, total, 0)) return false
    for (const [kind, bytes] of sizes) this.#kept.set(kind, bytes)
    return true
  }

  dispose(): void {
    this.drop()
    if (this.#charged !== undefined) this.#account.release(this.#charged, this.#bytes())
    this.#kept.clear()
    this.#charged = undefined
  }

  #bytes(): number {
    let sum = 0
    for (const bytes of this.#kept.values()) sum += bytes
    for (const { bytes } of this.#staged.values()) sum += bytes
    return sum
  }

  #chargedOwner(): string {
    const owner = this.#owner()
    if (this.#charged !== undefined && this.#charged !== owner) {
      const bytes = this.#bytes()
      this.#account.release(this.#charged, bytes)
      this.#account.reserve(owner, bytes, Number.POSITIVE_INFINITY)
    }
    this.#charged = owner
    return owner
  }
}

function bytesOf(items: readonly CatalogItem[]): number {
  return items.reduce((sum, item) => sum + item.bytes, 0)
}

function sameAs(known: CatalogItem | undefined, item: CatalogItem): CatalogItem | undefined {
  return known?.key === item.key && known.fingerprint === item.fingerprint ? known : undefined
}
