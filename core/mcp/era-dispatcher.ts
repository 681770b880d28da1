import type { LiveCredentials } from '../auth/live-credentials.ts'
import { TokenBuckets } from '../auth/rate-limit.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { ByteAccount, BytesInFlight } from '../domain/byte-account.ts'
import { FairTurns } from '../domain/fair-turns.ts'
import type { LegacyHandler } from './legacy/handler.ts'
import { bodyWeight, readBody } from './legacy/request-body.ts'
import { checkBodyType, checkPostAccept } from './legacy/request-headers.ts'
import type { ScopedRequest } from './legacy/scoped-request.ts'
import type { LegacyWire } from './legacy/wire.ts'
import type { ModernWire } from './modern/wire.ts'
import { isModern, namesModernVersion } from './rpc/era.ts'
import { RefusedMessage } from './rpc/http-errors.ts'
import { parseBody, readMessage } from './rpc/rpc.ts'

/** Characters from which on a body is handled in a turn of its own. */
const LARGE_BODY = 128 * 1024
/**
 * Characters of large bodies that one user may send in a second, and at once before that; further ones are handled later. Each MiB
 * costs some 5 ms of the main thread, with the memory that is given and collected.
 */
const LARGE_PER_SECOND = 32 * 1024 * 1024
const LARGE_AT_ONCE = 48 * 1024 * 1024

/** Serves both eras at one URL: each request shows by itself to which it belongs. */
export class EraDispatcher {
  readonly #legacy: LegacyWire
  readonly #legacyHandler: LegacyHandler
  readonly #modern: ModernWire
  readonly #bytes: BytesInFlight
  readonly #credentials: Pick<LiveCredentials, 'require'>
  readonly #turns = new FairTurns()
  readonly #pace = new TokenBuckets({
    perSecond: LARGE_PER_SECOND,
    burst: LARGE_AT_ONCE,
    now: () => performance.now(),
  })

  constructor(
    legacy: LegacyWire,
    legacyHandler: LegacyHandler,
    modern: ModernWire,
    deps: { readonly bytes: BytesInFlight; readonly credentials: Pick<LiveCredentials, 'require'> },
  ) {
    this.#bytes = deps.bytes
    this.#credentials = deps.credentials
    this.#legacy = legacy
    this.#legacyHandler = legacyHandler
    this.#modern = modern
  }

  /** Throws HubError for whatever is rejected before a message can be answered. */
  handle(scoped: ScopedRequest): Response | Promise<Response> {
    const { request, session, actor } = scoped
    const { headers } = request
    if (request.method === 'POST') {
      checkPostAccept(headers)
      checkBodyType(headers)
      const account = session?.load.bytes ?? this.#bytes.user(actor.userId)
      return readBody({ request, account, keepOpen: () => scoped.info.keepOpen() }).then(text => {
        const receive = () =>
          text.length > LARGE_BODY ? this.#later(scoped, text, account) : this.#received(scoped, text, account)
        const checked = this.#credentials.require(actor)
        return checked instanceof Promise ? checked.then(receive) : receive()
      })
    }
    if (namesModernVersion(headers))
      throw new HubError('method_not_allowed', `/mcp takes POST alone in this protocol version, not ${request.method}`)
    return this.#legacy.handle(scoped)
  }

  /** Parsing a large body takes some 20 ms: if several are complete at once, each is handled in a turn of its own. */
  async #later(scoped: ScopedRequest, text: string, account: ByteAccount): Promise<Response> {
    account.take(text.length)
    try {
      await this.#paced(scoped, text.length)
    } catch (error) {
      account.give(text.length)
      throw error
    }
    return new Promise((resolve, reject) => {
      this.#turns.add(scoped.actor.userId, () => {
        account.give(text.length)
        try {
          resolve(this.#received(scoped, text, account))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Delays a sender who sends too fast. The credential is checked again after a delay. */
  async #paced({ actor }: ScopedRequest, characters: number): Promise<void> {
    const waitMs = 1_000 * this.#pace.owe(actor.userId, characters)
    if (waitMs === 0) return
    await new Promise(resolve => setTimeout(resolve, waitMs))
    await this.#credentials.require(actor)
  }

  #received(scoped: ScopedRequest, text: string, account: ByteAccount): Response | Promise<Response> {
    // Checked before parsing, which is most of the cost of rejecting a large body.
    if (!account.fits(text.length)) throw account.refusal(text.length)
    const weight = bodyWeight(text)
    const value = parseBody(text)
    refuseCalls(scoped.actor, value)
    return isModern(value, scoped.request.headers)
      ? this.#modern.receive(scoped, value, weight)
      : this.#legacyHandler.receive(scoped, value, weight)
  }
}

/** Throws `insufficient_scope` where a client calls a tool that its user has let read alone. */
function refuseCalls({ credential }: UserActor, value: JsonValue): void {
  if (credential.kind !== 'grant' || credential.scopes.includes('mcp:tools')) return
  for (const one of Array.isArray(value) ? value : [value]) {
    const message = readMessage(one)
    if (message.kind === 'request' && message.method === 'tools/call')
      throw new RefusedMessage(message.id, new HubError('insufficient_scope', 'Calling tools was not granted'))
  }
}
