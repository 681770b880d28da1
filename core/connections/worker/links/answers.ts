import { type ErrorCode, HubError, type WireError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { LATEST_LEGACY } from '../../../domain/era.ts'
import { isPlainObject, parseAsWritten } from '../../../domain/json/exact-json.ts'
import { LIST_KINDS, type ListKind } from '../../../domain/mcp-methods.ts'
import type { AnswerLink, TransportDefinition } from '../../../transport-kit/definition.ts'
import { SequenceMap } from '../../../transport-kit/sequence-map.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { HealthReport, LinkLimits, Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import type { Expiring } from '../deadlines.ts'
import { CallTable } from './call-table.ts'
import type { LinkContext } from './link-context.ts'
import { LinkLists } from './link-lists.ts'
import { Liveness, report } from './liveness.ts'
import { type LinkIo, type UpstreamLink, wrongKind } from './upstream-link.ts'

const CAPABILITIES: JsonObject = { tools: {} }
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})
/** Errors of one exchange after which the upstream may be unreachable. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'connection_lost',
  'upstream_dns_error',
  'upstream_tls_error',
])

/**
 * The link of a transport without MCP that answers calls itself, presented as an MCP server with tools: the hub adds
 * timeouts, cancellation, lists and health checks.
 */
export class AnswersLink implements UpstreamLink, Expiring {
  readonly #options: OpenMessage
  readonly #context: LinkContext
  readonly #abort = new AbortController()
  readonly #calls: CallTable
  readonly #aborts = new SequenceMap<AbortController>()
  readonly #liveness: Liveness
  readonly #startDeadlineMs: number
  #maxResultBytes: number
  #lists: LinkLists | undefined
  #warnings: readonly string[] = []
  #link: AnswerLink | undefined
  /** True when the transport can check its upstream. */
  #asked = false
  #state: 'opening' | 'open' | 'closing' | 'gone' = 'opening'

