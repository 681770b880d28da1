import { LIMITS } from '../../config/limits.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { ServerCatalog } from '../api.ts'
import type { ListEntry, ListKind } from '../protocol.ts'
import type { CatalogAccount } from '../store/catalog-account.ts'

interface Staged {
  readonly items: CatalogItem[]
  /** Of those that were not kept before. */
  bytes: number
  full: boolean
}

/** What one server's lists cost its owner: those that are kept, and those that are being read to take their place. */
export class KeptLists {
  readonly #account: CatalogAccount
  readonly #owner: () => string
  readonly #kept = new Map<ListKind, number>()
  readonly #cut = new Set<ListKind>()
  readonly #staged = new Map<ListKind, Staged>()
  /** Whose account it stands in, which a change of owner does not change by itself. */
  #charged: string | undefined

  constructor(account: CatalogAccount, owner: () => string) {
    this.#account = account
    this.#owner = owner
  }

  /** Takes further items of a list; `known` is the list that is kept. Returns why no more is taken, if so. */
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

  /** Whether the list that was read last is not whole, since its owner has too many bytes. */
  cut(kind: ListKind): boolean {
    return this.#cut.has(kind)
  }

  staged(kind: ListKind): readonly CatalogItem[] {
    return this.#staged.get(kind)?.items ?? []
  }

  /** This is the list now: what was staged for it, or the one before where that says the same. */
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

  /** What was staged is not taken. */
  drop(): void {
    if (this.#charged === undefined) return
    for (const { bytes } of this.#staged.values()) this.#account.release(this.#charged, bytes)
    this.#staged.clear()
  }

  /** Takes lists that were stored; false where they are too many bytes. */
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
