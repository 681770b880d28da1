import { expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { GroupRecord } from '../../../core/contract/records.ts'
import { atMost } from '../../support/pace.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { least } from '../../support/wait.ts'
import { META, RawModern } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, tool, until } from './support.ts'

const main = serverRecord('main')
const mute = serverRecord('mute')
const TOOLS = 'notifications/tools/list_changed'
const UPDATED = 'notifications/resources/updated'

function hub(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(main, mute)
    world.groups.push(groupRecord('g', [member(main), member(mute)]))
    const resources = [
      { uri: 'a://1', name: '1' },
      { uri: 'a://2', name: '2' },
      { uri: 'a://refused', name: '3' },
    ]
    upstreams.add(main.id, catalog({ tools: [tool('t')], resources }), ({ params }) => {
      if (params?.uri !== 'a://1' && params?.uri !== 'a://2')
        return { kind: 'error', error: { code: -32603, message: 'no' } }
      return { kind: 'result', text: '{}', isError: false }
    })
    upstreams.add(mute.id, catalog({ tools: [tool('u')], prompts: [{ name: 'p' }] }))
  })
}

async function listen(one: Hub, notifications: JsonObject, id: unknown = 'sub', path = '/mcp/g') {
  const response = await new RawModern(one, path).send('subscriptions/listen', { notifications }, { id })
  return { response, reader: new SseReader(response) }
}

const changed = (one: Hub, kinds: readonly ('tools' | 'prompts' | 'resources')[]) =>
  one.bus.emit('catalog.changed', 'u-alice', { serverId: main.id, name: 'main', kinds })
const updated = (one: Hub, uri: string) =>
  one.bus.emit('upstream.notification', 'u-alice', { serverId: main.id, method: UPDATED, params: { uri } }, 'internal')

test('the acknowledgement comes first, with the part that is honoured, and all is tagged (P-26)', async () => {
  await using one = hub()
  const wanted = {
    toolsListChanged: true,
    promptsListChanged: false,
    resourcesListChanged: true,
    resourceSubscriptions: ['a://1', 'a://refused', 'b://unlisted'],
    more: true,
  }
  const { response, reader } = await listen(one, wanted, 7)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect((await reader.next())?.comment).toBe('ok')
  const _meta = { [`${META}subscriptionId`]: 7 }
  const notifications = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['a://1'] }
  expect(await reader.message()).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta },
  })
  changed(one, ['tools', 'prompts'])
  expect(await reader.message()).toEqual({ jsonrpc: '2.0', method: TOOLS, params: { _meta } })
  updated(one, 'a://2')
  updated(one, 'a://1')
  expect(await reader.message()).toEqual({ jsonrpc: '2.0', method: UPDATED, params: { uri: 'a://1', _meta } })
  await reader.close()
})

test('kinds that no member offers are not honoured', async () => {
  await using one = hub()
  const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  const { reader } = await listen(one, { ...filter, resourceSubscriptions: ['a://1'] }, 'x', '/mcp/mute')
  const { params } = (await reader.message()) ?? {}
  expect(params?.notifications).toEqual({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [] })
  await reader.close()
})

test('changes while the subscriptions are set up are sent after the acknowledgement', async () => {
  await using one = hub()
  const server = one.upstreams.servers.get(main.id)
  if (!server) throw new Error('no server')
  const subscribed = Promise.withResolvers<void>()
  server.handler = async () => {
    await subscribed.promise
    return { kind: 'result', text: '{}', isError: false }
  }
  const { reader } = await listen(one, { resourceSubscriptions: ['a://1'] })
  await until(() => one.upstreams.seen.length === 1)
  updated(one, 'a://1')
  subscribed.resolve()
  const methods = [(await reader.message())?.method, (await reader.message())?.method]
  expect(methods).toEqual(['notifications/subscriptions/acknowledged', UPDATED])
  await reader.close()
})

test('a listen stream opens at once though an upstream is silent (P-08)', async () => {
  await using one = hub()
  const server = one.upstreams.servers.get(main.id)
  if (!server) throw new Error('no server')
  server.handler = () => new Promise(() => {})
  const open = async (): Promise<number> => {
    const start = performance.now()
    const { reader } = await listen(one, { resourceSubscriptions: ['a://1'] })
    await reader.next()
    const ms = performance.now() - start
    const { params } = (await reader.message()) ?? {}
    expect(params?.notifications).toEqual({ resourceSubscriptions: ['a://1'] })
    await reader.close()
    return ms
  }
  expect(await least(open)).toBeLessThan(atMost(100))
})

