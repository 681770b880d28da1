import type { McpServer } from '@modelcontextprotocol/server'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { completed, DEFAULTS, ENUMS, object } from './asking.ts'
import { textResult } from './content.ts'

const one = (name: string) =>
  fromJsonSchema<Record<string, string>>({
    type: 'object',
    properties: { [name]: { type: 'string' } } as Record<string, { type: 'string' }>,
    required: [name],
  })

/** The tools that send a request to the client in the middle of the call. */
export function registerPushingTools(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the client for a model answer', inputSchema: one('prompt') },
    async ({ prompt = '' }, ctx) => {
      const { content } = await ctx.mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      })
      return textResult(`LLM response: ${JSON.stringify(content)}`)
    },
  )
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user for a name and an address', inputSchema: one('message') },
    async ({ message = '' }, ctx) => {
      const requestedSchema = object(
        { username: { type: 'string', description: 'Name' }, email: { type: 'string', description: 'Address' } },
        ['username', 'email'],
      )
      const { action, content } = await ctx.mcpReq.elicitInput({ message, requestedSchema })
      return textResult(`User response: action: ${action}, content: ${JSON.stringify(content ?? {})}`)
    },
  )
  for (const [name, message, properties] of [
    ['test_elicitation_sep1034_defaults', 'Please review the defaults', DEFAULTS],
    ['test_elicitation_sep1330_enums', 'Please choose', ENUMS],
  ] as const) {
    server.registerTool(name, { description: message }, async ctx => {
      const { action, content } = await ctx.mcpReq.elicitInput({ message, requestedSchema: object(properties) })
      return textResult(completed(action, content))
    })
  }
}
