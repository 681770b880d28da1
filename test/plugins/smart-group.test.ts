import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { type Client, type Hub, LOOPBACK, ROOT, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const THREE = ['search_tools', 'describe_tool', 'call_tool']

let hub: Hub
let admin: Client
let bob: Client
let far: Program
const opened: NewerClient[] = []
let folder = ''

const program = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(ROOT, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
  session: 'shared',
})

beforeAll(async () => {
  folder = await makeTemp('smart')
  const settings = {
    mcpServers: {
      files: program('filesystem', folder),
      memory: { ...program('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } },
      varied: {
        ...stdioFixture('varied', {
          PROMPTS: '["hello"]',
          RESOURCES: '["one://a"]',
          NAMES: '["search_tools","hide_me"]',
        }),
        session: 'shared',
      },
    },
    groups: [
      { name: 'work', servers: ['files', 'varied'] },
      { name: 'narrow', members: [{ server: 'varied', tools: ['raw', 'name'] }] },
    ],
  }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  bob = await hub.user('bob')
  far = await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'))
  await bob.ok('POST', '/api/servers', { name: 'bobs', url: far.url })
  await online(bob, ['bobs'])
}, 120_000)

afterAll(async () => {
  await Promise.allSettled(opened.map(client => client.close()))
  await hub?.stop()
  await far?.stop()
  await removeTemp(folder)
}, 120_000)

interface Hit {
  readonly tool: string
  readonly server: string
  readonly does: string
  readonly takes: string
  readonly effect: string
}

async function search(client: McpClient, query: string, more: Record<string, unknown> = {}) {
  return JSON.parse(await callText(client, 'search_tools', { query, ...more })) as {
    readonly hits: readonly Hit[]
    readonly more?: number
    readonly servers?: readonly string[]
  }
}

async function newer(path: string): Promise<NewerClient> {
  const client = new NewerClient(
    { name: 'newer', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const requestInit = { headers: { authorization: `Bearer ${await admin.mcpKey()}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit }))
  opened.push(client)
  return client
}

describe('the view $smart', () => {
  test('has three tools, says how they are used, and finds, describes and calls the others', async () => {
    const client = await admin.mcp('/mcp/$smart/work')
    expect(await toolNames(client)).toEqual(THREE)
    expect(client.getInstructions()).toContain('search_tools')
    expect(client.getInstructions()).toMatch(/^- files \(\d+\)/m)
    expect(client.getServerCapabilities()?.tools).toEqual({})

    const { hits, more } = await search(client, 'rename a file', { limit: 2 })
    expect(hits[0]).toMatchObject({ tool: 'move_file', server: 'files', takes: 'source: string, destination: string' })
    expect(hits).toHaveLength(2)
    expect(more).toBeGreaterThan(0)
    expect((await search(client, '读取文件')).hits[0]?.tool).toMatch(/^read_/)
    expect((await search(client, 'name', { server: 'varied' })).hits.map(({ server }) => server)).not.toContain('files')

    const described = JSON.parse(await callText(client, 'describe_tool', { tool: 'move_file' }))
    const plain = await admin.mcp('/mcp/work')
    const listed = (await plain.listTools()).tools.find(({ name }) => name === 'move_file')
    expect(described).toMatchObject({ tool: 'move_file', server: 'files', description: listed?.description })
    expect(described.inputSchema).toEqual(listed?.inputSchema)

    expect(await callText(client, 'call_tool', { tool: 'name', arguments: {} })).toBe(
      '{"server":"varied","tool":"name"}',
    )
    // A client that knows the name calls it directly.
    expect(await callText(client, 'name')).toBe('{"server":"varied","tool":"name"}')
  })

  test('is there for clients of both eras and both transports, over everything and over one server, and leaves the rest alone', async () => {
    const sse = await admin.mcp('/sse/$smart/work', { sse: true })
    expect(await toolNames(sse)).toEqual(THREE)
    const modern = await newer('/mcp/$smart/work')
    expect((await modern.listTools()).tools.map(({ name }) => name)).toEqual(THREE)
    const found = await modern.callTool({ name: 'search_tools', arguments: { query: 'move a file' } })
    expect(JSON.stringify(found.content)).toContain('move_file')
    const called = await modern.callTool({ name: 'call_tool', arguments: { tool: 'name', arguments: {} } })
    expect(JSON.stringify(called.content)).toContain('varied')

    const all = await admin.mcp('/mcp/$smart')
    expect(await toolNames(all)).toEqual(THREE)
    expect((await search(all, 'knowledge graph entity')).hits[0]?.server).toBe('memory')
    const one = await admin.mcp('/mcp/$smart/varied')
    expect((await search(one, 'knowledge graph entity')).hits).toEqual([])
    expect((await one.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    expect((await one.listResources()).resources.map(({ uri }) => uri)).toEqual(['one://a'])
    expect((await one.readResource({ uri: 'one://a' })).contents).toHaveLength(1)
    const owned = await admin.mcp('/mcp/$smart/@admin/work')
    expect(await toolNames(owned)).toEqual(THREE)
    // Without the view nothing changes.
    expect(await toolNames(await admin.mcp('/mcp/narrow'))).toEqual(['raw', 'name'])
  })

  test('does not exist for other words, and shows no more than the path behind it', async () => {
    for (const path of [
      '/mcp/$other',
      '/mcp/$other/work',
      '/mcp/$smart/absent',
      '/mcp/$smart/$smart',
      '/mcp/$smart/bobs',
    ])
      expect((await failureOf(admin.mcp(path))).message).toMatch(/group_not_found|404|no group|There is no/i)
    const client = await bob.mcp('/mcp/$smart')
    expect((await search(client, 'echo')).hits[0]).toMatchObject({ tool: 'echo', server: 'bobs' })
    expect(await search(client, 'move a file')).toMatchObject({ hits: [], servers: ['bobs'] })
    expect((await search(await admin.mcp('/mcp/$smart'), 'echo')).hits).toEqual([])
    for (const path of ['/mcp/$smart/work', '/mcp/$smart/@admin/work', '/mcp/$smart/varied'])
      expect(await failureOf(bob.mcp(path))).toBeInstanceOf(Error)
    const narrow = await admin.mcp('/mcp/$smart/narrow')
    const { hits } = await search(narrow, 'name raw emit say ask hide me', { limit: 20 })
    expect(hits.map(({ tool }) => tool).toSorted()).toEqual(['name', 'raw'])
    for (const tool of ['hide_me', 'emit', 'varied_emit'])
      for (const call of ['describe_tool', 'call_tool'])
        expect((await failureOf(callText(narrow, call, { tool }))).code).toBe(-32602)
  })

  test('keeps to what a key opens, also for an open session whose rights go', async () => {
    const { secret } = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: [{ group: 'narrow' }] })
    const client = await admin.mcp('/mcp/$smart/narrow', { credential: secret })
    expect(await callText(client, 'call_tool', { tool: 'name' })).toContain('varied')
    for (const path of ['/mcp/$smart', '/mcp/$smart/work'])
      expect(await failureOf(admin.mcp(path, { credential: secret }))).toBeInstanceOf(Error)
    await admin.ok('PATCH', '/api/groups/narrow', { members: [{ server: 'varied', tools: ['raw'] }] })
    expect((await failureOf(callText(client, 'call_tool', { tool: 'name' }))).code).toBe(-32602)
    await until(async () => (await search(client, 'name')).hits.length === 0, { what: 'the tool to be found no more' })
    await admin.ok('PATCH', '/api/groups/narrow', { members: [{ server: 'varied', tools: ['raw', 'name'] }] })
    await until(async () => (await search(client, 'name')).hits.length === 1, { what: 'the tool to be found again' })
  })

  test('a member’s tool with the name of one of the three keeps its own other name', async () => {
    const client = await admin.mcp('/mcp/$smart/varied')
    const { hits } = await search(client, 'search tools of varied')
    const named = hits.find(({ does }) => does === 'search_tools of varied')
    expect(named?.tool).not.toBe('search_tools')
    expect(await callText(client, 'call_tool', { tool: named?.tool })).toBe('{"server":"varied","tool":"search_tools"}')
    for (const tool of THREE)
      expect((await failureOf(callText(client, 'call_tool', { tool, arguments: { query: 'x' } }))).code).toBe(-32602)
  })

  test('calls are those of the tools: arguments and results as written, progress, cancelling, and records', async () => {
    const client = await admin.mcp('/mcp/$smart/varied')
    const raw = await client.callTool({
      name: 'call_tool',
      arguments: { tool: 'raw', arguments: { text: '\ud83d\ude00', deep: [{ a: null }], very: 12345678901 } },
    })
    expect(raw.structuredContent).toMatchObject({ text: '😀', deep: [{ a: null }], very: 12345678901 })
    const steps: number[] = []
    await client.callTool(
      { name: 'call_tool', arguments: { tool: 'emit', arguments: { count: 3, gapMs: 20 } } },
      undefined,
      {
        onprogress: ({ progress }) => steps.push(progress),
      },
    )
    expect(steps.slice(0, 2)).toEqual([1, 2])
    const cancelling = new AbortController()
    const long = { tool: 'emit', arguments: { count: 1_000, gapMs: 20 } }
    const cancelled = client.callTool({ name: 'call_tool', arguments: long }, undefined, {
      signal: cancelling.signal,
      onprogress: () => cancelling.abort('enough'),
    })
    await failureOf(cancelled)
    const failed = client.callTool({ name: 'call_tool', arguments: { tool: 'raw', arguments: { how: 'error' } } })
    expect((await failureOf(failed)).code).toBe(-32099)
    const records = await until(async () => {
      const { items } = await admin.ok('GET', '/api/monitoring/activity?server=varied&tool=emit')
      return items.length > 1 && (items as readonly { readonly status: string; readonly group: string }[])
    })
    expect(records.map(({ status, group }) => [status, group])).toEqual([
      ['cancelled', 'varied'],
      ['success', 'varied'],
    ])
  })

  test('says what is wrong with a request, and continues', async () => {
    const client = await admin.mcp('/mcp/$smart/work')
    const bad: readonly [string, Record<string, unknown>][] = [
      ['search_tools', {}],
      ['search_tools', { query: '   ' }],
      ['search_tools', { query: 'x'.repeat(501) }],
      ['search_tools', { query: 'x', limit: 0 }],
      ['search_tools', { query: 'x', limit: 21 }],
      ['search_tools', { query: 'x', limit: 1.5 }],
      ['search_tools', { query: 'x', server: 7 }],
      ['describe_tool', {}],
      ['describe_tool', { tool: ['move_file'] }],
      ['describe_tool', { tool: 'mov_file' }],
      ['call_tool', {}],
      ['call_tool', { tool: 'move_file', arguments: [] }],
      ['call_tool', { tool: 'mov_file' }],
    ]
    for (const [name, args] of bad) {
      const failure = await failureOf(callText(client, name, args))
      expect([name, args, failure.code]).toEqual([name, args, -32602])
    }
    expect((await failureOf(callText(client, 'describe_tool', { tool: 'mov_file' }))).message).toContain('move_file')
    for (const query of ['的', 'the of and', '🙂🙂', '\u0000', '%_"*', 'x'.repeat(500), '文'.repeat(500)])
      expect((await search(client, query)).hits.length).toBeLessThanOrEqual(5)
  })

  test('finds a tool that its server adds later', async () => {
    const client = await admin.mcp('/mcp/$smart/varied')
    expect((await search(client, 'brew coffee')).hits).toEqual([])
    const own = await admin.mcp('/mcp/varied')
    const tools = [
      { name: 'raw', inputSchema: { type: 'object' } },
      { name: 'say', inputSchema: { type: 'object' } },
      { name: 'brew', description: 'Makes coffee', inputSchema: { type: 'object' } },
    ]
    await callText(own, 'say', { method: 'notifications/tools/list_changed', replace: { tools } })
    await until(async () => (await search(client, 'brew coffee')).hits[0]?.tool === 'brew', { what: 'the new tool' })
  })
})
