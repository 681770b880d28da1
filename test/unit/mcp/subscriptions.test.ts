import { expect, test } from 'bun:test'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from './modern-support.ts'
import { catalog, serverRecord, startHub, textReply, tool } from './support.ts'

const time = serverRecord('time')
const DONE: UpstreamReply = { kind: 'result', text: '{}', isError: false }

test('subscriptions are one upstream, counted, told to subscribers alone and set up again after a loss', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resources: [{ uri: 'a://1', name: '1' }] }), () => DONE)
  })
  const [one, two, none] = [
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/time').open(),
  ]
  const streams = await Promise.all([one, two, none].map(async each => new SseReader(await each.get())))
  const [first, second, third] = streams as [SseReader, SseReader, SseReader]
  for (const client of [one, two])
    expect((await client.call('resources/subscribe', { uri: 'a://1' })).result).toEqual({})
  const methods = () => hub.upstreams.seen.map(each => each.request.method)
  expect(methods()).toEqual(['resources/subscribe'])
  const update = { serverId: time.id, method: 'notifications/resources/updated', params: { uri: 'a://1' } }
  hub.bus.emit('upstream.notification', 'u-alice', update, 'internal')
  expect(await first.message()).toMatchObject({ params: { uri: 'a://1' } })
  expect(await second.message()).toMatchObject({ params: { uri: 'a://1' } })
  await one.call('resources/unsubscribe', { uri: 'a://1' })
  expect(methods()).toHaveLength(1)
  hub.bus.emit('upstream.connected', 'u-alice', { serverId: time.id, again: true }, 'internal')
  expect(methods()).toEqual(['resources/subscribe', 'resources/subscribe'])
  expect(await second.message()).toMatchObject({ method: 'notifications/resources/updated' })
  await two.delete()
  expect(methods().at(-1)).toBe('resources/unsubscribe')
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['resources'] })
  for (const reader of [first, third])
    expect(await reader.message()).toMatchObject({ method: 'notifications/resources/list_changed' })
  for (const reader of streams) await reader.close()
})

test('an update is sent once by each connection, also where one resource lies in another, and after a loss', async () => {
  const own = serverRecord('own', { session: 'per-session' })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time, own)
    const resources = [
      { uri: 'a://1', name: '1' },
      { uri: 'a://1/part', name: '2' },
    ]
    for (const { id } of [time, own]) upstreams.add(id, catalog({ resources }), () => DONE)
  })
  const clients = [
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/own').open(),
    await new RawClient(hub, '/mcp/own').open(),
  ]
  const readers = await Promise.all(clients.map(async client => new SseReader(await client.get())))
  for (const client of clients)
    for (const uri of ['a://1', 'a://1/part']) await client.call('resources/subscribe', { uri })
  const connected = (serverId: string, sessionId?: string) => {
    const data = { serverId, ...(sessionId === undefined ? {} : { sessionId }), again: true }
    hub.bus.emit('upstream.connected', 'u-alice', data, 'internal')
  }
  const sessions = hub.mcp.sessions().filter(({ scope }) => scope === '/mcp/own')
  const method = 'notifications/resources/updated'
  connected(time.id)
  connected(own.id, sessions[0]?.id)
  // An update that matches two subscriptions is sent once under each of their URIs.
  const part = { serverId: time.id, method, params: { uri: 'a://1/part' } }
  hub.bus.emit('upstream.notification', 'u-alice', part, 'internal')
  // By the shared connection, which none of these sessions uses.
  const stray = { serverId: own.id, method, params: { uri: 'a://1' } }
  hub.bus.emit('upstream.notification', 'u-alice', stray, 'internal')
  for (const id of [time.id, own.id])
    hub.bus.emit('catalog.changed', 'u-alice', { serverId: id, name: 'x', kinds: ['tools'] })
  const heard = await Promise.all(
    readers.map(async reader => {
      const uris: unknown[] = []
      for (;;) {
        const message = await reader.message()
        if (message?.method !== method) return uris
        uris.push(message.params?.uri)
      }
    }),
  )
  const both = ['a://1', 'a://1/part']
  expect(heard[0]).toEqual([...both, 'a://1/part'])
  expect([heard[1], heard[2]].sort((a, b) => (b?.length ?? 0) - (a?.length ?? 0))).toEqual([both, []])
  for (const reader of readers) await reader.close()
})

