import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { answering } from '../support/answering.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** SSE servers on the official SDK that end when a second stream opens, and one with a server object for each stream. */
const FORMS = { keyed: ['keyed'], latest: [] } as const
type Form = keyof typeof FORMS
const NAMES = Object.keys(FORMS) as Form[]

const programs = new Map<string, Program>()
const modern: ModernClient[] = []
let hub: Hub
let admin: Client

beforeAll(async () => {
  const args: Record<string, readonly string[]> = { ...FORMS, busy: ['keyed'] }
  await Promise.all([
    ...Object.entries(args).map(async ([name, list]) =>
      programs.set(name, await startProgram(fixture('single-sse'), { args: list })),
    ),
    startProgram(fixture('asking-sse')).then(program => programs.set('several', program)),
    startProgram(fixture('single-sse'), asking(0)).then(program => programs.set('asking', program)),
  ])
  const mcpServers = Object.fromEntries([...programs].map(([name, { url }]) => [name, { type: 'sse', url }]))
  const groups = [{ name: 'both', servers: NAMES }]
  hub = await startHub({ settings: { mcpServers, groups } })
  admin = await hub.setup()
  await online(admin, [...programs.keys()])
}, 120_000)

afterAll(async () => {
  await Promise.all(modern.map(client => client.close()))
  await hub?.stop()
  await Promise.all([...programs.values()].map(program => program.stop()))
}, 120_000)

const able = (path: string, name = 'ada'): Promise<McpClient> => admin.mcp(path, answering(name).options)
const pidOf = (name: string): string => String(programs.get(name)?.pid)

/** It listens again where it listened before. */
const asking = (port = Number(new URL(programs.get('asking')?.url ?? '').port)) => ({
  args: ['keyed', 'asks'],
  env: { PORT: String(port) },
})

function isAlive(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0)
  } catch {
    return false
  }
}

async function modernClient(path: string): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'newer', version: '1.0.0' },
    { capabilities: { elicitation: {}, roots: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
  client.setRequestHandler('roots/list', () => ({ roots: [] }))
  const headers = { authorization: `Bearer ${await admin.mcpKey()}` }
  await client.connect(new ModernTransport(new URL(path, hub.url), { requestInit: { headers } }))
  modern.push(client)
  return client
}

test.each(NAMES)('a server that ends with its second stream serves clients of all kinds: %s', async name => {
  const path = `/mcp/${name}`
  const plain = await admin.mcp(path)
  expect(await callText(plain, 'where')).toBe(pidOf(name))
  const [ada, bert, newer] = await Promise.all([able(path), able(path, 'bert'), modernClient(path)])
  for (const client of [ada, bert, newer]) expect((await client.listTools()).tools).toHaveLength(4)
  const text = async (client: ModernClient) => (await client.callTool({ name: 'where' })).content
  const clients = [plain, ada, bert, await able('/mcp/both')]
  const tool = (client: McpClient) => (client === clients[3] ? `${name}_where` : 'where')
  const answers = await Promise.all(clients.map(client => callText(client, tool(client))))
  expect(answers).toEqual(clients.map(() => pidOf(name)))
  expect(await text(newer)).toEqual([{ type: 'text', text: pidOf(name) }])
  const again = await Promise.all(clients.map(client => callText(client, tool(client))))
  expect(again).toEqual(answers)
  expect(await statusOf(admin, name)).toMatchObject({ state: 'online', session: { kind: 'shared' } })
})

test('a call in flight keeps the connection, and the client that can be asked shares it', async () => {
  const plain = await admin.mcp('/mcp/busy')
  const slow = callText(plain, 'sleep', { ms: 3_500 })
  await until(async () => (await callText(plain, 'running')) === '1')
  const ada = await able('/mcp/busy')
  expect(await callText(ada, 'where')).toBe(pidOf('busy'))
  expect(await slow).toBe('slept')
})

test('a server of that transport that asks gets a connection for each client, from its first question on', async () => {
  const plain = await admin.mcp('/mcp/several')
  expect(await plain.listTools().then(({ tools }) => tools.length)).toBe(3)
  const [ada, bert] = await Promise.all([able('/mcp/several'), able('/mcp/several', 'bert')])
  for (const tool of ['sample', 'elicit', 'roots']) {
    const [one, two] = await Promise.all([callText(ada, tool), callText(bert, tool)])
    expect(one).toContain('ada')
    expect(two).toContain('bert')
  }
  const { session, warnings } = (await admin.ok('GET', '/api/servers/several')).status
  expect(session).toMatchObject({ kind: 'per-session' })
  expect(warnings).toBeUndefined()
})

test('a server that asks and ends with its second stream is ended once, and serves everybody when it runs again', async () => {
  const plain = await admin.mcp('/mcp/asking')
  const first = await callText(plain, 'where')
  const ada = await able('/mcp/asking')
  expect(await callText(ada, 'roots')).toContain('ada')
  // Only a connection beside the first shows whether it bears two: a call in flight may fail with it.
  await until(async () => {
    await callText(await able('/mcp/asking', 'bert'), 'where').catch(() => undefined)
    return !isAlive(first)
  })
  programs.set('asking', await startProgram(fixture('single-sse'), asking()))
  await online(admin, ['asking'])
  const { session, warnings } = (await admin.ok('GET', '/api/servers/asking')).status
  expect(session).toMatchObject({ kind: 'shared' })
  expect(warnings.map(({ code }: { code: string }) => code)).toEqual(['one_connection_only'])
  const clients = [plain, ada, await able('/mcp/asking'), await modernClient('/mcp/asking')]
  for (const client of clients) {
    const { content } = await client.callTool({ name: 'where', arguments: {} })
    expect(content).toEqual([{ type: 'text', text: pidOf('asking') }])
  }
  expect(await callText(plain, 'connects')).toBe('1')
})

test('the same after a restart of the hub', async () => {
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, [...programs.keys()])
  for (const name of NAMES) {
    const [plain, ada] = await Promise.all([admin.mcp(`/mcp/${name}`), able(`/mcp/${name}`)])
    const before = Number(await callText(plain, 'connects'))
    expect(await callText(ada, 'where')).toBe(pidOf(name))
    expect(await callText(plain, 'where')).toBe(pidOf(name))
    // Kept are the lists for clients that can be asked; a first call of each tool is tried again.
    expect(Number(await callText(plain, 'connects')) - before).toBe(2)
  }
  const ada = await able('/mcp/asking')
  expect(await callText(ada, 'where')).toBe(pidOf('asking'))
  expect(await callText(ada, 'connects')).toBe('2')
  const clients = await Promise.all([able('/mcp/several'), able('/mcp/several', 'bert')])
  const answers = await Promise.all(clients.map(client => callText(client, 'elicit')))
  expect(answers[0]).toContain('ada')
  expect(answers[1]).toContain('bert')
}, 60_000)
