/**
 * The client under test of the suite's client leg: a hub whose only upstream is the suite's server, and in front of it a peer
 * of the official package that uses everything the server offers. The suite sees the hub only; the peer makes it send
 * requests.
 * Usage: `bun client.ts URL`, which loads this; the suite appends the URL and sets MCP_CONFORMANCE_SCENARIO,
 * _PROTOCOL_VERSION, _CONTEXT.
 */
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import { startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { argumentsFor } from './arguments.ts'

/** Several scenarios run at once, each with a hub of its own. */
const START_MS = 60_000
const MODERN = '2026-07-28'

interface ToolCall {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** The calls and arguments that the scenario wants, if that matters to it. */
interface Context {
  readonly toolCalls?: readonly ToolCall[]
}

function peerOf(version: string): Client {
  const peer = new Client(
    { name: 'conformance-peer', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      ...(version === MODERN ? { versionNegotiation: { mode: { pin: MODERN } } } : {}),
    },
  )
  peer.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: {} }))
  peer.setRequestHandler('sampling/createMessage', () => ({
    model: 'none',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }))
  peer.setRequestHandler('roots/list', () => ({ roots: [] }))
  return peer
}

/** Lists, calls, reads and gets everything. Errors of a server are printed and do not end the run: the suite decides. */
async function useAll(peer: Client, wanted: readonly ToolCall[]): Promise<void> {
  const offered = peer.getServerCapabilities() ?? {}
  if (offered.tools) {
    const tools = (await told('tools', peer.listTools()))?.tools ?? []
    for (const call of callsOf(tools, wanted)) await told(call.name, peer.callTool(call))
  }
  if (offered.resources) {
    const resources = (await told('resources', peer.listResources()))?.resources ?? []
    for (const { uri } of resources) await told(uri, peer.readResource({ uri }))
  }
  if (offered.prompts) {
    const prompts = (await told('prompts', peer.listPrompts()))?.prompts ?? []
    for (const { name } of prompts) await told(name, peer.getPrompt({ name }))
  }
}

async function told<T>(what: string, work: Promise<T>): Promise<T | undefined> {
  try {
    const result = await work
    console.log(`${what}: ${JSON.stringify(result)}`)
    return result
  } catch (error) {
    console.log(`${what} was refused: ${error}`)
    return undefined
  }
}

function callsOf(tools: readonly Tool[], wanted: readonly ToolCall[]): readonly ToolCall[] {
  return tools.flatMap(tool => {
    const own = wanted.filter(({ name }) => name === tool.name)
    return own.length > 0 ? own : [{ name: tool.name, arguments: argumentsFor(tool, tools) }]
  })
}

async function main(): Promise<void> {
  const url = process.argv.at(-1) ?? ''
  const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? ''
  const context: Context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
  const hub = await startHub({
    settings: { mcpServers: { suite: { type: 'streamable-http', url } } },
    timeoutMs: START_MS,
  })
  try {
    const admin = await hub.setup()
    await online(admin, ['suite'], START_MS)
    const peer = peerOf(version)
    const authorization = `Bearer ${await admin.mcpKey()}`
    await peer.connect(
      new StreamableHTTPClientTransport(new URL('/mcp/suite', hub.url), {
        requestInit: { headers: { authorization } },
      }),
    )
    await useAll(peer, context.toolCalls ?? [])
    await peer.close()
  } finally {
    await hub.stop()
  }
}

await main()
