/** Connections between clients, groups and servers, and the calls between them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client } from '../support/client.ts'
import { beyondCore } from '../support/extent.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'

interface Shown {
  readonly summed: boolean
  readonly omitted: number
  readonly clients: readonly { id: string; kind: string; name: string; user: string; key?: object; sessions: number }[]
  readonly groups: readonly { id: string; kind: string; name: string; owner?: string; servers?: string[] }[]
  readonly servers: readonly { id: string; ref: string; state: string; reason?: { code: string; message: string } }[]
  readonly links: readonly { client: string; group: string; server?: string; calls: number; failures: number }[]
}

const remote = startGoodAndBad()
let hub: Hub
let admin: Client
let ada: Client
let bob: Client
const shown = (user: Client, query = ''): Promise<Shown> => user.ok('GET', `/api/monitoring/connections${query}`)

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  ;[ada, bob] = [await hub.user('ada'), await hub.user('bob')]
  await ada.ok('POST', '/api/servers', { name: 'open', visibility: 'public', url: remote.url })
  await ada.ok('POST', '/api/servers', { name: 'closed', url: remote.url })
  await online(ada, ['open', 'closed'])
  await ada.ok('POST', '/api/groups', { name: 'daily', visibility: 'public', servers: ['open', 'closed'] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

/** The answer with names in place of ids, so that it can be read. */
function readable({ clients, groups, servers, links }: Shown) {
  const nameOf = new Map([...groups, ...servers].map(each => [each.id, 'ref' in each ? each.ref : each.name]))
  const client = new Map(clients.map(({ id, kind, name, user }) => [id, `${user} ${kind} ${name}`.trim()]))
  return links.map(({ calls, failures, ...link }) =>
    [client.get(link.client), nameOf.get(link.group), nameOf.get(link.server ?? ''), calls, failures].join(' | '),
  )
}

test('sessions are there before their first call, calls join what they went through, failures count', async () => {
  const client = await ada.mcp('/mcp/daily')
  expect(readable(await shown(ada))).toEqual(['ada client patchbay-test | daily |  | 0 | 0'])
  const { tools } = await client.listTools()
  const [open, closed] = ['open', 'closed'].map(
    server => tools.find(({ name }) => name.includes(server) && name.includes('good'))?.name ?? '',
  )
  for (let n = 0; n < 3; n += 1) await client.callTool({ name: open ?? '' })
  await client.callTool({ name: closed ?? '' })
  await client.callTool({ name: 'nothing' }).catch(() => undefined)
  await ada.ok('POST', '/api/servers/open/tools/good/call', { arguments: {} })
  const found = await shown(ada)
  expect(readable(found).sort()).toEqual([
    'ada api | ada~open | ada~open | 1 | 0',
    'ada client patchbay-test | daily |  | 1 | 1',
    'ada client patchbay-test | daily | ada~closed | 1 | 0',
    'ada client patchbay-test | daily | ada~open | 3 | 0',
  ])
  const own = found.clients.find(({ kind }) => kind === 'client')
  expect(own).toMatchObject({ sessions: 1, key: { label: 'test' } })
  expect(found.groups.find(({ name }) => name === 'daily')?.servers).toHaveLength(2)
  expect(found.servers.map(({ ref, state }) => `${ref} ${state}`)).toEqual(['ada~closed online', 'ada~open online'])
})

