import { createHash } from 'node:crypto'
import type { Session } from './session.ts'

/** Most pending elicitations of one session. */
const MOST = 100

/** The sessions to which each URL elicitation was sent, so that they are notified when it is completed. */
export class SentElicitations {
  readonly #sessions = new Map<string, Set<Session>>()

  sent(session: Session, serverId: string, elicitationId: string): void {
    const key = elicitationKey(serverId, elicitationId)
    session.elicitations.add(key)
    const others = this.#sessions.get(key)
    if (others) others.add(session)
    else this.#sessions.set(key, new Set([session]))
    const [oldest] = session.elicitations
    if (session.elicitations.size > MOST && oldest !== undefined) this.#forget(session, oldest)
  }

  /** The sessions that wait for this elicitation; they are removed. */
  completed(serverId: string, elicitationId: string): Session[] {
    const key = elicitationKey(serverId, elicitationId)
    const found = [...(this.#sessions.get(key) ?? [])]
    for (const session of found) this.#forget(session, key)
    return found
  }

  /** Called when a session has ended. */
  drop(session: Session): void {
    for (const key of [...session.elicitations]) this.#forget(session, key)
  }

  #forget(session: Session, key: string): void {
    session.elicitations.delete(key)
    const others = this.#sessions.get(key)
    others?.delete(session)
    if (others?.size === 0) this.#sessions.delete(key)
  }
}

/** A hash, so that its length does not depend on the server's id. */
function elicitationKey(serverId: string, elicitationId: string): string {
  return createHash('sha256').update(`${serverId} ${elicitationId}`).digest('base64url')
}
