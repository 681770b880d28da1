/** Stdio: the tools that TOOLS names; each answers with WHO and its own name. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

const server = new McpServer({ name: 'named', version: '1.0.0' })
for (const name of (process.env.TOOLS ?? '').split(',')) {
  server.registerTool(name, { description: 'Says who it is' }, () => ({
    content: [{ type: 'text' as const, text: `${process.env.WHO} ${name}` }],
  }))
}
server.registerPrompt('greet', {}, () => ({
  messages: [{ role: 'user', content: { type: 'text', text: `${process.env.WHO} greets` } }],
}))
await server.connect(new StdioServerTransport())
