import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { EVERYTHING, everythingOverHttp, everythingOverSse, type Peer } from '../support/peers.ts'
import { online } from '../support/servers.ts'

const WAYS = ['stdio', 'sse', 'streamable'] as const

const peers: Peer[] = []
let hub: Hub
let admin: Client

/** How many of each kind a client sees, and what one tool answers. */
interface Seen {
  readonly tools: number
  readonly prompts: number
  readonly resources: number
  readonly templates: number
  readonly structured: unknown
}

beforeAll(async () => {
  peers.push(...(await Promise.all([everythingOverSse(), everythingOverHttp()])))
  const [sse, streamable] = peers
  hub = await startHub({
    settings: {
      mcpServers: {
        stdio: { command: process.execPath, args: [EVERYTHING] },
        sse: { type: 'sse', url: sse?.url },
        streamable: { type: 'streamable-http', url: streamable?.url },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, WAYS, 20_000)
}, 60_000)

afterAll(async () => {
  await hub?.stop()
  for (const { program } of peers) await program.stop()
}, 40_000)

async function look(client: OldClient | NewClient): Promise<Seen> {
  const { tools } = await client.listTools()
  const { prompts } = await client.listPrompts()
  const { resources } = await client.listResources()
  const { resourceTemplates } = await client.listResourceTemplates()
  const call = { name: 'get-structured-content', arguments: { location: 'New York' } }
  const { structuredContent } = await client.callTool(call)
  return {
    tools: tools.length,
    prompts: prompts.length,
    resources: resources.length,
    templates: resourceTemplates.length,
    structured: structuredContent,
  }
}

async function direct(): Promise<Seen> {
  const client = new OldClient({ name: 'direct', version: '1.0.0' })
  const env = { PATH: process.env.PATH ?? '' }
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [EVERYTHING], env, stderr: 'ignore' }),
  )
  try {
    return await look(client)
  } finally {
    await client.close()
  }
}

async function modern(path: string): Promise<NewClient> {
  const client = new NewClient(
    { name: 'newer', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const authorization = `Bearer ${await admin.mcpKey()}`
  await client.connect(new NewTransport(new URL(path, hub.url), { requestInit: { headers: { authorization } } }))
  return client
}

describe.each(WAYS)('server-everything by %s', way => {
  test('offers clients of both eras as much as it offers directly, and the same structured answer', async () => {
    const own = await direct()
    expect(Object.values(own).slice(0, 4)).toEqual([13, 4, 7, 2])
    expect(await look(await admin.mcp(`/mcp/${way}`))).toEqual(own)
    const newer = await modern(`/mcp/${way}`)
    expect(await look(newer)).toEqual(own)
    await newer.close()
  }, 20_000)

  test('progress of a long operation comes to clients of both eras', async () => {
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } }
    const seen: number[][] = [[], []]
    const older = await admin.mcp(`/mcp/${way}`)
    const newer = await modern(`/mcp/${way}`)
    await Promise.all([
      older.callTool(call, undefined, { onprogress: ({ progress }) => seen[0]?.push(progress) }),
      newer.callTool(call, { onprogress: ({ progress }) => seen[1]?.push(progress) }),
    ])
    expect(seen).toEqual([
      [1, 2],
      [1, 2],
    ])
    await newer.close()
  })
})
