/** Servers learn little of their clients: no call sees more folders than its client shares, nor anything of another client. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { newerPeer, olderPeer, type Peer } from '../compatibility/peers.ts'
import { extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online } from '../support/servers.ts'

type Wire = 'stdio' | 'sse' | 'http'
const WIRES = extent<readonly Wire[]>(['sse'], ['stdio', 'sse', 'http'])
const KINDS = ['roots', 'sampling', 'elicitation'] as const
/** Number of calls of each of two clients. */
const CALLS = extent(9, 90)
const MODERN = '2026-07-28'

let programs: Program[] = []
let hub: Hub
let admin: Client

beforeAll(async () => {
  const wires = WIRES.filter(wire => wire !== 'stdio')
  programs = await Promise.all(wires.map(wire => startProgram(fixture('questions'), { env: { WIRE: wire } })))
  const remote = wires.map((wire, at) => [wire, { url: programs[at]?.url, ...(wire === 'sse' && { type: wire }) }])
  const mcpServers = {
    ...extent({}, { stdio: stdioFixture('questions') }),
    ...Object.fromEntries(remote),
    folders: stdioFixture('held'),
    always: { ...stdioFixture('held'), session: 'per-session' },
    busy: { ...stdioFixture('held'), session: 'per-session', env: { BUSY: '900' } },
    silent: { ...stdioFixture('held'), session: 'per-session', env: { ASKS: 'never' } },
  }
  hub = await startHub({ settings: { mcpServers, groups: [{ name: 'all', servers: ['folders', 'always'] }] } })
  admin = await hub.setup()
  await online(admin, Object.keys(mcpServers))
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await Promise.all(programs.map(program => program.stop()))
}, 120_000)

async function textOf(call: ReturnType<Peer['call']>): Promise<string> {
  return (await call).content[0]?.text ?? ''
}

const clients: readonly (readonly [string, (name: string, path: string) => Promise<Peer>])[] = [
  ['the first SDK', (name, path) => olderPeer(admin, false, { name, path, asked: true })],
  [
    'the first SDK over SSE',
    (name, path) => olderPeer(admin, true, { name, path: path.replace('/mcp/', '/sse/'), asked: true }),
  ],
  ['the second SDK', (name, path) => newerPeer(admin, '2025-11-25', { name, path, asked: true })],
  [`the second SDK of ${MODERN}`, (name, path) => newerPeer(admin, MODERN, { name, path, asked: true })],
]

test.each(clients)('the first call of each client of %s sees its folders and no others', async (_, connect) => {
  for (const path of ['folders', 'always', 'all']) {
    const names = ['anna', 'bert'].map(name => `${name}-${path}`)
    const people = await Promise.all(names.map(name => connect(name, `/mcp/${path}`)))
    const tools = path === 'all' ? ['folders_folders', 'always_folders'] : ['folders']
    for (const tool of tools) {
      const seen = await Promise.all(people.map(one => textOf(one.call(tool, {}))))
      expect([path, ...seen.map(text => JSON.parse(text))]).toEqual([path, ...names.map(name => [`file:///${name}`])])
    }
    await Promise.all(people.map(one => one.close()))
  }
})

test('the call after a change of the roots sees the changed ones', async () => {
  const roots = { now: ['file:///one'] }
  const prepare = (client: Awaited<ReturnType<Client['mcp']>>) =>
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.now.map(uri => ({ uri })) }))
  const client = await admin.mcp('/mcp/folders', { capabilities: { roots: { listChanged: true } }, prepare })
  expect(JSON.parse(await callText(client, 'folders'))).toEqual(['file:///one'])
  roots.now = ['file:///two', 'file:///three']
  await client.sendRootsListChanged()
  expect(JSON.parse(await callText(client, 'folders'))).toEqual(['file:///two', 'file:///three'])
})

