import type { ServerRecord, SystemActor } from '../contract/records.ts'
import { nextTurn } from '../domain/next-turn.ts'
import { HOSTED_KEY_PREFIX } from '../domain/server/header-consents.ts'
import type { OpenPrograms } from '../domain/server/programs.ts'
import type { EventBus } from '../events/bus.ts'
import type { ServerRegistry, UserRegistry } from '../registry/api.ts'
import { type ProgramPlace, programPlace } from './sandbox/program-folders.ts'
import type { FolderPlace } from './sandbox/work-folders.ts'
import { ManagedServer } from './server/managed-server.ts'
import type { SharedContext } from './server/server-context.ts'
import type { CatalogStore, StoredHead } from './store/catalog-store.ts'

const TICK_MS = 1_000
/** Events report changes; all records are also compared periodically, so that a missed event has no lasting effect. */
const COMPARE_MS = 60_000
const RETRY_MS = 5_000
/** Number of servers that are checked in one turn when an event concerns many: some 2 ms. */
const AT_A_TURN = 8
/**
 * Pause between two rounds over the servers of one owner, so that frequent changes of keys do not fill the thread with checks.
 */
const ROUND_MS = 250

/** The actor of connections in the audit log and for registry calls. */
export const ACTOR: SystemActor = { kind: 'system', purpose: 'connections' }

/** Dependencies of the `Supervisor`. */
export interface SupervisorOptions {
  readonly servers: Pick<ServerRegistry, 'list' | 'byId'>
  readonly users: Pick<UserRegistry, 'byId'>
  readonly bus: EventBus
  readonly programs: Pick<OpenPrograms, 'of'>
  readonly catalogs: CatalogStore
  readonly context: SharedContext
  /** Called when the servers of the store are held, and after each change of one that was followed. */
  readonly followed: () => void
}

