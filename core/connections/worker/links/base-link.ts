import { type ErrorCode, HubError } from '../../../contract/errors.ts'
import { LIST_CAPABILITIES, LIST_KINDS, type ListCapability } from '../../../domain/mcp-methods.ts'
import type { TransportDefinition } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import type { FailureForm, ResultStyle } from '../../protocol/frames.ts'
import type { LinkLimits, ListKind, Liveness as LivenessLimits, OpenMessage } from '../../protocol.ts'
import type { Expiring } from '../deadlines.ts'
import { CallTable } from './call-table.ts'
import type { Handshake, LinkContext } from './link-context.ts'
import { LinkLists, type LinkListsOptions } from './link-lists.ts'
import type { Liveness } from './liveness.ts'
import type { LinkIo, UpstreamLink } from './upstream-link.ts'

const MOST_LOGGED = 8 * 1024
/** Errors of one exchange after which the upstream may be unreachable. */
const UNREACHABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'connection_lost',
  'upstream_dns_error',
  'upstream_tls_error',
  'proxy_failed',
])

/** Capabilities that servers often have without declaring them. */
const MOST_FORGOTTEN: readonly ListCapability[] = ['tools']

/** True for an error of one exchange after which the upstream may be unreachable. */
export function isUnreachable(code: ErrorCode): boolean {
  return UNREACHABLE.has(code)
}

/** The life that all links share: the deadline of the start, timeouts, limits, lists, and the end. */
export abstract class BaseLink implements UpstreamLink, Expiring {
  protected readonly options: OpenMessage
  protected readonly context: LinkContext
  protected readonly calls: CallTable
  protected lists: LinkLists | undefined
  protected abstract readonly liveness: Liveness
  readonly #abort = new AbortController()
  readonly #startDeadlineMs: number
  #state: 'opening' | 'open' | 'retired' | 'closing' | 'gone' = 'opening'
  #maxResultBytes: number

