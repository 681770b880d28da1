import { expect, test } from 'bun:test'
import type { ServerCatalog } from '../../../core/connections/api.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { RawModern } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, tool, until } from './support.ts'

const known = serverRecord('known')
const late = serverRecord('late')

const FULL = catalog({
  tools: [tool('find')],
  prompts: [{ name: 'greet' }],
  resources: [{ uri: 'late://a', name: 'a' }],
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
})

/** A group of a server with lists and one whose lists are read when the test says so, and not before. */
function hub(): { readonly one: Hub; readonly read: (lists: ServerCatalog) => void } {
  const reading = Promise.withResolvers<void>()
  const one = startHub((world, upstreams) => {
    world.servers.push(known, late)
    world.groups.push(groupRecord('g', [member(known), member(late)]))
    upstreams.add(known.id, catalog({ tools: [tool('other')] }))
    upstreams.add(late.id, undefined)
    upstreams.ready = () => reading.promise
  })
  const read = (lists: ServerCatalog): void => {
    const server = one.upstreams.servers.get(late.id)
    if (server) server.catalog = lists
    one.bus.emit('catalog.changed', 'u-alice', { serverId: late.id, name: 'late', kinds: ['tools'] })
    reading.resolve()
  }
  return { one, read }
}

interface Peer {
  call(method: string, params?: object): Promise<{ readonly result?: unknown; readonly error?: { code: number } }>
}

const ERAS: readonly [string, (one: Hub, path: string) => Promise<Peer>][] = [
  ['legacy', (one, path) => new RawClient(one, path).open() as Promise<Peer>],
  ['modern', async (one, path) => new RawModern(one, path) as Peer],
]

/** Requests that are wrong where the late server's lists are not known. */
const REQUESTS = [
  ['tools/call', { name: 'find', arguments: {} }],
  ['prompts/get', { name: 'greet' }],
  ['resources/read', { uri: 'late://a' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'x', value: '' } }],
] as const
const LEGACY_REQUESTS = [
  ['resources/subscribe', { uri: 'late://a' }],
  ['logging/setLevel', { level: 'error' }],
] as const

test.each(ERAS)('what the first lists of a member may hold waits for them (%s client)', async (era, open) => {
  const { one, read } = hub()
  await using _ = one
  const client = await open(one, '/mcp/g')
  const requests = era === 'legacy' ? [...REQUESTS, ...LEGACY_REQUESTS] : REQUESTS
  const calls = requests.map(([method, params]) => client.call(method, params))
  await until(() => one.upstreams.readyWaits.length === requests.length)
  for (const { ids, budgetMs } of one.upstreams.readyWaits) {
    expect(ids).toEqual([late.id])
    expect(budgetMs).toBeLessThanOrEqual(2_000)
  }
  // Another member's tool does not wait.
  expect((await client.call('tools/call', { name: 'other', arguments: {} })).error).toBeUndefined()
  expect(one.upstreams.seen.map(({ serverId }) => serverId)).toEqual([known.id])
  read(FULL)
  const answers = await Promise.all(calls)
  const refused = requests.flatMap(([method], index) => (answers[index]?.error ? [[method, answers[index].error]] : []))
  expect(refused).toEqual([])
  expect(new Set(one.upstreams.seen.slice(1).map(({ serverId }) => serverId))).toEqual(new Set([late.id]))
})

test.each(ERAS)(
  'lists that were promised before the first reading stay methods after it (%s client)',
  async (_, open) => {
    const { one, read } = hub()
    await using __ = one
    const client = await open(one, '/mcp/g')
    // The client gets all three capabilities, since the late member may have them.
    if ('envelope' in client)
      expect(await client.call('server/discover')).toMatchObject({ result: { capabilities: { prompts: {} } } })
    read(catalog({ tools: [tool('find')] }))
    for (const [method, list] of [
      ['prompts/list', 'prompts'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ] as const)
      expect(await client.call(method)).toMatchObject({ result: { [list]: [] } })
    expect(await client.call('tools/list')).toMatchObject({ result: { tools: [{ name: 'other' }, { name: 'find' }] } })
    // After a while, that promise no longer counts.
    one.clock.skewMs += 11 * 60_000
    if ('envelope' in client) expect((await client.call('prompts/list')).error?.code).toBe(-32601)
  },
)

test.each(ERAS)('a tool that none of the lists has is unknown once they are read (%s client)', async (_, open) => {
  const { one, read } = hub()
  await using __ = one
  const client = await open(one, '/mcp/g')
  let answered = false
  const call = client.call('tools/call', { name: 'no such', arguments: {} }).finally(() => {
    answered = true
  })
  await until(() => one.upstreams.readyWaits.length === 1)
  await client.call('tools/call', { name: 'other', arguments: {} })
  expect(answered).toBe(false)
  read(FULL)
  expect((await call).error).toMatchObject({ code: -32602, data: { code: 'tool_not_found' } })
})

test('a server of its own waits too, so that a tool is called by the name that its upstream knows', async () => {
  const { one, read } = hub()
  await using _ = one
  const client = await new RawClient(one, '/mcp/late').open()
  const call = client.call('tools/call', { name: 'find_it', arguments: {} })
  await until(() => one.upstreams.readyWaits.length === 1)
  expect(one.upstreams.seen).toEqual([])
  read(catalog({ tools: [tool('find.it')] }))
  await call
  expect(one.upstreams.seen.map(({ request }) => request.params?.name)).toEqual(['find.it'])
})

test('a listen stream subscribes to resources that the first lists bring', async () => {
  const { one, read } = hub()
  await using _ = one
  const filter = { notifications: { resourceSubscriptions: ['late://a'] } }
  const answer = new RawModern(one, '/mcp/g').send('subscriptions/listen', filter)
  await until(() => one.upstreams.readyWaits.length === 1)
  read(FULL)
  const reader = new SseReader(await answer)
  expect((await reader.message())?.params?.notifications).toEqual({ resourceSubscriptions: ['late://a'] })
  await reader.close()
})
