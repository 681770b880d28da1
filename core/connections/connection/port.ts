import { endThread } from '../../events/thread-ends.ts'
import { startThread } from '../../events/thread-starts.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { FrameQueue } from '../protocol/frame-queue.ts'
import {
  type CallerFrame,
  connectionOf,
  decodeUpstreamFrame,
  eachFrame,
  encodeCallerFrame,
  type UpstreamFrame,
} from '../protocol/frames.ts'
import type { FromWorker, LongResult, ToWorker } from '../protocol.ts'

const THREAD_NAME = 'patchbay-connections'

/** Callbacks of one connection for its port. */
export interface PortClient {
  frame(frame: UpstreamFrame): void
  control(message: FromWorker): void
  /** Called when the thread has ended, and with it the worker's half of the connection. */
  workerLost(reason: WireError): void
}

/** Callbacks of a `WorkerPort`, for the pool. */
export interface PortEvents {
  /** The thread has ended, for any reason; called once. */
  down(port: WorkerPort, detail: string): void
  /** The programs of this owner in the thread have `bytes` unread bytes, and one of them has `largest`. */
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
  /** The modules of transports that the thread imported, by their files: it cannot import a changed one. */
  readonly #modules = new Map<string, string>()
  readonly #frames: FrameQueue
  #heardAtMs = performance.now()
  #down = false
  #ending = false
  #detail = ''
  #outdated = false

  constructor(
    isolatedFor: WorkerPort['isolatedFor'],
    hello: ToWorker & { readonly type: 'hello' },
    events: PortEvents,
  ) {
    this.isolatedFor = isolatedFor
    this.#events = events
    // The hub's environment holds its secrets; transports do not need it.
    const options = { env: {}, name: THREAD_NAME }
    this.#worker = startThread(() => new Worker(new URL('../worker/worker.ts', import.meta.url).href, options))
    this.#frames = new FrameQueue(setImmediate, text => {
      if (!this.#down) this.#worker.postMessage(text)
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

  /** True when it was asked to end; it takes no further connection. */
  get ending(): boolean {
    return this.#ending
  }

  /** True once a transport that it imported was upgraded: it ends with its last connection. */
  get outdated(): boolean {
    return this.#outdated
  }

  /** True when a connection may use this module here; false when the thread has loaded another version of it. */
  takes(module: string): boolean {
    const [file = ''] = module.split('#')
    const known = this.#modules.get(file)
    if (known !== undefined && known !== module) this.#outdated = true
    if (this.#outdated) return false
    this.#modules.set(file, module)
    return true
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

  /** Sends a frame to a connection, together with the others of this turn. */
  frame(conn: number, frame: CallerFrame): void {
    if (!this.#down) this.#frames.push(encodeCallerFrame(conn, frame))
  }

  /** Sends an object after the frames written before it, so that the order is kept. */
  control(message: ToWorker): void {
    if (this.#down) return
    this.#frames.flush()
    this.#worker.postMessage(message)
  }

  /** Terminates the thread; `down` follows. */
  terminate(detail: string): void {
    if (this.#down) return
    this.#detail = detail
    this.#ending = true
    endThread(this.#worker, THREAD_NAME)
  }

  #receive(data: unknown): void {
    this.#heardAtMs = performance.now()
    if (typeof data === 'string') {
      eachFrame(data, frame => this.#clients.get(connectionOf(frame))?.frame(decodeUpstreamFrame(frame)))
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
