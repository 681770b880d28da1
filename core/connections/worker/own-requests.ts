import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import { listOfMethod } from '../../domain/mcp-methods.ts'

/** The first request to an upstream. */
const FIRST: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

/**
 * The text of a result that was not parsed. A page of 10 MiB can hold millions of small values, which would need some
 * 20 times its size in memory before any limit could be checked.
 */
export class RawResult {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

interface Waiting {
  readonly method: string
  readonly deadlineMs: number
  resolve(result: JsonValue | RawResult): void
  reject(error: HubError): void
}

/**
 * The hub's own requests to an upstream: handshake, lists, ping. Their ids are odd and those of callers even, so that
 * the two threads that count them never collide.
 */
export class OwnRequests {
  readonly #waiting = new Map<number, Waiting>()
  readonly #send: (text: string, id: number, method: string) => void
  readonly #arm: (atMs: number) => void
  #lastId = -1

  constructor(send: (text: string, id: number, method: string) => void, arm: (atMs: number) => void) {
    this.#send = send
    this.#arm = arm
  }

  /** Ids of the requests with a deadline. */
  awaited(): readonly number[] {
    return [...this.#waiting].flatMap(([id, { deadlineMs }]) => (Number.isFinite(deadlineMs) ? [id] : []))
  }

  get lastId(): number {
    return this.#lastId
  }

  /** Resolves with the result; rejects with the upstream's error (`data.rpcCode`) or the hub's. */
  async request(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue> {
    const result = await this.#request(method, params, timeoutMs)
    return result instanceof RawResult ? parseExact(result.text) : result
  }

  /** The same for a list, whose result stays a text where it is large. */
  list(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue | RawResult> {
    return this.#request(method, params, timeoutMs)
  }

  #request(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue | RawResult> {
    this.#lastId += 2
    const id = this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue | RawResult>()
    const deadlineMs = performance.now() + timeoutMs
    this.#waiting.set(id, { method, deadlineMs, resolve, reject })
    this.#arm(deadlineMs)
    this.#send(JSON.stringify({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) }), id, method)
    return promise
  }

  /** `text` is the JSON text of `result`: numbers in lists must stay as written, while the first result is cloned. */
  settle(id: number, text: string, result: JsonValue): boolean {
    const waiting = this.#take(id)
    waiting?.resolve(FIRST.has(waiting.method) ? result : parseExact(text))
    return waiting !== undefined
  }

  /** Settles the list request of this id with a text that was not parsed; false for every other request. */
  settleUnread(id: number, text: string): boolean {
    const method = this.#waiting.get(id)?.method
    if (method === undefined || listOfMethod(method) === undefined) return false
    this.#take(id)?.resolve(new RawResult(text))
    return true
  }

  refuse(id: number, error: JsonObject): boolean {
    const waiting = this.#take(id)
    if (!waiting) return false
    const message = typeof error.message === 'string' ? error.message : 'no message'
    waiting.reject(
      new HubError('upstream_protocol', `The server answered ${waiting.method} with an error: ${message}`, {
        data: { rpcCode: error.code, ...(error.data === undefined ? {} : { rpcData: error.data }) },
      }),
    )
    return true
  }

  fail(id: number, error: HubError): boolean {
    const waiting = this.#take(id)
    waiting?.reject(error)
    return waiting !== undefined
  }

  failAll(code: ErrorCode, message: string): void {
    for (const id of [...this.#waiting.keys()]) this.fail(id, new HubError(code, message))
  }

  expire(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const [id, waiting] of this.#waiting) {
      if (waiting.deadlineMs > nowMs) next = Math.min(next, waiting.deadlineMs)
      else this.fail(id, new HubError('upstream_timeout', `The server did not answer ${waiting.method} in time`))
    }
    return next
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}

/** True for an upstream's error with this JSON-RPC code. */
export function isRpcError(error: unknown, rpcCode: number): boolean {
  return error instanceof HubError && error.data?.rpcCode === rpcCode
}
