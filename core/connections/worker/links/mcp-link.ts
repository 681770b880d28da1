import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import type { LongMessage, MessageLink, TransportDefinition } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import type { ListRequest } from '../lists/catalog-reader.ts'
import { findLargeResult } from '../lists/list-page.ts'
import type { RawResult } from '../own-requests.ts'
import { OwnRequests } from '../own-requests.ts'
import { BaseLink, isUnreachable } from './base-link.ts'
import type { TakenCall } from './call-table.ts'
import { boundedError, startTimeout, withinLimits } from './handshake-limits.ts'
import { type Incoming, isElsewhere, readMessages, readPlainResult, refuseDeep } from './incoming.ts'
import type { Handshake, LinkContext } from './link-context.ts'
import { LinkHealth } from './link-health.ts'
import type { Liveness } from './liveness.ts'
import { handleLongMessage } from './long-messages.ts'
import { NoticeBudgets } from './notice-budget.ts'
import { ProtocolErrors } from './protocol-errors.ts'
import { bareResult, normalizedResult, type ReadResult } from './result-forms.ts'
import { type LinkIo, wrongKind } from './upstream-link.ts'

const OF_ANOTHER = 'an answer to another request than the one whose stream carried it'
const NEVER_USED = 'an answer under an id that the hub never used'
/**
 * A transport that knows that nothing was sent usually ends by itself, after the calls in flight have failed; a ping
 * within this time would cut them off.
 */
const ENDING_MS = 500
/** Deviations of one connection from its transport that are reported. */
const MOST_DEVIATIONS = 4

/**
 * The upstream side of MCP over any transport of JSON-RPC texts, as far as both eras share it: ids, timeouts, results,
 * protocol errors, lists, liveness. What differs between eras is abstract here.
 */
export abstract class McpLink extends BaseLink {
  protected readonly own: OwnRequests
  protected readonly budget = new NoticeBudgets(atMs => this.context.deadlines.arm(atMs))
  protected readonly protocolErrors: ProtocolErrors
  protected readonly liveness: Liveness
  protected link: MessageLink | undefined
  /** The method of the first request, for error messages. */
  protected abstract readonly firstMethod: string
  /** Requirements of the era for lists, besides their items. */
  protected readonly listRequest: ListRequest | undefined = undefined
  readonly #health: LinkHealth
  #lastCallId = 0
  #saidForms = false
  readonly #deviations = new Set<string>()