  constructor(options: OpenMessage, context: LinkContext) {
    this.options = options
    this.context = context
    this.#maxResultBytes = options.maxResultBytes
    this.calls = new CallTable(options.timeoutMs, options.maxTimeoutMs)
    this.#startDeadlineMs = performance.now() + options.startTimeoutMs
    context.deadlines.add(this)
    context.deadlines.arm(this.#startDeadlineMs)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** True while calls are in flight. */
  get expecting(): boolean {
    return this.calls.size > 0 || this.opening
  }

  abstract start(transport: TransportDefinition, io: LinkIo, isAnswer: () => void): Promise<void>

  abstract call(id: number, text: string): void

  /** `headers` are added to this one call. */
  abstract callWith(id: number, text: string, headers: Readonly<Record<string, string>>, style: ResultStyle): void

  abstract cancel(id: number, reason: string): void

  abstract send(text: string): void

  abstract answer(key: number, json: string): void

  abstract tooLong(...message: Parameters<UpstreamLink['tooLong']>): void

  setLimits({ timeoutMs, maxTimeoutMs, maxResultBytes, liveness }: LinkLimits): void {
    this.#maxResultBytes = maxResultBytes
    this.calls.timeoutMs = timeoutMs
    this.calls.maxTimeoutMs = maxTimeoutMs
    this.setLiveness(liveness)
  }

  refresh(kinds: readonly ListKind[] = LIST_KINDS): void {
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
    this.#state = 'closing'
    try {
      await this.closeTransport()
    } finally {
      this.end({ code: 'stopped', message: 'The connection was closed' })
    }
  }

  sweep(nowMs: number): number {
    if (this.opening) {
      if (nowMs < this.#startDeadlineMs) return Math.min(this.#startDeadlineMs, this.sweepOwn(nowMs))
      this.end(this.startTimedOut())
      return Number.POSITIVE_INFINITY
    }
    const calls = this.calls.expire(nowMs, id => {
      const reason = `The server did not answer within ${this.calls.timeoutMs} ms`
      this.fail(id, 'upstream_timeout', reason)
      this.timedOut(id, reason)
      this.liveness.timedOut()
    })
    const own = this.sweepOwn(nowMs)
    const lists = this.lists?.watch.sweep(nowMs) ?? Number.POSITIVE_INFINITY
    const liveness = this.open ? this.liveness.sweep(nowMs, this.calls.size) : Number.POSITIVE_INFINITY
    return Math.min(calls, own, lists, liveness)
  }

  protected get opening(): boolean {
    return this.#state === 'opening'
  }

  protected get open(): boolean {
    return this.#state === 'open'
  }

  protected get gone(): boolean {
    return this.#state === 'gone'
  }

  protected get maxResultBytes(): number {
    return this.#maxResultBytes
  }

  /** Milliseconds until the start counts as failed; at least 1. */
  protected get startLeftMs(): number {
    return Math.max(1, this.#startDeadlineMs - performance.now())
  }

  /** Closes the transport's connection, if there is one. */
  protected abstract closeTransport(): Promise<void> | undefined

  protected abstract setLiveness(limits: LivenessLimits): void

  /** Why a start has failed that took too long. */
  protected abstract startTimedOut(): WireError

  /** A call has failed because it took too long. */
  protected abstract timedOut(id: number, reason: string): void

  /** Fails the requests of the link itself that took too long; returns when to call it next. */
  protected sweepOwn(_nowMs: number): number {
    return Number.POSITIVE_INFINITY
  }

  /** The link has ended: releases what is left besides calls and lists. */
  protected released(_reason: WireError): void {}

  /** The upstream is ready: reports it, and reads the lists where they are wanted. */
  protected ready(
    { isUndeclared = false, ...handshake }: Handshake,
    sinceMs: number,
    lists: Pick<LinkListsOptions, 'ask' | 'warnings' | 'listRequest'>,
  ): void {
    this.#state = 'open'
    this.context.control({ type: 'opened', conn: this.options.conn, ...handshake })
    this.liveness.begin(sinceMs)
    if (!this.options.catalog) return
    const { context, options } = this
    const { capabilities } = handshake
    const undeclared = new Set(isUndeclared ? LIST_CAPABILITIES : MOST_FORGOTTEN)
    this.lists = new LinkLists({ ...lists, context, options, capabilities, undeclared, open: () => this.open })
    this.refresh()
  }

  /** Fails a call for main; it must have been taken from the table. */
  protected fail(id: number, code: ErrorCode, message: string, form: FailureForm = 'failed'): void {
    this.context.frame({ kind: 'failure', id, form, code, message: message.slice(0, MOST_LOGGED) })
  }

  protected logLine(level: 'debug' | 'info' | 'warn' | 'error', message: string): void {
    this.context.control({ type: 'log', conn: this.options.conn, level, message: message.slice(0, MOST_LOGGED) })
  }

  /** `count` messages were malformed, the last one as `detail` says. */
  protected malformed(detail: string, count: number): void {
    const { conn } = this.options
    this.context.control({ type: 'malformed', conn, detail: detail.slice(0, MOST_LOGGED), count })
  }

  /** The server or its session is lost: no more calls are sent, and those in flight may get their answers until main closes it. */
  protected retire(reason: WireError): void {
    if (this.#state === 'retired') return
    if (this.#state !== 'open' || this.calls.size === 0) return this.end(reason)
    this.#state = 'retired'
    this.lists?.end()
    this.lists = undefined
    this.context.control({ type: 'retired', conn: this.options.conn, reason })
  }

  protected end(reason: WireError): void {
    if (this.gone) return
    const { opening } = this
    this.#state = 'gone'
    this.context.deadlines.delete(this)
    this.#abort.abort(new HubError('connection_lost', reason.message))
    const begun = this.calls.takeAll()
    this.lists?.end()
    this.released(reason)
    const { conn } = this.options
    this.context.control(opening ? { type: 'failed', conn, error: reason } : { type: 'closed', conn, reason, begun })
    this.context.gone()
  }
}
