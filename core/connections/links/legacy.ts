import { type ErrorCode, HubError, toWireError, type WireError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { MessageLink, TransportDefinition, TransportIo } from '../../contract/transport.ts'
import type { FromWorker, OpenMessage } from '../protocol.ts'
import { CallTable } from './call-table.ts'
import type { Deadlines, Expiring } from './deadlines.ts'
import { Faults } from './faults.ts'
import { initializeParams, readHandshake } from './handshake.ts'
import { type Incoming, readMessages, readPlainResult } from './incoming.ts'
import { ALL_KINDS, ListWatch } from './list-watch.ts'
import { Liveness } from './liveness.ts'
import { NoticeBudget } from './notice-budget.ts'
import { OwnRequests } from './own-requests.ts'
import { UpstreamAsks } from './upstream-asks.ts'
import { type UpstreamLink, wrongKind } from './upstream-link.ts'
import { UpstreamNotices } from './upstream-notices.ts'

const NEVER_USED = 'an answer under an id that the hub never used'
/** Failures of one exchange that make one doubt whether the upstream is there at all. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'connection_lost',
  'upstream_dns_error',
  'upstream_tls_error',
])
/**
 * A transport that knows that nothing was sent usually ends by itself, after the calls under way have learnt their own end; a
 * ping in this time would cut them off.
 */
const ENDING_MS = 500
const NOTICES_PER_SECOND = 500
const NOTICES_AT_ONCE = 1_000

export interface LinkContext {
  readonly version: string
  readonly deadlines: Deadlines
  frame(text: string): void
  control(message: FromWorker): void
  /** The link is over; nothing more comes from it. */
  gone(): void
}

/**
 * The upstream side of MCP in the era with a handshake, over any transport that moves JSON-RPC texts: handshake, ids,
 * clocks, progress, cancellation, the upstream's own requests, lists, liveness.
 */
export class LegacyLink implements UpstreamLink, Expiring {
  readonly #options: OpenMessage
  readonly #context: LinkContext
  readonly #abort = new AbortController()
  readonly #calls: CallTable
  readonly #own: OwnRequests
  readonly #asks: UpstreamAsks
  readonly #budget = new NoticeBudget(NOTICES_PER_SECOND, NOTICES_AT_ONCE)
  readonly #liveness: Liveness
  readonly #notices: UpstreamNotices
  readonly #faults: Faults
  #lists: ListWatch | undefined
  #link: MessageLink | undefined
  #state: 'opening' | 'open' | 'closing' | 'gone' = 'opening'
  #startDeadlineMs: number
  #lastCallId = 0

  constructor(options: OpenMessage, context: LinkContext) {
    this.#options = options
    this.#context = context
    this.#calls = new CallTable(options.timeoutMs, options.maxTimeoutMs)
    const arm = (atMs: number): void => context.deadlines.arm(atMs)
    this.#own = new OwnRequests((text, id) => this.#link?.send(text, id), arm)
    this.#asks = new UpstreamAsks({
      conn: options.conn,
      mayAsk: options.asks,
      calls: this.#calls,
      arm,
      send: text => this.#link?.send(text),
      frame: text => context.frame(text),
    })
    this.#notices = new UpstreamNotices({
      conn: options.conn,
      calls: this.#calls,
      asks: this.#asks,
      budget: this.#budget,
      lists: () => this.#lists,
      frame: text => context.frame(text),
      control: message => context.control(message),
    })
    this.#faults = new Faults({
      log: (level, message) => this.#log(level, message),
      end: message => this.#end({ code: 'upstream_protocol', message }),
    })
    this.#liveness = new Liveness(options.liveness, {
      arm,
      ping: timeoutMs => this.#own.request('ping', undefined, timeoutMs),
      lost: message => this.#end({ code: 'connection_lost', message }),
    })
    this.#startDeadlineMs = performance.now() + options.startTimeoutMs
    context.deadlines.add(this)
    arm(this.#startDeadlineMs)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Calls are in flight. */
  get expecting(): boolean {
    return this.#calls.size > 0 || this.#state === 'opening'
  }

  /** Opens the transport and shakes hands; the outcome goes out as `opened` or `failed`. */
  async start(
    transport: TransportDefinition,
    io: Pick<TransportIo, 'fetch' | 'child'>,
    useful: () => void,
  ): Promise<void> {
    if (transport.kind !== 'messages') return this.#end(wrongKind('messages', transport.kind))
    try {
      const link = await transport.open(this.#options.config, {
        ...io,
        signal: this.#abort.signal,
        message: (text, related) => {
          if (this.receive(text, related)) useful()
        },
        closed: reason => this.#end(reason),
        failed: (id, reason, options) => this.#failed(id, reason, options?.notSent === true),
        log: (level, message) => this.#log(level, message),
      })
      if (this.#state !== 'opening') {
        await link.close()
        return
      }
      this.#link = link
      const leftMs = Math.max(1, this.#startDeadlineMs - performance.now())
      const params = initializeParams(this.#options.capabilities, this.#context.version)
      this.#opened(link, await this.#own.request('initialize', params, leftMs))
    } catch (error) {
      this.#end(startFailure(error, this.#options.startTimeoutMs))
    }
  }

  call(id: number, text: string): void {
    this.#lastCallId = id
    this.#context.deadlines.arm(this.#calls.add(id, performance.now()))
    this.#link?.send(text, id)
  }

  callWith(id: number, text: string, headers: Readonly<Record<string, string>>): void {
    this.#lastCallId = id
    this.#context.deadlines.arm(this.#calls.add(id, performance.now()))
    this.#link?.send(text, id, headers)
  }

  cancel(id: number, reason: string): void {
    if (this.#calls.take(id)) this.#tellCancelled(id, reason)
  }

  send(text: string): void {
    this.#link?.send(text)
  }

  /** The client's answer to a request of the upstream; `json` is `{"result":…}` or `{"error":…}`. */
  answer(key: number, json: string): void {
    this.#asks.answer(key, json)
  }

  setLimits(timeoutMs: number, maxTimeoutMs: number): void {
    this.#calls.timeoutMs = timeoutMs
    this.#calls.maxTimeoutMs = maxTimeoutMs
  }

  refresh(): void {
    this.#lists?.stale(ALL_KINDS, false)
  }

  /** What carried the messages is gone. */
  lost(reason: WireError): void {
    this.#end(reason)
  }

  /** Ends in good order. */
  async close(): Promise<void> {
    if (this.#state === 'gone' || this.#state === 'closing') return
    const opening = this.#state === 'opening'
    this.#state = 'closing'
    try {
      await this.#link?.close()
    } finally {
      if (opening) this.#abort.abort()
      this.#end({ code: 'stopped', message: 'The connection was closed' })
    }
  }

  /** True when the text answered a call or a request of the hub. */
  receive(text: string, related?: number): boolean {
    if (this.#state === 'gone') return false
    this.#liveness.heard(performance.now())
    const plain = readPlainResult(text)
    if (plain) return this.#result(plain.id, plain.text, plain.value)
    let useful = false
    for (const message of readMessages(text)) useful = this.#receiveOne(message, related) || useful
    return useful
  }

  sweep(nowMs: number): number {
    if (this.#state === 'opening') {
      if (nowMs >= this.#startDeadlineMs) {
        this.#end(startFailure(undefined, this.#options.startTimeoutMs))
        return Number.POSITIVE_INFINITY
      }
      return Math.min(this.#startDeadlineMs, this.#own.expire(nowMs))
    }
    const calls = this.#calls.expire(nowMs, id => {
      this.#fail(id, 'upstream_timeout', `The server did not answer within ${this.#calls.timeoutMs} ms`)
      this.#tellCancelled(id, 'timeout')
      this.#liveness.timedOut()
    })
    const own = this.#own.expire(nowMs)
    const dropped = this.#budget.takeDropped()
    if (dropped > 0)
      this.#log('warn', `${dropped} notifications were dropped: more than ${NOTICES_PER_SECOND} a second`)
    const lists = this.#lists?.sweep(nowMs) ?? Number.POSITIVE_INFINITY
    const liveness = this.#state === 'open' ? this.#liveness.sweep(nowMs, this.#calls.size) : Number.POSITIVE_INFINITY
    return Math.min(calls, own, lists, liveness)
  }

  #opened(link: MessageLink, result: JsonValue): void {
    if (this.#state !== 'opening') return
    const handshake = readHandshake(result)
    link.settled?.(handshake.protocolVersion)
    link.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    this.#state = 'open'
    this.#context.control({ type: 'opened', conn: this.#options.conn, ...handshake })
    this.#liveness.heard(performance.now())
    this.#liveness.begin()
    if (!this.#options.catalog) return
    this.#lists = new ListWatch({
      ask: (method, params) => this.#own.request(method, params, this.#calls.timeoutMs),
      capabilities: handshake.capabilities,
      arm: atMs => this.#context.deadlines.arm(atMs),
      read: (json, noticed, more) => {
        if (this.#state !== 'open') return
        this.#context.control({ type: 'catalog', conn: this.#options.conn, json, noticed, more })
      },
    })
    this.refresh()
  }

  #receiveOne(message: Incoming, related: number | undefined): boolean {
    switch (message.kind) {
      case 'result':
        return this.#result(message.id, message.text, message.value)
      case 'error':
        return this.#error(message.id, message.text)
      case 'request':
        this.#faults.good()
        this.#asks.request(message, related)
        return false
      case 'notification':
        this.#faults.good()
        this.#notices.received(message.method, message.params, related)
        return false
      case 'bad':
        return this.#bad(message.detail, message.id)
    }
  }

  #result(id: JsonValue, text: string, value: JsonValue): boolean {
    if (typeof id !== 'number') return this.#bad(NEVER_USED)
    if (this.#calls.take(id)) {
      this.#faults.good()
      const isError = isJsonObject(value) && value.isError === true
      this.#context.frame(`r${this.#options.conn} ${id} ${isError ? 1 : 0} ${text}`)
      return true
    }
    return this.#own.settle(id, text, value) || this.#unasked(id)
  }

  #error(id: JsonValue, text: string): boolean {
    if (typeof id !== 'number') return this.#bad(NEVER_USED)
    if (this.#calls.take(id)) {
      this.#faults.good()
      this.#context.frame(`e${this.#options.conn} ${id} ${text}`)
      return true
    }
    return this.#own.refuse(id, JSON.parse(text) as JsonObject) || this.#unasked(id)
  }

  #unasked(id: number): boolean {
    const used = id <= (id % 2 === 0 ? this.#lastCallId : this.#own.lastId)
    return used ? this.#faults.late() : this.#bad(NEVER_USED)
  }

  #bad(detail: string, id?: number): boolean {
    const isCall = id !== undefined && this.#calls.take(id)
    if (isCall) this.#fail(id, 'upstream_protocol', `The server sent ${detail}`)
    this.#faults.bad(detail)
    return isCall
  }

  #failed(id: number, reason: WireError, notSent: boolean): void {
    if (this.#calls.take(id)) {
      this.#fail(id, reason.code, reason.message, notSent)
      if (UNREACHABLE.has(reason.code)) this.#liveness.suspect(performance.now() + (notSent ? ENDING_MS : 0))
    } else this.#own.fail(id, new HubError(reason.code, reason.message, reason.data ? { data: reason.data } : {}))
  }

  #fail(id: number, code: ErrorCode, message: string, notSent = false): void {
    this.#context.frame(`f${this.#options.conn} ${id} ${notSent ? 1 : 0} ${code} ${message.replace(/[\r\n]+/g, ' ')}`)
  }

  #tellCancelled(id: number, reason: string): void {
    this.#link?.send(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } }),
    )
    this.#link?.abandoned?.(id)
  }

  #log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void {
    if (this.#budget.spend(performance.now())) {
      this.#context.control({ type: 'log', conn: this.#options.conn, level, message })
    }
  }

  #end(reason: WireError): void {
    if (this.#state === 'gone') return
    const opening = this.#state === 'opening'
    this.#state = 'gone'
    this.#context.deadlines.delete(this)
    this.#abort.abort()
    const begun = this.#calls.takeAll()
    this.#own.failAll('connection_lost', reason.message)
    const { conn } = this.#options
    this.#context.control(opening ? { type: 'failed', conn, error: reason } : { type: 'closed', conn, reason, begun })
    this.#context.gone()
  }
}

function startFailure(error: unknown, startTimeoutMs: number): WireError {
  if (error === undefined || (error instanceof HubError && error.code === 'upstream_timeout')) {
    return {
      code: 'upstream_init_timeout',
      message: `The server did not answer initialize within ${startTimeoutMs} ms`,
    }
  }
  return toWireError(error)
}
