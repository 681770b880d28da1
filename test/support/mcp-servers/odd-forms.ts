/**
 * Stdio: answers in forms that MCP does not have, selected by the caller: the argument `result` of the tool `say`, and the texts
 * after `odd://` (resource) and in the argument `result` of the prompt `say`, are the JSON of the result. `seen` returns the
 * last request unchanged. ERA=modern: 2026-07-28. INFO, CAPABILITIES (`absent`: no such member) and LISTED (tools) replace parts of the handshake and the
 * list; PAGES are the results of tools/list by the JSON of the cursor, `null` for the first.
 */
import { type Message, onMessages, say, sendError, sendResult, sendText, tool } from './lines.ts'

const { ERA = 'legacy', INFO, CAPABILITIES, LISTED, PAGES } = process.env
const TOOLS = LISTED
  ? JSON.parse(LISTED)
  : [tool('say', 'Answers as it is told', { result: {} }), tool('seen', 'The last request')]
const serverInfo = INFO ? JSON.parse(INFO) : { name: 'odd-forms', version: '1.0.0' }
const DECLARED = CAPABILITIES === 'absent' ? undefined : JSON.parse(CAPABILITIES ?? 'null')
const capabilities = CAPABILITIES
  ? DECLARED
  : { tools: {}, prompts: {}, resources: {}, completions: {}, experimental: null }
const FIXED: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo, instructions: null, _meta: null },
  'server/discover': {
    ...{ supportedVersions: ['2026-07-28'], capabilities, resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  },
  ping: {},
  'tools/list': { tools: TOOLS, nextCursor: null },
  'prompts/list': { prompts: [{ name: 'say', arguments: [{ name: 'result' }] }] },
  'resources/list': { resources: [{ uri: 'odd://{}', name: 'odd' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'odd://{+result}', name: 'odd' }] },
}
let last = ''

onMessages((message: Message, line) => {
  const { id, method = '', params } = message
  if (id === undefined) return
  const isOfOtherEra = method === (ERA === 'modern' ? 'initialize' : 'server/discover')
  if (isOfOtherEra) return sendError(id, -32601, `Method not found: ${method}`)
  if (PAGES && method === 'tools/list') return sendResult(id, JSON.parse(PAGES)[JSON.stringify(params?.cursor ?? null)])
  const fixed = FIXED[method]
  if (fixed) return sendResult(id, fixed)
  if (method === 'tools/call' && params.name === 'seen') return sendText(id, last)
  last = line
  if (method === 'resources/read') return sendResult(id, JSON.parse(decodeURIComponent(params.uri.slice(6))))
  if (method === 'completion/complete') return sendResult(id, JSON.parse(params.argument.value))
  const { result } = params.arguments ?? {}
  if (typeof result === 'string') return say(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
  return sendResult(id, result ?? {})
})
