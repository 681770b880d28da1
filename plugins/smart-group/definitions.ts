import type { JsonObject } from 'patchbay/contract'

const READS = { readOnlyHint: true, openWorldHint: false }
const toolName = { type: 'string', description: 'A name that search_tools gave' }

/** The three tools, as in `tools/list`. */
export const TOOLS: readonly JsonObject[] = [
  {
    name: 'search_tools',
    title: 'Search tools',
    description:
      'Finds the tools that can do something. There are more tools than are listed: search before you say that something cannot be done.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: 500,
          description: 'What is to be done. English key words work best, Chinese too',
        },
        server: { type: 'string', description: 'Only the tools of this server' },
        limit: { type: 'integer', minimum: 1, maximum: 20, default: 5 },
      },
      required: ['query'],
    },
    annotations: READS,
  },
  {
    name: 'describe_tool',
    title: 'Describe a tool',
    description: 'Gives the whole description of a tool and the schema of its arguments.',
    inputSchema: { type: 'object', properties: { tool: toolName }, required: ['tool'] },
    annotations: READS,
  },
  {
    name: 'call_tool',
    title: 'Call a tool',
    description: 'Calls a tool that search_tools found, and gives its result as it is.',
    inputSchema: {
      type: 'object',
      properties: {
        tool: toolName,
        arguments: { type: 'object', description: 'The arguments of that tool', additionalProperties: true },
      },
      required: ['tool'],
    },
  },
]
