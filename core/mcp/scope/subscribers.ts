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

interface TargetGroup {
  of(scope: Scope): ReadonlySet<NotificationTarget>
}

/** All notification targets of every scope. */
export class Subscribers {
  readonly #groups: TargetGroup[]
  readonly #uses: ((scope: Scope) => boolean)[] = []

  constructor(...groups: readonly TargetGroup[]) {
    this.#groups = [...groups]
  }

  add(group: TargetGroup): void {
    this.#groups.push(group)
  }

  /** Adds a reason besides notification targets why a scope is in use. */
  addUse(uses: (scope: Scope) => boolean): void {
    this.#uses.push(uses)
  }

  *of(scope: Scope): IterableIterator<NotificationTarget> {
    for (const group of this.#groups) yield* group.of(scope)
  }

  hasSubscribers(scope: Scope): boolean {
    return this.#groups.some(group => group.of(scope).size > 0)
  }

  /** True when somebody would notice a change of the scope. */
  inUse(scope: Scope): boolean {
    return this.hasSubscribers(scope) || this.#uses.some(uses => uses(scope))
  }
}