  constructor(options: OpenMessage, context: LinkContext) {
    this.#options = options
    this.#context = context
    this.#maxResultBytes = options.maxResultBytes
    this.#calls = new CallTable(options.timeoutMs, options.maxTimeoutMs)
    this.#liveness = new Liveness(this.#regular(options.liveness), {
      arm: atMs => context.deadlines.arm(atMs),
      ask: timeoutMs => this.#ask(timeoutMs),
      checked: found => this.#checked(found),
      lost: message => this.#end({ code: 'connection_lost', message }),
    })
    this.#startDeadlineMs = performance.now() + options.startTimeoutMs
    context.deadlines.add(this)
    context.deadlines.arm(this.#startDeadlineMs)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get expecting(): boolean {
    return this.#calls.size > 0 || this.#state === 'opening'
  }

  async start(transport: TransportDefinition, { fetch, reach }: LinkIo): Promise<void> {
    if (transport.kind !== 'answers') return this.#end(wrongKind('answers', transport.kind))
    const { config, conn, healthEndpoints } = this.#options
    const sinceMs = performance.now()
    const maxResultBytes = (): number => this.#maxResultBytes
    try {
      const link = await transport.open(config, {
        get maxResultBytes() {
          return maxResultBytes()
        },
        signal: this.#abort.signal,
        fetch,
        reach,
        healthEndpoints,
        log: (level, message) => this.#context.control({ type: 'log', conn, level, message }),
      })
      this.#asked = link.alive !== undefined
      this.#liveness.setLimits(this.#regular(this.#options.liveness))
      // A server that fails its health check would be reported lost as soon as it was open.
      if (this.#options.catalog) await this.#firstLook(link, sinceMs)
      if (this.#state !== 'opening') {
        await link.close()
        return
      }
      this.#opened(link, sinceMs)
    } catch (error) {
      this.#end(this.#noted(error))
    }
  }

  /** The wire error of a failure; one that is no HubError is logged in full. */
  #noted(error: unknown): WireError {
    const message = `The transport failed: ${String(error)}`
    if (!(error instanceof HubError))
      this.#context.control({ type: 'log', conn: this.#options.conn, level: 'error', message })
    return toWireError(error)
  }

  call(id: number, text: string): void {
    this.callWith(id, text, NO_HEADERS)
  }

  callWith(id: number, text: string, headers: Readonly<Record<string, string>>): void {
    this.#context.deadlines.arm(this.#calls.add(id, performance.now(), false))
    const abort = new AbortController()
    this.#aborts.set(id, abort)
    this.#answer(text, headers, abort.signal).then(
      ({ text: result, isError }) => {
        if (!this.#taken(id)) return
        this.#liveness.heard(performance.now())
        this.#context.frame(`r${this.#options.conn} ${id} ${isError ? 1 : 0} ${result}`)
      },
      (error: unknown) => {
        if (!this.#taken(id)) return
        const { code, message } = this.#noted(error)
        this.#fail(id, code, message)
        if (UNREACHABLE.has(code)) this.#liveness.probeNow(performance.now())
      },
    )
  }

  cancel(id: number, reason: string): void {
    const abort = this.#aborts.get(id)
    if (this.#taken(id)) abort?.abort(new HubError('connection_lost', `The call was cancelled: ${reason}`))
  }

  /** Does nothing: notifications mean nothing to an upstream without MCP. */
  send(): void {}

  /** Does nothing: such an upstream sends no requests. */
  answer(): void {}

  /** Does nothing: such a transport receives no messages. */
  tooLong(): void {}

  setLimits({ timeoutMs, maxTimeoutMs, maxResultBytes, liveness }: LinkLimits): void {
    this.#maxResultBytes = maxResultBytes
    this.#calls.timeoutMs = timeoutMs
    this.#calls.maxTimeoutMs = maxTimeoutMs
    this.#liveness.setLimits(this.#regular(liveness))
  }

  refresh(): void {
    this.#lists?.watch.stale(LIST_KINDS, false)
  }

  listTaken(kind: ListKind, full: string | undefined): void {
    this.#lists?.taken(kind, full)
  }

  lost(reason: WireError): void {
    this.#end(reason)
  }

  async close(): Promise<void> {
    if (this.#state === 'gone' || this.#state === 'closing') return
    this.#state = 'closing'
    try {
      await this.#link?.close()
    } finally {
      this.#end({ code: 'stopped', message: 'The connection was closed' })
    }
  }

  sweep(nowMs: number): number {
    if (this.#state === 'opening') {
      if (nowMs < this.#startDeadlineMs) return this.#startDeadlineMs
      const message = `The server was not ready within ${this.#options.startTimeoutMs} ms`
      this.#end({ code: 'upstream_init_timeout', message })
      return Number.POSITIVE_INFINITY
    }
    const calls = this.#calls.expire(nowMs, id => {
      const reason = `The server did not answer within ${this.#calls.timeoutMs} ms`
      this.#fail(id, 'upstream_timeout', reason)
      this.#aborts.get(id)?.abort(new HubError('upstream_timeout', reason))
      this.#aborts.delete(id)
      this.#liveness.timedOut()
    })
    const lists = this.#lists?.watch.sweep(nowMs) ?? Number.POSITIVE_INFINITY
    const liveness = this.#state === 'open' ? this.#liveness.sweep(nowMs, this.#calls.size) : Number.POSITIVE_INFINITY
    return Math.min(calls, lists, liveness)
  }

  /** Health endpoints are polled at every interval, since responses of the server do not show their state. */
  #regular(limits: LivenessLimits): LivenessLimits {
    if (this.#options.healthEndpoints.length > 0) return { ...limits, always: true }
    return this.#asked ? limits : { ...limits, intervalMs: 0 }
  }

  async #firstLook(link: AnswerLink, sinceMs: number): Promise<void> {
    try {
      await link.alive?.(this.#abort.signal)
    } catch (error) {
      this.#checked(report(sinceMs, 1, toWireError(error)))
      throw error
    }
  }

  #checked(found: HealthReport): void {
    const { conn, catalog } = this.#options
    if (catalog && this.#asked) this.#context.control({ type: 'health', conn, report: found })
  }

  #opened(link: AnswerLink, sinceMs: number): void {
    const { conn, catalog } = this.#options
    this.#link = link
    this.#state = 'open'
    this.#context.control({
      type: 'opened',
      conn,
      protocolVersion: LATEST_LEGACY,
      serverInfo: { ...link.serverInfo },
      capabilities: CAPABILITIES,
      ...(link.instructions === undefined ? {} : { instructions: link.instructions }),
    })
    this.#liveness.begin(sinceMs)
    if (!catalog) return
    let known = true
    this.#lists = new LinkLists({
      context: this.#context,
      options: this.#options,
      open: () => this.#state === 'open',
      warnings: () => this.#warnings,
      ask: async () => {
        if (!known) await link.refresh?.(this.#within(this.#calls.timeoutMs))
        known = false
        const { tools, warnings } = link.tools()
        this.#warnings = warnings
        return { tools: [...tools] }
      },
      capabilities: CAPABILITIES,
    })
    this.refresh()
  }

  async #answer(
    text: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly isError: boolean }> {
    const request = parseAsWritten(text)
    const { method, params } = isJsonObject(request) ? request : {}
    if (method === 'ping') return { text: '{}', isError: false }
    if (method !== 'tools/call' || !this.#link) {
      throw new HubError('method_not_found', `A server of this transport has no method "${String(method)}"`)
    }
    const { name, arguments: given = {} } = isPlainObject(params) ? params : {}
    if (typeof name !== 'string' || !isPlainObject(given)) {
      throw new HubError('params_invalid', 'tools/call needs "name", a string, and "arguments", an object')
    }
    return this.#link.call({ name, arguments: given, signal, headers })
  }

  async #ask(timeoutMs: number): Promise<void> {
    await this.#link?.alive?.(this.#within(timeoutMs))
  }

  #within(timeoutMs: number): AbortSignal {
    return AbortSignal.any([this.#abort.signal, AbortSignal.timeout(timeoutMs)])
  }

  #taken(id: number): boolean {
    this.#aborts.delete(id)
    return this.#calls.take(id) !== undefined
  }

  #fail(id: number, code: ErrorCode, message: string): void {
    this.#context.frame(`f${this.#options.conn} ${id} 0 ${code} ${message.replace(/[\r\n]+/g, ' ')}`)
  }

  #end(reason: WireError): void {
    if (this.#state === 'gone') return
    const opening = this.#state === 'opening'
    this.#state = 'gone'
    this.#context.deadlines.delete(this)
    this.#lists?.end()
    const begun = this.#calls.takeAll()
    for (const [, abort] of this.#aborts.entries()) abort.abort(new HubError('connection_lost', reason.message))
    this.#aborts.clear()
    this.#abort.abort(new HubError('connection_lost', reason.message))
    const { conn } = this.#options
    this.#context.control(opening ? { type: 'failed', conn, error: reason } : { type: 'closed', conn, reason, begun })
    this.#context.gone()
  }
}
