/**
 * A Bun.serve that reads, parses and answers the bench's calls in the form of either era, and does nothing else: what the
 * length of its messages alone costs a wire. PORT: 0 by default. Prints `listening on URL`.
 */
const SERVER_INFO = { name: 'patchbay', title: 'Patchbay: stdio', version: '0.0.0' }
const MODERN = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': SERVER_INFO } }
const ANSWER = { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } }

const bare = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 0),
  async fetch(request) {
    const { id, method, params } = JSON.parse(await request.text())
    if (method === 'initialize') return new Response('{}', { headers: { 'mcp-session-id': crypto.randomUUID() } })
    if (method !== 'tools/call') return new Response(null, { status: 202 })
    const result = { ...(params._meta ? MODERN : {}), content: [{ type: 'text', text: params.arguments.text }] }
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), ANSWER)
  },
})
console.log(`listening on ${new URL('/mcp', bare.url).href}`)
