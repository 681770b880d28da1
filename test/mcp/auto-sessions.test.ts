import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { answering } from '../support/answering.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { EVERYTHING } from '../support/peers.ts'
import { descendants } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, toolNames } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const QUESTIONS = fixture('questions')
type Wire = 'stdio' | 'sse' | 'http'
/** On pipes a session has a process of its own; the suite of compatibility also covers requests over the other transports. */
const WIRES = extent<readonly Wire[]>(['stdio'], ['stdio', 'sse', 'http'])
const SESSIONS = extent(4, 20)
/** Tools that server-everything lists for clients that can be asked. */
const EXTRA = ['get-roots-list', 'trigger-elicitation-request', 'trigger-sampling-request', 'trigger-url-elicitation']

let programs: Program[] = []
let hub: Hub
let admin: Client

beforeAll(async () => {
  const wires = WIRES.filter(wire => wire !== 'stdio')
  programs = await Promise.all(wires.map(wire => startProgram(QUESTIONS, { env: { WIRE: wire } })))
  const remote = wires.map((wire, at) => [wire, { url: programs[at]?.url, ...(wire === 'sse' && { type: wire }) }])
  const mcpServers = {
    stdio: stdioFixture('questions'),
    ...Object.fromEntries(remote),
    plain: { ...stdioFixture('echo'), session: 'auto' },
    late: stdioFixture('asking'),
    ...extent({}, { everything: { command: process.execPath, args: [EVERYTHING] } }),
  }
  const members = ['plain', { server: 'everything', tools: ['echo', 'get-roots-list', 'no-such'] }]
  hub = await startHub({ settings: { mcpServers, groups: extent([], [{ name: 'g', servers: members }]) } })
  admin = await hub.setup()
  await online(admin, Object.keys(mcpServers), 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await Promise.all(programs.map(program => program.stop()))
}, 120_000)

const status = async (server: string) => (await admin.ok('GET', `/api/servers/${server}`)).status

const able = (server: string, name = 'ada'): Promise<McpClient> => admin.mcp(`/mcp/${server}`, answering(name).options)

async function modernClient(path: string): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'newer', version: '1.0.0' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'newer' } }))
  const authorization = `Bearer ${await admin.mcpKey()}`
  await client.connect(new ModernTransport(new URL(path, hub.url), { requestInit: { headers: { authorization } } }))
  return client
}

/** The transport of the SDK sends DELETE for its session only on request. */
const endSession = (client: McpClient) =>
  (client.transport as { terminateSession?: () => Promise<void> } | undefined)?.terminateSession?.()

/** Waits until it is known what the server does for clients that can be asked. */
const looked = (server: string, why: string) =>
  until(async () => (await status(server)).session.why.startsWith(why), {
    timeoutMs: 60_000,
    intervalMs: 100,
    what: `${server}: ${why}`,
  })

const running = () => descendants(hub.pid).length

describe.each(WIRES)('a server that asks over %s', wire => {
  test(`${SESSIONS} sessions at once have a connection each, and all answers are their own; then one is left`, async () => {
    const clients = await Promise.all(Array.from({ length: SESSIONS }, (_, index) => able(wire, `n${index}`)))
    const shared = await admin.mcp(`/mcp/${wire}`)
    await callText(shared, 'answers')
    const answers = await Promise.all(
      clients.flatMap((client, index) =>
        ['sampling', 'elicitation', 'roots'].map(async kind => {
          const answer = await callText(client, 'ask', { kind, mark: 'm' })
          return new RegExp(`(by |"name":"|file:///)n${index}"`).test(answer) ? undefined : `${index}: ${answer}`
        }),
      ),
    )
    expect(answers.filter(wrong => wrong !== undefined)).toEqual([])
    expect((await status(wire)).connections).toEqual({ shared: 1, session: SESSIONS, lease: 0, user: 0 })
    const before = running()
    for (const client of clients) await endSession(client)
    await until(async () => (await status(wire)).connections.session === 0)
    expect((await status(wire)).connections.shared).toBe(1)
    if (wire === 'stdio') await until(() => running() <= before - SESSIONS)
    expect((await status(wire)).session).toMatchObject({
      mode: 'auto',
      kind: 'per-session',
      why: `asks its client: own ${wire === 'stdio' ? 'process' : 'connection'} per session`,
    })
  }, 120_000)
})

