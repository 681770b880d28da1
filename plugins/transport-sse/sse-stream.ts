import { type GuardedResponse, HubError } from 'patchbay/contract'
import type { WireError } from 'patchbay/transport-kit'
import {
  backoffMs,
  contentTypeOf,
  isBlockedRedirect,
  type LongMessage,
  readEvents,
  reasonOf,
  type StreamPosition,
  statusReason,
  wasNotSent,
} from 'patchbay/transport-kit'
import { type Endpoint, isEndpoint, readEndpoint } from './endpoint.ts'

const RESUME_ATTEMPTS = 8
/** Longest wait for the address for messages after the first event that is none, in milliseconds. */
const ENDPOINT_MS = 20_000
/** The longest event, in characters, that a reason quotes. */
const QUOTED = 200

/** Callbacks of an `SseStream`. */
export interface SseStreamOptions {
  /** The configured address. */
  readonly url: string
  /** Sends a GET for the stream, resumed after this event. */
  get(lastEventId: string | undefined): Promise<GuardedResponse>
  message(text: string): void
  tooLong(message: LongMessage): void
  readonly maxBytes: number
  /** The stream and its session are lost. Called once, and only after the endpoint was known. */
  lost(reason: WireError): void
}

/**
 * The stream that is the session. One whose events have ids is resumed after the last of them; the endpoint that the server then
 * sends shows whether the session is the same. Any other ends with its connection.
 */
export class SseStream {
  readonly #options: SseStreamOptions
  readonly #position: StreamPosition = { lastEventId: undefined, retryMs: undefined }
  readonly #first = Promise.withResolvers<Endpoint>()
  #endpoint: string | undefined
  #response: GuardedResponse | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stopped = false

  constructor(options: SseStreamOptions) {
    this.#options = options
    // A caller that stops the stream while it opens does not wait for it any more.
    this.#first.promise.catch(() => undefined)
  }

  /** Opens the stream; resolves with the address for messages. Rejects with a HubError. */
  async open(): Promise<Endpoint> {
    const response = await this.#options.get(undefined)
    const refusal = refusalOf(response)
    if (refusal) {
      response.cancel()
      throw new HubError(refusal.code, refusal.message, refusal.data ? { data: refusal.data } : {})
    }
    this.#read(response)
    return await this.#first.promise
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#response?.cancel()
    this.#first.reject(new HubError('connection_lost', 'The connection to the server was closed while it opened'))
  }

  #read(response: GuardedResponse): void {
    if (this.#stopped) return response.cancel()
    this.#response = response
    const message = (text: string): void => {
      if (this.#stopped) return
      this.#failures = 0
      if (this.#endpoint === undefined && this.#isUnnamed('message', text)) return
      this.#options.message(text)
    }
    const options = this.#options
    readEvents(response, this.#position, message, error => this.#ended(error), {
      get maxBytes() {
        return options.maxBytes
      },
      tooLong: long => {
        if (!this.#stopped) options.tooLong(long)
      },
      other: ({ type, data }) => {
        if (type.trim().toLowerCase() === 'endpoint') this.#named(data)
        else if (this.#endpoint === undefined) this.#isUnnamed(type, data)
      },
    })
  }

  /** True for an event before the address for messages that is this address under another name. Others begin a wait for it. */
  #isUnnamed(type: string, text: string): boolean {
    if (this.#stopped) return false
    if (isEndpoint(text)) {
      this.#named(text, `its first event has the type "${type.slice(0, QUOTED)}" in place of "endpoint"`)
      return true
    }
    if (type === 'message') this.#timer ??= setTimeout(() => this.#end(noEndpoint(text)), ENDPOINT_MS)
    return false
  }

  #named(text: string, deviation?: string): void {
    if (this.#stopped) return
    let endpoint: Endpoint
    try {
      endpoint = readEndpoint(text, this.#options.url)
    } catch (error) {
      return this.#end(error)
    }
    const { url } = endpoint
    if (this.#endpoint === undefined) {
      clearTimeout(this.#timer)
      this.#endpoint = url
      const deviations = [deviation, endpoint.deviation].filter(said => said !== undefined)
      this.#first.resolve(deviations.length > 0 ? { ...endpoint, deviation: deviations.join(', and ') } : endpoint)
    } else if (url !== this.#endpoint) {
      this.#end(new HubError('connection_lost', 'The server began another session on the stream'))
    }
  }

  #ended(error: unknown): void {
    this.#response = undefined
    if (this.#stopped) return
    const { lastEventId, retryMs } = this.#position
    const again = this.#endpoint !== undefined && lastEventId !== undefined && this.#failures < RESUME_ATTEMPTS
    if (!again || error instanceof RangeError) {
      return this.#end(error ?? new HubError('connection_lost', 'The server closed the stream of the session'))
    }
    const delayMs = Math.max(retryMs ?? 0, backoffMs(this.#failures, Math.random))
    this.#failures += 1
    this.#timer = setTimeout(() => this.#resume(), delayMs)
  }

  #resume(): void {
    this.#options.get(this.#position.lastEventId).then(
      response => {
        if (this.#stopped) return response.cancel()
        const refusal = refusalOf(response)
        if (!refusal) return this.#read(response)
        response.cancel()
        if (response.status >= 500) return this.#ended(undefined)
        this.#end(new HubError('connection_lost', `The stream cannot be taken up again: ${refusal.message}`))
      },
      error => (wasNotSent(error) || isBlockedRedirect(error) ? this.#end(error) : this.#ended(error)),
    )
  }

  #end(error: unknown): void {
    if (this.#stopped) return
    const opening = this.#endpoint === undefined
    const reason = reasonOf(error)
    this.#first.reject(new HubError(reason.code, reason.message))
    this.stop()
    if (!opening) this.#options.lost(reason)
  }
}

function noEndpoint(text: string): HubError {
  const sent = text.length > QUOTED ? 'a longer text' : JSON.stringify(text)
  return new HubError(
    'upstream_protocol',
    `The server began its stream with ${sent} and named no address for messages (the event "endpoint"); is this the address of its SSE endpoint?`,
  )
}

function refusalOf(response: GuardedResponse): WireError | undefined {
  const { status } = response
  if (status !== 200) return statusReason(response)
  if (contentTypeOf(response).startsWith('text/event-stream')) return undefined
  return {
    code: 'upstream_protocol',
    message: 'The server answered with HTTP 200 and no stream of events; is this the address of its SSE endpoint?',
  }
}
