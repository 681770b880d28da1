import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type SdkServer, sdkServer } from '../plugins/transport-http/sdk-server.ts'
import { extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'

const MODERN = '2026-07-28'

/** Operations of a client, the same for all makers. */
interface Peer {
  names(): Promise<string[]>
  /** The text of the first content block. */
  call(name: string, args?: Record<string, unknown>): Promise<string>
  /** Absent: the package has no such thing. */
  readonly progress?: (name: string, args: Record<string, unknown>) => Promise<number[]>
  readonly samples: boolean
  close(): Promise<unknown>
}

const ANSWER = { action: 'accept' as const, content: { username: 'ann', email: 'ann@example.org' } }
const SAMPLED = { model: 'none', role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled' } }
const capabilities = { sampling: {}, elicitation: {} }

const textOf = (result: object): string => (result as { content: [{ text?: string }] }).content[0].text ?? ''

async function sdk132(url: URL, authorization: string): Promise<Peer> {
  const client = new OldClient({ name: 'sdk', version: '1.32' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, () => ANSWER)
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED)
  // The SDK's own class does not satisfy its interface under exactOptionalPropertyTypes.
  await client.connect(new OldTransport(url, { requestInit: { headers: { authorization } } }) as Transport)
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => textOf(await client.callTool({ name, arguments: args })),
    progress: async (name, args) => {
      const seen: number[] = []
      await client.callTool({ name, arguments: args }, undefined, { onprogress: one => seen.push(one.progress) })
      return seen
    },
    samples: true,
    close: () => client.close(),
  }
}

async function client24(url: URL, authorization: string, era: object): Promise<Peer> {
  const client = new NewClient({ name: 'client', version: '2.4' }, { capabilities, ...era })
  client.setRequestHandler('elicitation/create', () => ANSWER)
  client.setRequestHandler('sampling/createMessage', () => SAMPLED)
  await client.connect(new NewTransport(url, { requestInit: { headers: { authorization } } }))
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => textOf(await client.callTool({ name, arguments: args })),
    progress: async (name, args) => {
      const seen: number[] = []
      await client.callTool({ name, arguments: args }, { onprogress: one => seen.push(one.progress) })
      return seen
    },
    samples: true,
    close: () => client.close(),
  }
}

async function aiSdk(url: URL, authorization: string, protocolVersionDiscovery: boolean): Promise<Peer> {
  const client = await createMCPClient({
    transport: { type: 'http', url: url.href, headers: { authorization } },
    capabilities: { elicitation: {} },
    protocolVersionDiscovery,
  })
  client.onElicitationRequest(ElicitationRequestSchema, () => ANSWER)
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => textOf(await client.callTool({ name, arguments: args })),
    samples: false,
    close: () => client.close(),
  }
}

const CLIENTS: Readonly<Record<string, (url: URL, authorization: string) => Promise<Peer>>> = {
  'sdk 1.32': sdk132,
  'client 2.4, older era': (url, authorization) => client24(url, authorization, {}),
  'client 2.4, newer era': (url, authorization) =>
    client24(url, authorization, { versionNegotiation: { mode: { pin: MODERN } } }),
  '@ai-sdk/mcp, by handshake': (url, authorization) => aiSdk(url, authorization, false),
  '@ai-sdk/mcp, by discovery': (url, authorization) => aiSdk(url, authorization, true),
}

interface Probe {
  readonly tool: string
  readonly args: Record<string, unknown>
}

/** Requests that a server answers, by group. The same text comes from each. */
interface Probes {
  readonly text: Probe
  readonly progress: Probe
  readonly elicitation: Probe
  readonly sampling?: Probe
}

const REFERENCE: Probes = {
  text: { tool: 'test_simple_text', args: {} },
  progress: { tool: 'test_tool_with_progress', args: {} },
  elicitation: { tool: 'test_elicitation', args: { message: 'Who?' } },
  sampling: { tool: 'test_sampling', args: { prompt: 'hi' } },
}
const SERVERS: Readonly<Record<string, Probes>> = {
  'server-2.4-legacy': REFERENCE,
  'server-2.4-modern': REFERENCE,
  'sdk-1.32': {
    text: { tool: 'echo', args: { text: 'This is a simple text' } },
    progress: { tool: 'steps', args: { count: 3 } },
    elicitation: { tool: 'elicit', args: {} },
  },
}

const programs: Program[] = []
let sdk: SdkServer
const opened: Peer[] = []
let hub: Hub
let admin: Client

beforeAll(async () => {
  const reference = (era: string) => startProgram(fixture('reference'), { env: { ERA: era } })
  programs.push(...(await Promise.all([reference('legacy'), reference('modern')])))
  sdk = await sdkServer()
  const urls = [...programs.map(({ url }) => url), sdk.url]
  const names = Object.keys(SERVERS)
  hub = await startHub({
    settings: {
      mcpServers: Object.fromEntries(names.map((name, at) => [name, { type: 'streamable-http', url: urls[at] }])),
      groups: names.map(name => ({ name: `of-${name}`, servers: [name] })),
    },
  })
  admin = await hub.setup()
  await online(admin, Object.keys(SERVERS), 60_000)
}, 120_000)

afterEach(async () => {
  await Promise.allSettled(opened.splice(0).map(client => client.close()))
})

afterAll(async () => {
  await hub?.stop()
  for (const program of programs) await program.stop()
  await sdk?.[Symbol.asyncDispose]()
}, 120_000)

/** Each client is tried once, and each server with clients of either era. */
const CORE: readonly (readonly [client: string, server: string])[] = [
  ['sdk 1.32', 'server-2.4-modern'],
  ['client 2.4, older era', 'server-2.4-legacy'],
  ['client 2.4, newer era', 'sdk-1.32'],
  ['client 2.4, newer era', 'server-2.4-legacy'],
  ['@ai-sdk/mcp, by handshake', 'sdk-1.32'],
  ['@ai-sdk/mcp, by discovery', 'server-2.4-modern'],
]
const ALL = Object.keys(CLIENTS).flatMap(client => Object.keys(SERVERS).map(server => [client, server] as const))

test.each(extent(CORE, ALL).map(pair => [...pair]))(
  '%s with %s: lists, calls, receives progress, answers questions',
  async (name = '', server = '') => {
    const authorization = `Bearer ${await admin.mcpKey()}`
    const client = (await CLIENTS[name]?.(new URL(`/mcp/of-${server}`, hub.url), authorization)) as Peer
    opened.push(client)
    const { text, progress, elicitation, sampling } = SERVERS[server] as Probes
    const names = await client.names()
    for (const { tool } of [text, progress, elicitation]) expect(names).toContain(tool)
    expect(await client.call(text.tool, text.args)).toContain('simple text')
    if (client.progress) expect(await client.progress(progress.tool, progress.args)).toHaveLength(3)
    expect(await client.call(elicitation.tool, elicitation.args)).toContain('ann@example.org')
    if (client.samples && sampling) expect(await client.call(sampling.tool, sampling.args)).toContain('sampled')
  },
)
