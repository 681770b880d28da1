import { setTimeout as sleep } from 'node:timers/promises'
import type { McpServer, ServerContext } from '@modelcontextprotocol/server'
import { fromJsonSchema, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { PNG, text, textResult, WAV } from './content.ts'

/** Notifications of a changed list: on the legacy wire to one session, on the modern one to all listen streams. */
export interface ChangeNotices {
  tools(): void
  prompts(): void
}

const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

/** `x-mcp-header` tells modern clients to repeat the argument in a header of that name. */
const REGION: object = { type: 'string', description: 'Where to run', 'x-mcp-header': 'Region' }

/** The tools that answer by themselves. */
export function registerPlainTools(server: McpServer, notices: ChangeNotices): void {
  const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
  const tool = (
    name: string,
    description: string,
    handle: (ctx: ServerContext) => { content: object[] } | Promise<{ content: object[] }>,
  ): unknown => server.registerTool(name, { description }, handle as () => ReturnType<typeof textResult>)

  tool('test_simple_text', 'Answers with a text', () => textResult('This is a simple text response for testing.'))
  tool('test_image_content', 'Answers with an image', () => ({ content: [image] }))
  tool('test_audio_content', 'Answers with a sound', () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }))
  tool('test_embedded_resource', 'Answers with an embedded resource', () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }))
  tool('test_multiple_content_types', 'Answers with text, image and resource', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }))
  tool('test_error_handling', 'Always fails', () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  tool('test_tool_with_logging', 'Sends three log messages, 50 ms apart', async ctx => {
    await ctx.mcpReq.log('info', 'Tool execution started')
    await sleep(50)
    await ctx.mcpReq.log('info', 'Tool processing data')
    await sleep(50)
    await ctx.mcpReq.log('info', 'Tool execution completed')
    return textResult('Tool with logging executed successfully')
  })
  tool('test_logging_tool', 'Sends one log message', async ctx => {
    await ctx.mcpReq.log('info', 'Diagnostic log message')
    return textResult('Logged')
  })
  tool('test_tool_with_progress', 'Reports 0, 50 and 100 of 100', async ctx => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progress > 0) await sleep(50)
      if (progressToken === undefined) continue
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` },
      })
    }
    return textResult('Tool with progress executed successfully')
  })
  tool('test_reconnection', 'Closes its own stream before it answers', async ctx => {
    ctx.http?.closeSSE?.()
    await sleep(100)
    return textResult('Reconnection test completed successfully')
  })
  tool('test_trigger_tool_change', 'Sends the notice that the tools have changed', () => {
    notices.tools()
    return textResult('Notice sent')
  })
  tool('test_trigger_prompt_change', 'Sends the notice that the prompts have changed', () => {
    notices.prompts()
    return textResult('Notice sent')
  })
  tool('test_missing_capability', 'Needs a client that can sample', ctx => {
    if (inputResponse(ctx.mcpReq.inputResponses, 'answer').kind === 'sampling') return textResult('Sampled')
    return inputRequired({
      inputRequests: {
        answer: inputRequired.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'Say something' } }],
          maxTokens: 10,
        }),
      },
    }) as never
  })
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Takes one argument in a header too',
      inputSchema: fromJsonSchema<{ region: string }>({
        type: 'object',
        properties: { region: REGION },
        required: ['region'],
      }),
    },
    args => textResult(`Region: ${args.region}`),
  )
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Tool with JSON Schema 2020-12 features',
      inputSchema: fromJsonSchema<Record<string, unknown>>(SCHEMA_2020_12),
    },
    args => textResult(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
  )
}
