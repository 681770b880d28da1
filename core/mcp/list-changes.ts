import type { CatalogKind } from '../connections/api.ts'
import type { Audience } from './audience.ts'
import { CATALOG_KINDS } from './merge.ts'
import { Notice } from './notice.ts'
import type { Scope } from './scope.ts'

/** What changes within this time is told once. */
const WINDOW_MS = 250
/** Shortest time between two notices of one kind to one session. */
const INTERVAL_MS = 1_000

export type ChangedKind = 'tools' | 'prompts' | 'resources'

interface Pending {
  readonly kinds: Set<ChangedKind>
  timer: ReturnType<typeof setTimeout> | undefined
  readonly sentMs: Map<ChangedKind, number>
}

export function changedKind(kind: CatalogKind): ChangedKind {
  return kind === 'resourceTemplates' ? 'resources' : kind
}

/** Tells everybody who hears that a list changed: gathered for 250 ms, at most once per kind and second, only those of the scope. */
export class ListChanges {
  readonly #audience: Audience
  readonly #now: () => number
  /** Weak, since a scope that nobody uses is dropped without a word. */
  readonly #pending = new WeakMap<Scope, Pending>()
  readonly #armed = new Set<Pending>()

  constructor(audience: Audience, now: () => number) {
    this.#audience = audience
    this.#now = now
  }

  announce(scope: Scope, kinds: Iterable<ChangedKind>): void {
    if (!this.#audience.hears(scope)) return
    const pending = this.#pending.get(scope) ?? { kinds: new Set(), timer: undefined, sentMs: new Map() }
    this.#pending.set(scope, pending)
    for (const kind of kinds) pending.kinds.add(kind)
    if (pending.kinds.size > 0 && pending.timer === undefined) this.#arm(scope, pending, WINDOW_MS)
  }

  forget(scope: Scope): void {
    const pending = this.#pending.get(scope)
    if (!pending) return
    this.#pending.delete(scope)
    this.#armed.delete(pending)
    clearTimeout(pending.timer)
  }

  dispose(): void {
    for (const { timer } of this.#armed) clearTimeout(timer)
    this.#armed.clear()
  }

  #arm(scope: Scope, pending: Pending, waitMs: number): void {
    this.#armed.add(pending)
    pending.timer = setTimeout(() => this.#flush(scope, pending), waitMs)
  }

  #flush(scope: Scope, pending: Pending): void {
    pending.timer = undefined
    this.#armed.delete(pending)
    const now = this.#now()
    let wait = 0
    for (const kind of pending.kinds) {
      const early = (pending.sentMs.get(kind) ?? -INTERVAL_MS) + INTERVAL_MS - now
      if (early > 0) {
        wait = Math.max(wait, early)
        continue
      }
      pending.kinds.delete(kind)
      pending.sentMs.set(kind, now)
      // Else what is found different at the next look would be told a second time.
      scope.told(CATALOG_KINDS.filter(each => changedKind(each) === kind))
      const notice = new Notice(`notifications/${kind}/list_changed`)
      for (const hearer of this.#audience.of(scope)) hearer.notify(notice)
    }
    if (pending.kinds.size > 0) this.#arm(scope, pending, wait)
  }
}
