/**
 * A reference upstream of the conformance leg as its users write one with the official package of version 2: one factory for
 * both eras. Some tools send requests to the client, which only the older era has; others request input by their results, and
 * exist in the newer one. Log levels exist only in the older era too. `PORT` (0 takes a free one) comes from the environment;
 * prints `listening on URL`. With `WIRE=stdio` it uses its standard streams; with `VARIED=1` too, it lists one more tool for
 * older clients that accept requests.
 */
import { randomBytes } from 'node:crypto'
import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  McpServer,
  type McpServerFactory,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { type RoundState, registerRounds } from './reference/asking.ts'
import { textResult } from './reference/content.ts'
import { registerDocuments } from './reference/documents.ts'
import { LegacySessions, subscriptionsOf } from './reference/legacy-sessions.ts'
import { type ChangeNotices, registerPlainTools } from './reference/plain.ts'
import { registerPushingTools } from './reference/pushing.ts'

const HOSTS = ['localhost', '127.0.0.1', '[::1]']
const codec = createRequestStateCodec<RoundState>({ key: randomBytes(32) })

function build(era: 'legacy' | 'modern', notices: (server: McpServer) => ChangeNotices): McpServer {
  const listChanged = { listChanged: true }
  const server = new McpServer(
    { name: `sdk-2-4-${era}`, version: '1.0.0' },
    {
      capabilities: {
        tools: listChanged,
        prompts: listChanged,
        resources: { ...listChanged, subscribe: true },
        completions: {},
        ...(era === 'legacy' ? { logging: {} } : {}),
      },
      instructions: `The face of the ${era} era.`,
      requestState: { verify: codec.verify },
    },
  )
  registerPlainTools(server, notices(server))
  registerPushingTools(server)
  if (era === 'modern') registerRounds(server, codec)
  else
    server.registerTool('test_older_alone', { description: 'Is there in the older era alone' }, () => textResult(era))
  registerDocuments(server)
  return server
}

const toSession = (server: McpServer): ChangeNotices => ({
  tools: () => server.sendToolListChanged(),
  prompts: () => server.sendPromptListChanged(),
})

/** Lists one more tool for clients that accept requests. */
function listForAskable(mcp: McpServer): void {
  const name = 'test_for_askable'
  const { server } = mcp
  const { oninitialized } = server
  server.oninitialized = () => {
    oninitialized?.()
    if (server.getClientCapabilities()?.sampling) mcp.registerTool(name, {}, () => textResult(name))
  }
}

if (process.env.WIRE === 'stdio') {
  const factory: McpServerFactory = ({ era }) => {
    const server = build(era, toSession)
    if (era === 'legacy') subscriptionsOf(server)
    if (era === 'legacy' && process.env.VARIED) listForAskable(server)
    return server
  }
  serveStdio(factory)
} else {
  const modern = createMcpHandler(
    () => build('modern', () => ({ tools: () => modern.notify.toolsChanged(), prompts: modern.notify.promptsChanged })),
    { legacy: 'reject' },
  )
  const legacy = new LegacySessions(() => build('legacy', toSession))
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.env.PORT ?? 0),
    async fetch(request, serving) {
      // Streams stay silent for longer than Bun's default limit of 10 s.
      serving.timeout(request, 0)
      const refused = hostHeaderValidationResponse(request, HOSTS) ?? originValidationResponse(request, HOSTS)
      if (refused) return refused
      if (new URL(request.url).pathname !== '/mcp') return new Response('Not found', { status: 404 })
      return (await isLegacyRequest(request)) ? legacy.fetch(request) : modern.fetch(request)
    },
  })
  console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
}
