/**
 * The reference upstream of the conformance leg: all features that the suite tests in a server, in either protocol era. `PORT`
 * (0 takes a free one) and `ERA` (both, legacy, modern) come from the environment. Prints `listening on URL`. `POST
 * /control/updated?uri=…` sends an update notification for a resource to its subscribers.
 */

import { randomBytes } from 'node:crypto'
import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import type { RoundState } from './reference/asking.ts'
import { registerAskingTools } from './reference/asking.ts'
import { registerDocuments } from './reference/documents.ts'
import { LegacySessions } from './reference/legacy-sessions.ts'
import type { ChangeNotices } from './reference/plain.ts'
import { registerPlainTools } from './reference/plain.ts'

const ERAS = ['both', 'legacy', 'modern']
const HOSTS = ['localhost', '127.0.0.1', '[::1]']

const era = process.env.ERA ?? 'both'
if (!ERAS.includes(era)) throw new Error(`ERA is "${era}"; it must be one of ${ERAS.join(', ')}`)

const codec = createRequestStateCodec<RoundState>({ key: randomBytes(32) })

function build(notices: (server: McpServer) => ChangeNotices): McpServer {
  const listChanged = { listChanged: true }
  const server = new McpServer(
    { name: 'patchbay-reference', version: '1.0.0' },
    {
      capabilities: {
        tools: listChanged,
        prompts: listChanged,
        resources: { ...listChanged, subscribe: true },
        logging: {},
        completions: {},
      },
      instructions: 'The reference server of the conformance tests.',
      requestState: { verify: codec.verify },
      cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'public' } },
    },
  )
  registerPlainTools(server, notices(server))
  registerAskingTools(server, codec)
  registerDocuments(server)
  return server
}

const modern = createMcpHandler(
  () => build(() => ({ tools: () => modern.notify.toolsChanged(), prompts: () => modern.notify.promptsChanged() })),
  { legacy: 'reject' },
)
const legacy = new LegacySessions(() =>
  build(server => ({ tools: () => server.sendToolListChanged(), prompts: () => server.sendPromptListChanged() })),
)

async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url)
  const refused = hostHeaderValidationResponse(request, HOSTS) ?? originValidationResponse(request, HOSTS)
  if (refused) return refused
  if (url.pathname === '/control/updated' && request.method === 'POST') {
    const uri = url.searchParams.get('uri') ?? ''
    modern.notify.resourceUpdated(uri)
    return Response.json({ told: await legacy.resourceUpdated(uri) })
  }
  if (url.pathname !== '/mcp') return new Response('Not found', { status: 404 })
  if (era === 'modern') return modern.fetch(request)
  if (era === 'legacy' || (await isLegacyRequest(request))) return legacy.fetch(request)
  return modern.fetch(request)
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 0),
  fetch(request, serving) {
    // Streams stay silent for longer than Bun's default limit of 10 s.
    serving.timeout(request, 0)
    return answer(request)
  },
})
console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
