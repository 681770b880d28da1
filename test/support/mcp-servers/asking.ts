/**
 * Stdio, on the official SDK: tools that request sampling, elicitation and roots from the client, and one that sends log
 * messages.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'

const server = new McpServer(
  { name: 'asking', version: '1.0.0' },
  { capabilities: { logging: {}, tools: { listChanged: true } } },
)
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })

server.registerTool('sample', { description: 'Asks for a model answer' }, async extra =>
  text(
    await extra
      .sendRequest(
        {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }], maxTokens: 10 },
        },
        CreateMessageResultSchema,
      )
      .catch((error: unknown) => ({ refused: String(error) })),
  ),
)
server.registerTool('elicit', { description: 'Asks the user' }, async extra =>
  text(
    await extra
      .sendRequest(
        {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Your name?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          },
        },
        ElicitResultSchema,
      )
      .catch((error: unknown) => ({ refused: String(error) })),
  ),
)
server.registerTool('confirm', { description: 'Asks the user, unless the client declared that it cannot' }, async () =>
  text(
    await server.server.elicitInput({
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    }),
  ),
)
server.registerTool('roots', { description: 'Asks for the roots' }, async extra =>
  text(
    await extra
      .sendRequest({ method: 'roots/list' }, ListRootsResultSchema)
      .catch((error: unknown) => ({ refused: String(error) })),
  ),
)
server.registerTool('log', { description: 'Sends one message at each level' }, async extra => {
  for (const level of ['debug', 'info', 'warning', 'error'] as const) {
    await extra.sendNotification({ method: 'notifications/message', params: { level, data: `a ${level} message` } })
  }
  return text('sent')
})
server.registerTool('capabilities', { description: 'What the client is said to be able to' }, () =>
  text(server.server.getClientCapabilities() ?? {}),
)
let extras = 0
server.registerTool('grow', { description: 'Registers one more tool' }, () => {
  extras += 1
  server.registerTool(`extra_${extras}`, { description: 'Registered later' }, () => text(extras))
  return text(extras)
})

await server.connect(new StdioServerTransport())
