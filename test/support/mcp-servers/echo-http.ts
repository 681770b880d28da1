/**
 * Streamable HTTP written by hand on Bun.serve: sessions, JSON answers, hardly any validation, so that it does not limit its
 * callers. `echo` returns its text, `whoami` the environment's WHO, the session's number and the received headers. `emit`
 * answers with its text; a call with a progress token gets a stream, with `count` progress notifications of that text before the
 * answer, `gapMs` apart. `POST /control/forget` drops all sessions (as a restart does); UNKNOWN is the status for these: 404, or
 * 400 as with many servers. PORT: 0 by default. Prints `listening on URL`.
 */
const TOOLS = [
  {
    name: 'echo',
    description: 'Gives the text back',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  },
  { name: 'whoami', description: 'Says which of several servers this is', inputSchema: { type: 'object' } },
  { name: 'emit', description: 'Tells its progress', inputSchema: { type: 'object' } },
]
const JSON_HEADERS = { 'content-type': 'application/json' }

const UNKNOWN = Number(process.env.UNKNOWN ?? 404)
const sessions = new Map<string, number>()
let opened = 0

const reply = (id: unknown, result: unknown, headers: Record<string, string> = JSON_HEADERS): Response =>
  new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), { headers })

const refuse = (status: number, id: unknown, code: number, message: string): Response =>
  new Response(JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } }), {
    status,
    headers: JSON_HEADERS,
  })

// biome-ignore lint/suspicious/noExplicitAny: a fixture takes what comes
function emit(id: unknown, { arguments: { count, gapMs, text }, _meta }: any): Response {
  const result = { content: [{ type: 'text', text }] }
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return reply(id, result)
  const encoder = new TextEncoder()
  const events = new ReadableStream<Uint8Array>({
    async start(controller) {
      const event = (message: object) =>
        controller.enqueue(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`))
      for (let progress = 1; progress <= count; progress += 1) {
        const params = { progressToken, progress, total: count, message: JSON.stringify({ text }) }
        event({ method: 'notifications/progress', params })
        await Bun.sleep(gapMs)
      }
      event({ id, result })
      controller.close()
    },
  })
  return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
}

async function post(request: Request): Promise<Response> {
  // biome-ignore lint/suspicious/noExplicitAny: a fixture takes what comes
  const message: any = await request.json()
  const { id, method, params } = message
  if (method === 'initialize') {
    const session = crypto.randomUUID()
    opened += 1
    sessions.set(session, opened)
    return reply(
      id,
      {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: `echo-http${process.env.WHO ? `-${process.env.WHO}` : ''}`, version: '1.0.0' },
      },
      { ...JSON_HEADERS, 'mcp-session-id': session },
    )
  }
  const session = request.headers.get('mcp-session-id')
  if (session === null) return refuse(400, id, -32600, 'Mcp-Session-Id is required')
  if (!sessions.has(session)) return refuse(UNKNOWN, id, UNKNOWN === 404 ? -32001 : -32000, 'Session not found')
  if (id === undefined) return new Response(null, { status: 202 })
  if (method === 'ping') return reply(id, {})
  if (method === 'tools/list') return reply(id, { tools: TOOLS })
  if (method !== 'tools/call') return refuse(200, id, -32601, `Method not found: ${method}`)
  if (params.name === 'echo') {
    const text = JSON.stringify(params.arguments?.text ?? '')
    return new Response(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":${text}}]}}`,
      { headers: JSON_HEADERS },
    )
  }
  if (params.name === 'emit') return emit(id, params)
  if (params.name !== 'whoami') return refuse(200, id, -32602, `Unknown tool: ${params.name}`)
  const who = {
    who: process.env.WHO ?? '',
    session: sessions.get(session),
    headers: Object.fromEntries(request.headers),
  }
  return reply(id, { content: [{ type: 'text', text: JSON.stringify(who) }] })
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 0),
  fetch(request) {
    const path = new URL(request.url).pathname
    if (path === '/control/forget') {
      const forgotten = sessions.size
      sessions.clear()
      return Response.json({ forgotten })
    }
    if (path !== '/mcp') return new Response('Not found', { status: 404 })
    if (request.method === 'POST') return post(request)
    if (request.method === 'DELETE') {
      const known = sessions.delete(request.headers.get('mcp-session-id') ?? '')
      return new Response(null, { status: known ? 204 : 404 })
    }
    return new Response(null, { status: 405, headers: { allow: 'POST, DELETE' } })
  },
})
console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
