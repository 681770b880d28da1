import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { LATEST_LEGACY } from '../../../domain/era.ts'
import { isPlainObject, parseAsWritten } from '../../../domain/json/exact-json.ts'
import type { AnswerLink, AnswerResult, TransportDefinition } from '../../../transport-kit/definition.ts'
import { SequenceMap } from '../../../transport-kit/sequence-map.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { HealthReport, Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import { BaseLink, isUnreachable } from './base-link.ts'
import type { LinkContext } from './link-context.ts'
import { Liveness, report } from './liveness.ts'
import { type LinkIo, wrongKind } from './upstream-link.ts'

const CAPABILITIES: JsonObject = { tools: {} }
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})
/**
 * The link of a transport without MCP that answers calls itself, presented as an MCP server with tools: the hub adds
 * timeouts, cancellation, lists and health checks.
 */
export class AnswersLink extends BaseLink {
  protected readonly liveness: Liveness
  readonly #aborts = new SequenceMap<AbortController>()
  #warnings: readonly string[] = []
  /** Health endpoints that the upstream does not have, by the last check that reached them. */
  #missing: readonly string[] | undefined
  #link: AnswerLink | undefined
  /** True when the transport can check its upstream. */
  #checks = false

  constructor(options: OpenMessage, context: LinkContext) {
    super(options, context)
    this.liveness = new Liveness(this.#regular(options.liveness), {
      arm: atMs => context.deadlines.arm(atMs),
      ask: timeoutMs => this.#ask(timeoutMs),
      checked: found => this.#checked(found),
      lost: message => this.end({ code: 'connection_lost', message }),
    })
  }

  async start(transport: TransportDefinition, { fetch, reach }: LinkIo): Promise<void> {
    if (transport.kind !== 'answers') return this.end(wrongKind('answers', transport.kind))
    const { config, healthEndpoints } = this.options
    const sinceMs = performance.now()
    const maxResultBytes = (): number => this.maxResultBytes
    try {
      const link = await transport.open(config, {
        get maxResultBytes() {
          return maxResultBytes()
        },
        signal: this.signal,
        fetch,
        reach,
        healthEndpoints,
        log: (level, message) => this.logLine(level, message),
      })
      this.#checks = link.alive !== undefined
      this.liveness.setLimits(this.#regular(this.options.liveness))
      // A server that fails its health check would be reported lost as soon as it was open.
      if (this.options.catalog) await this.#firstCheck(link, sinceMs)
      if (!this.opening) {
        await link.close()
        return
      }
      this.#opened(link, sinceMs)
    } catch (error) {
      this.end(this.#noted(error))
    }
  }

  /** The wire error of a failure; one that is no HubError is logged in full. */
  #noted(error: unknown): WireError {
    if (!(error instanceof HubError)) this.logLine('error', `The transport failed: ${String(error)}`)
    return toWireError(error)
  }

  call(id: number, text: string): void {
    this.callWith(id, text, NO_HEADERS)
  }

  callWith(id: number, text: string, headers: Readonly<Record<string, string>>): void {
    this.context.deadlines.arm(this.calls.add(id, performance.now(), { asIs: false }))
    const abort = new AbortController()
    this.#aborts.set(id, abort)
    this.#answer(text, headers, abort.signal).then(
      ({ text: result, isError, note }) => {
        if (!this.#taken(id)) return
        this.liveness.heard(performance.now())
        if (note !== undefined) this.context.frame({ kind: 'note', id, text: note })
        this.context.frame({ kind: 'result', id, form: isError ? 'error' : 'complete', text: result })
      },
      (error: unknown) => {
        if (!this.#taken(id)) return
        const { code, message } = this.#noted(error)
        this.fail(id, code, message)
        if (isUnreachable(code)) this.liveness.probeNow(performance.now())
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

  protected closeTransport(): Promise<void> | undefined {
    return this.#link?.close()
  }

  protected setLiveness(limits: LivenessLimits): void {
    this.liveness.setLimits(this.#regular(limits))
  }

  protected startTimedOut(): WireError {
    const message = `The server was not ready within ${this.options.startTimeoutMs} ms`
    return { code: 'upstream_init_timeout', message }
  }

  protected timedOut(id: number, reason: string): void {
    this.#aborts.get(id)?.abort(new HubError('upstream_timeout', reason))
    this.#aborts.delete(id)
  }

  protected override released({ message }: WireError): void {
    for (const [, abort] of this.#aborts.entries()) abort.abort(new HubError('connection_lost', message))
    this.#aborts.clear()
  }

  /** Health endpoints are polled at every interval, since responses of the server do not show their state. */
  #regular(limits: LivenessLimits): LivenessLimits {
    if (this.options.healthEndpoints.length > 0) return { ...limits, always: true }
    return this.#checks ? limits : { ...limits, intervalMs: 0 }
  }

  async #firstCheck(link: AnswerLink, sinceMs: number): Promise<void> {
    try {
      this.#missing = (await link.alive?.(this.signal)) ?? []
    } catch (error) {
      this.#checked(report(sinceMs, 1, toWireError(error)))
      throw error
    }
  }

  #checked(found: HealthReport): void {
    const { conn, catalog } = this.options
    const missing = this.#missing === undefined ? {} : { missing: this.#missing }
    if (catalog && this.#checks) this.context.control({ type: 'health', conn, report: { ...found, ...missing } })
  }

  #opened(link: AnswerLink, sinceMs: number): void {
    this.#link = link
    let known = true
    const handshake = {
      protocolVersion: LATEST_LEGACY,
      serverInfo: { ...link.serverInfo },
      capabilities: CAPABILITIES,
      ...(link.instructions === undefined ? {} : { instructions: link.instructions }),
    }
    this.ready(handshake, sinceMs, {
      warnings: () => this.#warnings,
      ask: async () => {
        if (!known) await link.refresh?.(this.#within(this.calls.timeoutMs))
        known = false
        const { tools, warnings } = link.tools()
        this.#warnings = warnings
        return { tools: [...tools] }
      },
    })
  }

  async #answer(text: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<AnswerResult> {
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
    this.#missing = (await this.#link?.alive?.(this.#within(timeoutMs))) ?? []
  }

  #within(timeoutMs: number): AbortSignal {
    return AbortSignal.any([this.signal, AbortSignal.timeout(timeoutMs)])
  }

  #taken(id: number): boolean {
    this.#aborts.delete(id)
    return this.calls.take(id) !== undefined
  }
}
