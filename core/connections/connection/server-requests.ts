import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { AskClient, AskReply } from '../api.ts'
import type { PendingCall } from './call.ts'

/** Requests of an upstream on their way to a client, and the answers on their way back. */
export class ServerRequests {
  readonly #answer: (key: number, reply: AskReply) => void
  /** Those that belong to the client of the connection and to no call. */
  readonly #ofClient = new Map<number, AbortController>()

  /** `answer` is called at most once for each key. */
  constructor(answer: (key: number, reply: AskReply) => void) {
    this.#answer = answer
  }

  /** Asks the caller of one call; the request ends with that call. */
  askCaller(call: PendingCall | undefined, key: number, method: string, params: JsonObject | undefined): void {
    const ask = call?.request.ask
    if (!call || !ask) {
      this.#answer(key, { error: { code: -32601, message: `The client offers no ${method}` } })
      return
    }
    call.asks ??= new Map()
    this.#send(ask, call.asks, key, method, params)
  }

  /** Asks the client that has the connection alone; the request ends with the connection. */
  askClient(ask: AskClient, key: number, method: string, params: JsonObject | undefined): void {
    this.#send(ask, this.#ofClient, key, method, params)
  }

  /** The upstream took a request back that belongs to no call; it wants no answer any more. */
  withdrawn(key: number): void {
    this.#ofClient.get(key)?.abort()
    this.#ofClient.delete(key)
  }

  /** The same of a request that a call caused. */
  withdrawnOf(call: PendingCall, key: number): void {
    call.asks?.get(key)?.abort()
    call.asks?.delete(key)
  }

  /** The call is over: nobody can be asked on its behalf. */
  end(call: PendingCall): void {
    if (!call.asks) return
    for (const [key, controller] of call.asks) {
      controller.abort()
      this.#answer(key, { error: { code: -32603, message: 'The call that caused this request has ended' } })
    }
    call.asks = undefined
  }

  /** The connection is over: what it asked its client is withdrawn. */
  endAll(): void {
    for (const controller of this.#ofClient.values()) controller.abort()
    this.#ofClient.clear()
  }

  #send(
    ask: AskClient,
    open: Map<number, AbortController>,
    key: number,
    method: string,
    params: JsonObject | undefined,
  ): void {
    const controller = new AbortController()
    open.set(key, controller)
    ask(method, params, controller.signal).then(
      reply => {
        if (open.delete(key)) this.#answer(key, reply)
      },
      (error: unknown) => {
        if (!open.delete(key)) return
        const message = error instanceof HubError ? error.message : 'The client could not be asked'
        this.#answer(key, { error: { code: -32603, message } })
      },
    )
  }
}
