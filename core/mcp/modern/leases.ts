import { randomBytes } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import type { SessionBinding } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Credential, ServerRecord, UserActor } from '../../contract/records.ts'
import { declaredApps } from '../../domain/client-capabilities.ts'
import { MODERN_VERSION } from '../../domain/era.ts'
import { canBeAsked, needsOwnConnection, type ServerFace, scopeOf } from '../../domain/session-scope.ts'
import { userBinding } from '../scope/user-binding.ts'

/** An unused connection ends after this time. */
const IDLE_MS = 60_000
/** After so long a wait, the call that has been parked longest is ended. */
const PATIENCE_MS = 500
const MAX_WAIT_MS = 30_000
/** Number of connections of one user's clients to one server from which unused ones end early. */
const MOST_PER_SERVER = 4 * LIMITS.leasesPerUser

/** A client that is asked, as its request describes it. */
export interface LeaseClient {
  readonly actor: Pick<UserActor, 'userId' | 'credential'>
  readonly clientName: string
  readonly clientVersion: string | undefined
  readonly capabilities: JsonObject
}

/** The call that holds a connection, parked or not. */
export interface LeaseHolder extends LeaseClient {
  /** Since when it is parked; undefined while it runs. */
  readonly parkedSinceMs: number | undefined
  /** Ends the call, which releases its connection for a waiting call. */
  preempt(): void
}

/** A dedicated connection to one upstream, since modern clients have no session. */
export interface Lease {
  readonly binding: SessionBinding
  /** Called right before the call is sent: the server asks for the roots again, if an earlier call told it roots. */
  renewRoots(): void
  release(): void
}

interface Slot {
  readonly binding: SessionBinding
  used: boolean
  holder: LeaseHolder | undefined
  idleSinceMs: number
}

interface Waiting {
  readonly holder: LeaseHolder
  readonly serverName: string
  readonly sinceMs: number
  resolve(lease: Lease): void
  reject(error: HubError): void
}

interface Pool {
  readonly serverId: string
  readonly userId: string
  readonly slots: Slot[]
  readonly waiting: Waiting[]
}

/**
 * Upstream connections for modern clients that answer server requests: a few per server and client. One call holds each
 * as long as it lasts, parked or not, since only then it is clear which client the server asks. No other client is given
 * it afterwards: the server may keep the client's answers, such as the roots. Two windows of one program look like one client, so the
 * hub sends `notifications/roots/list_changed` before each further call.
 */
export class Leases {
  readonly #end: (serverId: string, sessionId: string) => void
  readonly #rootsChanged: (serverId: string, sessionId: string) => void
  readonly #now: () => number
  readonly #pools = new Map<string, Pool>()

  /** `end`: called when a connection was idle for too long. `rootsChanged`: tells its server that the roots may have changed. */
  constructor(
    end: (serverId: string, sessionId: string) => void,
    now: () => number,
    rootsChanged: (serverId: string, sessionId: string) => void = () => undefined,
  ) {
    this.#end = end
    this.#rootsChanged = rootsChanged
    this.#now = now
  }

