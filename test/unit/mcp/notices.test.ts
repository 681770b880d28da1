import { expect, test } from 'bun:test'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, member, tool, until } from './support.ts'
import { hubWith, notes, run, time } from './work-group.ts'

test('log messages follow the level of their own session, and the upstream gets the most verbose (P-21)', async () => {
  await using hub = hubWith(
    async request => {
      request.notification?.('notifications/message', { level: 'debug', data: 'd' })
      request.notification?.('notifications/message', { level: 'error', data: 'e' })
    },
    { tools: {}, logging: {} },
  )
  const quiet = await new RawClient(hub, '/mcp/work').open()
  const loud = await new RawClient(hub, '/mcp/work').open()
  expect((await quiet.call('logging/setLevel', { level: 'emergency' })).result).toEqual({})
  expect((await loud.call('logging/setLevel', { level: 'debug' })).result).toEqual({})
  expect((await quiet.call('logging/setLevel', { level: 'shout' })).error?.code).toBe(-32602)
  const told = () =>
    hub.upstreams.seen
      .filter(each => each.request.method === 'logging/setLevel')
      .map(each => each.request.params?.level)
  expect(told()).toEqual(['info', 'debug'])
  expect((await quiet.send('tools/call', run())).headers.get('content-type')).toBe('application/json')
  const reader = new SseReader(await loud.send('tools/call', run(), 1))
  expect(await reader.message()).toMatchObject({ params: { data: 'd' } })
  expect(await reader.message()).toMatchObject({ params: { data: 'e' } })
  expect(await reader.message()).toMatchObject({ id: 1 })
  hub.bus.emit('upstream.connected', 'u-alice', { serverId: time.id, again: true })
  expect(told()).toEqual(['info', 'debug', 'debug'])
})

test('one list_changed of an upstream is one notice to each session that has it, and none to others (P-20)', async () => {
  await using hub = hubWith(async () => {})
  const affected = await new RawClient(hub, '/mcp/work').open()
  const other = await new RawClient(hub, '/mcp/notes').open()
  const streams = [new SseReader(await affected.get()), new SseReader(await other.get())] as const
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  server.catalog = catalog({ tools: [tool('run'), tool('walk')] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await streams[0].message()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  expect((await affected.call('tools/list')).result.tools).toHaveLength(3)
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: notes.id, name: 'notes', kinds: ['prompts'] })
  expect(await streams[1].message()).toMatchObject({ method: 'notifications/prompts/list_changed' })
  expect(await streams[0].message()).toMatchObject({ method: 'notifications/prompts/list_changed' })
  for (const stream of streams) await stream.close()
})

test('a change that each connection to a server announces is announced once, and not before the list is read again (P-20)', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const stream = new SseReader(await client.get())
  const [server, other] = [time, notes].map(({ id }) => hub.upstreams.servers.get(id))
  if (!server || !other) throw new Error('no server')
  const readings: (() => void)[] = []
  hub.upstreams.ready = () => new Promise(resolve => readings.push(resolve))
  const says = (kind: string, sessionId?: string) =>
    hub.bus.emit(
      'upstream.notification',
      'u-alice',
      {
        serverId: time.id,
        method: `notifications/${kind}/list_changed`,
        params: undefined,
        ...(sessionId ? { sessionId } : {}),
      },
      'internal',
    )
  const heard = async () => (await stream.message())?.method
  says('tools', 'a')
  says('tools', 'b')
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: notes.id, name: 'notes', kinds: ['prompts'] })
  expect(await heard()).toBe('notifications/prompts/list_changed')
  server.catalog = catalog({ tools: [tool('run'), tool('walk')] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  readings[0]?.()
  expect(await heard()).toBe('notifications/tools/list_changed')
  // The first reading may have missed a change that came while it ran.
  await until(() => readings.length === 2)
  readings[1]?.()
  expect((await client.call('tools/list')).result.tools).toHaveLength(3)
  other.catalog = catalog({ tools: [tool('other')], prompts: [{ name: 'p' }] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: notes.id, name: 'notes', kinds: ['prompts'] })
  // Had the other one's notice been due too, it would have come before.
  expect(await heard()).toBe('notifications/prompts/list_changed')
  await stream.close()
})

test('a second change within a second is announced after it', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const stream = new SseReader(await client.get())
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  for (const names of [['run', 'walk'], ['run']]) {
    server.catalog = catalog({ tools: names.map(name => tool(name)) })
    hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
    expect((await stream.message())?.method).toBe('notifications/tools/list_changed')
    expect((await client.call('tools/list')).result.tools).toHaveLength(names.length + 1)
  }
  await stream.close()
})

test('an edit of a group reaches its sessions as list_changed, old names work on, hidden ones do not', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const reader = new SseReader(await client.get())
  hub.world.groups[0] = groupRecord('work', [
    member(time, { tools: [{ name: 'run', as: 'go' }] }),
    member(notes, { tools: [] }),
  ])
  hub.bus.emit('group.updated', 'u-alice', { groupId: 'grp-alice-work', name: 'work', revision: 2 })
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  const { tools } = (await client.call('tools/list')).result
  expect(tools.map((each: { name: string }) => each.name)).toEqual(['go'])
  expect((await client.call('tools/call', { name: 'run' })).result).toBeDefined()
  expect((await client.call('tools/call', { name: 'other' })).error?.code).toBe(-32602)
  hub.clock.skewMs = 11 * 60_000
  expect((await client.call('tools/call', { name: 'run' })).error?.code).toBe(-32602)
  await reader.close()
})

test('a member stopped by hand leaves the lists at once, a failing one after ten minutes, and both come back', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const reader = new SseReader(await client.get())
  const names = async () => (await client.call('tools/list')).result.tools.map((each: { name: string }) => each.name)
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  const online = server.status
  const state = (status: Partial<typeof online>) => {
    server.status = { ...online, since: new Date().toISOString(), ...status }
    hub.bus.emit('connection.state', 'u-alice', {
      serverId: time.id,
      name: 'time',
      state: server.status.state,
      attempts: 0,
    })
  }
  state({ state: 'offline', reason: { code: 'stopped', message: '' } })
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['other'])
  state({})
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['run', 'other'])
  state({ state: 'offline', reason: { code: 'crash_loop', message: '' } })
  expect(await names()).toEqual(['run', 'other'])
  hub.clock.skewMs = 10 * 60_000 + 1_000
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['other'])
  state({})
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  await reader.close()
})
