import type { JsonObject } from '../../core/contract/json.ts'

/** Operation of a `_bulk` request. */
export interface Bulk {
  readonly index: string
  readonly id: string
  readonly doc: JsonObject
}

/** Behaviour of the engine. All of it may be changed while it runs. */
export interface EngineBehaviour {
  distribution?: 'opensearch'
  /** Refuses templates with data streams, as an engine without that feature does. */
  noDataStreams?: boolean
  /** Bytes beyond which a request is answered by 413. */
  mostBytes?: number
  /** The status of the whole answer. */
  status?: number
  /** The status of one record; undefined: it is stored. */
  refuse?: (doc: JsonObject) => number | undefined
}

/**
 * A double of Elasticsearch on 127.0.0.1: templates, data streams and `_bulk` with `create` as its documentation describes
 * them, with 409 for an id that is there already.
 */
export class SearchEngineDouble implements AsyncDisposable {
  readonly behaviour: EngineBehaviour = {}
  readonly stored: Bulk[] = []
  readonly templates: Record<string, JsonObject> = {}
  readonly authorizations = new Set<string | null>()
  requests = 0
  readonly #server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => this.#answer(request) })

  get port(): number {
    return this.#server.port ?? 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const { distribution, noDataStreams, status } = this.behaviour
    this.authorizations.add(request.headers.get('authorization'))
    if (status !== undefined) return Response.json({ error: { reason: 'not now' } }, { status })
    if (pathname === '/') {
      return Response.json({ version: { number: '8.15.0', ...(distribution ? { distribution } : {}) } })
    }
    if (pathname.startsWith('/_index_template/') && request.method === 'PUT') {
      const body = (await request.json()) as JsonObject
      if (noDataStreams && body.data_stream)
        return Response.json({ error: 'unknown field [data_stream]' }, { status: 400 })
      this.templates[pathname.slice('/_index_template/'.length)] = body
      return Response.json({ acknowledged: true })
    }
    if (pathname === '/_bulk' && request.method === 'POST') return this.#bulk(request)
    return Response.json({ error: 'no such path' }, { status: 404 })
  }

  async #bulk(request: Request): Promise<Response> {
    this.requests += 1
    const text = await request.text()
    if (text.length > (this.behaviour.mostBytes ?? Number.POSITIVE_INFINITY)) return new Response(null, { status: 413 })
    if (request.headers.get('content-type') !== 'application/x-ndjson') return new Response(null, { status: 406 })
    if (!text.endsWith('\n')) return Response.json({ error: 'must end with a newline' }, { status: 400 })
    const lines = text.trimEnd().split('\n')
    const items: JsonObject[] = []
    for (let at = 0; at < lines.length; at += 2) {
      const { create } = JSON.parse(lines[at] ?? '') as { create: { _index: string; _id: string } }
      const doc = JSON.parse(lines[at + 1] ?? '') as JsonObject
      items.push({ create: this.#create({ index: create._index, id: create._id, doc }) })
    }
    const errors = items.some(({ create }) => Number((create as JsonObject).status) >= 300)
    return Response.json({ took: 1, errors, items })
  }

  #create(one: Bulk): JsonObject {
    const refused = this.behaviour.refuse?.(one.doc)
    if (refused !== undefined) return { status: refused, error: { reason: `refused with ${refused}` } }
    if (this.stored.some(({ index, id }) => index === one.index && id === one.id)) return { status: 409 }
    this.stored.push(one)
    return { status: 201 }
  }
}
