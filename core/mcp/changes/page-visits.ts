import { randomUUID } from 'node:crypto'

/** Visits to pages that the hub asked clients for, by the session that was asked, and by the server for which it is. */
export class PageVisits {
  readonly #open = new WeakMap<object, Map<string, string>>()

  /** The id of a visit: the same until it is done. Without a session it is of no further use. */
  idFor(session: object | undefined, serverId: string): string {
    const known = session && this.#open.get(session)?.get(serverId)
    if (known !== undefined) return known
    const id = randomUUID()
    if (session) this.#open.set(session, (this.#open.get(session) ?? new Map<string, string>()).set(serverId, id))
    return id
  }

  /** The id to tell the session as done; undefined where it has none open. */
  done(session: object, serverId: string): string | undefined {
    const open = this.#open.get(session)
    const id = open?.get(serverId)
    open?.delete(serverId)
    return id
  }
}
