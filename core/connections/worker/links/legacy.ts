import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { askableCapabilities } from '../../../domain/client-capabilities.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { LATEST_LEGACY, LEGACY_VERSIONS } from '../../../domain/era.ts'
import { LIST_CAPABILITIES } from '../../../domain/mcp-methods.ts'
import type { MessageLink } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { ResultStyle } from '../../protocol/frames.ts'
import type { OpenMessage } from '../../protocol.ts'
import { doubtOfError, doubtOfStatus, errorObject, SessionCheck } from '../session-check.ts'
import type { TakenCall } from './call-table.ts'
import { readCapabilities } from './handshake-limits.ts'
import type { Incoming } from './incoming.ts'
import type { Handshake, LinkContext } from './link-context.ts'
import { McpLink } from './mcp-link.ts'
import { legacyResult } from './modern-results.ts'
import { formOf, type ReadResult } from './result-forms.ts'
import { ServerRequestTable } from './server-requests-table.ts'
import { UpstreamNotices } from './upstream-notices.ts'
import { readVersion, versionAfter } from './version-refusal.ts'

/** The era with a handshake: one session, in which the upstream may send requests and notifications at any time. */
export class LegacyLink extends McpLink {
  protected readonly firstMethod = 'initialize'
  readonly #serverRequests: ServerRequestTable
  readonly #notices: UpstreamNotices
  readonly #session: SessionCheck
  #listMethod: string | undefined
  #capabilities: JsonObject = {}
  /** The first rejection of a version, and the version that the server is asked with now. */
  #refusal: HubError | undefined
  #nextVersion: string | undefined

