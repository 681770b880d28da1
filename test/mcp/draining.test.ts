/** A change of a server's configuration: what is under way ends over the former connection, and all else uses the new one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { answering } from '../support/answering.ts'
import { extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { descendants } from '../support/processes.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

const QUESTIONS = fixture('questions')
const HELD = stdioFixture('held') as { readonly command: string; readonly args: readonly string[] }
const WIRES = ['stdio', 'sse', 'http'] as const
type Wire = (typeof WIRES)[number]

let programs: Partial<Record<Wire, Program>> = {}
let hub: Hub
let admin: Client
/** Answers the calls of `held` when the test says so. */
let gate: ReturnType<typeof Bun.serve>
let arrived = 0
let opened = Promise.withResolvers<void>()

const remote = (wire: Wire, key: string) => ({
  url: programs[wire]?.url,
  ...(wire === 'sse' && { type: 'sse' }),
  headers: { 'x-key': key },
})
const withKey = (wire: Wire, key: string) =>
  wire === 'stdio' ? { ...stdioFixture('held'), env: { KEY: key } } : remote(wire, key)

beforeAll(async () => {
  gate = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch() {
      arrived += 1
      await opened.promise
      return new Response('go on')
    },
  })
  const [sse, http] = await Promise.all(
    (['sse', 'http'] as const).map(wire => startProgram(QUESTIONS, { env: { WIRE: wire } })),
  )
  programs = { ...(sse && { sse }), ...(http && { http }) }
  const mcpServers = Object.fromEntries(WIRES.map(wire => [wire, withKey(wire, 'first')]))
  hub = await startHub()
  admin = await hub.setup()
  for (const [name, body] of Object.entries(mcpServers)) await admin.ok('POST', '/api/servers', { name, ...body })
  await online(admin, WIRES)
}, 120_000)

afterAll(async () => {
  opened.resolve()
  await hub?.stop()
  await Promise.all(Object.values(programs).map(program => program.stop()))
  await gate?.stop(true)
}, 120_000)

/** Begins these calls, and gives them once all are with the server. */
async function begun<T>(calls: readonly (() => Promise<T>)[]): Promise<{ readonly answers: Promise<T>[] }> {
  const before = arrived
  opened = Promise.withResolvers()
  const answers = calls.map(call => call())
  for (const answer of answers) answer.catch(() => undefined)
  await until(() => arrived === before + calls.length, { what: 'the calls to be with their server', timeoutMs: 30_000 })
  return { answers }
}

const held = (client: McpClient) => callText(client, 'held', { url: gate.url.href })
const able = (wire: string, name: string) => admin.mcp(`/mcp/${wire}`, answering(name).options)
const keyOf = async (client: McpClient) => JSON.parse(await callText(client, 'key'))

async function modern(server: string) {
  const raw = new RawModern(hub, `/mcp/${server}`, await admin.mcpKey())
  return async (name: string, args = {}): Promise<string> => {
    const { result, error } = await raw.call(
      'tools/call',
      { name, arguments: args },
      { capabilities: { elicitation: {} } },
    )
    return result?.content[0].text ?? `failed: ${error?.message}`
  }
}

describe.each([...WIRES])('over %s', wire => {
  test('a changed key: calls of all kinds of callers end as they began, and the next ones use the new key', async () => {
    const before = descendants(hub.pid).length
    const [plain, own, lease] = [await admin.mcp(`/mcp/${wire}`), await able(wire, 'ada'), await modern(wire)]
    const { answers } = await begun([() => held(plain), () => held(own), () => lease('held', { url: gate.url.href })])
    const changed = withKey(wire, 'second')
    await admin.ok(
      'PATCH',
      `/api/servers/${wire}`,
      'env' in changed ? { env: changed.env } : { headers: changed.headers },
    )
    await until(async () => (await keyOf(plain)) === 'second', { what: 'the new key' })
    expect([await keyOf(own), JSON.parse(await lease('key'))]).toEqual(['second', 'second'])
    // Once more, while the first connections still have their calls.
    const again = withKey(wire, 'third')
    await admin.ok('PATCH', `/api/servers/${wire}`, 'env' in again ? { env: again.env } : { headers: again.headers })
    await until(async () => (await keyOf(plain)) === 'third', { what: 'the next key' })
    opened.resolve()
    expect((await Promise.all(answers)).map(text => JSON.parse(text))).toEqual(['first', 'first', 'first'])
    // The connection of a session or lease is its own; the former connections are gone.
    if (wire === 'stdio') await until(() => descendants(hub.pid).length <= before + 2, { what: 'the processes to end' })
  }, 60_000)
})

