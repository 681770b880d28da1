import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { MODERN_VERSION, SUBSCRIPTION_KEY } from '../../../domain/era.ts'
import { LIST_KINDS, type ListKind } from '../../../domain/mcp-methods.ts'
import { TASKS_EXTENSION } from '../../../domain/tools/extensions.ts'
import type { MessageLink } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import type { ResultStyle } from '../../protocol/frames.ts'
import type { OpenMessage } from '../../protocol.ts'
import { type ListRequest, readCatalog } from '../lists/catalog-reader.ts'
import { KnownItems } from '../lists/list-parts.ts'
import type { TakenCall } from './call-table.ts'
import { ownParams, readDiscovery } from './discovery.ts'
import type { Handshake, LinkContext } from './link-context.ts'
import { Listen } from './listen.ts'
import { McpLink } from './mcp-link.ts'
import { ModernHeaders } from './modern-headers.ts'
import { legacyResult, legacyTask } from './modern-results.ts'
import { formOf, type ReadResult } from './result-forms.ts'
import { UpstreamNotices } from './upstream-notices.ts'

type Headers = Readonly<Record<string, string>>

const HEADER_MISMATCH = -32020
const CAPABILITY_MISSING = -32021
const VERSION_UNSUPPORTED = -32022
const ERA_PING_TIMEOUT_MS = 5_000

/**
 * The era without a handshake, 2026-07-28: every request is self-contained. Main writes the envelope of a call into its
 * text; here the headers that repeat parts of it are added, and the result is converted to the caller's era.
 */
export class ModernLink extends McpLink {
  protected readonly firstMethod = 'server/discover'
  protected override readonly listRequest: ListRequest
  /** Undefined for a program, which has no use for headers. */
  readonly #headers: ModernHeaders | undefined
  readonly #listen: Listen
  readonly #notices: UpstreamNotices
  #rereading: Promise<void> | undefined
  #verifyingEra = false

