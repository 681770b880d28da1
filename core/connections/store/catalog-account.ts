import { LIMITS } from '../../config/limits.ts'

/** Bytes of the cached lists of each user's servers. */
export class CatalogAccount {
  readonly #bytes = new Map<string, number>()

  /** Reserves `bytes` unless the quota is exceeded; `beyond`: bytes that the caller is about to release for them. */
  reserve(ownerId: string, bytes: number, beyond: number): boolean {
    const total = (this.#bytes.get(ownerId) ?? 0) + bytes
    if (total > LIMITS.catalogBytesPerUser + beyond) return false
    this.#bytes.set(ownerId, total)
    return true
  }

  release(ownerId: string, bytes: number): void {
    const left = (this.#bytes.get(ownerId) ?? 0) - bytes
    if (left > 0) this.#bytes.set(ownerId, left)
    else this.#bytes.delete(ownerId)
  }

  usedBy(ownerId: string): number {
    return this.#bytes.get(ownerId) ?? 0
  }
}
