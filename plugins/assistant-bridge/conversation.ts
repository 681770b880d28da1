import { HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import type { BridgeEndpoint, BridgeSocket } from 'patchbay/features'
import type { Clock } from './clock.ts'
import { errorReply, readFrame, resultReply } from './frames.ts'
import type { MessageLog } from './message-log.ts'
import { listPage } from './offered.ts'
import { shortResult } from './result-text.ts'
import type { EndpointTools } from './tools.ts'

/** Longest data of an error, in characters. */
const MOST_DATA = 500
const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const CALL_MS = 60_000
const CALLS_AT_ONCE = 8
const MOST_MALFORMED = 3
const FRAMES_PER_SECOND = 100
const POLICY = 1008
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL = -32603

/** Parts of one connection. */
export interface ConversationParts {
  readonly endpoint: BridgeEndpoint
  readonly socket: BridgeSocket
  readonly tools: Pick<EndpointTools, 'read' | 'call'>
  readonly clock: Clock
  readonly log: Pick<MessageLog, 'add'>
}

/** MCP over one socket: the assistant sends requests, the hub answers. Each request gets exactly one reply. */
export class Conversation {
  readonly #parts: ConversationParts
  readonly #calls = new Set<AbortController>()
  #initialized = false
  #malformed = 0
  #secondMs = Number.NEGATIVE_INFINITY
  #frames = 0
  #over = false
  #idle: (() => void)[] = []

  constructor(parts: ConversationParts) {
    this.#parts = parts
  }

  get callsInFlight(): number {
    return this.#calls.size
  }

  message(text: string): void {
    if (this.#over) return
    if (this.#floods()) return this.#parts.socket.close(POLICY, 'too many messages')
    const { clock, log, socket } = this.#parts
    const frame = readFrame(text)
    const bytes = Buffer.byteLength(text)
    if (frame.kind === 'malformed') {
      log.add({ at: clock.time(), direction: 'in', bytes, outcome: 'malformed' })
      this.#send(frame.reply)
      this.#malformed += 1
      if (this.#malformed >= MOST_MALFORMED) socket.close(POLICY, 'malformed messages')
      return
    }
    const method = frame.kind === 'response' ? undefined : frame.method
    const tool = frame.kind === 'request' && method === 'tools/call' ? frame.params.name : undefined
    log.add({
      ...{ at: clock.time(), direction: 'in', bytes },
      ...(method === undefined ? {} : { method }),
      ...(typeof tool === 'string' ? { tool } : {}),
    })
    if (frame.kind === 'notification' && method === 'notifications/initialized') this.#initialized = true
    if (frame.kind === 'request') void this.#answer(frame.id, frame.method, frame.params)
  }

  /** Notifies the assistant that its tools have changed, if it is initialized. */
  toolsChanged(): void {
    if (this.#initialized) this.#send('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
  }

  /** Resolves when no call is in flight, at the latest after this many milliseconds. */
  async idle(withinMs: number): Promise<void> {
    if (this.#calls.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle.push(resolve)
    const cancel = this.#parts.clock.after(withinMs, resolve)
    await promise
    cancel()
  }

  /** Aborts the calls in flight, because the socket has ended. */
  end(): void {
    this.#over = true
    for (const call of this.#calls) call.abort()
  }

  async #answer(id: string, method: string, params: JsonObject): Promise<void> {
    const startedMs = this.#parts.clock.now()
    let reply: string
    let outcome = 'success'
    try {
      reply = resultReply(id, await this.#result(method, params))
    } catch (error) {
      const { code, message } = refusalOf(error)
      outcome = error instanceof HubError ? error.code : 'error'
      reply = errorReply(id, code, message, error instanceof HubError ? dataOf(error) : undefined)
    }
    if (this.#over) return
    const durationMs = Math.round(this.#parts.clock.now() - startedMs)
    this.#send(reply, { method, durationMs, outcome })
  }

  async #result(method: string, params: JsonObject): Promise<string> {
    const { endpoint, tools } = this.#parts
    if (method === 'ping') return '{}'
    if (method === 'initialize') {
      const requested = params.protocolVersion
      const protocolVersion =
        typeof requested === 'string' && VERSIONS.includes(requested) ? requested : VERSIONS.at(-1)
      const serverInfo = { name: 'patchbay', version: endpoint.version }
      return JSON.stringify({ protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo })
    }
    if (method === 'tools/list') {
      const page = listPage(await tools.read(), params.cursor)
      if (page === undefined) throw new Refusal(INVALID_PARAMS, 'The cursor is none of this list')
      return page
    }
    if (method === 'tools/call') return this.#call(params)
    throw new Refusal(METHOD_NOT_FOUND, `There is no method ${JSON.stringify(method.slice(0, 64))} here`)
  }

  async #call({ name, arguments: given }: JsonObject): Promise<string> {
    const { clock, endpoint, tools } = this.#parts
    if (typeof name !== 'string') throw new Refusal(INVALID_PARAMS, 'The call names no tool')
    if (given !== undefined && given !== null && !isJsonObject(given))
      throw new Refusal(INVALID_PARAMS, 'The arguments are no object')
    if (this.#calls.size >= CALLS_AT_ONCE)
      throw new Refusal(INTERNAL, `${CALLS_AT_ONCE} calls are in flight; wait until one has ended`)
    const call = new AbortController()
    this.#calls.add(call)
    const { promise: late, reject } = Promise.withResolvers<never>()
    const cancel = clock.after(CALL_MS, () => {
      reject(new Refusal(INTERNAL, `The tool took longer than ${CALL_MS / 1_000} s`))
      call.abort()
    })
    try {
      const answer = await Promise.race([tools.call(name, given ?? {}, call.signal), late])
      if (!answer) throw new Refusal(INVALID_PARAMS, `There is no tool ${JSON.stringify(name.slice(0, 128))} here`)
      if ('error' in answer) throw new Refusal(answer.error.code, answer.error.message)
      return shortResult(answer.result, endpoint.limits.resultCharacters)
    } finally {
      cancel()
      this.#calls.delete(call)
      if (this.#calls.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  #send(text: string, details: { method?: string; durationMs?: number; outcome?: string } = {}): void {
    const { socket, clock, log } = this.#parts
    const isSent = socket.send(text)
    const entry = { at: clock.time(), direction: 'out', bytes: Buffer.byteLength(text), ...details } as const
    log.add(isSent ? entry : { ...entry, outcome: 'dropped' })
    // A reply that is missing would be waited for: the assistant connects again.
    if (!isSent) socket.close(POLICY, 'it reads too slowly')
  }

  #floods(): boolean {
    const nowMs = this.#parts.clock.now()
    if (nowMs - this.#secondMs >= 1_000) {
      this.#secondMs = nowMs
      this.#frames = 0
    }
    this.#frames += 1
    return this.#frames > FRAMES_PER_SECOND
  }
}

class Refusal extends Error {
  readonly rpcCode: number

  constructor(rpcCode: number, message: string) {
    super(message)
    this.rpcCode = rpcCode
  }
}

function refusalOf(error: unknown): { readonly code: number; readonly message: string } {
  if (error instanceof Refusal || error instanceof HubError)
    return { code: error.rpcCode, message: error.message.slice(0, 1_000) }
  return { code: INTERNAL, message: 'The hub could not answer' }
}

/** The data of an error as at `/mcp`, without what is too long for a small device. */
function dataOf({ code, data, retryAfter }: HubError): JsonObject {
  const own = data !== undefined && JSON.stringify(data).length <= MOST_DATA ? (data as JsonObject) : {}
  return { ...own, ...(retryAfter === undefined ? {} : { retryAfter }), code }
}
