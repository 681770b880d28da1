import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { AskClient, AskReply } from '../api.ts'
import type { PendingCall } from './call.ts'

/** Server requests that wait for a client's response, and the way back for those responses. */
export class ServerRequests {
  readonly #answer: (key: number, reply: AskReply) => void
  /** Requests for the client of the connection, which belong to no call. */
  readonly #ofClient = new Map<number, AbortController>()

  /** `answer` is called at most once for each key. */
  constructor(answer: (key: number, reply: AskReply) => void) {
    this.#answer = answer
  }

  /** Sends a server request to the caller of one call; it is aborted when that call ends. */
  askCaller(call: PendingCall | undefined, key: number, method: string, params: JsonObject | undefined): void {
    const ask = call?.request.ask
    if (!call || !ask) {
      this.#answer(key, { error: { code: -32601, message: `The client offers no ${method}` } })
      return
    }
    call.serverRequests ??= new Map()
    this.#send(ask, call.serverRequests, key, method, params)
  }

  /** Sends a server request to the connection's only client; it is aborted when the connection ends. */
  askClient(ask: AskClient, key: number, method: string, params: JsonObject | undefined): void {
    this.#send(ask, this.#ofClient, key, method, params)
  }

  /** The upstream cancelled a request that belongs to no call; no response is sent. */
  withdrawn(key: number): void {
    this.#ofClient.get(key)?.abort()
    this.#ofClient.delete(key)
  }

  /** The upstream cancelled a request that a call caused; no response is sent. */
  withdrawnOf(call: PendingCall, key: number): void {
    call.serverRequests?.get(key)?.abort()
    call.serverRequests?.delete(key)
  }

  /** The call has ended: its server requests are aborted. */
  end(call: PendingCall): void {
    if (!call.serverRequests) return
    for (const [key, controller] of call.serverRequests) {
      controller.abort()
      this.#answer(key, { error: { code: -32603, message: 'The call that caused this request has ended' } })
    }
    call.serverRequests = undefined
  }

  /** The connection has ended: the requests to its client are aborted. */
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
