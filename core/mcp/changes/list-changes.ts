import { type ListCapability, listChanged, listsOf } from '../../domain/mcp-methods.ts'
import { Notice } from '../rpc/notice.ts'
import type { Scope } from '../scope/scope.ts'
import type { Subscribers } from '../scope/subscribers.ts'

/** Changes within this time are sent as one notification. */
const WINDOW_MS = 250
/** Shortest time between two notifications of one kind to one session. */
const INTERVAL_MS = 1_000

interface Pending {
  readonly kinds: Set<ListCapability>
  /** Kinds notified a moment ago: notified again only if the list differs, as several connections report one change. */
  readonly repeated: Set<ListCapability>
  timer: ReturnType<typeof setTimeout> | undefined
  readonly sentMs: Map<ListCapability, number>
}

/** Sends `list_changed` to a scope's subscribers: collected for 250 ms, at most once per kind and second. */
export class ListChanges {
  readonly #subscribers: Subscribers
  readonly #now: () => number
  /** Weak, since an unused scope is dropped without notice. */
  readonly #pending = new WeakMap<Scope, Pending>()
  readonly #armed = new Set<Pending>()

  constructor(subscribers: Subscribers, now: () => number) {
    this.#subscribers = subscribers
    this.#now = now
  }

  announce(scope: Scope, kinds: Iterable<ListCapability>): void {
    if (!this.#subscribers.hasSubscribers(scope)) return
    const pending = this.#pending.get(scope) ?? newPending()
    this.#pending.set(scope, pending)
    const now = this.#now()
    for (const kind of kinds) {
      if (waitMs(pending, kind, now) > 0) pending.repeated.add(kind)
      else pending.kinds.add(kind)
    }
    if (pending.timer === undefined && isWaiting(pending)) this.#arm(scope, pending, WINDOW_MS)
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
    const differing = pending.repeated.size > 0 ? scope.changedLists() : NONE
    for (const kind of new Set([...pending.kinds, ...pending.repeated])) {
      const early = waitMs(pending, kind, now)
      if (early > 0) {
        wait = Math.max(wait, early)
        continue
      }
      const differs = pending.kinds.delete(kind) || differing.has(kind)
      pending.repeated.delete(kind)
      if (!differs) continue
      pending.sentMs.set(kind, now)
      // Otherwise the next comparison would find the same difference and notify a second time.
      scope.markAnnounced(listsOf(kind))
      const notice = new Notice(listChanged(kind))
      for (const target of this.#subscribers.of(scope)) target.notify(notice)
    }
    if (isWaiting(pending)) this.#arm(scope, pending, wait)
  }
}

const NONE: ReadonlySet<ListCapability> = new Set()

function newPending(): Pending {
  return { kinds: new Set(), repeated: new Set(), timer: undefined, sentMs: new Map() }
}

function isWaiting({ kinds, repeated }: Pending): boolean {
  return kinds.size > 0 || repeated.size > 0
}

/** Milliseconds until this kind may be notified again; at most 0 when it may be now. */
function waitMs({ sentMs }: Pending, kind: ListCapability, now: number): number {
  return (sentMs.get(kind) ?? Number.NEGATIVE_INFINITY) + INTERVAL_MS - now
}
