import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { McpOptions } from './client.ts'

/** A client that answers all three kinds of requests with its own name, and records the requests. */
export function answering(name: string): { readonly options: McpOptions; readonly asked: string[] } {
  const asked: string[] = []
  const prepare = (client: McpClient): void => {
    client.setRequestHandler(CreateMessageRequestSchema, () => {
      asked.push('sampling')
      return {
        model: 'none',
        role: 'assistant' as const,
        content: { type: 'text' as const, text: `sampled by ${name}` },
      }
    })
    client.setRequestHandler(ElicitRequestSchema, () => {
      asked.push('elicitation')
      return { action: 'accept' as const, content: { name, username: name, email: `${name}@example.org` } }
    })
    client.setRequestHandler(ListRootsRequestSchema, () => {
      asked.push('roots')
      return { roots: [{ uri: `file:///${name}`, name }] }
    })
  }
  return { options: { capabilities: { sampling: {}, elicitation: {}, roots: {} }, prepare }, asked }
}
