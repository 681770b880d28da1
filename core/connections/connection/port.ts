import type { WireError } from '../../contract/errors.ts'
import { LONG_CHARACTERS } from '../../domain/json/long-text.ts'
import { eachFrame, type FromWorker, type LongResult, readNumber, type ToWorker } from '../protocol.ts'

/** Callbacks of one connection for its port. */
export interface PortClient {
  /** Called with a frame for this connection; the payload behind its letter begins at `from`. */
  frame(frame: string, from: number): void
  control(message: FromWorker): void
  /** Called when the thread has ended, and with it the worker's half of the connection. */
  workerLost(reason: WireError): void
}

/** Callbacks of a `WorkerPort`, for the pool. */
export interface PortEvents {
  /** The thread has ended, for any reason; called once. */
  down(port: WorkerPort, detail: string): void
  /** Programs of this owner in the thread have not read so many bytes, `largest` of them are for one. */
  backlog(port: WorkerPort, owner: string, bytes: number, largest: number): void
  /** A message arrived from the thread; its length in characters. */
  received(characters: number): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

/** Main's end of one worker thread: sends the frames of a tick as one message, and dispatches what arrives. */
export class WorkerPort {
  /** The server whose connections alone run in it; undefined: shared by all. */
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
    // The hub's environment holds its secrets; transports do not need it.
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

  /** Number of connections in this thread. */
  get load(): number {
    return this.#clients.size
  }

  /** True when it was told to end; it takes no further connection. */
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
    // Joining a long frame with others would copy it again, and all of them would be handled in one turn.
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

  /** Sends an object after the frames written before it, so that the order is kept. */
  control(message: ToWorker): void {
    if (this.#down) return
    this.#flush()
    this.#worker.postMessage(message)
  }

  /** Terminates the thread; `down` follows. */
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
    if (message.type === 'backlog') {
      this.#events.backlog(this, message.owner, message.bytes, message.largest)
      return
    }
    if (message.type === 'result') this.#taken(message)
    const client = this.#clients.get(message.conn)
    if (client) client.control(message)
    else if (message.type === 'log') this.#events.log(message.level, message.message)
  }

  /** Handles a long result in a turn of its own, so that other events can run before the next one. */
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
