import { type EndedCall, isFailedCall, reachedServer } from './ended-call.ts'

const MINUTE_MS = 60_000
/** Minutes that are kept of a link. */
export const LINK_MINUTES = 60
/** Limits of links: of one user, above which the least recently used one is dropped, and of all users. */
const MOST_PER_USER = 500
const MOST = 5_000
/** Part of keys if there is no client. */
const REST = '\0'

/** Ends of a link: a user's client or key, the group at which it called, and the server that answered. */
export interface LinkEnds {
  readonly userId: string
  readonly keyId: string | undefined
  /** Name that the MCP client stated; undefined for calls through the REST API. */
  readonly clientName: string | undefined
  readonly groupId: string
  readonly group: string
  /** Absent for calls that reached no server. */
  readonly server?: { readonly id: string; readonly name: string; readonly ownerId: string }
}

/** A link with what went over it within a range. */
export interface CallLink extends LinkEnds {
  readonly calls: number
  readonly failures: number
  /** In milliseconds since 1970. */
  readonly lastUsedAtMs: number
}

interface Link {
  readonly ends: LinkEnds
  /** By minute, `minute % LINK_MINUTES`. */
  readonly calls: Uint32Array
  readonly failures: Uint32Array
  /** The last minute that was written. */
  minute: number
  lastUsedAtMs: number
}

/** Counts calls of the last hour between clients, groups and servers, by minutes. Kept in memory, bounded. */
export class CallLinks {
  /** By user, then by ends; the order is that of the last use. */
  readonly #users = new Map<string, Map<string, Link>>()
  readonly #now: () => number
  #count = 0

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** A call that ended. */
  add(call: EndedCall): void {
    const { userId, keyId = '', groupId, serverId, clientName = REST } = call
    const links = this.#users.get(userId) ?? this.#addUser(userId)
    const key = `${groupId}\n${serverId}\n${keyId}\n${clientName}`
    const known = links.get(key)
    if (known) links.delete(key)
    else this.#makeRoom(links)
    const link = known ?? newLink(call)
    if (!known) this.#count += 1
    links.set(key, link)
    const nowMs = this.#now()
    advance(link, Math.floor(nowMs / MINUTE_MS))
    const slot = link.minute % LINK_MINUTES
    link.calls[slot] = (link.calls[slot] ?? 0) + 1
    if (isFailedCall(call)) link.failures[slot] = (link.failures[slot] ?? 0) + 1
    link.lastUsedAtMs = nowMs
  }

  /** Links used within the last `minutes`, at most `LINK_MINUTES`, the present minute among them. */
  list(minutes: number): readonly CallLink[] {
    const now = Math.floor(this.#now() / MINUTE_MS)
    const slots = Array.from({ length: minutes }, (_, back) => (now - back) % LINK_MINUTES)
    const sum = (of: Uint32Array): number => slots.reduce((total, slot) => total + (of[slot] ?? 0), 0)
    const found: CallLink[] = []
    for (const link of [...this.#users.values()].flatMap(links => [...links.values()])) {
      if (now - link.minute >= minutes) continue
      advance(link, now)
      const { ends, lastUsedAtMs } = link
      found.push({ ...ends, calls: sum(link.calls), failures: sum(link.failures), lastUsedAtMs })
    }
    return found.filter(({ calls }) => calls > 0)
  }

  /** The time that `list` covers, in milliseconds: whole minutes plus the elapsed part of the present one. */
  coveredMs(minutes: number): number {
    return (minutes - 1) * MINUTE_MS + Math.max(1_000, this.#now() % MINUTE_MS)
  }

  /** A removed user's. */
  forget(userId: string): void {
    this.#count -= this.#users.get(userId)?.size ?? 0
    this.#users.delete(userId)
  }

  #addUser(userId: string): Map<string, Link> {
    const links = new Map<string, Link>()
    this.#users.set(userId, links)
    return links
  }

  /** A user at the limit loses that user's oldest link; beyond the limit of all, the user with the most links loses one. */
  #makeRoom(links: Map<string, Link>): void {
    if (links.size >= MOST_PER_USER) return this.#dropOldest(links)
    if (this.#count < MOST) return
    let most = links
    for (const each of this.#users.values()) if (each.size > most.size) most = each
    this.#dropOldest(most)
  }

  #dropOldest(links: Map<string, Link>): void {
    const [oldest] = links.keys()
    if (oldest !== undefined && links.delete(oldest)) this.#count -= 1
  }
}

function newLink(call: EndedCall): Link {
  const { userId, keyId, groupId, group, clientName } = call
  const { serverId: id, server: name, ownerId } = call
  const server = reachedServer(call) ? { server: { id, name, ownerId } } : undefined
  return {
    ends: { userId, keyId, clientName, groupId, group, ...server },
    calls: new Uint32Array(LINK_MINUTES),
    failures: new Uint32Array(LINK_MINUTES),
    minute: 0,
    lastUsedAtMs: 0,
  }
}

/** Empties the minutes that passed since the last use. A clock that went back changes nothing. */
function advance(link: Link, minute: number): void {
  if (minute <= link.minute) return
  const passed = Math.min(minute - link.minute, LINK_MINUTES)
  for (let back = 0; back < passed; back += 1) {
    const slot = (minute - back) % LINK_MINUTES
    link.calls[slot] = 0
    link.failures[slot] = 0
  }
  link.minute = minute
}
