/**
 * An MCP server over HTTP with answers of a requested size, in a thread of its own: posts its port, then receives `release`,
 * which answers the calls of `wait`.
 */
export type HeavyUpstreamMessage = 'release'

interface Rpc {
  readonly id?: string | number
  readonly method: string
  // biome-ignore lint/suspicious/noExplicitAny: a fixture takes what comes
  readonly params?: any
}

declare const self: Worker

const NUMBER = { type: 'number' }
const TOOLS = [
  { name: 'bytes', inputSchema: { type: 'object', properties: { size: NUMBER } } },
  { name: 'notes', inputSchema: { type: 'object', properties: { size: NUMBER, answer: NUMBER, count: NUMBER } } },
  { name: 'wait', inputSchema: { type: 'object' } },
]

const waiting: (() => void)[] = []
const texts = new Map<string, Buffer<ArrayBuffer>>()

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 255,
  async fetch(request) {
    if (request.method !== 'POST') return new Response(null, { status: 405 })
    const rpc = (await request.json()) as Rpc
    if (rpc.id === undefined) return new Response(null, { status: 202 })
    const { name, arguments: args } = rpc.params ?? {}
    if (rpc.method !== 'tools/call') return Response.json({ jsonrpc: '2.0', id: rpc.id, result: described(rpc) })
    if (name === 'notes') return notes(rpc, args)
    if (name === 'wait') await new Promise<void>(resolve => waiting.push(resolve))
    return new Response(answer(rpc, 'x', name === 'bytes' ? args.size : 2), {
      headers: { 'content-type': 'application/json' },
    })
  },
})
self.onmessage = () => {
  for (const resolve of waiting.splice(0)) resolve()
}
self.postMessage(server.port)

function described({ method, params }: Rpc): object {
  if (method === 'tools/list') return { tools: TOOLS }
  if (method !== 'initialize') return {}
  const { protocolVersion } = params
  return { protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'heavy', version: '1' } }
}

/** Built once for each size: the time for that does not count for the hub. */
function repeated(letter: string, size: number): Buffer<ArrayBuffer> {
  const key = `${letter}${size}`
  const known = texts.get(key) ?? Buffer.alloc(size, letter)
  texts.set(key, known)
  return known
}

function answer({ id }: Rpc, letter: string, size: number): Buffer<ArrayBuffer> {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`
  return Buffer.concat([Buffer.from(head), repeated(letter, size), Buffer.from('"}]}}')])
}

interface Notes {
  /** Characters of one note, and of the answer. */
  readonly size: number
  readonly answer: number
  readonly count: number
}

/** Log messages ahead of the answer. */
function notes(rpc: Rpc, { size, count, answer: length }: Notes): Response {
  const noteHead = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"'
  const note = [Buffer.from(`data: ${noteHead}`), repeated('n', size), Buffer.from('"}}\n\n')]
  const parts = Array.from({ length: count }, () => note).flat()
  const events = [...parts, Buffer.from('data: '), answer(rpc, 'a', length), Buffer.from('\n\n')]
  return new Response(Buffer.concat(events), { headers: { 'content-type': 'text/event-stream' } })
}
