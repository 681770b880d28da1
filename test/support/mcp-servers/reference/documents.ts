import type { McpServer } from '@modelcontextprotocol/server'
import {
  acceptedContent,
  completable,
  inputRequired,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PNG, text } from './content.ts'

const WORDS = ['paris', 'park', 'party', 'hello', 'help', 'world']
const suggest = (value: string): string[] => WORDS.filter(word => word.startsWith(value))

/** Resources and prompts, with completion for the prompt's arguments and the template's variable. */
export function registerDocuments(server: McpServer): void {
  server.registerResource(
    'Static Text',
    'test://static-text',
    { description: 'A static text', mimeType: 'text/plain' },
    uri => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }),
  )
  server.registerResource(
    'Static Binary',
    'test://static-binary',
    { description: 'A static image', mimeType: 'image/png' },
    uri => ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }] }),
  )
  server.registerResource(
    'Watched Resource',
    'test://watched-resource',
    { description: 'A resource to subscribe to', mimeType: 'text/plain' },
    uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Watched resource content' }] }),
  )
  server.registerResource(
    'Template',
    new ResourceTemplate('test://template/{id}/data', {
      list: undefined,
      complete: { id: value => ['1', '12', '123'].filter(id => id.startsWith(value)) },
    }),
    { description: 'Data by id', mimeType: 'application/json' },
    (uri, variables) => {
      const id = String(variables.id ?? '')
      if (id === '') throw new ResourceNotFoundError(uri.href)
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri: uri.href, mimeType: 'application/json', text: data }] }
    },
  )
  registerPrompts(server)
}

function registerPrompts(server: McpServer): void {
  const user = 'user' as const
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments' }, () => ({
    messages: [{ role: user, content: text('This is a simple prompt for testing.') }],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), suggest),
        arg2: completable(z.string().describe('Second test argument'), suggest),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [{ role: user, content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt with a resource in it',
      argsSchema: z.object({ resourceUri: z.string().describe('URI of the resource to embed') }),
    },
    ({ resourceUri }) => ({
      messages: [
        {
          role: user,
          content: {
            type: 'resource' as const,
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        { role: user, content: text('Please process the embedded resource above.') },
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image in it' }, () => ({
    messages: [
      { role: user, content: { type: 'image' as const, data: PNG, mimeType: 'image/png' } },
      { role: user, content: text('Please analyze the image above.') },
    ],
  }))
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks before it answers' },
    ctx => {
      const context = acceptedContent<{ context?: unknown }>(ctx.mcpReq.inputResponses, 'user_context')?.context
      if (typeof context === 'string') {
        return { messages: [{ role: user, content: text(`Use this context: ${context}`) }] }
      }
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
          }),
        },
      })
    },
  )
}
