import { type GuardedFetch, HubError, type JsonObject } from 'patchbay/contract'
import { objectOf } from 'patchbay/transport-kit'

const KEYWORDS = [
  ...['level', 'server', 'serverId', 'tool', 'status', 'requestId', 'userId', 'keyId', 'group', 'component', 'code'],
  ...['traceId', 'client', 'logger', 'stream', 'plugin', 'outcome', 'clientName', 'clientVersion', 'keyLabel'],
]

/** Counts of a record that represents many calls. */
const NUMBERS = ['count', 'errors', 'durationTotal']
const KNOWN: ReadonlySet<string> = new Set([...KEYWORDS, 'timestamp', 'message', 'duration'])

/** True for a field with its own mapping in the engine; all others go into `fields`. */
export function isKnown(name: string, value: unknown): boolean {
  // Other records may have anything under these names, which the engine would refuse.
  return KNOWN.has(name) || (NUMBERS.includes(name) && Number.isSafeInteger(value))
}

/** An answer of the engine, with its body if that is a JSON object. */
export interface EngineAnswer {
  readonly status: number
  readonly body: JsonObject
}

/** The HTTP interface of Elasticsearch and OpenSearch. */
export class SearchEngine {
  readonly #fetch: GuardedFetch
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  /** `url`: user and password in it become a header. */
  constructor(url: string, fetch: GuardedFetch) {
    const { username, password, origin, pathname } = new URL(url)
    const credential = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    this.#fetch = fetch
    this.#base = `${origin}${pathname.replace(/\/+$/, '')}`
    this.#headers = username === '' ? {} : { authorization: `Basic ${Buffer.from(credential).toString('base64')}` }
  }

  /** Rejects with `delivery_failed` when there is no answer. */
  async ask(method: string, path: string, signal: AbortSignal, body?: string): Promise<EngineAnswer> {
    const type = path.includes('_bulk') ? 'application/x-ndjson' : 'application/json'
    const headers = { ...this.#headers, ...(body === undefined ? {} : { 'content-type': type }) }
    try {
      const response = await this.#fetch(`${this.#base}${path}`, {
        ...{ method, headers, signal },
        ...(body === undefined ? {} : { body }),
      })
      const text = await response.text()
      return { status: response.status, body: objectOf(text) }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new HubError('delivery_failed', `The search engine at ${this.#base} cannot be reached: ${why}`)
    }
  }

  /**
   * Creates the template of the index, as a data stream if the engine supports it. Returns whether it is one; otherwise each day
   * has its own index. Rejects with `delivery_failed`.
   */
  async prepare(index: string, signal: AbortSignal): Promise<{ readonly isDataStream: boolean }> {
    const { status, body } = await this.ask('GET', '/', signal)
    if (status !== 200) throw refused('GET /', status, body)
    const isOpenSearch = (body.version as JsonObject | undefined)?.distribution === 'opensearch'
    const template = { mappings: mappings(isOpenSearch ? 'flat_object' : 'flattened') }
    const path = `/_index_template/${index}`
    const stream = JSON.stringify({ index_patterns: [index], data_stream: {}, priority: 200, template })
    if ((await this.ask('PUT', path, signal, stream)).status < 300) return { isDataStream: true }
    const daily = JSON.stringify({ index_patterns: [`${index}-*`], priority: 200, template })
    const answer = await this.ask('PUT', path, signal, daily)
    if (answer.status >= 300) throw refused(`PUT ${path}`, answer.status, answer.body)
    return { isDataStream: false }
  }
}

/** The engine's refusal, with its own reason. */
export function refused(what: string, status: number, body: JsonObject): HubError {
  const { error } = body
  const reason = typeof error === 'string' ? error : (error as JsonObject | undefined)?.reason
  const words = typeof reason === 'string' ? `: ${reason.slice(0, 300)}` : ''
  return new HubError('delivery_failed', `The search engine answered ${what} with ${status}${words}`)
}

function mappings(flat: 'flattened' | 'flat_object') {
  return {
    dynamic: false,
    properties: {
      '@timestamp': { type: 'date' },
      timestamp: { type: 'date' },
      message: { type: 'text' },
      duration: { type: 'long' },
      ...Object.fromEntries(NUMBERS.map(name => [name, { type: 'long' }])),
      fields: { type: flat },
      ...Object.fromEntries(KEYWORDS.map(name => [name, { type: 'keyword', ignore_above: 1_024 }])),
    },
  }
}