test('a program that asks nothing has one process for all, also for clients that can be asked once a tool was tried', async () => {
  await looked('plain', 'was not seen')
  const first = await able('plain', 'first')
  await callText(first, 'echo', { text: 'x' })
  // The session's own connection showed that the tool does not ask; it ends with the session.
  expect((await status('plain')).connections).toEqual({ shared: 1, session: 1, lease: 0, user: 0 })
  await endSession(first)
  await until(async () => (await status('plain')).connections.session === 0)
  const clients = await Promise.all(['a', 'b', 'c'].map(name => able('plain', name)))
  await Promise.all(clients.map(client => callText(client, 'echo', { text: 'x' })))
  const { connections, session, warnings } = await status('plain')
  expect(connections).toEqual({ shared: 1, session: 0, lease: 0, user: 0 })
  expect(session).toEqual({ mode: 'auto', kind: 'shared', why: 'was not seen to ask its client: one process for all' })
  expect(warnings).toBeUndefined()
})

test('one that asks during a call alone asks the client of the very first call, and is known to ask from then on', async () => {
  await looked('late', 'was not seen')
  const client = await able('late')
  expect(await callText(client, 'sample')).toContain('sampled by ada')
  await looked('late', 'asks its client')
  expect((await status('late')).session.serverRequests).toEqual(['sampling'])
  // Other clients still share.
  const other = await admin.mcp('/mcp/late')
  expect(Object.keys(JSON.parse(await callText(other, 'capabilities')))).toEqual(['extensions'])
}, 120_000)

// The first call of `late` above asks for sampling, and that of `everything` below for roots.
test.each(extent(['elicit'], ['sample', 'elicit', 'roots', 'confirm']))(
  'the first call that a session makes of a tool that asks works, through a group too: %s',
  async tool => {
    const name = `first-${tool}`
    await admin.ok('POST', '/api/servers', { ...stdioFixture('asking'), name })
    await admin.ok('POST', '/api/groups', { name: `g-${tool}`, members: [name] })
    await online(admin, [name])
    const client = await able(`g-${tool}`, 'eve')
    const [listed = ''] = (await toolNames(client)).filter(each => each.endsWith(tool))
    expect(await callText(client, listed)).toContain('eve')
    await admin.ok('DELETE', `/api/servers/${name}`)
  },
  60_000,
)

beyondCore(() => {
  test('a modern client is asked in its first call of an older program', async () => {
    await admin.ok('POST', '/api/servers', { ...stdioFixture('asking'), name: 'older' })
    await online(admin, ['older'])
    const client = await modernClient('/mcp/older')
    expect(JSON.stringify(await client.callTool({ name: 'elicit', arguments: {} }))).toContain('newer')
    await client.close()
  }, 60_000)
})

beyondCore(() => {
  test('a program that cannot run twice serves clients that can be asked over its one process', async () => {
    const folder = await makeTemp('single')
    const lock = join(folder, 'lock')
    const script = 'test -e "$0" && exit 1; exec "$@"'
    const args = ['-c', script, lock, process.execPath, join(ROOT, 'test/support/mcp-servers/echo.ts')]
    await admin.ok('POST', '/api/servers', { name: 'single', command: '/bin/sh', args })
    await online(admin, ['single'])
    await looked('single', 'was not seen')
    await Bun.write(lock, '')
    const pids = await Promise.all(['a', 'b'].map(async name => callText(await able('single', name), 'whoami')))
    const { pid, connections } = await status('single')
    expect(pids.map(text => JSON.parse(text).pid)).toEqual([pid, pid])
    expect(connections).toMatchObject({ shared: 1, session: 0 })
    await removeTemp(folder)
  }, 60_000)
})

