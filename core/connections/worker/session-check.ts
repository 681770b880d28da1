import { setTimeout as pause } from 'node:timers/promises'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { saysSession } from '../../transport-kit/remote.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'

/** Codes of JSON-RPC errors by which servers report an unknown session, and others report something else. */
const CODES: ReadonlySet<unknown> = new Set([-32_000, -32_001, -32_002, -32_005, -32_600])
const METHOD_NOT_FOUND = -32_601
/** The Python SDK's error for every request before `initialize`. */
const PYTHON = { code: -32_602, message: 'Invalid request parameters' }
/** The one status that is about the number of requests alone. Any other may be a server's answer to an unknown session. */
const TOO_MANY = 429
/** From this status on, a server may have acted before it answered. */
const SERVER_ERROR = 500
/** Statuses of servers and proxies that may answer otherwise a moment later: 408, and those from 502 on. */
const isPassing = (status: number): boolean => status === 408 || status >= 502
const CREDENTIAL: ReadonlySet<unknown> = new Set([401, 403])
const GONE: ReadonlySet<unknown> = new Set([404, 410])

/** Longest wait for each request of a check, in milliseconds. */
const CHECK_MS = 5_000
/** Pause before a refusal that may pass is confirmed, in milliseconds. */
const CONFIRM_MS = 500
/** Most checks within the window in milliseconds: a tool that always fails must not double the requests to its server. */
const CHECKS = { most: 10, windowMs: 10_000 } as const

/** The answer to a call that may be about the session. */
export interface SessionDoubt {
  readonly id: number
  /** A short form of the answer, for the reason. */
  readonly said: string
  readonly status?: number
  readonly rpcCode?: number
  readonly message?: string
  /** True when the HTTP response held no JSON-RPC answer. */
  readonly isOdd?: boolean
  /** True when the text of the answer speaks of sessions or of `initialize`. */
  readonly speaks: boolean
}

/** Callbacks of a `SessionCheck`. */
export interface SessionCheckOptions {
  /** Sends a request of the hub within the session. Rejects with a HubError. */
  readonly ask: (method: string, timeoutMs: number) => Promise<unknown>
  /** The method of a list that the server offers; undefined: it offers none. */
  readonly listMethod: () => string | undefined
  /** Fails a call. `acted`: the server may have acted on it. */
  readonly fail: (id: number, reason: WireError, acted: boolean) => void
  /** Called once, after the calls that met the loss have failed. */
  readonly lost: (reason: WireError) => void
}

/**
 * Finds out whether the server still knows the session, after answers that may mean that it does not. The specification
 * requires HTTP 404; many servers answer with another status, with a JSON-RPC error, or with no answer at all. A ping, and where
 * the answer speaks of the session a list, is refused in the same way when it does. Answers of the same kind share a check.
 */
export class SessionCheck {
  readonly #options: SessionCheckOptions
  /** Doubtful answers by the id of their call, with what passes each on. */
  readonly #held = new Map<number, { readonly doubt: SessionDoubt; readonly pass: () => void }>()
  #lost: WireError | undefined
  readonly #checks = new Map<string, Promise<boolean>>()
  readonly #stopped = new AbortController()
  #windowMs = Number.NEGATIVE_INFINITY
  #checked = 0
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
    void this.#shared(doubt).then(lost => {
      if (this.#over || this.#lost || !this.#held.has(doubt.id)) return
      if (lost) return this.#die(doubt)
      this.#held.delete(doubt.id)
      pass()
    })
  }

  /** The link has ended: answers that are held are passed on. */
  stop(): void {
    this.#over = true
    this.#stopped.abort()
    for (const { pass } of this.#held.values()) pass()
    this.#held.clear()
  }

  /** The verdict of a check that runs already, or of a new one. */
  #shared(doubt: SessionDoubt): Promise<boolean> {
    const { status, rpcCode, isOdd, speaks, message } = doubt
    const kind = JSON.stringify([status, rpcCode, isOdd, speaks, message])
    const running = this.#checks.get(kind)
    if (running !== undefined) return running
    const now = performance.now()
    if (now - this.#windowMs > CHECKS.windowMs) {
      this.#windowMs = now
      this.#checked = 0
    }
    this.#checked += 1
    if (this.#checked > CHECKS.most) return Promise.resolve(false)
    const check = this.#verdict(doubt).finally(() => this.#checks.delete(kind))
    this.#checks.set(kind, check)
    return check
  }

  async #verdict(doubt: SessionDoubt): Promise<boolean> {
    if (await this.#refuses('ping', doubt)) {
      if (doubt.speaks || !isPassing(doubt.status ?? 0)) return true
      await pause(CONFIRM_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
      return !this.#over && (await this.#refuses('ping', doubt))
    }
    const list = this.#options.listMethod()
    // Some servers answer a ping in any state.
    const { status = 0, isOdd = false } = doubt
    const isTelling = doubt.speaks || isPython(doubt) || isOdd || (status > 404 && status !== SERVER_ERROR)
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
    this.#options.lost(this.#lost)
  }

  #refuse(doubt: SessionDoubt, reason: WireError): void {
    const { status = 0, isOdd = false } = doubt
    this.#options.fail(doubt.id, reason, (status >= SERVER_ERROR || isOdd) && !doubt.speaks)
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
 * A failed exchange whose HTTP response may be about the session; undefined for one that cannot be. `lent`: the call had headers
 * of its caller, whose credential may be what the server refused.
 */
export function doubtOfStatus(id: number, { data = {} }: WireError, lent: boolean): SessionDoubt | undefined {
  const { status, session, notAnswer } = data
  const speaks = session === true
  if (typeof status !== 'number') return undefined
  if (typeof notAnswer === 'string') return { id, status, speaks, isOdd: true, said: notAnswer }
  if (!isRefusal(status)) return undefined
  if (CREDENTIAL.has(status) && lent && !speaks) return undefined
  return { id, status, speaks, said: `HTTP ${status}` }
}

function isRefusal(status: number): boolean {
  return status >= 300 && status !== TOO_MANY
}

function isPython({ rpcCode, message }: SessionDoubt): boolean {
  return rpcCode === PYTHON.code && message === PYTHON.message
}

/** True when a request of the hub was refused as the call was. */
function isSame({ message, data = {} }: HubError, doubt: SessionDoubt): boolean {
  const { status, rpcCode } = data
  if (rpcCode === METHOD_NOT_FOUND) return false
  if (typeof status === 'number') {
    if (GONE.has(status) || data.session === true) return true
    const isOdd = data.notAnswer !== undefined
    if (isOdd || doubt.isOdd) return isOdd === doubt.isOdd
    return status === doubt.status || (isPassing(status) && isPassing(doubt.status ?? 0))
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