test.each([
  ['arguments', 'stdio', () => ({ args: [...HELD.args, 'more'] })],
  ['an address', 'http', () => ({ url: `${programs.http?.url}?other` })],
  ['whose connection it is', 'http', () => ({ session: 'shared' })],
] as const)(
  'changed %s',
  async (_, wire, change) => {
    const client = await able(wire, 'eve')
    const { answers } = await begun([() => held(client)])
    const { since } = await statusOf(admin, wire)
    await admin.ok('PATCH', `/api/servers/${wire}`, change())
    if (!('timeout' in change()))
      await until(async () => (await statusOf(admin, wire)).since !== since, { what: 'a new connection' })
    await online(admin, [wire])
    expect(await keyOf(client)).toBe('third')
    opened.resolve()
    expect(JSON.parse((await Promise.all(answers))[0] ?? '')).toBe('third')
  },
  60_000,
)

test('a shorter timeout is for later calls: one under way has the time that it began with', async () => {
  const client = await admin.mcp('/mcp/http')
  const { answers } = await begun([() => held(client)])
  await admin.ok('PATCH', '/api/servers/http', { timeout: 1_000 })
  expect((await failureOf(held(client))).data?.code).toBe('upstream_timeout')
  opened.resolve()
  expect(JSON.parse((await Promise.all(answers))[0] ?? '')).toBe('third')
}, 60_000)

test('a new connection that fails: its reason is for new calls, and the call under way has its answer', async () => {
  await admin.ok('POST', '/api/servers', { name: 'failing', ...stdioFixture('held'), env: { KEY: 'kept' } })
  await online(admin, ['failing'])
  const [plain, own] = [await admin.mcp('/mcp/failing'), await able('failing', 'max')]
  const { answers } = await begun([() => held(plain), () => held(own)])
  await admin.ok('PATCH', '/api/servers/failing', { args: ['-e', 'console.error("no such licence"); process.exit(3)'] })
  for (const client of [plain, own]) {
    const { data, message } = await failureOf(client.callTool({ name: 'key', arguments: {} }))
    expect([data?.code, message]).toEqual(['server_offline', expect.stringContaining('exit code 3')])
  }
  opened.resolve()
  expect((await Promise.all(answers)).map(text => JSON.parse(text))).toEqual(['kept', 'kept'])
}, 60_000)

test('a server that needs its predecessor gone starts as soon as the last call of that one has ended', async () => {
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port } = probe
  await probe.stop(true)
  const env = { PORT: String(port), KEY: 'old' }
  await admin.ok('POST', '/api/servers', { name: 'alone', ...stdioFixture('held'), session: 'shared', env })
  await online(admin, ['alone'])
  const client = await admin.mcp('/mcp/alone')
  const { answers } = await begun([() => held(client)])
  await admin.ok('PATCH', '/api/servers/alone', { env: { ...env, KEY: 'new' } })
  await until(async () => (await statusOf(admin, 'alone')).state === 'offline', { what: 'the refused start' })
  opened.resolve()
  expect(JSON.parse((await Promise.all(answers))[0] ?? '')).toBe('old')
  await online(admin, ['alone'])
  expect(await keyOf(client)).toBe('new')
}, 60_000)

test('subscriptions move to the new connections, of sessions with one of their own too', async () => {
  await admin.ok('POST', '/api/servers', { name: 'told', ...HELD, env: { KEY: 'before' } })
  await online(admin, ['told'])
  const heard: string[] = []
  const clients = await Promise.all([admin.mcp('/mcp/told'), able('told', 'ned')])
  for (const [at, client] of clients.entries()) {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void heard.push(['plain', 'own'][at] ?? ''))
    await client.subscribeResource({ uri: 'held:///it' })
  }
  expect((await statusOf(admin, 'told')).connections).toMatchObject({ shared: 1, session: 1 })
  await admin.ok('PATCH', '/api/servers/told', { env: { KEY: 'after' } })
  for (const [at, client] of clients.entries()) {
    await until(async () => (await keyOf(client)) === 'after', { what: 'the new key' })
    await until(
      async () => {
        await callText(client, 'touch')
        return heard.includes(['plain', 'own'][at] ?? '')
      },
      { what: 'the update over the new connection' },
    )
  }
}, 60_000)

test('a stop and a restart by hand cut what drains, and a deletion too', async () => {
  for (const [how, act] of [
    ['stopped', () => admin.ok('POST', '/api/servers/short/stop')],
    ['restarted', () => admin.ok('POST', '/api/servers/short/restart')],
    ['deleted', () => admin.ok('DELETE', '/api/servers/short')],
  ] as const) {
    if (how === 'stopped') await admin.ok('POST', '/api/servers', { name: 'short', ...stdioFixture('held') })
    else await admin.ok('POST', '/api/servers/short/start')
    await online(admin, ['short'])
    const client = await able('short', 'zoe')
    const { answers } = await begun([() => held(client)])
    await admin.ok('PATCH', '/api/servers/short', { env: { KEY: how } })
    await online(admin, ['short'])
    await act()
    expect((await failureOf(answers[0] as Promise<unknown>)).data?.code).toBe('connection_lost')
    if (extent(true, false)) break
  }
  opened.resolve()
}, 60_000)