beyondCore(() => {
  test('tools that are listed only for clients that can be asked are listed for those, and no others, with a warning', async () => {
    await looked('everything', 'asks its client')
    const client = await able('everything')
    // If a connection takes longer than the list may wait, a changed list is announced later.
    const namesWith = (one: McpClient, name: string) =>
      until(
        async () => {
          const listed = await toolNames(one)
          return listed.includes(name) && listed
        },
        { intervalMs: 200, what: `${name} to be listed` },
      )
    expect(await namesWith(client, 'get-roots-list')).toEqual(expect.arrayContaining(EXTRA.slice(0, 3)))
    const plain = await admin.mcp('/mcp/everything')
    const shown = await toolNames(plain)
    expect(shown).toHaveLength(13)
    expect(await callText(client, 'get-roots-list')).toContain('file:///ada')
    const failure = await failureOf(plain.callTool({ name: 'get-roots-list', arguments: {} }))
    expect(failure).toMatchObject({ code: -32602, data: { code: 'tool_not_found' } })
    expect(failure.message).toContain('only for clients that can be asked')
    // This client only has roots, so tools that need sampling are not for it.
    const rooted = await admin.mcp('/mcp/everything', { capabilities: { roots: {} } })
    expect(await namesWith(rooted, 'get-roots-list')).not.toContain('trigger-sampling-request')
    const { warnings } = await status('everything')
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'tools_need_asking', tools: expect.arrayContaining(EXTRA) }),
    ])
    const listed = await admin.ok('GET', '/api/servers/everything/tools')
    expect([listed.total, listed.warnings.join()]).toEqual([13, expect.stringContaining('get-roots-list')])
  }, 120_000)
})

test('a call without a session of the older kind asks its own caller too, over a lease', async () => {
  const client = await modernClient('/mcp/stdio')
  const call = { name: 'ask', arguments: { kind: 'elicitation', mark: 'm' } }
  expect(JSON.stringify(await client.callTool(call))).toContain('newer')
  await client.close()
}, 120_000)

describe('warnings of groups', () => {
  const warnings = async (group: string): Promise<{ code: string; server?: string; tools?: string[] }[]> =>
    (await admin.ok('GET', `/api/groups/${group}`)).warnings

  beyondCore(() => {
    test('name tools that do not exist, that need asking, and that have another name here', async () => {
      await looked('everything', 'asks its client')
      expect(await warnings('g')).toEqual([
        expect.objectContaining({ code: 'names_collide', server: 'plain', tools: ['echo'] }),
        expect.objectContaining({ code: 'tool_missing', server: 'everything', tools: ['no-such'] }),
        expect.objectContaining({ code: 'tools_need_asking', server: 'everything', tools: ['get-roots-list'] }),
        expect.objectContaining({ code: 'names_collide', server: 'everything', tools: ['echo'] }),
      ])
    })
  })

  test('name a member whose server was deleted, until the members are written again', async () => {
    await admin.ok('POST', '/api/servers', { ...stdioFixture('echo'), name: 'gone' })
    const members = [{ server: 'plain', tools: ['echo', 'no-such'] }, 'gone']
    await admin.ok('POST', '/api/groups', { name: 'h', visibility: 'public', members })
    await admin.ok('DELETE', '/api/servers/gone')
    expect(await warnings('h')).toContainEqual(expect.objectContaining({ code: 'server_deleted', server: 'gone' }))
    expect(await warnings('h')).toContainEqual(expect.objectContaining({ code: 'tool_missing', tools: ['no-such'] }))
    const bob = await hub.user('bob')
    expect((await bob.ok('GET', '/api/groups/admin~h')).warnings).toEqual([])
    await admin.ok('PATCH', '/api/groups/h', { description: 'as before' })
    // A public group with a private server: others do not get it.
    const lacking = { code: 'others_get_less', server: 'plain' }
    const known = (await warnings('h')).map(({ code }) => code)
    expect(known.toSorted()).toEqual(['others_get_less', 'server_deleted', 'tool_missing'])
    await admin.ok('PATCH', '/api/groups/h', { members: ['plain'] })
    expect(await warnings('h')).toEqual([expect.objectContaining(lacking)])
  })
})

beyondCore(() => {
  test('a change of `session` reads the lists again, with all client capabilities and with none', async () => {
    const client = await able('everything')
    const counted = (count: number, what: string) =>
      until(async () => (await toolNames(client)).length === count, { timeoutMs: 60_000, intervalMs: 200, what })
    await admin.ok('PATCH', '/api/servers/everything', { session: 'shared' })
    await counted(13, 'the list without the tools that ask')
    expect((await failureOf(client.callTool({ name: 'get-roots-list', arguments: {} }))).code).toBe(-32602)
    await admin.ok('PATCH', '/api/servers/everything', { session: 'per-session' })
    await counted(17, 'the tools that ask')
    expect(await callText(client, 'get-roots-list')).toContain('file:///ada')
    // A caller by REST has no session, and is refused at once.
    const path = '/api/servers/everything/tools/trigger-sampling-request/call'
    const answer = await admin.ok('POST', path, { arguments: { prompt: 'Say something' } })
    expect(JSON.stringify(answer)).toContain('-32601')
  }, 120_000)
})
