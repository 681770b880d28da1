import type { SessionBinding } from '../../connections/api.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { Notice } from '../rpc/notice.ts'
import type { Scope } from './scope.ts'

/** Whoever hears of changes in a scope: a session, or a listen stream. */
export interface NotificationTarget {
  /** Unique, and safe to show. */
  readonly key: string
  readonly scope: Scope
  readonly ended: boolean
  /** Keys of its resource subscriptions. */
  readonly subscriptions: Set<string>
  /** What it did not ask for is left out. */
  notify(notice: Notice): void
  /** The session whose own connection to this server is used on its behalf; undefined: the shared one. */
  ownConnection(server: ServerRecord): SessionBinding | undefined
}

/** Everybody who hears of changes. */
export class Subscribers {
  readonly #groups: readonly { of(scope: Scope): ReadonlySet<NotificationTarget> }[]

  constructor(...groups: readonly { of(scope: Scope): ReadonlySet<NotificationTarget> }[]) {
    this.#groups = groups
  }

  *of(scope: Scope): IterableIterator<NotificationTarget> {
    for (const group of this.#groups) yield* group.of(scope)
  }

  hasSubscribers(scope: Scope): boolean {
    return this.#groups.some(group => group.of(scope).size > 0)
  }
}
