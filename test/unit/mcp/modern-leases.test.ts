import { expect, test } from 'bun:test'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { SessionScope, TransportName } from '../../../core/contract/records.ts'
import { Leases } from '../../../core/mcp/modern/leases.ts'
import type { Answer } from '../../support/raw-mcp.ts'
import { ALL_CAPABILITIES, META, RawModern } from './modern-support.ts'
import { catalog, type Hub, serverRecord, startHub, textReply, tool, until } from './support.ts'

const FACE = { side: 'legacy', era: 'legacy', serverRequests: [], kind: 'remote' } as const

type Release = (reply: UpstreamReply) => void

/** A server that answers when the test says so. */
function hub(transport: TransportName, session?: SessionScope): Hub & { readonly open: Release[] } {
  const open: Release[] = []
  const record = serverRecord('s', { transport, ...(session ? { session } : {}), visibility: 'public' })
  const started = startHub((world, upstreams) => {
    world.servers.push(record)
    upstreams.add(record.id, catalog({ tools: [tool('t'), tool('ask'), tool('last')] }), async (request, signal) => {
      if (request.params?.name === 'ask') await request.ask?.('roots/list', undefined, signal)
      if (signal.aborted) return { kind: 'cancelled' }
      return new Promise<UpstreamReply>(resolve => open.push(resolve))
    })
  })
  return Object.assign(started, { open })
}

const sessions = (one: Hub) => one.upstreams.seen.map(({ request }) => request.session?.id)
const call = (one: Hub, capabilities = ALL_CAPABILITIES, name = 't', token = 'alice') =>
  new RawModern(one, '/mcp/@alice/s', token).call('tools/call', { name }, { capabilities })

test('clients that nobody can ask share the connection, those that can be asked get one of their own', async () => {
  await using one = hub('streamable-http')
  const calls = [call(one, {}), call(one, {}), call(one), call(one)]
  await until(() => one.open.length === 4)
  const [a, b, c, d] = sessions(one)
  expect([a, b]).toEqual([undefined, undefined])
  expect(new Set([c, d]).size).toBe(2)
  for (const release of one.open) release(textReply('ok'))
  await Promise.all(calls)
})

test('a program is shared unless its session says otherwise, and one per user offers nothing', async () => {
  for (const [session, own] of [
    [undefined, false],
    ['shared', false],
    ['per-session', true],
    ['per-user', true],
  ] as const) {
    await using one = hub('stdio', session)
    const calls = [call(one), call(one)]
    await until(() => one.open.length === 2)
    const [a, b] = sessions(one)
    expect([session, a !== undefined]).toEqual([session, own])
    expect([session, a === b]).toEqual([session, session !== 'per-session'])
    if (session === 'per-user') expect(one.upstreams.seen[0]?.request.session?.capabilities).toEqual({})
    for (const release of one.open) release(textReply('ok'))
    await Promise.all(calls)
  }
})

test('a connection is held alone, used again, and there are four at most per client', async () => {
  await using one = hub('streamable-http')
  const first = Array.from({ length: 6 }, () => call(one))
  await until(() => one.open.length === 4)
  expect(new Set(sessions(one)).size).toBe(4)
  const others = [call(one, { roots: {} }), call(one, ALL_CAPABILITIES, 't', 'bob')]
  await until(() => one.open.length === 6)
  expect(new Set(sessions(one)).size).toBe(6)
  one.open[0]?.(textReply('ok'))
  await until(() => one.open.length === 7)
  expect(sessions(one)[6]).toBe(sessions(one)[0])
  one.open[1]?.(textReply('ok'))
  await until(() => one.open.length === 8)
  for (const release of one.open) release(textReply('ok'))
  await Promise.all([...first, ...others])
})

test('no other client of a user is given a connection, whatever of its name, version or capabilities differs', async () => {
  await using one = hub('streamable-http')
  const calls: (readonly [name: string, version: string, capabilities: JsonObject])[] = [
    ['a', '1', ALL_CAPABILITIES],
    ['b', '1', ALL_CAPABILITIES],
    ['a', '2', ALL_CAPABILITIES],
    ['a', '1', { roots: {} }],
    ['a', '1', { ...ALL_CAPABILITIES, extensions: { x: {} } }],
    ['a', '1', ALL_CAPABILITIES],
  ]
  for (const [name, version, capabilities] of calls) {
    const meta = { [`${META}clientInfo`]: { name, version } }
    const called = new RawModern(one, '/mcp/@alice/s').call('tools/call', { name: 't' }, { capabilities, meta })
    await until(() => one.open.length === 1)
    one.open.pop()?.(textReply('ok'))
    await called
  }
  expect(new Set(sessions(one)).size).toBe(5)
  expect(sessions(one)[5]).toBe(sessions(one)[0])
})

