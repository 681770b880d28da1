import type { PluginLogger } from '../contract/plugin.ts'
import { WorkerPort } from './port.ts'

const PING_MS = 5_000
const SILENCE_MS = 15_000
/** A further thread costs more than 10 MB, so the first ones are filled a little before. */
const FILL = 4

export interface PoolOptions {
  /** Most threads that connections share; isolated ones come on top. */
  readonly size: number
  readonly instanceId: string
  readonly version: string
  readonly log: PluginLogger
  /** Milliseconds between pings, and of silence after which a thread is ended. For tests. */
  readonly pingMs?: number
  readonly silenceMs?: number
}

/** The connection workers: started when first needed, watched, replaced when they end. */
export class WorkerPool {
  readonly #options: PoolOptions
  readonly #ports = new Set<WorkerPort>()
  #ping: ReturnType<typeof setInterval> | undefined
  #disposed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** The thread for a new connection: the least loaded of the shared ones, or one of its own. */
  place(isolate: boolean): WorkerPort {
    if (isolate) return this.#start(true)
    let least: WorkerPort | undefined
    let shared = 0
    for (const port of this.#ports) {
      if (port.isolated) continue
      shared += 1
      if (!least || port.load < least.load) least = port
    }
    if (least && (least.load < FILL || shared >= this.#options.size)) return least
    return this.#start(false)
  }

  /** A connection in this thread has ended. */
  released(port: WorkerPort): void {
    if (port.isolated && port.load === 0) port.terminate('its only connection was closed')
  }

  dispose(): void {
    this.#disposed = true
    clearInterval(this.#ping)
    for (const port of this.#ports) port.terminate('the hub is stopping')
  }

  #start(isolated: boolean): WorkerPort {
    const { instanceId, version, log } = this.#options
    const port = new WorkerPort(
      isolated,
      { type: 'hello', instanceId, version },
      {
        down: (gone, detail) => {
          this.#ports.delete(gone)
          const expected = this.#disposed || (gone.isolated && gone.load === 0)
          if (!expected) log.error('A connection worker ended', { detail, connections: gone.load })
        },
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