describe('what others see', () => {
  test('the owner of a server sees the calls of others, and neither their client nor their key', async () => {
    const client = await bob.mcp('/mcp/@ada/daily')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).join()).not.toContain('closed')
    for (let n = 0; n < 2; n += 1) await client.callTool({ name: tools[0]?.name ?? '' })
    const seen = await shown(ada)
    expect(readable(seen)).toContain('bob client | daily | ada~open | 2 | 0')
    const { key, name, sessions } = seen.clients.find(({ user }) => user === 'bob') ?? {}
    expect([key, name, sessions]).toEqual([undefined, '', 0])
  })

  test('a caller sees the own links, and of others’ groups not the members', async () => {
    const seen = await shown(bob)
    expect(readable(seen)).toEqual(['bob client patchbay-test | daily | ada~open | 2 | 0'])
    expect(seen.servers.map(({ ref }) => ref)).toEqual(['ada~open'])
    expect(seen.groups).toEqual([expect.objectContaining({ name: 'daily', owner: 'ada' })])
    expect(seen.groups[0]?.servers).toBeUndefined()
  })

  test('administrators see all, and with scope=mine what is theirs', async () => {
    const all = await shown(admin)
    expect(readable(all)).toHaveLength(5)
    // Whose key it is does not make its label theirs.
    expect(all.clients.find(({ user, kind }) => user === 'bob' && kind === 'client')?.key).toEqual({
      id: expect.any(String),
    })
    expect(await shown(admin, '?scope=mine')).toMatchObject({ clients: [], groups: [], servers: [], links: [] })
    const refused = await ada.request('GET', '/api/monitoring/connections?scope=all')
    expect([refused.status, refused.json.code]).toEqual([403, 'admin_only'])
  })
})

test('the reason why a server is offline is shown to those who may edit it', async () => {
  await ada.ok('POST', '/api/servers', { name: 'halted', visibility: 'public', url: remote.url, enabled: false })
  await ada.ok('POST', '/api/groups', { name: 'resting', visibility: 'public', servers: ['halted', 'open'] })
  const reasonFor = async (user: Client) => (await shown(user)).servers.find(({ ref }) => ref === 'ada~halted')?.reason
  expect(await reasonFor(ada)).toEqual({ code: 'stopped', message: expect.any(String) })
  expect(await reasonFor(admin)).toMatchObject({ code: 'stopped' })
  expect(await reasonFor(bob)).toBeUndefined()
  expect((await shown(ada)).servers.find(({ ref }) => ref === 'ada~open')?.reason).toBeUndefined()
  await ada.ok('DELETE', '/api/groups/resting')
  await ada.ok('DELETE', '/api/servers/halted')
})

test('a range is whole minutes up to an hour', async () => {
  for (const range of ['0m', '30s', '90s', '61m', '2h', 'x']) {
    const { status, json } = await ada.request('GET', `/api/monitoring/connections?range=${range}`)
    expect([range, status, json.errors?.[0]?.code]).toEqual([range, 400, 'duration'])
  }
  expect((await shown(ada, '?range=1h')).links.length).toBeGreaterThan(3)
})

beyondCore(() => {
  test('more than 500 links are summed by the name of the client', async () => {
    const before = (await shown(admin)).links.length
    for (const [user, path] of [
      [ada, '/mcp/open'],
      [bob, '/mcp/@ada/open'],
    ] as const) {
      const key = await user.mcpKey()
      for (let at = 0; at < 280; at += 40) {
        const calls = Array.from({ length: 40 }, (_, n) => modernCall(key, path, at + n))
        for (const response of await Promise.all(calls)) expect(response.status).toBe(200)
      }
    }
    const found = await shown(admin)
    expect([found.summed, found.omitted]).toEqual([true, 0])
    expect(found.links.length).toBeLessThanOrEqual(280 + before)
    expect(found.links.filter(({ calls }) => calls === 2).length).toBeGreaterThanOrEqual(280)
    expect(found.clients.every(({ user }) => user === undefined)).toBe(true)
    expect((await shown(bob)).summed).toBe(false)
  }, 120_000)
})

/** A call of a client of its own name, without a session. */
function modernCall(key: string, path: string, n: number): Promise<Response> {
  const prefix = 'io.modelcontextprotocol/'
  const _meta = {
    [`${prefix}protocolVersion`]: '2026-07-28',
    [`${prefix}clientInfo`]: { name: `client-${n}`, version: '1' },
    [`${prefix}clientCapabilities`]: {},
  }
  const params = { name: 'good', arguments: {}, _meta }
  return fetch(`${hub.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'good',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params }),
  })
}
