/** A server behind the transport of @hono/mcp as its README has it. Prints `listening on URL`. */
import { StreamableHTTPTransport } from '@hono/mcp'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { Hono } from 'hono'
import { z } from 'zod'

const app = new Hono()
const server = new McpServer({ name: 'hono', version: '1.0.0' })
server.registerTool(
  'add',
  { description: 'Adds two numbers', inputSchema: { a: z.number(), b: z.number() } },
  async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
)
server.registerResource('note', 'note://one', { mimeType: 'text/plain' }, uri => ({
  contents: [{ uri: uri.href, text: 'the first note' }],
}))
const transport = new StreamableHTTPTransport()
app.all('/mcp', async context => {
  if (!server.isConnected()) await server.connect(transport)
  return transport.handleRequest(context)
})
const { port } = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
console.log(`listening on http://127.0.0.1:${port}/mcp`)