test('of many clients of a user at one server, the connection that was left unused for longest ends', async () => {
  await using one = hub('streamable-http')
  for (let at = 0; at < 18; at += 1) {
    const meta = { [`${META}clientInfo`]: { name: `client ${at}`, version: '1' } }
    const sent = { capabilities: ALL_CAPABILITIES, meta }
    const called = new RawModern(one, '/mcp/@alice/s').call('tools/call', { name: 't' }, sent)
    await until(() => one.open.length === 1)
    one.clock.skewMs += 10
    one.open.pop()?.(textReply('ok'))
    await called
  }
  expect(one.upstreams.endedSessions).toEqual(sessions(one).slice(0, 2) as string[])
})

test('a client that leaves while its call waits for a connection leaves nothing behind', async () => {
  await using one = hub('streamable-http')
  const held = Array.from({ length: 4 }, () => call(one))
  await until(() => one.open.length === 4)
  const leave = new AbortController()
  const waiting = new RawModern(one, '/mcp/s')
    .send('tools/call', { name: 't' }, { capabilities: ALL_CAPABILITIES, signal: leave.signal })
    .catch(() => undefined)
  const last = call(one, ALL_CAPABILITIES, 'last')
  leave.abort()
  await waiting
  one.open[0]?.(textReply('ok'))
  await until(() => one.upstreams.seen.at(-1)?.request.params?.name === 'last')
  one.open.at(-1)?.(textReply('last'))
  expect((await last).result.content[0].text).toBe('last')
  for (const release of one.open) release(textReply('ok'))
  await Promise.all(held)
})

test('the call that has been parked longest gives way to one that needs its connection', async () => {
  await using one = hub('streamable-http')
  const parked: Answer[] = []
  for (let i = 0; i < 4; i++) parked.push(await call(one, ALL_CAPABILITIES, 'ask'))
  const next = call(one)
  await until(() => one.open.length === 1)
  expect([one.upstreams.cancelled.length, sessions(one)[4]]).toEqual([1, sessions(one)[0]])
  one.open[0]?.(textReply('ok'))
  expect((await next).result.content[0].text).toBe('ok')
  const retry = (index: number) => {
    const { requestState } = parked[index]?.result ?? {}
    const given = { name: 'ask', requestState, inputResponses: { roots_1: { roots: [] } } }
    return new RawModern(one, '/mcp/@alice/s').call('tools/call', given, { capabilities: ALL_CAPABILITIES })
  }
  expect((await retry(0)).error?.data?.code).toBe('request_state_invalid')
  const second = retry(1)
  await until(() => one.open.length === 2)
  one.open[1]?.(textReply('second'))
  expect((await second).result.content[0].text).toBe('second')
})

test('a call waits half a minute for a connection, and an unused connection ends after a minute', async () => {
  await using one = hub('streamable-http')
  const held = Array.from({ length: 4 }, () => call(one))
  await until(() => one.open.length === 4)
  let over = false
  const waiting = call(one).finally(() => {
    over = true
  })
  await until(() => {
    one.clock.skewMs += 1_000
    return over
  }, 4_000)
  const { status, error } = await waiting
  expect([status, error?.code, error?.data?.code]).toEqual([200, -32603, 'overloaded'])
  for (const release of one.open) release(textReply('ok'))
  await Promise.all(held)
  one.clock.skewMs += 61_000
  await until(() => one.upstreams.endedSessions.length === 4)
  expect(new Set(one.upstreams.endedSessions)).toEqual(new Set(sessions(one) as string[]))
})

test('no lease is given up for a call that waits no longer', () => {
  let now = 0
  const displaced: number[] = []
  const leases = new Leases(
    () => {},
    () => now,
  )
  const server = serverRecord('s', { transport: 'streamable-http' })
  const holder = (index: number, userId = 'u') => ({
    ...({ actor: { userId, credential: { kind: 'local' } }, clientName: 'c', clientVersion: undefined } as const),
    ...{ capabilities: ALL_CAPABILITIES, parkedSinceMs: index, preempt: () => void displaced.push(index) },
  })
  for (let i = 0; i < 4; i++) void leases.take(server, FACE, holder(i))
  const leaving = holder(4)
  expect(leases.take(server, FACE, leaving)).toBeInstanceOf(Promise)
  void leases.take(serverRecord('t', { transport: 'streamable-http' }), FACE, holder(9, 'v'))
  expect(['u', 'v', 'w'].map(user => leases.mostOf(user))).toEqual([4, 1, 0])
  now = 400
  leases.sweep()
  leases.withdraw(leaving)
  now = 600
  leases.sweep()
  expect(displaced).toEqual([])
  void leases.take(server, FACE, holder(5))
  now = 1_200
  leases.sweep()
  expect(displaced).toEqual([0])
})
