/** A server of FastMCP as its README has it, over stdio or, with `http`, at an address that it prints: `listening on URL`. */
import { createServer } from 'node:net'
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

/** It takes no port 0. */
function freePort() {
  const { promise, resolve } = Promise.withResolvers()
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address()
    probe.close(() => resolve(port))
  })
  return promise
}

if (process.argv[2] === 'http') {
  const port = await freePort()
  await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } })
  console.log(`listening on http://127.0.0.1:${port}/mcp`)
} else {
  await server.start({ transportType: 'stdio' })
}
