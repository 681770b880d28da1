import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { mcpProxy, type Peer, supergateway } from '../support/peers.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const ECHO = [process.execPath, join(ROOT, 'test/support/mcp-servers/echo.ts')]

/** Independent programs that put a server which speaks stdio behind HTTP. */
const PROXIES: Readonly<Record<string, (port?: number) => Promise<Peer>>> = {
  supergateway: port => supergateway(ECHO.join(' '), port),
  'mcp-proxy': port => mcpProxy([], ECHO, port),
  'older-mcp-proxy': port => mcpProxy(['--no-modern'], ECHO, port),
}
const KINDS = { supergateway: ['sse', 'legacy'], 'mcp-proxy': ['streamable-http', 'modern'] }

const peers = new Map<string, Peer>()
let hub: Hub
let admin: Client

beforeAll(async () => {
  await Promise.all(Object.entries(PROXIES).map(async ([name, start]) => peers.set(name, await start())))
  const mcpServers = Object.fromEntries([...peers].map(([name, { url }]) => [name, { url }]))
  hub = await startHub({ settings: { mcpServers, groups: [{ name: 'all', servers: [...peers.keys()] }] } })
  admin = await hub.setup()
  await online(admin, [...peers.keys()], 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  for (const { program } of peers.values()) await program.stop()
}, 120_000)

describe.each([
  ['supergateway', ...KINDS.supergateway],
  ['mcp-proxy', ...KINDS['mcp-proxy']],
  ['older-mcp-proxy', 'streamable-http', 'legacy'],
])('a server behind %s', (name, transport, era) => {
  test('is found by its URL alone, listed and called', async () => {
    expect(await statusOf(admin, name)).toMatchObject({ state: 'online', transport, era })
    const client = await admin.mcp(`/mcp/${name}`)
    expect(await toolNames(client)).toEqual(['echo', 'whoami', 'env'])
    expect(await callText(client, 'echo', { text: `grüße ${name}` })).toBe(`grüße ${name}`)
  })

  test('serves an open session again after the proxy was restarted', async () => {
    const client = await admin.mcp(`/mcp/${name}`)
    const pid = async () => JSON.parse(await callText(client, 'whoami')).pid
    const before = await pid()
    const peer = peers.get(name)
    await peer?.program.stop()
    peers.set(name, (await PROXIES[name]?.(peer?.port)) as Peer)
    const after = await until(pid, { timeoutMs: 60_000, what: 'the session to be served again' })
    expect(after).not.toBe(before)
    expect(await toolNames(client)).toEqual(['echo', 'whoami', 'env'])
    await online(admin, [name], 60_000)
  }, 120_000)
})

test('a group of all of them lists and calls each', async () => {
  await online(admin, [...peers.keys()], 60_000)
  const client = await admin.mcp('/mcp/all')
  for (const name of peers.keys()) {
    expect(await callText(client, `${name}_echo`, { text: `by ${name}` })).toBe(`by ${name}`)
  }
})
