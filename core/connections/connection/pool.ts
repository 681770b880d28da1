import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { OwnerBacklogs } from './owner-backlogs.ts'
import { WorkerPort } from './port.ts'

const PING_MS = 5_000
const SILENCE_MS = 15_000
/** Connections in a thread before another thread starts, which costs more than 10 MB. */
const FILL = 4

/** Size and callbacks of a `WorkerPool`. */
export interface PoolOptions {
  /** Most shared threads; isolated ones are additional. */
  readonly size: number
  readonly instanceId: string
  readonly version: string
  readonly log: PluginLogger
  /** A thread ended unexpectedly. */
  readonly ended: () => void
  /** Called with the number of characters of each message from a thread. */
  readonly received: (characters: number) => void
  /** Milliseconds between pings, and of silence after which a thread is terminated. For tests. */
  readonly pingMs?: number
  readonly silenceMs?: number
}

/** A server whose connections have a thread of their own. */
export interface IsolatedServer {
  readonly serverId: string
  readonly ownerId: string
  /** Used in error messages. */
  readonly name: string
}

/** The connection worker threads: started on demand, monitored, replaced when they end. */
export class WorkerPool {
  readonly #options: PoolOptions
  readonly #ports = new Set<WorkerPort>()
  readonly #backlogs = new OwnerBacklogs(LIMITS.ownerWriteBacklogBytes)
  #ping: ReturnType<typeof setInterval> | undefined
  #disposed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /**
   * The thread for a new connection that is not isolated: the least loaded of the shared ones. `module` is that of its
   * transport; a thread that imported an earlier version of it takes no more connections.
   */
  place(module: string): WorkerPort {
    let least: WorkerPort | undefined
    let shared = 0
    for (const port of this.#ports) {
      if (port.isolatedFor || port.ending || port.outdated) continue
      shared += 1
      if (!least || port.load < least.load) least = port
    }
    if (!least || (least.load >= FILL && shared < this.#options.size)) {
      least = this.#start(undefined)
    }
    if (least.takes(module)) return least
    if (least.load === 0) least.terminate('a transport in it was upgraded')
    return this.place(module)
  }

  /**
   * The isolated thread of one server, shared by all its connections. Throws `quota_threads` when its owner has reached
   * the limit.
   */
  placeAlone(server: IsolatedServer, module: string): WorkerPort {
    for (const port of this.#ports)
      if (!port.ending && port.isolatedFor?.serverId === server.serverId && port.takes(module)) return port
    const threads = this.isolatedOf(server.ownerId)
    if (threads < LIMITS.isolatedThreadsPerUser) {
      const port = this.#start(server)
      port.takes(module)
      return port
    }
    throw new HubError(
      'quota_threads',
      `Cannot start "${server.name}": ${threads} servers of its owner have threads of their own, the most that may`,
    )
  }

  /** Number of isolated threads of this owner's servers. */
  isolatedOf(ownerId: string): number {
    let threads = 0
    for (const port of this.#ports) if (!port.ending && port.isolatedFor?.ownerId === ownerId) threads += 1
    return threads
  }

  /** A connection in this thread has ended. */
  released(port: WorkerPort): void {
    if ((port.isolatedFor || port.outdated) && port.load === 0) port.terminate('its last connection was closed')
  }

  dispose(): void {
    this.#disposed = true
    clearInterval(this.#ping)
    for (const port of this.#ports) port.terminate('the hub is stopping')
  }

  #start(isolatedFor: IsolatedServer | undefined): WorkerPort {
    const { instanceId, version, log, received, ended } = this.#options
    const port = new WorkerPort(
      isolatedFor,
      { type: 'hello', instanceId, version },
      {
        down: (gone, detail) => {
          this.#ports.delete(gone)
          this.#backlogs.remove(gone)
          const expected = this.#disposed || ((gone.isolatedFor !== undefined || gone.outdated) && gone.load === 0)
          if (expected) return
          log.error('A connection worker ended', { detail, connections: gone.load })
          ended()
        },
        backlog: (from, owner, bytes, largest) => this.#backlogs.set(from, owner, bytes, largest),
        received,
        log: (level, message) => log[level](message),
      },
    )
    this.#ports.add(port)
    this.#ping ??= setInterval(() => this.#check(), this.#options.pingMs ?? PING_MS)
    return port
  }

  #check(): void {
    const limitMs = this.#options.silenceMs ?? SILENCE_MS
    for (const port of [...this.#ports]) {
      if (port.silentMs > limitMs) port.terminate(`it was silent for ${Math.round(port.silentMs)} ms`)
      else port.control({ type: 'ping' })
    }
  }
}
