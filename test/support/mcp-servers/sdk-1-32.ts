/**
 * A reference upstream of the conformance leg as its users write one with the official package of version 1.32, which supports
 * only the older era: a server object per session, tools that send requests through the server object, log messages that name no
 * call. `PORT` (0 takes a free one) comes from the environment; prints `listening on URL`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  isInitializeRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { completed, DEFAULTS, ENUMS, object } from './reference/asking.ts'
import { PNG, text, textResult, WAV } from './reference/content.ts'

const WORDS = ['paris', 'park', 'party', 'hello', 'help', 'world']
const suggest = (value: string): string[] => WORDS.filter(word => word.startsWith(value))
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
})

function build(): McpServer {
  const server = new McpServer(
    { name: 'sdk-1-32', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: 'The server of version 1.32.' },
  )
  registerTools(server)
  registerAsking(server)
  registerResources(server)
  registerPrompts(server)
  return server
}

function registerTools(server: McpServer): void {
  const tool = (name: string, content: object[]): unknown =>
    server.registerTool(name, { description: name }, () => ({ content }) as ReturnType<typeof textResult>)
  tool('test_simple_text', [text('This is a simple text response for testing.')])
  tool('test_image_content', [image])
  tool('test_audio_content', [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }])
  tool('test_embedded_resource', [embedded('test://embedded-resource')])
  tool('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource'),
  ])
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool('test_tool_with_logging', { description: 'Logs three times' }, async ({ sessionId }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await server.sendLoggingMessage({ level: 'info', data }, sessionId)
      await sleep(50)
    }
    return textResult('Tool with logging executed successfully')
  })
  server.registerTool('test_tool_with_progress', { description: 'Reports 0, 50, 100' }, async extra => {
    const progressToken = extra._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      const params = { progressToken: progressToken ?? 0, progress, total: 100 }
      await extra.sendNotification({ method: 'notifications/progress', params })
      await sleep(50)
    }
    return textResult('Tool with progress executed successfully')
  })
}

function registerAsking(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks for a model answer', inputSchema: { prompt: z.string() } },
    async ({ prompt }) => {
      const messages = [{ role: 'user' as const, content: text(prompt) }]
      const { content } = await server.server.createMessage({ messages, maxTokens: 100 })
      return textResult(`LLM response: ${JSON.stringify(content)}`)
    },
  )
  const elicit = async (message: string, properties: Record<string, object>) => {
    const { action, content } = await server.server.elicitInput({ message, requestedSchema: object(properties) })
    return { action, content: content ?? {} }
  }
  server.registerTool(
    'test_elicitation',
    { description: 'Asks for a name and an address', inputSchema: { message: z.string() } },
    async ({ message }) => {
      const answer = await elicit(message, { username: { type: 'string' }, email: { type: 'string' } })
      return textResult(`User response: action: ${answer.action}, content: ${JSON.stringify(answer.content)}`)
    },
  )
  for (const [name, properties] of [
    ['test_elicitation_sep1034_defaults', DEFAULTS],
    ['test_elicitation_sep1330_enums', ENUMS],
  ] as const)
    server.registerTool(name, { description: name }, async () => {
      const { action, content } = await elicit('Please fill in', properties)
      return textResult(completed(action, content))
    })
}

function registerResources(server: McpServer): void {
  const resource = (
    name: string,
    uri: string,
    content: { text: string } | { blob: string },
    mimeType: string,
  ): unknown =>
    server.registerResource(name, uri, { description: name, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }))
  resource('Static Text', 'test://static-text', { text: 'This is the content of a static resource.' }, 'text/plain')
  resource('Static Binary', 'test://static-binary', { blob: PNG }, 'image/png')
  resource('Watched Resource', 'test://watched-resource', { text: 'Watched resource content' }, 'text/plain')
  server.registerResource(
    'Template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Data by id', mimeType: 'application/json' },
    (uri, { id }) => {
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri: uri.href, mimeType: 'application/json', text: data }] }
    },
  )
  const subscriptions = new Set<string>()
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscriptions.add(params.uri)
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscriptions.delete(params.uri)
    return {}
  })
}

function registerPrompts(server: McpServer): void {
  const user = 'user' as const
  server.registerPrompt('test_simple_prompt', { description: 'No arguments' }, () => ({
    messages: [{ role: user, content: text('This is a simple prompt for testing.') }],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Two arguments',
      argsSchema: { arg1: completable(z.string(), suggest), arg2: completable(z.string(), suggest) },
    },
    ({ arg1, arg2 }) => ({
      messages: [{ role: user, content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource in it', argsSchema: { resourceUri: z.string() } },
    ({ resourceUri }) => ({ messages: [{ role: user, content: embedded(resourceUri) }] }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'An image in it' }, () => ({
    messages: [{ role: user, content: image }],
  }))
}

const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()

async function answer(request: Request, port: number): Promise<Response> {
  if (new URL(request.url).pathname !== '/mcp') return new Response('Not found', { status: 404 })
  const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
  if (known) return known.handleRequest(request)
  const body: unknown = request.method === 'POST' ? await request.clone().json() : undefined
  if (!isInitializeRequest(body))
    return Response.json(
      { jsonrpc: '2.0', error: { code: -32000, message: 'Bad Request: No valid session ID provided' }, id: null },
      { status: 400 },
    )
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    enableDnsRebindingProtection: true,
    allowedHosts: ['localhost', '127.0.0.1'].map(host => `${host}:${port}`),
    onsessioninitialized: id => {
      sessions.set(id, transport)
    },
    onsessionclosed: id => {
      sessions.delete(id)
    },
  })
  await build().connect(transport)
  return transport.handleRequest(request)
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 0),
  fetch(request, serving): Promise<Response> {
    // Streams stay silent for longer than Bun's default limit of 10 s.
    serving.timeout(request, 0)
    return answer(request, serving.port ?? 0)
  },
})
console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
