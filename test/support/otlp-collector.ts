import type { JsonObject } from '../../core/contract/json.ts'

/** A record as it came, with the attributes of its resource. */
export interface CollectedRecord {
  readonly resource: Readonly<Record<string, unknown>>
  readonly record: JsonObject
}

/** A listener on 127.0.0.1 that receives logs by the specification of OTLP/HTTP (1.x, JSON). */
export class OtlpCollector implements AsyncDisposable {
  readonly records: CollectedRecord[] = []
  readonly keys = new Set<string | null>()
  /** Returns a response instead of accepting the records; undefined: they are accepted. */
  answer: ((records: readonly JsonObject[]) => Response | undefined) | undefined
  requests = 0
  readonly #server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => this.#answer(request) })

  get endpoint(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  get messages(): readonly string[] {
    return this.records.map(({ record }) => (record.body as { stringValue: string }).stringValue)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    this.requests += 1
    this.keys.add(request.headers.get('api-key'))
    const { pathname } = new URL(request.url)
    if (pathname !== '/v1/logs' || request.headers.get('content-type') !== 'application/json')
      return new Response('', { status: 404 })
    const { resourceLogs } = (await request.json()) as { resourceLogs: ResourceLogs[] }
    const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    const other = this.answer?.(records)
    if (other) return other
    for (const { resource, scopeLogs } of resourceLogs) {
      const attributes = Object.fromEntries(resource.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
      for (const { logRecords } of scopeLogs)
        this.records.push(...logRecords.map(record => ({ resource: attributes, record })))
    }
    return Response.json({})
  }
}

interface ResourceLogs {
  readonly resource: { readonly attributes: readonly { key: string; value: JsonObject }[] }
  readonly scopeLogs: readonly { readonly logRecords: readonly JsonObject[] }[]
}