test('streams and sessions share one subscription upstream, dropped with the last of them (P-26)', async () => {
  await using one = hub()
  const methods = () => one.upstreams.seen.map(({ request }) => request.method)
  const [a, b] = [
    await listen(one, { resourceSubscriptions: ['a://1'] }),
    await listen(one, { resourceSubscriptions: ['a://1'] }),
  ]
  await Promise.all([a.reader.message(), b.reader.message()])
  const session = await new RawClient(one, '/mcp/g').open()
  await session.call('resources/subscribe', { uri: 'a://1' })
  expect(methods()).toEqual(['resources/subscribe'])
  await a.reader.close()
  await session.delete()
  updated(one, 'a://1')
  expect((await b.reader.message())?.method).toBe(UPDATED)
  expect(methods()).toEqual(['resources/subscribe'])
  await b.reader.close()
  await until(() => methods().length === 2)
  expect(methods()[1]).toBe('resources/unsubscribe')
})

test('a stream’s subscription to what is hidden later is dropped upstream', async () => {
  await using one = hub()
  const { reader } = await listen(one, { resourceSubscriptions: ['a://1', 'a://2'] })
  await reader.message()
  one.world.groups[0] = groupRecord('g', [member(main, { resources: ['a://2'] })])
  one.bus.emit('group.updated', 'u-alice', { groupId: 'grp-alice-g', name: 'g', revision: 2 })
  await until(() => one.upstreams.seen.length > 2)
  const { method, params } = one.upstreams.seen.at(-1)?.request ?? {}
  expect([method, params]).toEqual(['resources/unsubscribe', { uri: 'a://1' }])
  await reader.close()
})

/** Removes a member from the group and announces the change. */
function shrink(one: Hub): GroupRecord {
  const group = one.world.groups[0]
  if (!group) throw new Error('no group')
  one.world.groups[0] = { ...group, members: [member(main)] }
  one.bus.emit('group.updated', 'u-alice', { groupId: group.id, name: 'g', revision: 2 })
  return group
}

test('an edit of the group reaches the streams that asked, and the end of the group ends them with a result', async () => {
  await using one = hub()
  const { reader } = await listen(one, { toolsListChanged: true })
  await reader.message()
  const group = shrink(one)
  expect((await reader.message())?.method).toBe(TOOLS)
  one.world.groups.length = 0
  one.bus.emit('group.removed', 'u-alice', { groupId: group.id, name: 'g' })
  expect(await reader.message()).toMatchObject({ id: 'sub', result: { resultType: 'complete' } })
  expect(await reader.message()).toBeUndefined()
})

test('a new session takes no notifications from the streams that listen already', async () => {
  await using one = hub()
  const { reader } = await listen(one, { toolsListChanged: true })
  await reader.message()
  shrink(one)
  await new RawClient(one, '/mcp/g').open()
  expect((await reader.message())?.method).toBe(TOOLS)
  await reader.close()
})

test('when the hub stops, and when the credential ends, the request gets its result (P-26)', async () => {
  await using one = hub()
  const ended = { id: 1, result: { resultType: 'complete', _meta: { [`${META}subscriptionId`]: 1 } } }
  const first = await listen(one, {}, 1)
  await first.reader.message()
  one.world.revoked.add('alice')
  one.bus.emit('key.removed', 'u-alice', { keyId: 'k' })
  expect(await first.reader.message()).toMatchObject(ended)
  expect(await first.reader.message()).toMatchObject({ code: 'token_revoked' })
  expect(await first.reader.message()).toBeUndefined()
  one.world.revoked.clear()
  const second = await listen(one, {}, 1)
  await second.reader.message()
  await one.mcp.drain(1_000)
  expect(await second.reader.message()).toMatchObject(ended)
})

test('a user has twenty listen streams at most, and what is no filter is refused', async () => {
  await using one = hub()
  const streams = await Promise.all(Array.from({ length: 20 }, () => listen(one, { toolsListChanged: true })))
  const { response } = await listen(one, { toolsListChanged: true })
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '5'])
  await streams[0]?.reader.close()
  await until(() => one.mcp.sessions().length === 0)
  const client = new RawModern(one, '/mcp/g')
  for (const params of [{}, { notifications: [] }, { notifications: { resourceSubscriptions: 'a://1' } }]) {
    const { error } = await client.call('subscriptions/listen', params as JsonObject)
    expect(error?.code).toBe(-32602)
  }
  for (const { reader } of streams) await reader.close()
})

test('a user whose streams are used up by sessions gets no listen stream', async () => {
  await using one = hub()
  const open = async (): Promise<SseReader> => new SseReader(await (await new RawClient(one, '/mcp/g').open()).get())
  const streams = await Promise.all(Array.from({ length: 100 }, open))
  expect(one.mcp.usage('u-alice')).toMatchObject({
    sessionsPerUser: 100,
    streamsPerUser: 100,
    listenStreamsPerUser: 0,
  })
  const { response } = await listen(one, { toolsListChanged: true })
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '5'])
  await streams[0]?.close()
  await until(() => one.mcp.usage('u-alice').streamsPerUser < 100)
  const { reader } = await listen(one, { toolsListChanged: true })
  expect((await reader.message())?.method).toContain('acknowledged')
  await Promise.all([reader, ...streams.slice(1)].map(stream => stream.close()))
})
