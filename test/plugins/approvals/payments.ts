/** A payment as its server counts it. */
export interface Payments {
  readonly url: string
  /** The number of payments of this amount. */
  paid(amount: number): number
  stop(): Promise<void>
}

const PAY = {
  inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
  description: 'Pays',
}

/** An MCP server over HTTP in the process of the test, which outlives hubs: `pay_owner` and `pay_caller` count what they pay. */
export function startPayments(tools: readonly string[] = ['pay_owner', 'pay_caller']): Payments {
  const counts = new Map<number, number>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: request.method === 'DELETE' ? 204 : 405 })
      // biome-ignore lint/suspicious/noExplicitAny: a fixture takes what comes
      const { id, method, params }: any = await request.json()
      if (id === undefined) return new Response(null, { status: 202 })
      const reply = (result: unknown, headers = {}) => Response.json({ jsonrpc: '2.0', id, result }, { headers })
      if (method === 'initialize') {
        const about = { capabilities: { tools: {} }, serverInfo: { name: 'payments', version: '1' } }
        return reply({ protocolVersion: params.protocolVersion, ...about }, { 'mcp-session-id': crypto.randomUUID() })
      }
      if (method === 'tools/list') return reply({ tools: tools.map(name => ({ name, ...PAY })) })
      if (method !== 'tools/call') {
        if (method === 'ping') return reply({})
        return Response.json({ jsonrpc: '2.0', id, error: { code: -32601, message: `No ${method}` } })
      }
      const { amount } = params.arguments
      counts.set(amount, (counts.get(amount) ?? 0) + 1)
      return reply({ content: [{ type: 'text', text: `paid ${amount}` }] })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    paid: amount => counts.get(amount) ?? 0,
    stop: () => server.stop(true),
  }
}
