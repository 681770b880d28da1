/**
 * Stdio: a server of 2025-11-25 that answers what its caller asks for. `mirror` takes `result` (JSON text of the result), `error` (a message), and
 * `notes` (texts that are sent as log message and progress before the result); `long` answers `bytes` bytes that end in `text`; `seen`
 * answers the last parameters of `mirror`.
 */
import {
  handleBasics,
  onMessages,
  say,
  sendError,
  sendResult,
  sendText,
  tool,
} from '../../support/mcp-servers/lines.ts'

const TOOLS = [
  tool('mirror', 'Answers as it is told', { result: {}, error: {}, notes: {}, text: {} }),
  tool('long', 'Answers a long text', { bytes: {}, text: {} }),
  tool('seen', 'The last parameters of mirror'),
]
let last = ''

const notify = (method: string, params: object) => say(JSON.stringify({ jsonrpc: '2.0', method, params }))

onMessages(message => {
  const { id, method, params } = message
  if (method === 'initialize') {
    const capabilities = { tools: {}, prompts: {}, resources: {}, logging: {} }
    return sendResult(id, { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'mirror', version: '1' } })
  }
  if (method === 'logging/setLevel') return sendResult(id, {})
  if (method === 'prompts/list') return sendResult(id, { prompts: [{ name: 'say', arguments: [{ name: 'text' }] }] })
  if (method === 'resources/list') return sendResult(id, { resources: [{ uri: 'mirror://plain', name: 'plain' }] })
  if (method === 'resources/templates/list')
    return sendResult(id, { resourceTemplates: [{ uriTemplate: 'mirror://{+text}', name: 'any' }] })
  if (method === 'prompts/get')
    return sendResult(id, { messages: [{ role: 'user', content: { type: 'text', text: params.arguments.text } }] })
  if (method === 'resources/read')
    return sendResult(id, { contents: [{ uri: params.uri, text: Buffer.from(params.uri.slice(9), 'hex').toString() }] })
  if (handleBasics(message, 'mirror', TOOLS)) return undefined
  const { name, arguments: given = {}, _meta } = params
  if (name === 'seen') return sendText(id, last)
  if (name === 'long') return sendText(id, `${'word '.repeat(given.bytes / 5)} ${given.text}`)
  last = JSON.stringify(params)
  for (const note of given.notes ?? []) {
    notify('notifications/message', { level: 'error', data: note })
    notify('notifications/progress', { progressToken: _meta?.progressToken, progress: 1, message: note })
  }
  if (given.error) return sendError(id, -32_000, given.error)
  return sendResult(
    id,
    given.result ? JSON.parse(given.result) : { content: [{ type: 'text', text: given.text ?? '' }] },
  )
})
