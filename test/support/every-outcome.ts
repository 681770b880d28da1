/** A server over HTTP with a tool for every outcome: `good`, `bad`, `broken`, `slow`, and `telling`, which logs meanwhile. */
export function startEveryOutcome(secret = ''): { readonly url: string; stop(): Promise<void> } {
  const tools = ['good', 'bad', 'broken', 'slow', 'telling'].map(name => ({ name, inputSchema: { type: 'object' } }))
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method, params } = (await request.json()) as Message
      if (id === undefined) return new Response(null, { status: 202 })
      const reply = (rest: object): Response => Response.json({ jsonrpc: '2.0', id, ...rest })
      if (method === 'initialize') {
        const capabilities = { tools: {}, logging: {} }
        const serverInfo = { name: 'remote', version: '1' }
        return reply({ result: { protocolVersion: '2025-11-25', capabilities, serverInfo } })
      }
      if (method === 'tools/list') return reply({ result: { tools } })
      if (method !== 'tools/call') return reply({ error: { code: -32601, message: 'Unknown method' } })
      const text = `The disk is full of ${secret}${'x'.repeat(600)}`
      switch (params?.name) {
        case 'bad':
          return reply({ result: { content: [{ type: 'text', text }], isError: true } })
        case 'broken':
          return reply({ error: { code: -32000, message: `The table ${secret} is locked` } })
        case 'slow':
          await new Promise(resolve => request.signal.addEventListener('abort', resolve))
          return reply({ result: { content: [] } })
        case 'telling':
          return telling(id)
        default:
          return reply({ result: { content: [{ type: 'text', text: 'done' }] } })
      }
    },
  })
  return { url: `${server.url}mcp`, stop: () => server.stop(true) }
}

/** A stream with a log message before the result. */
function telling(id: number): Response {
  const said = { level: 'warning', logger: 'disk', data: 'The disk is nearly full' }
  const messages = [
    { jsonrpc: '2.0', method: 'notifications/message', params: said },
    { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } },
  ]
  const events = messages.map(message => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join('')
  return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
}

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string }
}
