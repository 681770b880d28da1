import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { CreateMessageRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { beyondCore, extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const OLDER_TOOL = 'test_older_alone'
const NEWER_TOOL = 'test_input_required_result_elicitation'

const started: Program[] = []
const opened: NewerClient[] = []
let hub: Hub
let admin: Client
let key = ''

async function program(name: string, env: Record<string, string> = {}): Promise<string> {
  const running = await startProgram(fixture(name), { env })
  started.push(running)
  return running.url
}

beforeAll(async () => {
  const [both, older, newer] = await Promise.all([
    program('sdk-2-4'),
    program('sdk-1-32'),
    program('reference', { ERA: 'modern' }),
  ])
  const http = (url: string, more = {}) => ({ type: 'streamable-http', url, ...more })
  const besides = extent(
    {},
    {
      grouped: http(both, { session: 'shared' }),
      'newer-alone': http(newer),
      'older-alone': http(older),
      varied: stdioFixture('sdk-2-4', { WIRE: 'stdio', VARIED: '1' }),
    },
  )
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        both: http(both),
        program: stdioFixture('sdk-2-4', { WIRE: 'stdio' }),
        'held-older': http(both, { era: 'legacy', session: 'shared' }),
        'held-newer': http(both, { era: 'modern', session: 'shared' }),
        'lacks-newer': http(older, { era: 'modern' }),
        'lacks-older': http(newer, { era: 'legacy' }),
        ...besides,
      },
      groups: extent([], [{ name: 'g', servers: ['grouped', 'older-alone', 'newer-alone'] }]),
    },
  })
  admin = await hub.setup()
  key = await admin.mcpKey()
  const others = Object.keys(besides).filter(name => name !== 'varied')
  await online(admin, ['both', 'program', 'held-older', 'held-newer', ...others])
  for (const name of extent(['program'], ['program', 'varied'])) await knownAsModern(name)
}, 400_000)

afterAll(async () => {
  await Promise.allSettled(opened.map(client => client.close()))
  await hub?.stop()
  for (const one of started.splice(0)) await one.stop()
}, 120_000)

/**
 * Tries again if needed: a program that does not answer the hub's probe within 3 s, as on a busy machine, counts as an older
 * one.
 */
async function knownAsModern(name: string): Promise<void> {
  for (let attempt = 1; (await statusOf(admin, name)).eras?.[0] !== 'modern' && attempt < 8; attempt += 1) {
    const { env } = await admin.ok('GET', `/api/servers/${name}`)
    await admin.ok('PATCH', `/api/servers/${name}`, { env: { ...env, ATTEMPT: String(attempt) } })
    await admin.ok('GET', `/api/servers/${name}/tools`)
    await until(async () => (await statusOf(admin, name)).state === 'online', { what: `${name} to be online again` })
  }
}

/** A client of 2026-07-28. */
async function newer(path: string): Promise<NewerClient> {
  const client = new NewerClient(
    { name: 'newer', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit }))
  opened.push(client)
  return client
}

const namesFor = async (path: string) => (await (await newer(path)).listTools()).tools.map(({ name }) => name)
const processesOf = async (name: string): Promise<number> => {
  const { items } = await admin.ok('GET', '/api/admin/processes')
  return items.filter(
    (one: { server: string; pid?: number }) => one.server.endsWith(`~${name}`) && one.pid !== undefined,
  ).length
}

/** Waits until this many run: processes that only served to inspect something take a moment to end. */
const runs = (name: string, count: number) =>
  until(async () => (await processesOf(name)) === count, { what: `${count} processes of ${name}` })

/** Waits until the hub has finished probing the server for clients that can be asked. */
const looked = (name: string) =>
  until(async () => !(await statusOf(admin, name)).session?.probing, { what: `the look at ${name}` })

function sampling(client: McpClient): void {
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }))
}

describe('a server that speaks both eras', () => {
  test('is to each client what it is to clients of that era without a hub', async () => {
    expect((await statusOf(admin, 'both')).eras).toEqual(['modern'])
    const client = await admin.mcp('/mcp/both', { capabilities: { sampling: {} }, prepare: sampling })
    expect(client.getServerVersion()?.name).toBe('sdk-2-4-legacy')
    expect(client.getInstructions()).toBe('The face of the legacy era.')
    expect(client.getServerCapabilities()).toMatchObject({ logging: {}, resources: { subscribe: true } })
    const names = await toolNames(client)
    expect([names.includes(OLDER_TOOL), names.includes(NEWER_TOOL)]).toEqual([true, false])
    expect(await callText(client, 'test_sampling', { prompt: 'Who?' })).toContain('sampled')
    expect(await callText(client, OLDER_TOOL)).toBe('legacy')

    const modern = await newer('/mcp/both')
    expect(modern.getServerVersion()?.name).toBe('sdk-2-4-modern')
    expect(modern.getServerCapabilities()?.logging).toBeUndefined()
    const listed = await namesFor('/mcp/both')
    expect([listed.includes(OLDER_TOOL), listed.includes(NEWER_TOOL)]).toEqual([false, true])
    expect((await statusOf(admin, 'both')).eras).toEqual(['legacy', 'modern'])
  })

  beyondCore(() => {
    test('tells clients of the older era of changes, and takes their subscriptions', async () => {
      const client = await admin.mcp('/mcp/both')
      let told = 0
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        told += 1
      })
      await client.subscribeResource({ uri: 'test://watched-resource' })
      await client.unsubscribeResource({ uri: 'test://watched-resource' })
      await client.setLoggingLevel('debug')
      await callText(client, 'test_trigger_tool_change')
      await until(() => told > 0, { what: 'the older client to hear of the change' })
    })
  })

  beyondCore(() => {
    test('has the older lists in groups too, beside servers of one era', async () => {
      const client = await admin.mcp('/mcp/g')
      const names = await toolNames(client)
      // A name that two servers offer gets the server's name in front.
      expect(names.filter(name => name.includes(OLDER_TOOL))).toHaveLength(1)
      expect((await namesFor('/mcp/g')).filter(name => name.includes(OLDER_TOOL))).toEqual([])
      expect(await callText(client, OLDER_TOOL)).toBe('legacy')
    })
  })

  test('over stdio gets a second process when the first older client comes, and no sooner', async () => {
    await namesFor('/mcp/program')
    await looked('program')
    await runs('program', 1)
    const clients = await Promise.all([admin.mcp('/mcp/program'), admin.mcp('/mcp/program')])
    for (const client of clients) {
      await until(async () => (await toolNames(client)).includes(OLDER_TOOL), {
        intervalMs: 100,
        what: 'the older list',
      })
      expect(await callText(client, OLDER_TOOL)).toBe('legacy')
    }
    await looked('program')
    await runs('program', 2)
    expect((await statusOf(admin, 'program')).connections).toMatchObject({ shared: 2, session: 0 })
  })
})

