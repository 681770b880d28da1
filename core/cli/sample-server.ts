import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { readArguments } from './arguments.ts'
import type { CommandIo } from './io.ts'

/** The text of `patchbay sample-server --help`. */
export const help = `patchbay sample-server

A small MCP server on standard input and output, so that a new hub has something to serve without a download:
tools echo, add and time, a prompt and a resource. It ends when its input does.
`

/** Serves until standard input ends. */
export async function run(argv: readonly string[], _io: CommandIo): Promise<number> {
  readArguments(argv, { options: {}, positionals: [] })
  const server = createSampleServer()
  const transport = new StdioServerTransport()
  const ended = new Promise<void>(resolve => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
    process.stdout.once('error', () => resolve())
  })
  await server.connect(transport)
  await ended
  await server.close()
  return 0
}

/** The server without a transport. */
export function createSampleServer(): McpServer {
  const server = new McpServer(
    { name: 'patchbay-sample', title: 'Patchbay sample', version: manifest.version },
    { instructions: 'A sample of what the hub serves. Nothing that it does leaves this machine.' },
  )
  const readOnly = { readOnlyHint: true, openWorldHint: false }
  server.registerTool(
    'echo',
    {
      description: 'Answers with the text that it was given.',
      inputSchema: { text: z.string().describe('What to answer') },
      annotations: readOnly,
    },
    ({ text }) => ({ content: [{ type: 'text', text }] }),
  )
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
      annotations: readOnly,
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
  )
  server.registerTool(
    'time',
    {
      description: 'The time now, in UTC or in a time zone.',
      inputSchema: { timezone: z.string().optional().describe('An IANA name such as Europe/Berlin') },
      annotations: readOnly,
    },
    ({ timezone }) => formatTime(timezone ?? 'UTC'),
  )
  server.registerPrompt(
    'introduce',
    { description: 'Asks for an introduction to what the sample can do.', argsSchema: { name: z.string().optional() } },
    ({ name }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'text',
            text: `Introduce yourself${name === undefined ? '' : ` to ${name}`} with the tools of the sample server: say hello with echo, then tell the time.`,
          },
        },
      ],
    }),
  )
  server.registerResource('about', 'sample://about', { title: 'About this server', mimeType: 'text/plain' }, uri => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: help }],
  }))
  return server
}

function formatTime(timeZone: string): { content: { type: 'text'; text: string }[]; isError?: boolean } {
  try {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    return { content: [{ type: 'text', text: `${format.format(new Date())} ${timeZone}` }] }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const text = `There is no time zone ${JSON.stringify(timeZone.slice(0, 64))}; an IANA name such as Europe/Berlin is wanted`
    return { content: [{ type: 'text', text }], isError: true }
  }
}
