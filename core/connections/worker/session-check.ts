import { HubError, type WireError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { saysSession } from '../../transport-kit/remote.ts'

/** Codes of JSON-RPC errors by which servers report an unknown session, and others report something else. */
const CODES: ReadonlySet<unknown> = new Set([-32_000, -32_001, -32_002, -32_005, -32_600])
const METHOD_NOT_FOUND = -32_601
/** The Python SDK's error for every request before `initialize`. */
const PYTHON = { code: -32_602, message: 'Invalid request parameters' }
/** Statuses by which servers report an unknown session; others speak of load, size, type or a proxy. */
const STATUSES: ReadonlySet<unknown> = new Set([400, 401, 403, 404, 409, 410, 412, 422, 428, 440, 500])
/** Statuses that a server may send after it has acted. */
const SERVER_ERROR = 500
const CREDENTIAL: ReadonlySet<unknown> = new Set([401, 403])
const GONE: ReadonlySet<unknown> = new Set([404, 410])

/** Longest wait for each request of a check, in milliseconds. */
const CHECK_MS = 5_000
/** Time in milliseconds in which calls in flight may still be answered on a lost session. */
const LAST_WORDS_MS = 250

/** The answer to a call that may be about the session. */
export interface SessionDoubt {
  readonly id: number
  /** A short form of the answer, for the reason. */
  readonly said: string
  readonly status?: number
  readonly rpcCode?: number
  readonly message?: string
  /** True when the text of the answer speaks of sessions or of `initialize`. */
  readonly speaks: boolean
}

/** Callbacks of a `SessionCheck`. */
export interface SessionCheckOptions {
  /** Sends a request of the hub within the session. Rejects with a HubError. */
  readonly ask: (method: string, timeoutMs: number) => Promise<unknown>
  /** The method of a list that the server offers; undefined: it offers none. */
  readonly listMethod: () => string | undefined
  readonly inFlight: () => number
  /** Fails a call. `acted`: the server may have acted on it. */
  readonly fail: (id: number, reason: WireError, acted: boolean) => void
  readonly end: (reason: WireError) => void
}

/**
 * Finds out whether the server still knows the session, after answers that may mean that it does not. The specification
 * requires HTTP 404; many servers answer with another status, or with a JSON-RPC error. A ping, and where the answer
 * speaks of the session a list, is refused in the same way when it does.
 */
export class SessionCheck {
  readonly #options: SessionCheckOptions
  /** Doubtful answers by the id of their call, with what passes each on. */
  readonly #held = new Map<number, { readonly doubt: SessionDoubt; readonly pass: () => void }>()
  #lost: WireError | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #worked = false
  #over = false

  constructor(options: SessionCheckOptions) {
    this.#options = options
  }

  /** Why the session is lost; undefined while it is not. No call may be sent any more. */
  get lost(): WireError | undefined {
    return this.#lost
  }

  /** A call got its result within the session. */
  worked(): void {
    this.#worked = true
  }

  /** Holds the answer until the session was checked; `pass` passes it on when the session is known. */
  check(doubt: SessionDoubt, pass: () => void): void {
    if (this.#lost) return this.#refuse(doubt, this.#lost)
    this.#held.set(doubt.id, { doubt, pass })
    void this.#verdict(doubt).then(lost => {
      if (this.#over || this.#lost || !this.#held.has(doubt.id)) return
      if (lost) return this.#die(doubt)
      this.#held.delete(doubt.id)
      pass()
    })
  }

  /** A call has ended. */
  settled(): void {
    if (this.#lost && this.#options.inFlight() === 0) this.#end(this.#lost)
  }

  /** The link has ended: answers that are held are passed on. */
  stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
    for (const { pass } of this.#held.values()) pass()
    this.#held.clear()
  }

  async #verdict(doubt: SessionDoubt): Promise<boolean> {
    if (await this.#refuses('ping', doubt)) return true
    const list = this.#options.listMethod()
    // Some servers answer a ping in any state.
    const { status = 0 } = doubt
    const isTelling = doubt.speaks || isPython(doubt) || (status > 404 && status !== SERVER_ERROR)
    return isTelling && list !== undefined && this.#refuses(list, doubt)
  }

  async #refuses(method: string, doubt: SessionDoubt): Promise<boolean> {
    try {
      await this.#options.ask(method, CHECK_MS)
      return false
    } catch (error) {
      return error instanceof HubError && isSame(error, doubt)
    }
  }

  #die({ said, status = 200 }: SessionDoubt): void {
    const message = `The server has ended the session (${said})`
    // Without a status the loss counts as one of the server itself: a session that never worked is no session.
    const data = this.#worked ? { data: { status } } : {}
    this.#lost = { code: 'connection_lost', message, ...data }
    for (const { doubt } of this.#held.values()) this.#refuse(doubt, this.#lost)
    this.#held.clear()
    const reason = this.#lost
    this.#timer = setTimeout(() => this.#end(reason), LAST_WORDS_MS)
    this.settled()
  }

  #refuse(doubt: SessionDoubt, reason: WireError): void {
    this.#options.fail(doubt.id, reason, doubt.status === SERVER_ERROR && !doubt.speaks)
  }

  #end(reason: WireError): void {
    if (this.#over) return
    this.#options.end(reason)
  }
}

/** A JSON-RPC error that may be about the session; undefined for one that cannot be. */
export function doubtOfError(id: number, error: JsonObject): SessionDoubt | undefined {
  const { code, message } = error
  if (typeof code !== 'number' || code === METHOD_NOT_FOUND) return undefined
  const text = typeof message === 'string' ? message : ''
  const doubt = { id, rpcCode: code, message: text, speaks: saysSession(text), said: `"${cutShort(text, 120)}"` }
  return doubt.speaks || CODES.has(code) || isPython(doubt) ? doubt : undefined
}

/**
 * A failed exchange whose HTTP status may be about the session; undefined for a status that cannot be. `lent`: the call had headers of its caller, whose credential may be what the server refused.
 */
export function doubtOfStatus(id: number, { data = {} }: WireError, lent: boolean): SessionDoubt | undefined {
  const { status, session } = data
  const speaks = session === true
  if (typeof status !== 'number' || !STATUSES.has(status)) return undefined
  if (CREDENTIAL.has(status) && lent && !speaks) return undefined
  return { id, status, speaks, said: `HTTP ${status}` }
}

function isPython({ rpcCode, message }: SessionDoubt): boolean {
  return rpcCode === PYTHON.code && message === PYTHON.message
}

/** True when a request of the hub was refused as the call was. */
function isSame({ message, data = {} }: HubError, doubt: SessionDoubt): boolean {
  const { status, rpcCode } = data
  if (rpcCode === METHOD_NOT_FOUND) return false
  if (typeof status === 'number') {
    if (status === doubt.status || GONE.has(status)) return true
    return STATUSES.has(status) && data.session === true
  }
  if (rpcCode === undefined) return false
  if (rpcCode === doubt.rpcCode && message.endsWith(`: ${doubt.message}`)) return true
  return saysSession(message)
}

/** The JSON of an error object, as an object. */
export function errorObject(text: string): JsonObject {
  const value: unknown = JSON.parse(text)
  return isJsonObject(value) ? value : {}
}
