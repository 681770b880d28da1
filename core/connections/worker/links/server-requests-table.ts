import { LIMITS } from '../../../config/limits.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { askRefusal } from '../../../domain/client-capabilities.ts'
import { serverRequestKind } from '../../../domain/mcp-methods.ts'
import type { UpstreamFrame } from '../../protocol/frames.ts'
import type { CallTable } from './call-table.ts'

/** Most pending server requests of one connection. */
const AT_ONCE = 64
/** Longest id of a server request in characters, since ids are held while it is pending. */
const LONGEST_ID = 1_024

interface OpenServerRequest {
  /** The upstream's own id, with its JSON type. */
  readonly id: JsonValue
  /** The calls whose timeouts are suspended while it is pending. */
  readonly callIds: readonly number[]
}

/** Callbacks of a `ServerRequestTable`. */
export interface ServerRequestTableOptions {
  /** The capabilities declared for the client of a dedicated connection; empty on a shared connection. */
  readonly capabilities: () => JsonObject
  readonly calls: CallTable
  readonly arm: (atMs: number) => void
  readonly send: (text: string) => void
  readonly frame: (frame: UpstreamFrame) => void
  /** Called when the server sent a request that the client does not support. */
  readonly refused: (method: string) => void
}

/** The requests of an upstream: answered here, rejected, or passed to the client of the call or of the connection. */
export class ServerRequestTable {
  readonly #options: ServerRequestTableOptions
  readonly #open = new Map<number, OpenServerRequest>()
  readonly #refused = new Set<string>()
  #lastKey = 0

  constructor(options: ServerRequestTableOptions) {
    this.#options = options
  }

  /**
   * `related` is the call on whose stream it arrived. Without one it is for the client of the connection: any call in
   * flight may have caused it, so that the timeouts of all of them are suspended.
   */
  request(
    {
      id,
      method,
      params,
    }: { readonly id: JsonValue; readonly method: string; readonly params: JsonObject | undefined },
    related: number | undefined,
  ): void {
    const { capabilities, calls, send, frame } = this.#options
    if (method === 'ping') {
      send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}`)
      return
    }
    const refusal = askRefusal(method, params, capabilities())
    if (refusal) {
      this.#note(method)
      this.#refuse(id, refusal.code, refusal.message)
      return
    }
    if (this.#open.size >= AT_ONCE) {
      this.#refuse(id, -32603, `More than ${AT_ONCE} requests wait for the client`)
      return
    }
    if (typeof id === 'string' && id.length > LONGEST_ID) {
      this.#refuse(id, -32600, `A request whose id has more than ${LONGEST_ID} characters is not passed on`)
      return
    }
    const text = JSON.stringify({ method, params })
    if (text.length > LIMITS.mcpBodyBytes) {
      this.#refuse(id, -32600, `A request of more than ${LIMITS.mcpBodyBytes} characters is not passed on`)
      return
    }
    const callId = related !== undefined && calls.has(related) ? related : 0
    const callIds = callId === 0 ? calls.ids() : [callId]
    this.#lastKey += 1
    this.#open.set(this.#lastKey, { id, callIds })
    const now = performance.now()
    for (const each of callIds) calls.stopClock(each, now)
    frame({ kind: 'request', id: callId, key: this.#lastKey, text })
  }

  /** The client's response; `json` is `{"result":…}` or `{"error":…}`. */
  answer(key: number, json: string): void {
    const open = this.#take(key)
    if (open) this.#options.send(`{"jsonrpc":"2.0","id":${JSON.stringify(open.id)},${json.slice(1)}`)
  }

  /** The upstream cancels its request. 1 and "1" are different ids. */
  withdraw(id: JsonValue): void {
    const text = JSON.stringify(id)
    for (const [key, open] of this.#open) {
      if (JSON.stringify(open.id) !== text) continue
      this.#take(key)
      this.#options.frame({ kind: 'withdrawn', key })
      return
    }
  }

  #take(key: number): OpenServerRequest | undefined {
    const open = this.#open.get(key)
    if (!open) return undefined
    this.#open.delete(key)
    const { calls, arm } = this.#options
    const now = performance.now()
    for (const each of open.callIds) {
      const deadlineMs = calls.startClock(each, now)
      if (deadlineMs !== undefined) arm(deadlineMs)
    }
    return open
  }

  /** Reports each method once: a server may repeat a rejected request forever. */
  #note(method: string): void {
    if (serverRequestKind(method) === undefined || this.#refused.has(method)) return
    this.#refused.add(method)
    this.#options.refused(method)
  }

  #refuse(id: JsonValue, code: number, message: string): void {
    this.#options.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }
}
