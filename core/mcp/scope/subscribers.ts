import type { SessionBinding } from '../../connections/api.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import type { Notice } from '../rpc/notice.ts'
import type { Scope } from './scope.ts'

/** A recipient of a scope's notifications: a session, or a listen stream. */
export interface NotificationTarget {
  /** Unique, and not secret. */
  readonly key: string
  readonly scope: Scope
  readonly ended: boolean
  /** Keys of its resource subscriptions. */
  readonly subscriptions: Set<string>
  /** The byte account of its user, which its subscriptions are charged to. */
  readonly bytes: ByteAccount
  /** Drops notifications that the target did not request. */
  notify(notice: Notice): void
  /** The session whose dedicated connection to this server is used on its behalf; undefined: the shared one. */
  ownConnection(server: ServerRecord): SessionBinding | undefined
}

/** All notification targets of every scope. */
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