beyondCore(() => {
  test('requests of a server of both eras are found in the older one, where the session that is asked has a process of its own', async () => {
    const able = { capabilities: { sampling: {} }, prepare: sampling }
    const modern = await newer('/mcp/program')
    const client = await admin.mcp('/mcp/program', able)
    await until(async () => (await toolNames(client)).includes(OLDER_TOOL), { intervalMs: 100, what: 'the older list' })
    await looked('program')
    expect((await statusOf(admin, 'program')).session).toMatchObject({ kind: 'shared' })
    // The hub does not know it yet: the first call shows it, and works.
    expect((await client.callTool({ name: 'test_sampling', arguments: { prompt: 'Who?' } })).isError).not.toBe(true)
    expect((await statusOf(admin, 'program')).session).toMatchObject({
      kind: 'per-session',
      serverRequests: ['sampling'],
    })
    expect(await callText(client, 'test_sampling', { prompt: 'Who?' })).toContain('sampled')
    expect(await callText(client, OLDER_TOOL)).toBe('legacy')

    const plain = await admin.mcp('/mcp/program')
    expect(await callText(plain, OLDER_TOOL)).toBe('legacy')
    expect((await modern.callTool({ name: 'test_simple_text', arguments: {} })).isError).toBeFalsy()
    expect((await statusOf(admin, 'program')).connections).toMatchObject({ shared: 2, session: 1 })
    await admin.ok('POST', '/api/servers/program/stop')
    await until(async () => (await processesOf('program')) === 0, { what: 'all its processes to end' })
  }, 120_000)
})

beyondCore(() => {
  test('tools that it lists in the older era for clients that can be asked are for those alone', async () => {
    const extra = 'test_for_askable'
    const plain = await admin.mcp('/mcp/varied')
    const able = await admin.mcp('/mcp/varied', { capabilities: { sampling: {} }, prepare: sampling })
    await until(async () => (await toolNames(able)).includes(extra), {
      intervalMs: 100,
      what: 'the tool for clients that can be asked',
    })
    expect(await callText(able, extra)).toBe(extra)
    const names = await toolNames(plain)
    expect([names.includes(OLDER_TOOL), names.includes(extra)]).toEqual([true, false])
    const listed = await namesFor('/mcp/varied')
    expect([listed.includes(NEWER_TOOL), listed.includes(extra)]).toEqual([true, false])
  })
})

describe('"era" of a server', () => {
  test.each([
    ['held-older', 'legacy', true],
    ['held-newer', 'modern', false],
  ] as const)('%s: everybody meets its %s face', async (name, era, hasOlder) => {
    const client = await admin.mcp(`/mcp/${name}`)
    expect(client.getServerVersion()?.name).toBe(`sdk-2-4-${era}`)
    expect((await namesFor(`/mcp/${name}`)).includes(OLDER_TOOL)).toBe(hasOlder)
    expect((await statusOf(admin, name)).eras).toEqual([era])
    expect((await admin.ok('GET', `/api/servers/${name}`)).era).toBe(era)
  })

  test.each([
    ['lacks-newer', '2026-07-28'],
    ['lacks-older', '2025-11-25'],
  ])('%s: that it is not spoken is said with its code', async (name, version) => {
    const reason = await until(async () => (await statusOf(admin, name)).reason, { what: `${name} to be refused` })
    expect(reason.code).toBe('era_not_spoken')
    expect(reason.message).toContain(version)
  })

  test('is changed by a patch, and refused where it has no meaning', async () => {
    await admin.ok('PATCH', '/api/servers/lacks-newer', { era: 'auto' })
    await online(admin, ['lacks-newer'])
    expect((await statusOf(admin, 'lacks-newer')).eras).toEqual(['legacy'])
    const body = { name: 'x', type: 'sse', url: 'http://127.0.0.1:1/sse', era: 'modern' }
    const { status, json } = await admin.request('POST', '/api/servers', body)
    expect([status, json.errors[0].pointer, json.errors[0].code]).toEqual([400, '#/era', 'field_not_for_transport'])
  })

  beyondCore(() => {
    test('a server of the newer era alone serves older clients as before', async () => {
      const client = await admin.mcp('/mcp/newer-alone')
      expect(await callText(client, 'test_simple_text')).toContain('simple text')
      expect((await statusOf(admin, 'newer-alone')).eras).toEqual(['modern'])
    })
  })
})
