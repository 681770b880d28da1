import { afterEach, expect, setSystemTime, test } from 'bun:test'
import { LegacyHttp, mcpTransports } from './legacy-http.ts'
import { httpRecord, ModernHttp } from './modern-http.ts'
import { type Rig, startRig, until } from './support.ts'

const running: AsyncDisposable[] = []

afterEach(async () => {
  setSystemTime()
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** A hub with a server whose URL alone is configured, and which speaks SSE so far. */
async function start(): Promise<{ rig: Rig; server: LegacyHttp; transport: () => string | undefined }> {
  const server = new LegacyHttp()
  server.streamable = false
  running.push(server)
  const record = httpRecord('a', `${server.url}/mcp`, { transportInferred: true })
  const rig = await startRig([record], { transports: mcpTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  const transport = (): string | undefined => rig.connections.status('a').transport
  expect(transport()).toBe('sse')
  return { rig, server, transport }
}

test('refresh() asks again which transport is spoken, and changes over once no call is in flight', async () => {
  const { rig, server, transport } = await start()
  server.answer = () => undefined
  const call = rig.connections.request('a', { method: 'tools/call', params: { name: 'echo' } })
  await until('the call', () => server.of('tools/call').length === 1)
  server.streamable = true
  rig.connections.refresh('a', { probe: true })
  await until('the question', () => server.of('initialize').length === 2)
  // The hub checks once a second: a call that outlives a check is not disturbed.
  const [since] = [performance.now()]
  await until('a look', () => performance.now() - since > 1_200)
  expect([transport(), server.of('initialize').length]).toEqual(['sse', 2])
  call.cancel()
  await until('the other transport', () => transport() === 'streamable-http')
  await until('it is online', () => rig.connections.status('a').state === 'online')
  expect(server.of('initialize')).toHaveLength(3)
})

test('refresh() of a server that still speaks SSE leaves its connection alone', async () => {
  const { rig, server, transport } = await start()
  const { since } = rig.connections.status('a')
  const lists = server.of('tools/list').length
  rig.connections.refresh('a', { probe: true })
  await until('the lists are read again', () => server.of('tools/list').length > lists)
  const begun = performance.now()
  await until('a look', () => performance.now() - begun > 1_200)
  expect([transport(), rig.connections.status('a').since, server.of('initialize').length]).toEqual(['sse', since, 1])
})

test('it is asked again after a day without being told to', async () => {
  const { server, transport } = await start()
  server.streamable = true
  setSystemTime(new Date(Date.now() + 25 * 3_600_000))
  await until('the other transport', () => transport() === 'streamable-http')
})

test('a server that has learnt the modern era meanwhile is spoken to in it', async () => {
  const { rig, server, transport } = await start()
  const { port } = server
  await server.down()
  const modern = new ModernHttp(port)
  running.push(modern)
  await until(
    'it is lost, and found',
    () => transport() === 'streamable-http' && rig.connections.status('a').state === 'online',
    10_000,
  )
  expect(rig.connections.status('a').era).toBe('modern')
})

test('refresh() of a server that is offline takes nothing for known', async () => {
  const { rig, server, transport } = await start()
  const record = httpRecord('a', `${server.url}/mcp`, { transportInferred: true })
  rig.turn('a', false)
  rig.put({ ...record, start: 'lazy', idleTimeoutMs: 100, revision: 2 })
  rig.turn('a', true)
  await until('it sleeps', () => rig.connections.status('a').reason?.code === 'idle')
  server.streamable = true
  rig.connections.refresh('a', { probe: true })
  await until('the other transport', () => transport() === 'streamable-http')
})
