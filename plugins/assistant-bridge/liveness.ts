import type { BridgeSocket } from 'patchbay/features'
import type { Clock } from './clock.ts'

const PING_MS = 30_000
const SILENCE_MS = 60_000

/** Pings one socket, and reports when nothing was received for 60 s. */
export class Liveness {
  readonly #clock: Clock
  readonly #socket: BridgeSocket
  readonly #silent: () => void
  readonly #latency: (ms: number) => void
  #heardMs: number
  #pingedMs: number | undefined
  #cancel: (() => void) | undefined

  constructor(clock: Clock, socket: BridgeSocket, silent: () => void, latency: (ms: number) => void) {
    this.#clock = clock
    this.#socket = socket
    this.#silent = silent
    this.#latency = latency
    this.#heardMs = clock.now()
    this.#wait()
  }

  heard(): void {
    this.#heardMs = this.#clock.now()
    if (this.#pingedMs !== undefined) this.#latency(Math.round((this.#heardMs - this.#pingedMs) * 10) / 10)
    this.#pingedMs = undefined
  }

  end(): void {
    this.#cancel?.()
  }

  #wait(): void {
    this.#cancel = this.#clock.after(PING_MS, () => {
      if (this.#clock.now() - this.#heardMs >= SILENCE_MS) return this.#silent()
      this.#pingedMs ??= this.#clock.now()
      this.#socket.ping()
      this.#wait()
    })
  }
}
