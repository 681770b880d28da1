import { type ErrorCode, HubError, type WireError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import type { LongMessage, MessageLink, TransportDefinition } from '../../../transport-kit/definition.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { LinkLimits, ListKind, OpenMessage } from '../../protocol.ts'
import type { Expiring } from '../deadlines.ts'
import type { ListRequest } from '../lists/catalog-reader.ts'
import { findLargeResult } from '../lists/list-page.ts'
import { ALL_KINDS } from '../lists/list-watch.ts'
import type { RawResult } from '../own-requests.ts'
import { OwnRequests } from '../own-requests.ts'
import { CallTable, type TakenCall } from './call-table.ts'
import { boundedError, withinLimits } from './handshake-limits.ts'
import { type Incoming, readMessages, readPlainResult, refuseDeep } from './incoming.ts'
import type { Handshake, LinkContext } from './link-context.ts'
import { LinkHealth } from './link-health.ts'
import { LinkLists } from './link-lists.ts'
import type { Liveness } from './liveness.ts'
import { judgeLongMessage } from './long-messages.ts'
import { NoticeBudgets } from './notice-budget.ts'
import { ProtocolErrors } from './protocol-errors.ts'
import { type LinkIo, type UpstreamLink, wrongKind } from './upstream-link.ts'

const MOST_LOGGED = 8 * 1024
const OF_ANOTHER = 'an answer to another request than the one whose stream carried it'
const NEVER_USED = 'an answer under an id that the hub never used'
/** Errors of one exchange after which the upstream may be unreachable. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'connection_lost',
  'upstream_dns_error',
  'upstream_tls_error',
])
/**
 * A transport that knows that nothing was sent usually ends by itself, after the calls in flight have failed; a ping
 * within this time would cut them off.
 */
const ENDING_MS = 500

/**
 * The upstream side of MCP over any transport of JSON-RPC texts, as far as both eras share it: ids, timeouts, results,
 * protocol errors, lists, liveness. What differs between eras is abstract here.
 */
export abstract class McpLink implements UpstreamLink, Expiring {
  protected readonly options: OpenMessage
  protected readonly context: LinkContext
  protected readonly calls: CallTable
  protected readonly own: OwnRequests
  protected readonly budget = new NoticeBudgets(atMs => this.context.deadlines.arm(atMs))
  protected readonly protocolErrors: ProtocolErrors
  protected readonly liveness: Liveness
  protected link: MessageLink | undefined
  protected lists: LinkLists | undefined
  /** The method of the first request, for error messages. */
  protected abstract readonly greeting: string
  /** Requirements of the era for lists, besides their items. */
  protected readonly listRequest: ListRequest | undefined = undefined
  readonly #abort = new AbortController()
  readonly #health: LinkHealth
  #state: 'opening' | 'open' | 'closing' | 'gone' = 'opening'
  #startDeadlineMs: number
  #maxResultBytes: number
  #lastCallId = 0

  constructor(options: OpenMessage, context: LinkContext) {
    this.options = options
    this.context = context
    this.#maxResultBytes = options.maxResultBytes
    this.calls = new CallTable(options.timeoutMs, options.maxTimeoutMs)
    const arm = (atMs: number): void => context.deadlines.arm(atMs)
    this.own = new OwnRequests((text, id, method) => this.sendOwn(text, id, method), arm)
    this.protocolErrors = new ProtocolErrors({
      log: (level, message) => this.log(level, message),
      end: message => this.end({ code: 'upstream_protocol', message }),
    })
    this.#health = new LinkHealth({
      options,
      signal: this.#abort.signal,
      arm,
      ping: timeoutMs => this.ping(timeoutMs),
      lost: message => this.end({ code: 'connection_lost', message }),
      control: message => context.control(message),
    })
    this.liveness = this.#health.liveness
    this.#startDeadlineMs = performance.now() + options.startTimeoutMs
    context.deadlines.add(this)
    arm(this.#startDeadlineMs)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** True while calls are in flight. */
  get expecting(): boolean {
    return this.calls.size > 0 || this.#state === 'opening'
  }

  /** Opens the transport and makes the handshake; the outcome is sent to main as `opened` or `failed`. */
  async start(transport: TransportDefinition, { fetch, child }: LinkIo, isAnswer: () => void): Promise<void> {
    if (transport.kind !== 'messages') return this.end(wrongKind('messages', transport.kind))
    const sinceMs = performance.now()
    const maxResultBytes = (): number => this.#maxResultBytes
    try {
      const link = await transport.open(this.options.config, {
        fetch,
        ...(child ? { child } : {}),
        signal: this.#abort.signal,
        get maxResultBytes() {
          return maxResultBytes()
        },
        tooLong: (message, related) => this.tooLong(message, related),
        message: (text, related) => {
          if (this.receive(text, related)) isAnswer()
        },
        closed: reason => this.end(reason),
        failed: (id, reason, options) => this.#failed(id, reason, options?.notSent === true),
        log: (level, message) => this.log(level, message),
      })
      if (this.#state !== 'opening') {
        await link.close()
        return
      }
      this.link = link
      const leftMs = Math.max(1, this.#startDeadlineMs - performance.now())
      const handshake = withinLimits(await this.handshake(link, leftMs))
      const stillMs = Math.max(1, this.#startDeadlineMs - performance.now())
      if (this.#state === 'opening') await this.#health.first(fetch, sinceMs, stillMs)
      if (this.#state === 'opening') this.#opened(link, handshake, sinceMs)
    } catch (error) {
      this.end(this.#startFailure(error))
    }
  }

  abstract call(id: number, text: string): void

  /** `headers` are added to this one call. */
  abstract callWith(id: number, text: string, headers: Readonly<Record<string, string>>): void

  cancel(id: number, reason: string): void {
    if (this.calls.take(id)) this.tellCancelled(id, reason)
  }

  /** Sends a notification to the upstream. */
  abstract send(text: string): void

  /** Sends the client's response to a server request; `json` is `{"result":…}` or `{"error":…}`. */
  abstract answer(key: number, json: string): void

  tooLong(message: LongMessage, related?: number): void {
    if (this.#state === 'gone') return
    this.liveness.heard(performance.now())
    judgeLongMessage(message, related, {
      maxBytes: this.#maxResultBytes,
      awaited: () => [...this.calls.ids(), ...this.own.awaited()],
      isElsewhere: id => isElsewhere(id, related),
      fail: (id, reason) => this.#failed(id, reason, false),
      send: text => this.link?.send(text),
      dropped: detail => this.bad(detail),
    })
  }

  setLimits({ timeoutMs, maxTimeoutMs, maxResultBytes, liveness }: LinkLimits): void {
    this.#maxResultBytes = maxResultBytes
    this.calls.timeoutMs = timeoutMs
    this.calls.maxTimeoutMs = maxTimeoutMs
    this.#health.setLimits(liveness)
  }

  refresh(kinds: readonly ListKind[] = ALL_KINDS): void {
    this.lists?.watch.stale(kinds, false)
  }

  listTaken(kind: ListKind, full: string | undefined): void {
    this.lists?.taken(kind, full)
  }

  /** The transport's connection is gone. */
  lost(reason: WireError): void {
    this.end(reason)
  }

  /** Closes it gracefully. */
  async close(): Promise<void> {
    if (this.#state === 'gone' || this.#state === 'closing') return
    const opening = this.#state === 'opening'
    this.#state = 'closing'
    try {
      await this.link?.close()
    } finally {
      if (opening) this.#abort.abort()
      this.end({ code: 'stopped', message: 'The connection was closed' })
    }
  }

  /** True when the text answered a call or a request of the hub. */
  receive(text: string, related?: number): boolean {
    if (this.#state === 'gone') return false
    this.liveness.heard(performance.now())
    const deep = refuseDeep(text)
    if (deep) return this.bad(deep.detail, isElsewhere(deep.id, related) ? undefined : deep.id)
    const large = findLargeResult(text)
    if (large && isElsewhere(large.id, related)) return this.bad(OF_ANOTHER)
    if (large && this.own.settleUnread(large.id, large.text)) {
      this.protocolErrors.good()
      return true
    }
    const plain = readPlainResult(text)
    if (plain) {
      if (isElsewhere(plain.id, related)) return this.bad(OF_ANOTHER)
      return this.#result(plain.id, plain.text, plain.value)
    }
    let isAnswer = false
    for (const message of readMessages(text)) isAnswer = this.#receiveOne(message, related) || isAnswer
    return isAnswer
  }

  sweep(nowMs: number): number {
    if (this.#state === 'opening') {
      if (nowMs >= this.#startDeadlineMs) {
        this.end(this.#startFailure(undefined))
        return Number.POSITIVE_INFINITY
      }
      return Math.min(this.#startDeadlineMs, this.own.expire(nowMs))
    }
    const calls = this.calls.expire(nowMs, id => {
      this.fail(id, 'upstream_timeout', `The server did not answer within ${this.calls.timeoutMs} ms`)
      this.tellCancelled(id, 'timeout')
      this.liveness.timedOut()
    })
    const own = this.own.expire(nowMs)
    const dropped = this.budget.takeDropped()
    // Outside the budget, of which a flood leaves nothing.
    if (dropped !== undefined)
      this.context.control({ type: 'log', conn: this.options.conn, level: 'warn', message: dropped })
    const lists = this.lists?.watch.sweep(nowMs) ?? Number.POSITIVE_INFINITY
    const liveness = this.#state === 'open' ? this.liveness.sweep(nowMs, this.calls.size) : Number.POSITIVE_INFINITY
    return Math.min(calls, own, lists, liveness)
  }

  /** The first exchange, which returns the upstream's identity and capabilities. Rejects with a HubError. */
  protected abstract handshake(link: MessageLink, timeoutMs: number): Promise<Handshake>

  /** A request of the hub itself. */
  protected abstract request(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue>

  /** A request for a list, whose result may stay a text. */
  protected abstract requestList(
    method: string,
    params: JsonObject | undefined,
    timeoutMs: number,
  ): Promise<JsonValue | RawResult>

  protected abstract sendOwn(text: string, id: number, method: string): void

  /** Sends a ping; rejects when it fails. */
  protected abstract ping(timeoutMs: number): Promise<unknown>

  protected abstract tellCancelled(id: number, reason: string): void

  /** Handles the result of a pending call. */
  protected abstract answered(id: number, call: TakenCall, text: string, value: JsonValue): void

  /** Handles the upstream's error for a pending call; `text` is its JSON. */
  protected abstract refused(id: number, call: TakenCall, text: string): void

  /** The exchange of a pending call has failed. */
  protected exchangeFailed(id: number, _call: TakenCall, reason: WireError, notSent: boolean): void {
    this.fail(id, reason.code, reason.message, notSent ? 1 : 0)
    if (UNREACHABLE.has(reason.code)) this.liveness.probeNow(performance.now() + (notSent ? ENDING_MS : 0))
  }

  /** Handles a request of the upstream. */
  protected abstract asked(message: Extract<Incoming, { kind: 'request' }>, related: number | undefined): void

  protected abstract noticed(method: string, params: JsonObject | undefined, related: number | undefined): void

  /** Starts the call's timeouts; must be called before the call is sent. */
  protected begin(id: number, asIs = false): void {
    this.#lastCallId = id
    this.context.deadlines.arm(this.calls.add(id, performance.now(), asIs))
  }

  protected bad(detail: string, id?: number): boolean {
    if (id !== undefined && this.calls.take(id)) return this.#invalidResult(id, detail)
    if (id !== undefined) this.own.fail(id, new HubError('upstream_protocol', `The server sent ${detail}`))
    this.protocolErrors.bad(detail)
    return false
  }

  /** `how` 1: it was not sent; 2: it was rejected for headers that are fixed now, and is sent again. */
  protected fail(id: number, code: ErrorCode, message: string, how: 0 | 1 | 2 = 0): void {
    this.context.frame(
      `f${this.options.conn} ${id} ${how} ${code} ${message.slice(0, MOST_LOGGED).replace(/[\r\n]+/g, ' ')}`,
    )
  }

  protected log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void {
    if (this.budget.spend(performance.now())) {
      const { conn } = this.options
      this.context.control({ type: 'log', conn, level, message: message.slice(0, MOST_LOGGED) })
    }
  }

  protected end(reason: WireError): void {
    if (this.#state === 'gone') return
    const opening = this.#state === 'opening'
    this.#state = 'gone'
    this.context.deadlines.delete(this)
    this.#abort.abort()
    const begun = this.calls.takeAll()
    this.own.failAll('connection_lost', reason.message)
    this.lists?.end()
    const { conn } = this.options
    this.context.control(opening ? { type: 'failed', conn, error: reason } : { type: 'closed', conn, reason, begun })
    this.context.gone()
  }

  protected get open(): boolean {
    return this.#state === 'open'
  }

  /** The upstream has answered the first request. */
  protected opened(_link: MessageLink, _handshake: Handshake): void {}

  #opened(link: MessageLink, handshake: Handshake, sinceMs: number): void {
    this.opened(link, handshake)
    this.#state = 'open'
    this.context.control({ type: 'opened', conn: this.options.conn, ...handshake })
    this.liveness.begin(sinceMs)
    if (!this.options.catalog) return
    const { listRequest } = this
    this.lists = new LinkLists({
      context: this.context,
      options: this.options,
      ask: (method, params) => this.requestList(method, params, this.calls.timeoutMs),
      capabilities: handshake.capabilities,
      open: () => this.#state === 'open',
      ...(listRequest ? { listRequest } : {}),
    })
    this.refresh()
  }

  #receiveOne(message: Incoming, related: number | undefined): boolean {
    switch (message.kind) {
      case 'result':
        if (isElsewhere(message.id, related)) return this.bad(OF_ANOTHER)
        return this.#result(message.id, message.text, message.value)
      case 'error':
        if (isElsewhere(message.id, related)) return this.bad(OF_ANOTHER)
        return this.#error(message.id, message.text)
      case 'request':
        this.asked(message, related)
        return false
      case 'notification':
        this.protocolErrors.good()
        this.noticed(message.method, message.params, related)
        return false
      case 'bad':
        return this.bad(message.detail, isElsewhere(message.id, related) ? undefined : message.id)
    }
  }

  #result(id: JsonValue, text: string, value: JsonValue): boolean {
    if (typeof id !== 'number') return this.bad(NEVER_USED)
    const call = this.calls.take(id)
    if (!call) return this.#isOwn(this.own.settle(id, text, value)) || this.#unexpectedResponse(id)
    if (!isJsonObject(value)) return this.#invalidResult(id, 'a result that is no object')
    this.protocolErrors.good()
    this.answered(id, call, text, value)
    return true
  }

  /** Fails a call that was already removed from the table, for an invalid result. */
  #invalidResult(id: number, detail: string): boolean {
    this.fail(id, 'upstream_protocol', `The server sent ${detail}`)
    this.protocolErrors.bad(detail)
    return true
  }

  #error(id: JsonValue, text: string): boolean {
    if (typeof id !== 'number') return this.bad(NEVER_USED)
    const call = this.calls.take(id)
    if (!call) return this.#isOwn(this.own.refuse(id, JSON.parse(text) as JsonObject)) || this.#unexpectedResponse(id)
    this.protocolErrors.good()
    this.refused(id, call, boundedError(text))
    return true
  }

  /** A response to the hub's own request counts as a valid message. */
  #isOwn(settled: boolean): boolean {
    if (settled) this.protocolErrors.good()
    return settled
  }

  #unexpectedResponse(id: number): boolean {
    const used = id <= (id % 2 === 0 ? this.#lastCallId : this.own.lastId)
    return used ? this.protocolErrors.late() : this.bad(NEVER_USED)
  }

  #failed(id: number, reason: WireError, notSent: boolean): void {
    const call = this.calls.take(id)
    if (call) this.exchangeFailed(id, call, reason, notSent)
    else this.own.fail(id, new HubError(reason.code, reason.message, reason.data ? { data: reason.data } : {}))
  }

  #startFailure(error: unknown): WireError {
    if (error !== undefined && !(error instanceof HubError && error.code === 'upstream_timeout'))
      return toWireError(error)
    const { startTimeoutMs } = this.options
    const waited = this.link
      ? `The server did not answer ${this.greeting} within ${startTimeoutMs} ms`
      : `The server did not begin a session within ${startTimeoutMs} ms; is this the address of its MCP endpoint?`
    const { last } = this.protocolErrors
    return { code: 'upstream_init_timeout', message: last === undefined ? waited : `${waited}; it sent ${last}` }
  }
}

/** True when each request has a stream of its own and this response is on another request's stream. */
function isElsewhere(id: JsonValue | undefined, related: number | undefined): boolean {
  return related !== undefined && id !== undefined && id !== related
}
