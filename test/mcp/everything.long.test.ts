import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { EVERYTHING, everythingOverHttp, everythingOverSse, type Peer } from '../support/peers.ts'
import { callText, failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const WAYS = ['stdio', 'sse', 'streamable'] as const
/** The same servers, each client session with a connection of its own. */
const OWN = ['own-stdio', 'own-sse', 'own-streamable'] as const
/** All that a hub can pass on. */
const ABLE = {
  sampling: { tools: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}
const SAMPLED = { model: 'none', role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled here' } }
const ELICITED = { action: 'accept' as const, content: { name: 'Ada', integer: 42 } }
const ROOTS = { roots: [{ uri: 'file:///projects/one', name: 'One' }] }
/** Each tool that asks its client, and a part of its result. */
const ASKING = [
  ['trigger-sampling-request', { prompt: 'Say something' }, 'sampled here'],
  ['trigger-elicitation-request', {}, '- Name: Ada'],
  ['get-roots-list', {}, 'file:///projects/one'],
] as const

const peers: Peer[] = []
let hub: Hub
let admin: Client

/** The number of each kind that a client sees, and the answer of one tool. */
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
        'own-stdio': { command: process.execPath, args: [EVERYTHING], session: 'per-session' },
        'own-sse': { type: 'sse', url: sse?.url, session: 'per-session' },
        'own-streamable': { type: 'streamable-http', url: streamable?.url, session: 'per-session' },
        edited: { command: process.execPath, args: [EVERYTHING], session: 'shared' },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, [...WAYS, ...OWN, 'edited'], 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  for (const { program } of peers) await program.stop()
}, 120_000)

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

async function direct(capabilities = {}): Promise<Seen> {
  const client = new OldClient({ name: 'direct', version: '1.0.0' }, { capabilities })
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

async function modern(path: string, capabilities = {}): Promise<NewClient> {
  const client = new NewClient(
    { name: 'newer', version: '1.0.0' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  if ('sampling' in capabilities) client.setRequestHandler('sampling/createMessage', () => SAMPLED)
  if ('elicitation' in capabilities) client.setRequestHandler('elicitation/create', () => ELICITED)
  if ('roots' in capabilities) client.setRequestHandler('roots/list', () => ROOTS)
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
  }, 120_000)

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

function legacy(path: string): Promise<OldClient> {
  return admin.mcp(path, {
    capabilities: ABLE,
    prepare: client => {
      client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED)
      client.setRequestHandler(ElicitRequestSchema, () => ELICITED)
      client.setRequestHandler(ListRootsRequestSchema, () => ROOTS)
    },
  })
}

describe.each([...WAYS, ...OWN])('server-everything as %s, for clients that can be asked', way => {
  test('offers able clients of both eras as much as it offers such a client directly', async () => {
    const own = await direct(ABLE)
    expect(Object.values(own).slice(0, 4)).toEqual([17, 4, 7, 2])
    expect(await look(await legacy(`/mcp/${way}`))).toEqual(own)
    const newer = await modern(`/mcp/${way}`, ABLE)
    expect(await look(newer)).toEqual(own)
    await newer.close()
  }, 120_000)

  test('samples, elicits and lists roots with clients of both eras', async () => {
    const older = await legacy(`/mcp/${way}`)
    const newer = await modern(`/mcp/${way}`, ABLE)
    for (const [name, args, expected] of ASKING) {
      expect(JSON.stringify(await older.callTool({ name, arguments: args })), `${name}, legacy`).toContain(expected)
    }
    for (const [name, args, expected] of ASKING) {
      expect(JSON.stringify(await newer.callTool({ name, arguments: args })), `${name}, modern`).toContain(expected)
    }
    await newer.close()
  }, 120_000)
})

describe.each(OWN)('server-everything as %s, a connection for each session', way => {
  test('shows the same list to a client that cannot be asked, and says itself that such a tool is not for it', async () => {
    const older = await admin.mcp(`/mcp/${way}`)
    expect((await older.listTools()).tools).toHaveLength(17)
    expect(await callText(older, 'echo', { message: 'hi' })).toContain('hi')
    for (const [name, args] of ASKING) {
      const said = await older.callTool({ name, arguments: args }).catch((error: Error) => error.message)
      expect(JSON.stringify(said)).toContain(`Tool ${name} not found`)
    }
  }, 120_000)

  test('refuses at once to ask a caller by REST, who has no session', async () => {
    const answer = await admin.ok('POST', `/api/servers/${way}/tools/trigger-sampling-request/call`, {
      arguments: { prompt: 'Say something' },
    })
    expect(JSON.stringify(answer)).toContain('-32601')
  }, 120_000)
})

test('a change of `session` reads the lists again, with all client capabilities and with none', async () => {
  const client = await legacy('/mcp/edited')
  const count = async (): Promise<number> => (await client.listTools()).tools.length
  expect(await count()).toBe(13)
  expect((await failureOf(client.callTool({ name: 'get-roots-list', arguments: {} }))).code).toBe(-32602)
  await admin.ok('PATCH', '/api/servers/edited', { session: 'per-session' })
  await until(async () => (await count()) === 17, { timeoutMs: 60_000, what: 'the tools that ask' })
  expect(await callText(client, 'get-roots-list')).toContain('file:///projects/one')
  await admin.ok('PATCH', '/api/servers/edited', { session: 'shared' })
  await until(async () => (await count()) === 13, { timeoutMs: 60_000, what: 'the list without them' })
}, 120_000)
