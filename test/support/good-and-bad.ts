/**
 * A server over HTTP with the tools `good`, `bad`, whose results are errors, and `-sum`, which a table must not treat as a
 * formula. For ordinary users, whose programs would run in the sandbox.
 */
export function startGoodAndBad(): { readonly url: string; stop(): Promise<void> } {
  const tools = ['good', 'bad', '-sum'].map(name => ({ name, inputSchema: { type: 'object' } }))
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method, params } = (await request.json()) as Message
      if (id === undefined) return new Response(null, { status: 202 })
      const results: Record<string, object> = {
        initialize: {
          ...{ protocolVersion: '2025-11-25', capabilities: { tools: {} } },
          serverInfo: { name: 'remote', version: '1' },
        },
        'tools/list': { tools },
        'tools/call': { content: [{ type: 'text', text: 'done' }], isError: params?.name === 'bad' },
      }
      const result = results[method]
      const error = { code: -32601, message: 'Unknown method' }
      return Response.json({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
    },
  })
  return { url: `${server.url}mcp`, stop: () => server.stop(true) }
}

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string }
}
