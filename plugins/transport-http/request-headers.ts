import { usableHeaders } from 'patchbay/transport-kit'

type Headers = Readonly<Record<string, string>>

/**
 * The headers of one link's requests. Each set is created once and frozen, so that the HTTP client can cache the serialized
 * form; it is replaced when the session or the version becomes known.
 */
export class RequestHeaders {
  readonly #configured: Headers
  #state: Headers = {}
  #post: Headers | undefined
  /** Results for the frozen header sets of single messages, which are reused. */
  #made = new WeakMap<Headers, Headers>()
  #modern = false

  constructor(configured: Headers) {
    // The list of hubs that a call passed is set for each call.
    const { 'x-patchbay-instance': _, ...rest } = usableHeaders(configured)
    this.#configured = rest
  }

  /** Adds a header of the MCP session to every later request. */
  add(name: 'mcp-session-id' | 'mcp-protocol-version', value: string): void {
    this.#state = { ...this.#state, [name]: value }
    this.#post = undefined
    this.#made = new WeakMap()
  }

  /** Headers of single messages may include `mcp-*` from now on; configured ones still may not. */
  modern(): void {
    this.#modern = true
  }

  /** `extra` are headers of one message; configured headers and those of MCP override them. */
  post(extra?: Headers): Headers {
    if (!extra) {
      this.#post ??= this.#make({}, JSON_BODY)
      return this.#post
    }
    const known = this.#made.get(extra)
    if (known) return known
    const made = this.#make(extra, this.#modern ? { ...JSON_BODY, ...mcpOf(extra) } : JSON_BODY)
    if (Object.isFrozen(extra)) this.#made.set(extra, made)
    return made
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
  // Compressing middlewares hold back events of a stream until their buffer is full.
  'accept-encoding': 'identity',
}

const JSON_BODY = { ...JSON_OR_STREAM, 'content-type': 'application/json' }

function mcpOf(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-')))
}
