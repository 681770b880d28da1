import type { WireError } from '../../contract/errors.ts'
import { LONG_CHARACTERS } from '../../domain/json/long-text.ts'
import { eachFrame, type FromWorker, type LongResult, readNumber, type ToWorker } from '../protocol.ts'

/** One connection as its port sees it. */
export interface PortClient {
  /** A frame for this connection; what its letter needs begins at `from`. */
  frame(frame: string, from: number): void
  control(message: FromWorker): void
  /** The thread is gone, and with it everything that it held. */
  workerLost(reason: WireError): void
}

export interface PortEvents {
  /** The thread ended, whatever the reason; called once. */
  down(port: WorkerPort, detail: string): void
  /** A message of so many characters has come from the thread. */
  received(characters: number): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

/** Main's end of one worker thread: joins the frames of a tick into one message, and hands out what comes back. */
export class WorkerPort {
  /** Whose connections alone are in it; undefined: anybody's. */
  readonly isolatedFor: { readonly serverId: string; readonly ownerId: string } | undefined
  readonly #worker: Worker
  readonly #events: PortEvents
  readonly #clients = new Map<number, PortClient>()
  #out: string[] = []
  #flushing = false
  #heardAtMs = performance.now()
  #down = false
  #ending = false
  #detail = ''

  constructor(
    isolatedFor: WorkerPort['isolatedFor'],
    hello: ToWorker & { readonly type: 'hello' },
    events: PortEvents,
  ) {
    this.isolatedFor = isolatedFor
    this.#events = events
    // The hub's environment holds its secrets; a transport needs none of it.
    this.#worker = new Worker(new URL('../worker/worker.ts', import.meta.url).href, {
      env: {},
      name: 'patchbay-connections',
    })
    this.#worker.onmessage = event => this.#receive(event.data)
    this.#worker.onerror = event => {
      event.preventDefault()
      this.#detail = event.message
    }
    this.#worker.addEventListener('close', () => this.#ended())
    this.control(hello)
  }

  /** Connections in this thread. */
  get load(): number {
    return this.#clients.size
  }

  /** It was told to end, and takes no further connection. */
  get ending(): boolean {
    return this.#ending
  }

  get silentMs(): number {
    return performance.now() - this.#heardAtMs
  }

  attach(conn: number, client: PortClient): void {
    this.#clients.set(conn, client)
  }

  detach(conn: number): void {
    this.#clients.delete(conn)
  }

  frame(frame: string): void {
    if (this.#down) return
    // Joined with others it would be copied once more, and all of them in one turn.
    if (frame.length > LONG_CHARACTERS) {
      this.#flush()
      this.#worker.postMessage(frame)
      return
    }
    this.#out.push(frame)
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  /** Objects must not overtake the frames that were written before them. */
  control(message: ToWorker): void {
    if (this.#down) return
    this.#flush()
    this.#worker.postMessage(message)
  }

  /** Ends the thread; `down` follows. */
  terminate(detail: string): void {
    if (this.#down) return
    this.#detail = detail
    this.#ending = true
    this.#worker.terminate()
  }

  #flush(): void {
    this.#flushing = false
    if (this.#out.length === 0) return
    const text = this.#out.length === 1 ? this.#out[0] : this.#out.join('\n')
    this.#out = []
    if (!this.#down) this.#worker.postMessage(text)
  }

  #receive(data: unknown): void {
    this.#heardAtMs = performance.now()
    if (typeof data === 'string') {
      eachFrame(data, frame => this.#clients.get(readNumber(frame, 1))?.frame(frame, frame.indexOf(' ') + 1))
      this.#events.received(data.length)
      return
    }
    const message = data as FromWorker
    if (message.type === 'ready' || message.type === 'pong') return
    if (message.type === 'result') this.#taken(message)
    const client = this.#clients.get(message.conn)
    if (client) client.control(message)
    else if (message.type === 'log') this.#events.log(message.level, message.message)
  }

  /** In a turn of its own, so that the next one finds the main thread free for others in between. */
  #taken({ owner, bytes: { byteLength } }: LongResult): void {
    this.#events.received(byteLength)
    setTimeout(() => this.control({ type: 'result-taken', owner, bytes: byteLength }), 0)
  }

  #ended(): void {
    if (this.#down) return
    this.#down = true
    const detail = this.#detail || 'it ended by itself'
    this.#events.down(this, detail)
    const reason: WireError = {
      code: 'connection_lost',
      message: `The worker thread of this connection ended: ${detail}`,
    }
    for (const client of [...this.#clients.values()]) client.workerLost(reason)
    this.#clients.clear()
  }
}
