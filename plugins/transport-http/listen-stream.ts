import type { GuardedResponse } from 'patchbay/contract'
import type { LongMessage, WireError } from 'patchbay/transport-kit'
import {
  backoffMs,
  contentTypeOf,
  isBlockedRedirect,
  readEvents,
  reasonOf,
  type StreamPosition,
  sessionLost,
  wasNotSent,
} from 'patchbay/transport-kit'

/** Lifetime after which a stream counts as stable: the next attempt follows at once. */
const SOUND_MS = 5_000

/** Callbacks of a `ListenStream`. */
export interface ListenOptions {
  /** Sends a GET for a stream, resumed after this event. */
  open(lastEventId: string | undefined): Promise<GuardedResponse>
  message(text: string): void
  tooLong(message: LongMessage): void
  readonly maxBytes: number
  hasSession(): boolean
  /** The stream has ended. */
  ended(): void
  /** An attempt has ended: the stream is open, or the server has none for now. */
  tried(): void
  /** An established stream was rejected in a way that may mean that the session is lost. */
  sessionSuspect(): void
  /** Called when the server is unreachable, or has lost the session. */
  lost(reason: WireError): void
  log(level: 'debug' | 'warn', message: string): void
}

/** The GET stream, on which a server sends messages that belong to no call. Kept open while the server offers one. */
export class ListenStream {
  readonly #options: ListenOptions
  readonly #position: StreamPosition = { lastEventId: undefined, retryMs: undefined }
  #state: 'off' | 'opening' | 'open' | 'waiting' | 'stopped' = 'off'
  #failures = 0
  #wasOpen = false
  #isRetired = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #response: GuardedResponse | undefined

  constructor(options: ListenOptions) {
    this.#options = options
  }

  /** True while messages may arrive on it. */
  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Opens the stream unless it is open or being opened. Also called to check whether the server is still reachable. */
  start(): void {
    if (this.#state !== 'off' && this.#state !== 'waiting') return
    clearTimeout(this.#timer)
    this.#state = 'opening'
    this.#options.open(this.#position.lastEventId).then(
      response => this.#opened(response),
      error => this.#ended(error),
    )
  }

  /** The session is lost: an open stream may still carry answers, and is not opened again. */
  retire(): void {
    this.#isRetired = true
    if (this.#state !== 'open') this.stop()
  }

  stop(): void {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
    this.#response?.cancel()
  }

  #opened(response: GuardedResponse): void {
    if (this.#state === 'stopped') return response.cancel()
    const { status } = response
    if (status === 200 && contentTypeOf(response).startsWith('text/event-stream')) {
      this.#state = 'open'
      this.#wasOpen = true
      this.#response = response
      const since = performance.now()
      const done = (error?: unknown) => {
        this.#options.ended()
        if (performance.now() - since >= SOUND_MS) this.#failures = 0
        this.#ended(error)
      }
      const options = this.#options
      readEvents(response, this.#position, text => options.message(text), done, {
        get maxBytes() {
          return options.maxBytes
        },
        tooLong: message => options.tooLong(message),
      })
      return this.#options.tried()
    }
    response.cancel()
    if (status === 404 && this.#options.hasSession()) return this.#options.lost(sessionLost(status))
    if (status >= 500 && status !== 501) return this.#wait()
    // 405 means that the server has no such stream; some servers send other statuses.
    this.#none(status === 405 ? undefined : `HTTP ${status}`)
    if (status === 400 && this.#wasOpen && this.#options.hasSession()) this.#options.sessionSuspect()
  }

  #ended(error: unknown): void {
    this.#response = undefined
    if (this.#isRetired) this.stop()
    if (this.#state === 'stopped') return
    if (wasNotSent(error)) return this.#options.lost(reasonOf(error))
    if (isBlockedRedirect(error)) return this.#none(reasonOf(error).message)
    this.#wait()
  }

  #none(why: string | undefined): void {
    if (why !== undefined) this.#options.log('debug', `The server offers no stream of its own (${why})`)
    this.#state = 'off'
    this.#options.tried()
  }

  #wait(): void {
    this.#state = 'waiting'
    const delayMs = Math.max(this.#position.retryMs ?? 0, backoffMs(this.#failures, Math.random))
    this.#failures += 1
    this.#timer = setTimeout(() => this.start(), delayMs)
    this.#options.tried()
  }
}