test('an update that comes on the stream of a call reaches everybody who shares the connection', async () => {
  const update = { uri: 'a://1' }
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    const lists = catalog({ tools: [tool('run')], resources: [{ uri: 'a://1', name: '1' }] })
    upstreams.add(time.id, lists, request => {
      if (request.method === 'tools/call') request.notification?.('notifications/resources/updated', update)
      return textReply('done')
    })
  })
  const subscriber = await new RawClient(hub, '/mcp/time').open()
  const reader = new SseReader(await subscriber.get())
  await subscriber.call('resources/subscribe', update)
  await (await new RawClient(hub, '/mcp/time').open()).call('tools/call', { name: 'run' })
  expect(await reader.message()).toMatchObject({ method: 'notifications/resources/updated', params: update })
  await reader.close()
})

test('requests for the same resource go out one after the other, so that the last one holds', async () => {
  const answers: ((reply: UpstreamReply) => void)[] = []
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resources: [{ uri: 'a://1', name: '1' }] }), () => {
      const { promise, resolve } = Promise.withResolvers<UpstreamReply>()
      answers.push(resolve)
      return promise
    })
  })
  const methods = () => hub.upstreams.seen.map(({ request }) => request.method)
  const client = await new RawClient(hub, '/mcp/time').open()
  const subscribe = () => client.call('resources/subscribe', { uri: 'a://1' })
  const first = subscribe()
  await until(() => answers.length === 1, { what: 'the first request' })
  answers[0]?.(DONE)
  expect((await first).result).toEqual({})

  const leaving = client.call('resources/unsubscribe', { uri: 'a://1' })
  await until(() => answers.length === 2, { what: 'the second request' })
  const again = subscribe()
  expect((await client.call('ping')).result).toEqual({})
  expect(methods()).toEqual(['resources/subscribe', 'resources/unsubscribe'])
  answers[1]?.(DONE)
  expect((await leaving).result).toEqual({})
  await until(() => answers.length === 3, { what: 'the third request' })
  answers[2]?.(DONE)
  expect((await again).result).toEqual({})
  expect(methods()).toEqual(['resources/subscribe', 'resources/unsubscribe', 'resources/subscribe'])
})

test('URIs count for the user who subscribes to them, by sessions and listen streams, until they are left', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resourceTemplates: [{ uriTemplate: 'a://{+path}', name: 'all' }] }), () => DONE)
  })
  const used = () => hub.mcp.usage('u-alice').bytesInFlightPerUser
  const long = (name: string) => ({ uri: `a://${name}/${'x'.repeat(2 ** 21)}` })
  const clients = [await new RawClient(hub, '/mcp/time').open(), await new RawClient(hub, '/mcp/time').open()]
  const [one, two] = clients as [RawClient, RawClient]
  const atRest = used()
  expect((await one.call('resources/subscribe', long('1'))).result).toEqual({})
  const each = used() - atRest
  expect(each).toBeGreaterThan(2 * 2 ** 21)
  for (const name of ['1', '2', '3']) await one.call('resources/subscribe', long(name))
  expect(used() - atRest).toBe(3 * each)
  const codes: unknown[] = []
  for (let n = 1; n <= 4; n += 1) codes.push((await two.call('resources/subscribe', long(`b${n}`))).error?.data?.code)
  expect(codes.at(-1)).toBe('quota_bytes')
  const listen = await new RawModern(hub, '/mcp/time').send('subscriptions/listen', {
    notifications: { resourceSubscriptions: [long('c').uri, 'a://short'] },
  })
  const reader = new SseReader(listen)
  expect(await reader.message()).toMatchObject({ params: { notifications: { resourceSubscriptions: ['a://short'] } } })
  await reader.close()
  await one.call('resources/unsubscribe', long('1'))
  expect((await two.call('resources/subscribe', long('d'))).result).toEqual({})
  await Promise.all(clients.map(client => client.delete()))
  await until(() => used() === 0, { what: 'all bytes given back' })
})

test('thousands of URIs of all sessions of a user end at its bytes', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resourceTemplates: [{ uriTemplate: 'a://{+path}', name: 'all' }] }), () => DONE)
  })
  // As much as everything that one user may hold, in URIs of 16 KiB each.
  let refused: unknown
  for (let session = 0; refused === undefined && session < 5; session += 1) {
    const client = await new RawClient(hub, '/mcp/time').open()
    for (let n = 0; refused === undefined && n < 400; n += 1)
      refused = (await client.call('resources/subscribe', { uri: `a://${session}/${n}/${'x'.repeat(2 ** 14)}` })).error
  }
  expect(refused).toMatchObject({ data: { code: 'quota_bytes' } })
})
