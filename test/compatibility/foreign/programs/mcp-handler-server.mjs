/** A route of mcp-handler as its README has it. Prints `listening on URL`. */
import { createMcpHandler } from 'mcp-handler'
import { z } from 'zod'

const handler = createMcpHandler(server => {
  server.registerTool(
    'add',
    { description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  )
  server.registerPrompt('greet', { description: 'A greeting' }, async () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }],
  }))
})
const { port } = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => handler(request) })
console.log(`listening on http://127.0.0.1:${port}/api/mcp`)
