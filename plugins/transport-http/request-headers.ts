import { usableHeaders } from 'patchbay/contract'

type Headers = Readonly<Record<string, string>>

/**
 * The headers of one link's requests. Each set is made once and frozen, so that the client under it can keep the
 * written form; it is made anew when the session or the version becomes known.
 */
export class RequestHeaders {
  readonly #configured: Headers
  #state: Headers = {}
  #post: Headers | undefined

  constructor(configured: Headers) {
    this.#configured = usableHeaders(configured)
  }

  /** Adds a header of the MCP session to every later request. */
  add(name: 'mcp-session-id' | 'mcp-protocol-version', value: string): void {
    this.#state = { ...this.#state, [name]: value }
    this.#post = undefined
  }

  /** `extra` are headers of one call; configured ones and those of MCP win over them. */
  post(extra?: Headers): Headers {
    if (extra) return this.#make(extra, { ...JSON_OR_STREAM, 'content-type': 'application/json' })
    this.#post ??= this.#make({}, { ...JSON_OR_STREAM, 'content-type': 'application/json' })
    return this.#post
  }

  get(lastEventId: string | undefined): Headers {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    return this.#make({}, { accept: 'text/event-stream', 'accept-encoding': 'identity', ...resume })
  }

  delete(): Headers {
    return this.#make({}, {})
  }

  #make(extra: Headers, own: Headers): Headers {
    return Object.freeze({ ...usableHeaders(extra), ...this.#configured, ...own, ...this.#state })
  }
}

const JSON_OR_STREAM = {
  accept: 'application/json, text/event-stream',
  // Compressing middlewares hold events of a stream back until their buffer is full.
  'accept-encoding': 'identity',
}
