import type { JsonObject } from '../contract/json.ts'
import type { AskReply } from './api.ts'
import type { PendingCall } from './call.ts'

/** Requests of an upstream on their way to the caller whose call caused them, and back. */
export class CallerAsks {
  readonly #answer: (key: number, reply: AskReply) => void

  /** `answer` is called at most once for each key. */
  constructor(answer: (key: number, reply: AskReply) => void) {
    this.#answer = answer
  }

  ask(call: PendingCall | undefined, key: number, method: string, params: JsonObject | undefined): void {
    const ask = call?.request.ask
    if (!call || !ask) {
      this.#answer(key, { error: { code: -32601, message: `The client offers no ${method}` } })
      return
    }
    const controller = new AbortController()
    call.asks ??= new Map()
    call.asks.set(key, controller)
    ask(method, params, controller.signal).then(
      reply => {
        if (call.asks?.delete(key)) this.#answer(key, reply)
      },
      (error: unknown) => {
        if (!call.asks?.delete(key)) return
        const message = error instanceof Error ? error.message : 'The client could not be asked'
        this.#answer(key, { error: { code: -32603, message } })
      },
    )
  }

  /** The upstream took its request back; it wants no answer any more. */
  withdrawn(call: PendingCall, key: number): void {
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
}
