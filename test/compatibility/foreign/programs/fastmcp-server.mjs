/** A server of FastMCP as its README has it: `fastmcp-server.mjs`, over stdio. */
import { FastMCP } from 'fastmcp'
import { z } from 'zod'

const server = new FastMCP({ name: 'fastmcp', version: '1.0.0' })
server.addTool({
  name: 'add',
  description: 'Adds two numbers',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
})
server.addTool({
  name: 'roots',
  description: 'The roots of the client',
  execute: async (_, { session }) => JSON.stringify(session?.roots ?? server.sessions.flatMap(({ roots }) => roots)),
})
server.addResource({
  uri: 'file:///logs/app.log',
  name: 'Log',
  mimeType: 'text/plain',
  load: async () => ({ text: 'a line of the log' }),
})
server.addPrompt({
  name: 'git-commit',
  description: 'A commit message',
  arguments: [{ name: 'changes', required: true }],
  load: async ({ changes }) => `A message for ${changes}`,
})
await server.start({ transportType: 'stdio' })