  constructor(options: OpenMessage, context: LinkContext) {
    super(options, context)
    const arm = (atMs: number): void => context.deadlines.arm(atMs)
    this.own = new OwnRequests((text, id, method) => this.sendOwn(text, id, method), arm)
    this.protocolErrors = new ProtocolErrors({
      debug: message => this.log('debug', message),
      malformed: (detail, count) => this.malformed(detail, count),
      stray: line => context.control({ type: 'stray', conn: options.conn, line }),
      end: message => this.end({ code: 'upstream_protocol', message }),
    })
    this.#health = new LinkHealth({
      options,
      signal: this.signal,
      arm,
      ping: timeoutMs => this.ping(timeoutMs),
      lost: message => {
        if (this.open) this.end({ code: 'connection_lost', message })
      },
      control: message => context.control(message),
    })
    this.liveness = this.#health.liveness
  }

  /** Opens the transport and makes the handshake; the outcome is sent to main as `opened` or `failed`. */
  async start(transport: TransportDefinition, { fetch, connect, child }: LinkIo, isAnswer: () => void): Promise<void> {
    if (transport.kind !== 'messages') return this.end(wrongKind('messages', transport.kind))
    const sinceMs = performance.now()
    const maxResultBytes = (): number => this.maxResultBytes
    try {
      const link = await transport.open(this.options.config, {
        fetch,
        connect,
        ...(child ? { child } : {}),
        signal: this.signal,
        get maxResultBytes() {
          return maxResultBytes()
        },
        tooLong: (message, related) => this.tooLong(message, related),
        message: (text, related) => {
          if (this.receive(text, related)) isAnswer()
        },
        closed: reason => this.end(reason),
        lost: reason => this.retire(reason),
        failed: (id, reason, options) => this.#failed(id, reason, options?.notSent === true),
        log: (level, message) => this.log(level, message),
        deviates: how => this.deviates(how),
      })
      if (!this.opening) {
        await link.close()
        return
      }
      this.link = link
      const handshake = withinLimits(await this.handshake(link, this.startLeftMs))
      if (this.opening) await this.#health.first(fetch, sinceMs, this.startLeftMs)
      if (this.opening) this.#opened(link, handshake, sinceMs)
    } catch (error) {
      const late = error instanceof HubError && error.code === 'upstream_timeout'
      this.end(late ? this.startTimedOut() : toWireError(error))
    }
  }

  cancel(id: number, reason: string): void {
    if (this.calls.take(id)) this.sendCancelled(id, reason)
  }

  tooLong(message: LongMessage, related?: number): void {
    if (this.gone) return
    this.liveness.heard(performance.now())
    handleLongMessage(message, related, {
      maxBytes: this.maxResultBytes,
      awaited: () => [...this.calls.ids(), ...this.own.awaited()],
      isElsewhere: id => isElsewhere(id, related),
      fail: (id, reason) => this.#failed(id, reason, false),
      send: text => this.link?.send(text),
      dropped: detail => this.bad(detail),
    })
  }

  /** True when the text answered a call or a request of the hub. */
  receive(text: string, related?: number): boolean {
    if (this.gone) return false
    const deep = refuseDeep(text)
    if (deep) return this.bad(deep.detail, isElsewhere(deep.id, related) ? undefined : deep.id)
    const large = findLargeResult(text)
    if (large) this.liveness.heard(performance.now())
    if (large && isElsewhere(large.id, related)) return this.bad(OF_ANOTHER)
    if (large && this.own.settleUnread(large.id, large.text)) {
      this.protocolErrors.good()
      return true
    }
    const plain = readPlainResult(text)
    if (plain) {
      this.liveness.heard(performance.now())
      if (isElsewhere(plain.id, related)) return this.bad(OF_ANOTHER)
      return this.#result(plain.id, plain.text, plain.value)
    }
    let isAnswer = false
    for (const message of readMessages(text)) isAnswer = this.#receiveOne(message, related) || isAnswer
    return isAnswer
  }

  protected closeTransport(): Promise<void> | undefined {
    return this.link?.close()
  }

  protected setLiveness(limits: LivenessLimits): void {
    this.#health.setLimits(limits)
  }

  protected startTimedOut(): WireError {
    const { firstMethod, link, options, protocolErrors } = this
    return startTimeout(link ? firstMethod : undefined, options.startTimeoutMs, protocolErrors.last)
  }

  protected timedOut(id: number): void {
    this.sendCancelled(id, 'timeout')
  }

  protected override sweepOwn(nowMs: number): number {
    const dropped = this.opening ? undefined : this.budget.takeDropped()
    // Outside the budget, of which a flood leaves nothing.
    if (dropped !== undefined) this.logLine('warn', dropped)
    return this.own.expire(nowMs)
  }

  protected override released({ message }: WireError): void {
    this.protocolErrors.flush()
    this.own.failAll('connection_lost', message)
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

  protected abstract sendCancelled(id: number, reason: string): void

  /** Handles the result of a pending call. */
  protected abstract answered(id: number, call: TakenCall, result: ReadResult): void

  /** Handles the upstream's error for a pending call; `text` is its JSON. */
  protected abstract refused(id: number, call: TakenCall, text: string): void

  /** The exchange of a pending call has failed. */
  protected exchangeFailed(id: number, _call: TakenCall, reason: WireError, notSent: boolean): void {
    this.fail(id, reason.code, reason.message, notSent ? 'not-sent' : 'failed')
    if (this.open && isUnreachable(reason.code)) this.liveness.probeNow(performance.now() + (notSent ? ENDING_MS : 0))
  }

  /** Handles a request of the upstream. */
  protected abstract asked(message: Extract<Incoming, { kind: 'request' }>, related: number | undefined): void

  protected abstract noticed(method: string, params: JsonObject | undefined, related: number | undefined): void

  /** Starts the call's timeouts; must be called before the call is sent. */
  protected begin(id: number, call: TakenCall): void {
    this.#lastCallId = id
    this.context.deadlines.arm(this.calls.add(id, performance.now(), call))
  }

  /** A result in a form that MCP allows; the same reference where it has one already. */
  protected normalized(call: TakenCall, result: ReadResult): ReadResult {
    const { method, uri = '' } = call
    if (method === undefined) return result
    const normalized = normalizedResult(method, result.text, result.value, () => uri)
    if (!normalized) return result
    if (!this.#saidForms) {
      this.#saidForms = true
      const warning = `A result of ${method} has a form that MCP does not have, such as null or a number in place of a text; it is normalized`
      this.log('warn', warning)
    }
    return normalized
  }

  protected bad(detail: string, id?: number): boolean {
    if (id !== undefined && this.calls.take(id)) return this.#invalidResult(id, detail)
    if (id !== undefined) this.own.fail(id, new HubError('upstream_protocol', `The server sent ${detail}`))
    this.protocolErrors.bad(detail)
    return false
  }

  protected log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void {
    if (this.budget.spend(performance.now())) this.logLine(level, message)
  }

  /** The upstream has answered the first request. */
  protected opened(_link: MessageLink, _handshake: Handshake): void {}

  /** The server deviates from MCP in a way that is taken; each way is reported once. */
  protected deviates(how: string): void {
    if (this.#deviations.has(how) || this.#deviations.size >= MOST_DEVIATIONS) return
    this.#deviations.add(how)
    this.context.control({ type: 'deviates', conn: this.options.conn, how })
  }

  #opened(link: MessageLink, handshake: Handshake, sinceMs: number): void {
    this.opened(link, handshake)
    const { listRequest } = this
    this.ready(handshake, sinceMs, {
      ask: (method, params, timeoutMs = this.calls.timeoutMs) => this.requestList(method, params, timeoutMs),
      ...(listRequest ? { listRequest } : {}),
    })
  }

  #receiveOne(message: Incoming, related: number | undefined): boolean {
    // A stray line shows that the program runs, not that it serves.
    if (message.kind !== 'bad') this.liveness.heard(performance.now())
    if (message.kind === 'result' || message.kind === 'error') this.#tellForm(message)
    switch (message.kind) {
      case 'result':
        if (isElsewhere(message.id, related)) return this.bad(OF_ANOTHER)
        return this.#result(message.id, message.text, message.value)
      case 'error':
        if (message.id === null && related !== undefined) return this.#error(related, message.text)
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
        if (message.stray !== undefined) {
          this.protocolErrors.stray(message.detail, message.stray)
          return false
        }
        return this.bad(message.detail, isElsewhere(message.id, related) ? undefined : message.id)
    }
  }

  #tellForm(answer: Extract<Incoming, { kind: 'result' | 'error' }>): void {
    if (answer.isUnversioned) this.deviates('its answers lack "jsonrpc": "2.0"')
    const isRepaired = answer.kind === 'error' && answer.isRepaired
    if (isRepaired) this.deviates('its errors are without a whole number as "code" or a text as "message"')
  }

  #result(id: JsonValue, text: string, value: JsonValue): boolean {
    if (typeof id !== 'number') return this.bad(NEVER_USED)
    const call = this.calls.take(id)
    if (!call) return this.#isOwn(this.own.settle(id, text, value)) || this.#unexpectedResponse(id)
    const result = isJsonObject(value) ? { text, value } : bareResult(call.method, value)
    if (!result) return this.#invalidResult(id, 'a result that is no object')
    if (result.value !== value) this.deviates('its results are no objects')
    this.protocolErrors.good()
    this.answered(id, call, result)
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
    const error = boundedError(text)
    if (!call) return this.#isOwn(this.own.refuse(id, JSON.parse(error) as JsonObject)) || this.#unexpectedResponse(id)
    this.protocolErrors.good()
    this.refused(id, call, error)
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
}