/** Holds all servers, and makes their state follow the desired state in the store. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #servers = new Map<string, ManagedServer>()
  /** Servers whose records have changed and could not be read, or were read before a later event. */
  readonly #unread = new Set<string>()
  /** The pending work on each server, in the order of the events. */
  readonly #work = new Map<string, Promise<void>>()
  /** Servers named by events during a comparison of all records: the events are newer than what it read. */
  readonly #named = new Set<string>()
  /** Rounds through all servers of an owner (undefined: of all), and whether one more is due after the present one. */
  readonly #rounds = new Map<string | undefined, boolean>()
  readonly #unlisten: (() => void)[] = []
  /** Nothing is connected, and no changed record is read, before it resolves. */
  readonly #begun = Promise.withResolvers<void>()
  /** Held by `load`, for `begin` to begin. */
  #loaded: readonly ManagedServer[] = []
  #tick: ReturnType<typeof setInterval> | undefined
  #comparedAtMs = 0
  #retriedAtMs = 0
  #disposed = false

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** Holds the servers of the store, so that calls find them, and wait. Connects none and writes nothing. */
  async load(): Promise<void> {
    const { bus, catalogs } = this.#options
    this.#unlisten.push(
      bus.on('server.created', event => void this.#follow(event.data.serverId)),
      bus.on('server.updated', event => void this.#follow(event.data.serverId)),
      // Also sent to a former owner, who lost access to it: the store decides.
      bus.on('server.removed', event => void this.#follow(event.data.serverId)),
      // These change who may use servers of their owner.
      bus.on('share.changed', ({ ownerId }) => this.#reviewUsers(ownerId)),
      bus.on('group.updated', ({ ownerId }) => this.#reviewUsers(ownerId)),
      bus.on('group.removed', ({ ownerId }) => this.#reviewUsers(ownerId)),
      bus.on('user.updated', event => this.#userChanged(event.data.userId)),
      bus.on('user.removed', event => this.#userChanged(event.data.userId)),
      // Only those connect again whose headers are others now.
      bus.on('settings.updated', ({ data: { userId, keys } }) => {
        if (userId !== undefined && keys.some(key => key.startsWith(HOSTED_KEY_PREFIX))) void this.#followAll(userId)
      }),
      bus.on('plugin.changed', () => void this.#followAll()),
    )
    this.#loaded = await this.#hold(await catalogs.heads())
  }

  /** Connects the servers that `load` holds, and follows the store from now on. */
  async begin(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = []
    const { programs } = this.#options
    const records = [...this.#servers.values()].map(({ record }) => record)
    const placeOf = ({ id, ownerId }: ServerRecord): FolderPlace => ({ ownerId, serverId: id })
    const packaged = records.filter(({ config }) => programs.of(config) === undefined)
    this.#options.context.children.keepFolders(records.map(placeOf), packaged.map(placeOf))
    this.#options.followed()
    this.#begun.resolve()
    await Promise.all(loaded.map(server => server.begin()))
    this.#tick = setInterval(() => this.#poll(), TICK_MS)
  }

  /** The reading of a server that the store has and that is not held yet, such as one that was created just now. */
  arriving(serverId: string): Promise<void> | undefined {
    return this.#servers.has(serverId) ? undefined : this.#work.get(serverId)
  }

  get(serverId: string): ManagedServer | undefined {
    return this.#servers.get(serverId)
  }

  /** Number of an owner's servers that may have a process. */
  stdioServersOf(ownerId: string): number {
    return [...this.#servers.values()].filter(
      ({ record }) => record.ownerId === ownerId && record.transport === 'stdio' && record.enabled,
    ).length
  }

  /** The unpacked programs of servers that are switched on. */
  programPlaces(): readonly ProgramPlace[] {
    return [...this.#servers.values()].flatMap(({ record: { config, enabled, ownerDisabled, ownerId } }) => {
      const program = enabled && ownerDisabled !== true ? this.#options.programs.of(config) : undefined
      return program === undefined ? [] : [programPlace(ownerId, program)]
    })
  }

  all(): Iterable<ManagedServer> {
    return this.#servers.values()
  }

  /** Numbers of servers by state, and of their tools. */
  counts() {
    const counts = { total: 0, online: 0, connecting: 0, offline: 0, tools: 0 }
    for (const { state, catalog } of this.#servers.values()) {
      counts.total += 1
      counts[state] += 1
      counts.tools += catalog?.tools.length ?? 0
    }
    return counts
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    this.#begun.resolve()
    clearInterval(this.#tick)
    for (const unlisten of this.#unlisten) unlisten()
    await Promise.all([...this.#servers.values()].map(server => server.dispose()))
  }

  #poll(): void {
    const now = performance.now()
    for (const server of this.#servers.values()) server.tick(now)
    if (this.#unread.size > 0 && now - this.#retriedAtMs > RETRY_MS) {
      this.#retriedAtMs = now
      for (const serverId of [...this.#unread]) this.#follow(serverId)
    }
    if (now - this.#comparedAtMs > COMPARE_MS) {
      this.#comparedAtMs = now
      this.#compare().catch((error: unknown) => {
        this.#options.context.log.warn('The servers cannot be compared with the store', { error: String(error) })
      })
    }
  }

  /** Makes the servers here equal to those of the store. */
  async #compare(): Promise<void> {
    const added = await this.#hold(undefined)
    await Promise.all(added.map(server => server.begin()))
  }

  /** Holds the servers that are only in the store, and gives them; follows what differs. */
  async #hold(heads: ReadonlyMap<string, StoredHead> | undefined): Promise<readonly ManagedServer[]> {
    const { servers, context } = this.#options
    this.#comparedAtMs = performance.now()
    this.#named.clear()
    const records = await servers.list(ACTOR, { scope: 'all' })
    if (this.#disposed) return []
    const seen = new Set<string>()
    const added: ManagedServer[] = []
    for (const record of records) {
      seen.add(record.id)
      if (this.#named.has(record.id)) continue
      const known = this.#servers.get(record.id)
      if (!known) {
        const server = new ManagedServer(record, context, heads?.get(record.id))
        this.#servers.set(record.id, server)
        added.push(server)
      } else if (
        known.record.revision !== record.revision ||
        known.record.ownerDisabled !== record.ownerDisabled ||
        known.record.ownerId !== record.ownerId
      ) {
        this.#follow(record.id)
      }
    }
    for (const serverId of this.#servers.keys()) if (!seen.has(serverId)) this.#follow(serverId)
    for (const userId of new Set([...this.#servers.values()].flatMap(server => server.users())))
      void this.#endIfGone(userId)
    return added
  }

  /**
   * Compares the desired state with the store once more: when two callers switch a server at the same time, the change
   * that was stored last must win here too.
   */
  confirm(serverId: string): void {
    this.#queue(serverId, record => record?.enabled !== this.#servers.get(serverId)?.wanted)
  }

  /** Reads the record and applies it to the server. */
  #follow(serverId: string): void {
    this.#named.add(serverId)
    this.#queue(serverId, () => true)
  }

  /** Runs after all pending work for this server. */
  #queue(serverId: string, differs: (record: ServerRecord | undefined) => boolean): void {
    const before = this.#work.get(serverId) ?? this.#begun.promise
    const isLast = (): boolean => this.#work.get(serverId) === work
    const work: Promise<void> = before
      .then(() => this.#adopt(serverId, differs, isLast))
      .then(() => {
        if (isLast()) this.#work.delete(serverId)
        this.#options.followed()
      })
    this.#work.set(serverId, work)
  }

  /** Never rejects. */
  async #adopt(
    serverId: string,
    differs: (record: ServerRecord | undefined) => boolean,
    isLast: () => boolean,
  ): Promise<void> {
    const { servers, context } = this.#options
    try {
      const record = await servers.byId(ACTOR, serverId)
      const due = this.#unread.delete(serverId) || differs(record)
      if (this.#disposed || !due) return
      if (!isLast()) {
        // The record may be outdated by now; the next event or comparison reads it again.
        this.#unread.add(serverId)
        return
      }
      if (!record) {
        await this.#remove(serverId)
        return
      }
      const known = this.#servers.get(serverId)
      if (known) {
        await known.update(record)
        return
      }
      const server = new ManagedServer(record, context, undefined)
      this.#servers.set(serverId, server)
      await server.begin()
    } catch (error) {
      this.#unread.add(serverId)
      context.log.warn('What has changed of a server cannot be read; it is tried again', {
        serverId,
        error: String(error),
      })
    }
  }

  async #remove(serverId: string): Promise<void> {
    const server = this.#servers.get(serverId)
    if (!server) return
    this.#servers.delete(serverId)
    this.#options.catalogs.remove(serverId)
    this.#options.context.definitions.remove(serverId)
    await server.dispose()
    this.#options.context.children.forgetServer(serverId)
    this.#options.context.redactors.forget(serverId)
    this.#options.context.records.forget(serverId)
  }

  /** Follows the servers of an owner that others use: some of these may have lost them. */
  #reviewUsers(ownerId: string | null): void {
    for (const server of this.#servers.values())
      if (server.record.ownerId === ownerId && server.users().some(userId => userId !== ownerId))
        this.#follow(server.record.id)
  }

  #userChanged(userId: string): void {
    // All at once: what a user who was disabled runs ends now.
    for (const { record } of this.#servers.values()) if (record.ownerId === userId) this.#follow(record.id)
    void this.#endIfGone(userId)
  }

  /**
   * Follows the servers of one owner, or all, in turns of a few: who has thousands costs nobody else a wait. What happens
   * meanwhile is followed by one more round, however often it happened.
   */
  async #followAll(ownerId?: string): Promise<void> {
    const isAgain = this.#rounds.get(ownerId)
    this.#rounds.set(ownerId, isAgain !== undefined)
    if (isAgain !== undefined) return
    do {
      this.#rounds.set(ownerId, false)
      await this.#followRound(ownerId)
      await new Promise(resolve => setTimeout(resolve, ROUND_MS))
    } while (this.#rounds.get(ownerId) && !this.#disposed)
    this.#rounds.delete(ownerId)
  }

  async #followRound(ownerId: string | undefined): Promise<void> {
    const concerned = [...this.#servers.values()].filter(
      ({ record }) => ownerId === undefined || record.ownerId === ownerId,
    )
    for (const [n, { record }] of concerned.entries()) {
      if (n % AT_A_TURN === AT_A_TURN - 1) await nextTurn()
      this.#follow(record.id)
    }
    // The work on the last ones, before another round asks for it again.
    await Promise.all(concerned.slice(-AT_A_TURN).map(({ record }) => this.#work.get(record.id)))
  }

  /** Ends the connections of a user who was deleted or disabled. Never rejects; the periodic comparison repeats it. */
  async #endIfGone(userId: string): Promise<void> {
    try {
      const user = await this.#options.users.byId(userId)
      if (user && !user.disabled) return
      for (const server of this.#servers.values()) server.endUser(userId)
    } catch (error) {
      this.#options.context.log.warn('A user cannot be read', { userId, error: String(error) })
    }
  }
}