  constructor(options: OpenMessage, context: LinkContext) {
    super(options, context)
    this.#headers = options.child ? undefined : new ModernHeaders()
    for (const tool of JSON.parse(options.knownTools ?? '[]') as JsonObject[]) this.#headers?.learn(tool)
    this.listRequest = {
      caching: true,
      objection: (kind, item) => {
        const objection = kind === 'tools' ? this.#headers?.learn(item) : undefined
        if (objection !== undefined) this.log('warn', `Of the list of tools ${objection}`)
        return objection
      },
    }
    this.#listen = new Listen({
      request: notifications => {
        const over = this.request('subscriptions/listen', { notifications }, Number.POSITIVE_INFINITY)
        return { id: this.own.lastId, over }
      },
      drop: id => {
        if (this.own.fail(id, new HubError('stopped', 'Another stream took its place')))
          this.sendCancelled(id, 'replaced')
      },
      arm: atMs => context.deadlines.arm(atMs),
      subscribed: (callId, uri, honoured) => this.#subscribed(callId, uri, honoured),
      resumed: uris => this.#resumed(uris),
      settled: () => this.refresh(),
      log: (level, message) => this.log(level, message),
    })
    this.#notices = new UpstreamNotices({
      conn: options.conn,
      calls: this.calls,
      withdrawn: () => undefined,
      budget: this.budget,
      lists: () => this.lists?.watch,
      frame: frame => context.frame(frame),
      control: message => context.control(message),
    })
  }

  call(id: number, text: string): void {
    this.#send(id, text, undefined, 'converted')
  }

  callWith(id: number, text: string, headers: Headers, style: ResultStyle): void {
    this.#send(id, text, headers, style)
  }

  /** Does nothing: the era has no notifications to a server. */
  send(): void {}

  /** Does nothing: the era has no requests from a server. */
  answer(): void {}

  override refresh(kinds?: readonly ListKind[]): void {
    if (!this.#listen.settling) super.refresh(kinds)
  }

  override sweep(nowMs: number): number {
    const next = super.sweep(nowMs)
    return this.open ? Math.min(next, this.#listen.sweep(nowMs)) : next
  }

  protected async handshake(link: MessageLink, timeoutMs: number): Promise<Handshake> {
    link.settled?.(MODERN_VERSION)
    return readDiscovery(await this.request('server/discover', undefined, timeoutMs))
  }

  protected override opened(_link: MessageLink, { capabilities }: Handshake): void {
    if (this.options.catalog) this.#listen.begin(capabilities)
  }

  protected request(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue> {
    return this.own.request(method, this.#ownParams(params), timeoutMs)
  }

  protected requestList(method: string, params: JsonObject | undefined, timeoutMs: number) {
    return this.own.list(method, this.#ownParams(params, true), timeoutMs)
  }

  #ownParams(params: JsonObject | undefined, lists = false): JsonObject {
    const { catalog, capabilities } = this.options
    // The lists of a server may depend on the client's capabilities; the hub itself can answer no server request, and runs tasks.
    const declared = catalog ? capabilities : {}
    return ownParams(params, this.context.version, declared, lists ? [TASKS_EXTENSION] : [])
  }

  protected sendOwn(text: string, id: number, method: string): void {
    this.link?.send(text, id, this.#headers?.of(text, method, undefined))
  }

  protected async ping(timeoutMs: number): Promise<void> {
    try {
      await this.request('server/discover', undefined, timeoutMs)
    } catch (error) {
      if (error instanceof HubError && deniesEra(error.data)) {
        this.end({ code: 'upstream_protocol', message: `The server does not speak ${MODERN_VERSION} any more` })
      }
      throw error
    }
  }

  /** Cancels a request: by closing its stream where it has its own, otherwise by a notification. */
  protected sendCancelled(id: number, reason: string): void {
    const { link } = this
    if (link?.abandoned) return link.abandoned(id)
    const params = { requestId: id, reason }
    link?.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
  }

  protected answered(id: number, call: TakenCall, result: ReadResult): void {
    const resultType = result.value.resultType ?? 'complete'
    if (resultType === 'input_required' || resultType === 'task') {
      const form = resultType === 'task' ? 'task' : 'input'
      this.context.frame({ kind: 'result', id, form, text: result.text })
    } else if (resultType !== 'complete') {
      const shown = cutShort(JSON.stringify(resultType), 80)
      this.fail(
        id,
        'upstream_protocol',
        `The server answered with a result of the type ${shown}, which nobody asked for`,
      )
    } else {
      const { text, value } = this.normalized(call, result)
      const shown = call.asIs ? text : call.method === 'tasks/get' ? legacyTask(text, value) : legacyResult(text, value)
      this.context.frame({ kind: 'result', id, form: value.isError === true ? 'error' : 'complete', text: shown })
    }
  }

  protected refused(id: number, call: TakenCall, text: string): void {
    const { code, message } = JSON.parse(text) as { code: number; message: string }
    if (code === HEADER_MISMATCH && this.#headers) return this.#headersRefused(id, message)
    if (code === VERSION_UNSUPPORTED) this.#verifyEra()
    if (call.asIs) {
      this.context.frame({ kind: 'error', id, text })
    } else if (code === CAPABILITY_MISSING) {
      this.fail(id, 'client_capability_missing', `The server needs more of the client than it offers: ${message}`)
    } else if (code === HEADER_MISMATCH || code === VERSION_UNSUPPORTED) {
      this.fail(id, 'upstream_protocol', `The server refused the form of the request: ${message}`)
    } else {
      this.context.frame({ kind: 'error', id, text })
    }
  }

  protected override exchangeFailed(id: number, call: TakenCall, reason: WireError, notSent: boolean): void {
    if (reason.data?.rpcCode === HEADER_MISMATCH && this.#headers) return this.#headersRefused(id, reason.message)
    if (deniesEra(reason.data)) this.#verifyEra()
    super.exchangeFailed(id, call, reason, notSent)
  }

  protected asked({ method }: { readonly method: string }): void {
    this.bad(`a request "${cutShort(method, 80)}", which a server of ${MODERN_VERSION} must not send`)
  }

  protected noticed(method: string, params: JsonObject | undefined, related: number | undefined): void {
    const meta = isJsonObject(params?._meta) ? params._meta : undefined
    const tag = meta?.[SUBSCRIPTION_KEY]
    if (method === 'notifications/subscriptions/acknowledged') {
      this.#listen.acknowledged(tag, params?.notifications)
    } else if (meta === undefined || tag === undefined) {
      this.#notices.received(method, params, related)
    } else if (this.#listen.accepts(tag, method, params?.uri)) {
      const { [SUBSCRIPTION_KEY]: _, ...rest } = meta
      const { _meta, ...others } = params ?? {}
      this.#notices.received(method, Object.keys(rest).length > 0 ? { ...others, _meta: rest } : others, related)
    }
  }

  #send(id: number, text: string, headers: Headers | undefined, style: ResultStyle): void {
    const at = text.indexOf('"method":"') + 10
    const method = text.slice(at, text.indexOf('"', at))
    if (this.#answeredHere(id, method, text)) return
    this.begin(id, { asIs: style === 'as-is', ...(style === 'written' ? {} : formOf(text)) })
    this.link?.send(text, id, this.#headers ? this.#headers.of(text, method, headers) : headers)
  }

  /** Answers legacy methods that the modern era has replaced. */
  #answeredHere(id: number, method: string, text: string): boolean {
    if (method === 'resources/subscribe') {
      this.begin(id, { asIs: false })
      this.#listen.subscribe(uriOf(text), id)
      return true
    }
    if (method === 'resources/unsubscribe') this.#listen.unsubscribe(uriOf(text))
    // The log level is sent with each call.
    else if (method !== 'logging/setLevel' && method !== 'ping') return false
    this.#acknowledge(id)
    return true
  }

  #subscribed(callId: number, uri: string, honoured: boolean): void {
    if (!this.calls.take(callId)) return
    if (honoured) return this.#acknowledge(callId)
    const error = { code: -32002, message: 'The server takes no subscription to this resource', data: { uri } }
    this.context.frame({ kind: 'error', id: callId, text: JSON.stringify(error) })
  }

  #acknowledge(id: number): void {
    this.context.frame({ kind: 'result', id, form: 'complete', text: '{}' })
  }

  #resumed(uris: Iterable<string>): void {
    this.lists?.watch.stale(LIST_KINDS, false)
    for (const uri of uris) this.#notices.received('notifications/resources/updated', { uri }, undefined)
  }

  /** The headers that a tool's schema defines may have changed: tools are read again, and the call is sent again. */
  #headersRefused(id: number, message: string): void {
    this.#rereading ??= this.#rereadTools().finally(() => {
      this.#rereading = undefined
    })
    void this.#rereading.then(() => {
      this.fail(id, 'upstream_protocol', `The server refused the headers of the request: ${message}`, 'repaired')
    })
  }

  async #rereadTools(): Promise<void> {
    if (this.lists) return this.lists.watch.again(['tools'])
    // Lists of this connection are not stored; only the headers of the schemas are needed.
    await readCatalog(
      {
        ask: (method, params) => this.requestList(method, params, this.calls.timeoutMs),
        capabilities: { tools: {} },
        undeclared: new Set(),
        listRequest: this.listRequest,
        take: async () => undefined,
        known: new KnownItems(),
        paces: this.context.paces,
        owner: this.options.owner,
      },
      ['tools'],
    )
  }

  /** A response looks like that of a legacy server: sends a ping to verify the era. */
  #verifyEra(): void {
    if (this.#verifyingEra) return
    this.#verifyingEra = true
    this.ping(ERA_PING_TIMEOUT_MS)
      .catch(() => undefined)
      .finally(() => {
        this.#verifyingEra = false
      })
  }
}

/** An error that a modern server does not send for a request of the hub. */
function deniesEra(data: Readonly<Record<string, unknown>> | undefined): boolean {
  if (!data) return false
  const { status, rpcCode } = data
  if (rpcCode === HEADER_MISMATCH || rpcCode === CAPABILITY_MISSING) return false
  return rpcCode !== undefined ? status === undefined || isRefusal(status) : isRefusal(status)
}

function isRefusal(status: unknown): boolean {
  return status === 400 || status === 404 || status === 405
}

function uriOf(text: string): string {
  const { params } = JSON.parse(text) as { params?: JsonObject }
  return typeof params?.uri === 'string' ? params.uri : ''
}
