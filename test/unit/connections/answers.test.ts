import { afterEach, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { TransportContribution } from '../../../core/contract/points.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { atLeast, atMost } from '../../support/pace.ts'
import { type Rig, serverRecord, startRig, textOf, until } from './support.ts'

const ANSWERING: TransportContribution = {
  label: 'answering',
  transport: 'openapi',
  kind: 'answers',
  configSchema: {},
  module: new URL('./fixtures/answering-transport.ts', import.meta.url).href,
}

let rig: Rig | undefined
afterEach(async () => {
  await rig?.dispose()
  rig = undefined
})

async function start(
  config: JsonObject = {},
  change: Partial<ServerRecord> = {},
  contribution = ANSWERING,
): Promise<Rig> {
  await rig?.dispose()
  rig = await startRig([serverRecord('a', { transport: 'openapi', config, ...change })], {
    transports: () => new Map([['openapi', contribution]]),
  })
  await rig.connections.settled('a', 60_000)
  return rig
}

test('a transport that answers is online with its tools and warnings', async () => {
  const { connections } = await start()
  expect(connections.status('a')).toMatchObject({
    state: 'online',
    serverInfo: { name: 'answering' },
    counts: { tools: 1 },
  })
  expect(connections.catalog('a')).toMatchObject({
    tools: [{ key: 'read-0' }],
    warnings: ['something was left out'],
    capabilities: { tools: {} },
  })
})

test('calls are answered with text, arguments and headers of the call as they came', async () => {
  const { connections, call } = await start()
  expect(textOf(await call('a', 'echo', { x: 1 }))).toBe('{"given":{"x":1},"headers":{}}')
  const passed = connections.request('a', {
    method: 'tools/call',
    params: { name: 'echo', arguments: {} },
    passthroughHeaders: { 'x-trace': '1' },
  })
  expect(textOf(await passed.reply)).toBe('{"given":{},"headers":{"x-trace":"1"}}')
  expect(await call('a', 'fail')).toMatchObject({ kind: 'result', isError: true })
})

test.each([
  ['params', 'params_invalid', 'nothing was sent'],
  ['lost', 'connection_lost', 'nobody there'],
  ['throw', 'internal', 'The hub failed at this (TypeError); its log says more'],
])('a call that throws (%s) fails with %s', async (name, code, message) => {
  const { call } = await start()
  expect(await call('a', name)).toEqual({ kind: 'failed', code: code as never, message })
})

test('a method other than tools/call is method_not_found', async () => {
  const { connections } = await start()
  const { reply } = connections.request('a', { method: 'prompts/get', params: { name: 'x' } })
  expect(await reply).toMatchObject({ kind: 'failed', code: 'method_not_found' })
})

test('a cancelled call and one that takes too long are aborted, and the connection lives', async () => {
  const { connections, call } = await start({}, { timeoutMs: atLeast(500) })
  const cancelled = connections.request('a', { method: 'tools/call', params: { name: 'stubborn' } })
  cancelled.cancel()
  expect(await cancelled.reply).toEqual({ kind: 'cancelled' })
  expect(await call('a', 'hang')).toMatchObject({ kind: 'failed', code: 'upstream_timeout' })
  expect(JSON.parse(textOf(await call('a', 'aborted')))).toEqual(['stubborn', 'hang'])
  expect(connections.status('a').state).toBe('online')
})

test('refresh() reads the list again; when that fails the known one stays', async () => {
  const { connections } = await start()
  connections.refresh('a')
  await until('the second list', () => connections.catalog('a')?.tools[0]?.key === 'read-1')
  const { connections: failing } = await start({ refreshFails: true })
  failing.refresh('a')
  await until('the failure', () => failing.catalog('a')?.warnings.some(warning => warning.includes('gone')) === true)
  expect(failing.catalog('a')?.tools[0]?.key).toBe('read-0')
})

test('a transport that cannot open is offline with its reason', async () => {
  const { connections } = await start({ refuses: true })
  expect(connections.status('a')).toMatchObject({ state: 'offline', reason: { code: 'openapi_unsupported' } })
})

test('stop() ends an opening that hangs', async () => {
  rig = await startRig([serverRecord('a', { transport: 'openapi', config: { hangs: true } })], {
    transports: () => new Map([['openapi', ANSWERING]]),
  })
  const { connections } = rig
  await until('it is connecting', () => connections.status('a').state === 'connecting')
  connections.stop('a')
  const began = performance.now()
  await connections.dispose()
  expect(performance.now() - began).toBeLessThan(atMost(1_500))
})

test('a module of another kind than announced is transport_unavailable', async () => {
  const { kind: _, ...messages } = ANSWERING
  const { connections } = await start({}, {}, messages)
  expect(connections.status('a')).toMatchObject({ state: 'offline', reason: { code: 'transport_unavailable' } })
})

test('health endpoints are asked: a sick server is not online, one that falls sick is lost', async () => {
  const healthCheck = {
    enabled: true,
    interval: 20,
    timeout: atLeast(1_000),
    retries: 2,
    endpoints: { ping: '/ping', tools: '/tools' },
  }
  const { connections: sick } = await start({ sick: true }, { healthCheck })
  expect(sick.status('a')).toMatchObject({ state: 'offline', reason: { code: 'upstream_http_error', message: 'sick' } })
  const { connections, call, events } = await start({}, { healthCheck })
  expect(connections.catalog('a')?.tools[0]?.summary).toBe('/ping /tools')
  await call('a', 'sicken')
  await until('the loss', () =>
    events.some(({ name, data }) => name === 'connection.state' && JSON.stringify(data).includes('2 pings in a row')),
  )
})