  /**
   * Undefined where the call uses the server's shared connection. The promise rejects with `overloaded` after 30 s.
   * `tool`: original name of the tool that is called.
   */
  take(server: ServerRecord, face: ServerFace, holder: LeaseHolder, tool?: string): Lease | Promise<Lease> | undefined {
    const { userId } = holder.actor
    if (scopeOf(server) === 'per-user') return { binding: userBinding(userId), renewRoots() {}, release() {} }
    const declared = askable(holder.capabilities)
    const key = JSON.stringify([server.id, ...identity(holder)])
    if (tool !== undefined && canBeAsked(declared))
      face.trials?.place({ id: key, userId, capabilities: declared }, tool)
    if (!needsOwnConnection(server, { id: key, capabilities: declared }, face)) return undefined
    // A call that only finds out whether the server asks does not wait for that.
    const trial = !needsOwnConnection(server, { id: '', capabilities: declared }, face)
    const pool = this.#pools.get(key) ?? { serverId: server.id, userId, slots: [], waiting: [] }
    this.#pools.set(key, pool)
    const free = pool.slots.find(slot => slot.holder === undefined)
    if (trial && !free && pool.slots.length > 0) return undefined
    if (free) return this.#give(pool, free, holder)
    if (pool.slots.length < LIMITS.leasesPerUser) {
      const id = `lease-${randomBytes(12).toString('base64url')}`
      const binding = { id, userId, kind: 'lease', capabilities: declared, protocolVersion: MODERN_VERSION } as const
      const slot: Slot = { binding, used: false, holder: undefined, idleSinceMs: 0 }
      this.#makeRoom(pool)
      pool.slots.push(slot)
      if (trial) face.trials?.admit(id)
      return this.#give(pool, slot, holder)
    }
    return new Promise((resolve, reject) => {
      pool.waiting.push({ holder, serverName: server.name, sinceMs: this.#now(), resolve, reject })
    })
  }

  /** The most connections that a user has in one pool: the limit applies to each server and client. */
  mostOf(userId: string): number {
    let most = 0
    for (const pool of this.#pools.values()) if (pool.userId === userId) most = Math.max(most, pool.slots.length)
    return most
  }

  /** Removes a holder from the queues; its promise stays pending. */
  withdraw(holder: LeaseHolder): void {
    for (const { waiting } of this.#pools.values()) {
      const index = waiting.findIndex(each => each.holder === holder)
      if (index >= 0) waiting.splice(index, 1)
    }
  }

  /** Called periodically: ends idle connections; preempts parked calls for, or rejects, calls that wait too long. */
  sweep(): void {
    const now = this.#now()
    for (const [key, pool] of this.#pools) {
      this.#hurry(pool, now)
      for (const slot of [...pool.slots]) {
        if (slot.holder !== undefined || now - slot.idleSinceMs < IDLE_MS) continue
        pool.slots.splice(pool.slots.indexOf(slot), 1)
        this.#end(pool.serverId, slot.binding.id)
      }
      if (pool.slots.length === 0) this.#pools.delete(key)
    }
  }

  /** Ends the connection that a user's clients have left unused for longest, where this server has many for that user. */
  #makeRoom({ serverId, userId }: Pool): void {
    const pools = [...this.#pools.values()].filter(each => each.serverId === serverId && each.userId === userId)
    if (pools.reduce((sum, { slots }) => sum + slots.length, 0) < MOST_PER_SERVER) return
    const unused = pools.flatMap(each => each.slots).filter(slot => slot.holder === undefined)
    const [oldest] = unused.toSorted((one, other) => one.idleSinceMs - other.idleSinceMs)
    const from = pools.find(({ slots }) => oldest && slots.includes(oldest))
    if (!oldest || !from) return
    from.slots.splice(from.slots.indexOf(oldest), 1)
    this.#end(serverId, oldest.binding.id)
  }

  #give(pool: Pool, slot: Slot, holder: LeaseHolder): Lease {
    slot.holder = holder
    const { binding, used } = slot
    slot.used = true
    return {
      binding,
      renewRoots: () => {
        if (used && binding.capabilities.roots !== undefined) this.#rootsChanged(pool.serverId, binding.id)
      },
      release: () => {
        if (slot.holder !== holder) return
        slot.holder = undefined
        slot.idleSinceMs = this.#now()
        const next = pool.waiting.shift()
        if (next) next.resolve(this.#give(pool, slot, next.holder))
      },
    }
  }

  #hurry(pool: Pool, now: number): void {
    for (const waiting of [...pool.waiting]) {
      if (now - waiting.sinceMs >= MAX_WAIT_MS) {
        pool.waiting.splice(pool.waiting.indexOf(waiting), 1)
        waiting.reject(busy(waiting.serverName))
      } else if (now - waiting.sinceMs >= PATIENCE_MS) longestParked(pool)?.preempt()
    }
  }
}

function longestParked({ slots }: Pool): LeaseHolder | undefined {
  let longest: LeaseHolder | undefined
  for (const { holder } of slots) {
    if (holder?.parkedSinceMs === undefined) continue
    if (longest?.parkedSinceMs === undefined || holder.parkedSinceMs < longest.parkedSinceMs) longest = holder
  }
  return longest
}

/**
 * Returns the fields that distinguish the clients of a server; two clients of one program differ only in the user's credential.
 */
function identity({ actor, clientName, clientVersion, capabilities }: LeaseClient): readonly JsonValue[] {
  const { userId, credential } = actor
  return [userId, idOf(credential), clientName, clientVersion ?? null, capabilities]
}

function idOf(credential: Credential): string {
  if (credential.kind === 'grant') return credential.grantId
  if (credential.kind === 'session') return credential.familyId
  return credential.kind === 'key' ? credential.keyId : ''
}

/** The capabilities for server requests, and MCP Apps, in a fixed order of keys. */
function askable(capabilities: JsonObject): JsonObject {
  const { sampling, elicitation, roots } = capabilities
  return {
    ...(sampling === undefined ? {} : { sampling }),
    ...(elicitation === undefined ? {} : { elicitation }),
    ...(roots === undefined ? {} : { roots }),
    ...declaredApps(capabilities),
  }
}

function busy(serverName: string): HubError {
  return new HubError(
    'overloaded',
    `All ${LIMITS.leasesPerUser} connections to server "${serverName}" that may ask you something are in use`,
    { hint: 'Answer what is asked, or wait for a call to end.', retryAfterSeconds: 5 },
  )
}