  constructor(options: OpenMessage, context: LinkContext) {
    super(options, context)
    this.#serverRequests = new ServerRequestTable({
      capabilities: () => this.#capabilities,
      calls: this.calls,
      arm: atMs => context.deadlines.arm(atMs),
      send: text => this.link?.send(text),
      frame: frame => context.frame(frame),
      refused: method => context.control({ type: 'refused', conn: options.conn, method }),
    })
    this.#notices = new UpstreamNotices({
      conn: options.conn,
      calls: this.calls,
      withdrawn: id => this.#serverRequests.withdraw(id),
      budget: this.budget,
      lists: () => this.lists?.watch,
      frame: frame => context.frame(frame),
      control: message => context.control(message),
    })
    this.#session = new SessionCheck({
      ask: (method, timeoutMs) => this.own.list(method, undefined, timeoutMs),
      listMethod: () => this.#listMethod,
      fail: (id, { code, message }, acted) => this.fail(id, code, message, acted ? 'failed' : 'not-sent'),
      lost: reason => this.retire(reason),
    })
  }

  call(id: number, text: string): void {
    if (this.#isLost(id)) return
    this.begin(id, { asIs: false, ...formOf(text) })
    this.link?.send(text, id)
  }

  callWith(id: number, text: string, headers: Readonly<Record<string, string>>, style: ResultStyle): void {
    if (this.#isLost(id)) return
    const lent = Object.keys(headers).length > 0
    this.begin(id, style === 'written' ? { asIs: false, lent } : { asIs: false, lent, ...formOf(text) })
    this.link?.send(text, id, headers)
  }

  send(text: string): void {
    this.link?.send(text)
  }

  answer(key: number, json: string): void {
    this.#serverRequests.answer(key, json)
  }

  protected async handshake(_link: MessageLink, timeoutMs: number): Promise<Handshake> {
    const endMs = performance.now() + timeoutMs
    const { askedVersion, capabilities } = this.options
    let attempt: Attempt = { version: askedVersion ?? LATEST_LEGACY, capabilities }
    for (;;) {
      const { version } = attempt
      const params = initializeParams(attempt, this.context.version)
      try {
        const leftMs = Math.max(1, endMs - performance.now())
        const result = await this.own.request('initialize', params, leftMs)
        const handshake = readHandshake(result, how => this.deviates(how))
        return version === LATEST_LEGACY ? handshake : { ...handshake, askedVersion: version }
      } catch (error) {
        const next = nextAttempt(attempt, error)
        if (next === undefined) throw this.#refusal ?? error
        if (next.version !== version) {
          this.#refusal ??= error as HubError
          this.#nextVersion = next.version
        }
        attempt = next
      }
    }
  }

  protected override end(reason: WireError): void {
    // A program may end after its refusal: the next process is asked with the next version.
    const isLost = this.opening && reason.code === 'connection_lost' && this.#refusal !== undefined
    if (!isLost || !this.#refusal) return super.end(reason)
    const { code, message, data } = toWireError(this.#refusal)
    super.end({ code, message, data: { ...data, nextVersion: this.#nextVersion ?? null } })
  }

  protected override opened(link: MessageLink, { protocolVersion, capabilities: offered }: Handshake): void {
    const capability = LIST_CAPABILITIES.find(name => offered[name] !== undefined)
    this.#listMethod = capability && `${capability}/list`
    const { takesServerRequests, capabilities } = this.options
    // The server may have negotiated another version than the one that this was offered for.
    if (takesServerRequests) this.#capabilities = askableCapabilities(capabilities, protocolVersion)
    link.settled?.(protocolVersion)
    link.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  }

  protected request(method: string, params: JsonObject | undefined, timeoutMs: number): Promise<JsonValue> {
    return this.own.request(method, params, timeoutMs)
  }

  protected requestList(method: string, params: JsonObject | undefined, timeoutMs: number) {
    return this.own.list(method, params, timeoutMs)
  }

  protected sendOwn(text: string, id: number): void {
    this.link?.send(text, id)
  }

  protected ping(timeoutMs: number): Promise<unknown> {
    return this.own.request('ping', undefined, timeoutMs)
  }

  protected sendCancelled(id: number, reason: string): void {
    this.link?.send(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } }),
    )
    this.link?.abandoned?.(id)
  }

  protected answered(id: number, call: TakenCall, result: ReadResult): void {
    this.#session.worked()
    const { text, value } = this.normalized(call, result)
    const { isError, structuredContent } = value
    // Structured content is an object in this era, whatever the server writes.
    const isOdd = call.method !== undefined && structuredContent !== undefined && !isJsonObject(structuredContent)
    const shown = isOdd ? legacyResult(text, value) : text
    this.context.frame({ kind: 'result', id, form: isError === true ? 'error' : 'complete', text: shown })
  }

  protected refused(id: number, _call: TakenCall, text: string): void {
    const pass = (): void => this.context.frame({ kind: 'error', id, text })
    const doubt = doubtOfError(id, errorObject(text))
    if (doubt) this.#session.check(doubt, pass)
    else pass()
  }

  protected override exchangeFailed(id: number, call: TakenCall, reason: WireError, notSent: boolean): void {
    const pass = (): void => super.exchangeFailed(id, call, reason, notSent)
    const doubt = notSent ? undefined : doubtOfStatus(id, reason, call.lent === true)
    if (doubt) this.#session.check(doubt, pass)
    else pass()
  }

  protected override released(reason: WireError): void {
    this.#session.stop()
    super.released(reason)
  }

  /** True when the session is lost: the call is rejected, and nothing is sent. */
  #isLost(id: number): boolean {
    const { lost } = this.#session
    if (lost) this.fail(id, lost.code, lost.message, 'not-sent')
    return lost !== undefined
  }

  protected asked(message: Extract<Incoming, { kind: 'request' }>, related: number | undefined): void {
    this.protocolErrors.good()
    this.#serverRequests.request(message, related)
  }

  protected noticed(method: string, params: JsonObject | undefined, related: number | undefined): void {
    this.#notices.received(method, params, related)
  }
}

/** The parameters of one `initialize`. */
interface Attempt {
  readonly version: string
  readonly capabilities: JsonObject
}

/**
 * Returns the next attempt after a refusal: one without extensions when the error names them, since some servers reject unknown
 * capabilities; else one with another version. Undefined when nothing is left to try.
 */
function nextAttempt({ version, capabilities }: Attempt, error: unknown): Attempt | undefined {
  if (!(error instanceof HubError)) return undefined
  const { extensions, ...others } = capabilities
  if (extensions !== undefined && error.data?.rpcCode !== undefined && /extensions/i.test(error.message))
    return { version, capabilities: others }
  const next = versionAfter(version, error)
  return next === undefined ? undefined : { version: next, capabilities }
}

/** The params of `initialize`. */
function initializeParams({ version, capabilities }: Attempt, hubVersion: string): JsonObject {
  return { protocolVersion: version, capabilities, clientInfo: { name: 'patchbay', version: hubVersion } }
}

/** Reads the result of `initialize`; throws `upstream_protocol` when it cannot be used. */
function readHandshake(result: JsonValue, deviates: (how: string) => void): Handshake {
  if (!isJsonObject(result)) throw new HubError('upstream_protocol', 'The server answered initialize with no object')
  const { serverInfo, capabilities, instructions } = result
  const read = readVersion(result.protocolVersion)
  const shown = cutShort(JSON.stringify(result.protocolVersion ?? null), 60)
  const isNamed = isJsonObject(serverInfo) || isJsonObject(capabilities)
  if (!read || (!read.isUsual && !isNamed)) {
    throw new HubError(
      'upstream_protocol',
      `The server answered initialize with protocol version ${shown}; the hub speaks ${LEGACY_VERSIONS.join(', ')}`,
    )
  }
  if (!read.isUsual) deviates(`its answer to initialize has the protocol version ${shown}`)
  return {
    protocolVersion: read.version,
    serverInfo: isJsonObject(serverInfo) ? serverInfo : {},
    ...readCapabilities(capabilities),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}
