/** HTTP with SSE as of 2024-11-05 that never sends a message: its stream has endless comments. */
const ENDPOINT = new TextEncoder().encode('event: endpoint\ndata: /messages\n\n')
const COMMENTS = new TextEncoder().encode(':\n'.repeat(30_000))

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch({ method }) {
    if (method === 'POST') return new Response(null, { status: 202 })
    let next = ENDPOINT
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(next)
        next = COMMENTS
        await new Promise(resolve => setImmediate(resolve))
      },
    })
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  },
})
console.log(`listening on ${server.url}sse`)

// Makes it a module.
export {}
