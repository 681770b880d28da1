import type { Session } from './session.ts'

/** Of one session. */
const MOST = 100

/** Which sessions were sent to a URL by which elicitation, so that they hear when it is done there. */
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

  /** The sessions that wait for this one, and from now on do not any more. */
  completed(serverId: string, elicitationId: string): Session[] {
    const key = elicitationKey(serverId, elicitationId)
    const found = [...(this.#sessions.get(key) ?? [])]
    for (const session of found) this.#forget(session, key)
    return found
  }

  /** This session has ended. */
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

function elicitationKey(serverId: string, elicitationId: string): string {
  return `${serverId} ${elicitationId}`
}
