/** A collector of traces: what arrives at `/v1/traces` as JSON, span by span. */
export interface Collected {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status: { readonly code?: number }
  /** By name. */
  readonly attributes: Readonly<Record<string, string | undefined>>
  readonly service: string | undefined
}

interface KeyValue {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

const named = (pairs: readonly KeyValue[]) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value.stringValue]))

/** Listens on loopback. `answer` makes the response; default 200. */
export function startCollector(answer: () => Response = () => Response.json({})) {
  const spans: Collected[] = []
  const headers: Headers[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/v1/traces') return new Response(null, { status: 404 })
      headers.push(request.headers)
      // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect
      const { resourceSpans } = (await request.json()) as any
      const response = answer()
      if (!response.ok) return response
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = named(resource.attributes)['service.name']
        for (const span of scopeSpans.flatMap((scope: { spans: object[] }) => scope.spans)) {
          spans.push({ ...span, attributes: named(span.attributes), service })
        }
      }
      return response
    },
  })
  return { url: server.url.href.replace(/\/$/, ''), spans, headers, stop: () => server.stop(true) }
}
