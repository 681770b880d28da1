import type { JsonObject } from 'patchbay/contract'
import type { BridgeEndpoint, BridgeLink, BridgeSocket, BridgeSocketEvents, BridgeTestStep } from 'patchbay/features'
import type { Clock } from './clock.ts'
import { Conversation } from './conversation.ts'
import type { DialGate } from './dial-gate.ts'
import { LinkState } from './link-state.ts'
import { Liveness } from './liveness.ts'
import { MessageLog } from './message-log.ts'
import { EndpointTools } from './tools.ts'
import { testEndpoint } from './trial.ts'

/** Time for the calls of a connection that is replaced by a newer one, in milliseconds. */
const REPLACED_GRACE_MS = 30_000
/** Number of replaced connections that may end gradually at the same time; further ones end at once. */
const MOST_LEAVING = 4
const CODES = { normal: 1000, goingAway: 1001, replaced: 4001 } as const

interface Connection {
  readonly conversation: Conversation
  readonly socket: BridgeSocket
  readonly tools: EndpointTools
  readonly liveness: Liveness
  /** Resolves when the socket has ended. */
  readonly ended: Promise<void>
}

/** An endpoint to which the assistant dials: the newest connection is the one that counts. */
export class InboundLink implements BridgeLink {
  readonly #endpoint: BridgeEndpoint
  readonly #clock: Clock
  readonly #gate: DialGate
  readonly #stopped = new AbortController()
  readonly #log = new MessageLog()
  readonly #state: LinkState
  readonly #leaving = new Set<Connection>()
  #current: Connection | undefined
  #closed = false

  constructor(endpoint: BridgeEndpoint, clock: Clock, gate: DialGate) {
    this.#endpoint = endpoint
    this.#clock = clock
    this.#gate = gate
    this.#state = new LinkState(endpoint, clock, this.#log)
  }

  accept(socket: BridgeSocket): BridgeSocketEvents {
    if (this.#closed) {
      socket.close(CODES.goingAway)
      return { message() {}, alive() {}, closed() {} }
    }
    const before = this.#current
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const connection = this.#connection(socket, ended)
    this.#current = connection
    if (before) void this.#leave(before, CODES.replaced, this.#leaving.size < MOST_LEAVING ? REPLACED_GRACE_MS : 0)
    this.#state.latencyMs = undefined
    this.#state.set('connected')
    const { conversation, liveness } = connection
    return {
      message: text => conversation.message(text),
      alive: () => liveness.heard(),
      closed: code => {
        resolve()
        this.#ended(connection, code)
      },
    }
  }

  /** Closes the connection; the assistant reconnects by itself. */
  reconnect(): void {
    if (this.#current) void this.#leave(this.#current, CODES.normal, 0)
  }

  status(): JsonObject {
    return this.#state.view(this.#current?.conversation.callsInFlight ?? 0, this.#current?.tools.offered)
  }

  messages(): readonly JsonObject[] {
    return this.#log.list()
  }

  test(): Promise<readonly BridgeTestStep[]> {
    const [endpoint, clock, gate, { signal }] = [this.#endpoint, this.#clock, this.#gate, this.#stopped]
    const live = this.#current ? { live: { code: 'connected', detail: 'An assistant is connected' } } : {}
    return testEndpoint({ endpoint, clock, gate, signal, ...live })
  }

  async close(code: number, graceMs: number): Promise<void> {
    this.#closed = true
    this.#stopped.abort()
    const open = [...(this.#current ? [this.#current] : []), ...this.#leaving]
    await Promise.all(open.map(connection => this.#leave(connection, code, graceMs)))
  }

  #connection(socket: BridgeSocket, ended: Promise<void>): Connection {
    const [endpoint, clock, log] = [this.#endpoint, this.#clock, this.#log]
    const tools = new EndpointTools(endpoint, clock, {
      changed: () => conversation.toolsChanged(),
      // The next request opens another session, or gets the reason why that fails.
      ended: () => conversation.toolsChanged(),
    })
    const conversation = new Conversation({ endpoint, socket, tools, clock, log })
    const silent = () => socket.close(CODES.goingAway)
    const liveness = new Liveness(clock, socket, silent, ms => {
      this.#state.latencyMs = ms
    })
    return { conversation, socket, tools, liveness, ended }
  }

  async #leave(connection: Connection, code: number, graceMs: number): Promise<void> {
    this.#leaving.add(connection)
    await Promise.race([connection.conversation.idle(graceMs), connection.ended])
    connection.socket.close(code)
    this.#over(connection)
  }

  #ended(connection: Connection, code: number | undefined): void {
    this.#over(connection)
    if (this.#current !== connection) return
    this.#current = undefined
    this.#state.closeCode = code
    if (!this.#closed) this.#state.set('waiting')
  }

  #over({ conversation, liveness, tools }: Connection): void {
    for (const leaving of this.#leaving) if (leaving.conversation === conversation) this.#leaving.delete(leaving)
    liveness.end()
    conversation.end()
    tools.close()
  }
}