test(`two windows of one program of ${MODERN} are not told apart by what they say, and each call sees its own folders`, async () => {
  const windows = await Promise.all(
    ['left', 'right'].map(async folder => {
      const one = new ModernClient(
        { name: 'editor', version: '1.0.0' },
        { versionNegotiation: { mode: { pin: MODERN } }, capabilities: { roots: {} } },
      )
      const window = { folder, one }
      one.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file:///${window.folder}` }] }))
      const requestInit = { headers: { authorization: `Bearer ${await admin.mcpKey()}` } }
      await one.connect(new StreamableHTTPClientTransport(new URL('/mcp/always', hub.url), { requestInit }))
      return window
    }),
  )
  const [left, right] = windows as [(typeof windows)[0], (typeof windows)[0]]
  const seen = async ({ one }: typeof left) => {
    const { content } = await one.callTool({ name: 'folders', arguments: {} })
    return JSON.parse((content as { text: string }[])[0]?.text ?? '')
  }
  for (const window of [left, right, right, left]) expect(await seen(window)).toEqual([`file:///${window.folder}`])
  expect(await Promise.all([left, right, left].map(seen))).toEqual([
    ['file:///left'],
    ['file:///right'],
    ['file:///left'],
  ])
  left.folder = 'opened-later'
  expect(await seen(left)).toEqual(['file:///opened-later'])
  await Promise.all(windows.map(({ one }) => one.close()))
})

test('a server and a client that are busy for a while show no other folders than those of the client', async () => {
  const prepare = (client: Awaited<ReturnType<Client['mcp']>>) =>
    client.setRequestHandler(ListRootsRequestSchema, async () => {
      await new Promise(resolve => setTimeout(resolve, 700))
      return { roots: [{ uri: 'file:///one' }] }
    })
  const options = { capabilities: { roots: {} }, prepare }
  const seen = await Promise.all(
    ['busy', 'always'].map(async server => callText(await admin.mcp(`/mcp/${server}`, options), 'folders')),
  )
  expect(seen.map(text => JSON.parse(text))).toEqual([['file:///one'], ['file:///one']])
})

test('a server that does not ask, and a client that does not answer, hold up a call for a moment alone', async () => {
  const quiet = await olderPeer(admin, false, { name: 'kim', path: '/mcp/silent', asked: true })
  expect(JSON.parse(await textOf(quiet.call('folders', {})))).toBe('everything')
  const hanging = await olderPeer(admin, false, { name: 'lee', path: '/mcp/always', asked: 'hangs' })
  expect(JSON.parse(await textOf(hanging.call('folders', {})))).toBe('everything')
})

const pairs = [
  ['clients with sessions', clients[0], clients[2]],
  [`clients of ${MODERN}`, clients[3], clients[3]],
] as const

test.each(WIRES.flatMap(wire => pairs.map(pair => [wire, ...pair] as const)))(
  `over %s, two %s: each of ${CALLS} questions is answered by the client that made the call`,
  async (wire, _, first, second) => {
    const people = await Promise.all([first?.[1]('anna', `/mcp/${wire}`), second?.[1]('bert', `/mcp/${wire}`)])
    const wrong: string[] = []
    for (let turn = 0; turn < CALLS; turn += 1) {
      const kind = KINDS[turn % KINDS.length] ?? 'roots'
      await Promise.all(
        people.map(async (peer, at) => {
          if (!peer) return
          const name = ['anna', 'bert'][at]
          const answer = await textOf(peer.call('ask', { kind, mark: 'm' }))
          const known: string[][] = JSON.parse(await textOf(peer.call('roots', {})))
          // The SDK's server drops what it asks before the stream of its client is open, which follows `initialized`.
          const isKnown = (wire === 'http' || known.length > 0) && known.flat().every(uri => uri === `file:///${name}`)
          if (!new RegExp(`(by |"name":"|file:///)${name}"`).test(answer) || !isKnown)
            wrong.push(`${name}, ${kind}: ${answer}, ${JSON.stringify(known)}`)
        }),
      )
    }
    expect(wrong).toEqual([])
    await Promise.all(people.map(peer => peer?.close()))
  },
  extent(60_000, 600_000),
)
