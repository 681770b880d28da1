import { LinkedList } from '../rpc/linked-list.ts'
import { Signal } from '../rpc/signal.ts'
import type { ReplyHost, SilentReply } from './post-response.ts'
import type { StreamHost } from './session-streams.ts'
import type { SseConnection } from './sse-connection.ts'

/** A POST that has sent nothing for so long begins an event stream. */
const SILENCE_MS = 5_000
/** Interval of keep-alive comments on a stream; proxies and Bun itself close silent ones. */
const KEEP_ALIVE_MS = 15_000
const TICK_MS = 1_000

/** The one timer of the MCP side: silent responses, silent streams, and other periodic work. */
export class StreamKeepAlive implements ReplyHost, StreamHost {
  readonly now: () => number
  /** Once a second. */
  readonly tick = new Signal<[]>()
  /** Oldest first. */
  readonly #waiting = new LinkedList<SilentReply>()
  readonly #connections = new Set<SseConnection>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(now: () => number) {
    this.now = now
    this.#timer = setInterval(() => {
      this.#sweep()
      this.tick.emit()
    }, TICK_MS)
    // The timer alone must not keep the process running.
    this.#timer.unref()
  }

  waiting(reply: SilentReply): void {
    this.#waiting.add(reply)
  }

  begun(reply: SilentReply): void {
    this.#waiting.delete(reply)
  }

  opened(connection: SseConnection): void {
    this.#connections.add(connection)
  }

  closed(connection: SseConnection): void {
    this.#connections.delete(connection)
  }

  dispose(): void {
    clearInterval(this.#timer)
    for (const connection of [...this.#connections]) connection.close()
  }

  #sweep(): void {
    const now = this.now()
    for (const reply of this.#waiting) {
      if (now - reply.startedMs < SILENCE_MS) break
      reply.startStream()
    }
    for (const connection of this.#connections) if (now - connection.lastWriteMs >= KEEP_ALIVE_MS) connection.comment()
  }
}
