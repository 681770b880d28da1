/** Calls count and are released as they end: at a server that cannot be reached, as tasks, and while quotas change. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import { type Client, type Hub, stdioFixture } from '../../support/hub.ts'
import { startOnline } from '../../support/online-hub.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { inFlight, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(60_000)

const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const mcpServers = {
  echo: sharedFixture('echo'),
  tasks: sharedFixture('tasks'),
  slow: sharedFixture('slow'),
  newer: { ...stdioFixture('extension-tasks', { WIRE: 'stdio' }), era: 'modern' },
}
let hub: Hub
let admin: Client

beforeAll(async () => {
  ;({ hub, admin } = await startOnline({ settings: { mcpServers } }))
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const set = (path: string, body: object) => admin.ok('PUT', `${path}/quota`, body)
const usedOf = async (path: string) => (await admin.ok('GET', `${path}/quota`)).used
const echo = (headers: Record<string, string> = {}) =>
  admin.request('POST', '/api/servers/echo/tools/echo/call', { arguments: { text: 'x' } }, headers)
const configure = (config: object) => admin.ok('PATCH', '/api/admin/plugins/quotas', { config })

test('a call of a server that cannot be reached does not count, over REST and for both eras', async () => {
  await set('/api/servers/echo', { quota: { perMinute: 1, perDay: 1 } })
  await admin.ok('POST', '/api/servers/echo/stop')
  await until(async () => (await statusOf(admin, 'echo')).state === 'offline', { what: 'the server to be stopped' })
  expect((await echo()).json.code).toBe('server_offline')
  const called = { name: 'echo', arguments: { text: 'x' } }
  const modern = await new RawModern(hub, '/mcp/echo', await admin.mcpKey()).call('tools/call', called)
  const legacy = await (await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open()).call('tools/call', called)
  expect([modern, legacy].map(({ error }) => error?.data?.code)).toEqual(['server_offline', 'server_offline'])
  expect(await usedOf('/api/servers/echo')).toMatchObject({ perMinute: 0, perDay: 0, atOnce: 0 })
  expect((await admin.ok('GET', '/api/usage?range=1d')).items).toEqual([])
  await admin.ok('POST', '/api/servers/echo/start')
  await until(async () => (await echo()).status === 200, { what: 'the first call that counts' })
  expect((await echo()).json).toMatchObject({
    ...{ code: 'quota_day', detail: 'The 1 call a day of the server "echo" is used up' },
  })
  await set('/api/servers/echo', { quota: null })
})

test('a task of 2025-11-25 is in flight until it is over, and its result counts once', async () => {
  await set('/api/servers/tasks', { quota: { atOnce: 1, resultTokensPerDay: 1_000_000 } })
  const client = await new RawClient(hub, '/mcp/tasks', await admin.mcpKey()).open()
  const make = (polls: number) =>
    client.call('tools/call', { name: 'optional', arguments: { polls }, task: { ttl: 60_000 } })
  const { taskId } = (await make(2)).result.task
  expect(await usedOf('/api/servers/tasks')).toMatchObject({ perDay: 1, atOnce: 1, resultTokensPerDay: 0 })
  expect((await make(2)).error?.data?.code).toBe('quota_at_once')
  await until(async () => (await client.call('tasks/get', { taskId })).result.status === 'completed')
  expect(await usedOf('/api/servers/tasks')).toMatchObject({ atOnce: 0, resultTokensPerDay: 0 })
  const result = await client.call('tasks/result', { taskId })
  expect(result.result.content[0].text).toStartWith('result of')
  const { resultTokensPerDay } = await usedOf('/api/servers/tasks')
  expect(resultTokensPerDay).toBeGreaterThan(0)
  await client.call('tasks/result', { taskId })
  expect(await usedOf('/api/servers/tasks')).toMatchObject({ perDay: 1, atOnce: 0, resultTokensPerDay })

  // The server does not know its tasks any more.
  const lost = (await make(1_000_000)).result.task.taskId
  await admin.ok('POST', '/api/servers/tasks/restart')
  await until(async () => (await client.call('tasks/get', { taskId: lost })).error?.code === -32602)
  expect((await usedOf('/api/servers/tasks')).atOnce).toBe(0)

  const cancelled = (await make(1_000_000)).result.task.taskId
  expect((await usedOf('/api/servers/tasks')).atOnce).toBe(1)
  await client.call('tasks/cancel', { taskId: cancelled })
  expect((await usedOf('/api/servers/tasks')).atOnce).toBe(0)
  const { items } = await admin.ok('GET', '/api/usage?by=tool&range=1d&server=tasks')
  expect(items).toEqual([expect.objectContaining({ calls: 3, failures: 0, resultTokens: resultTokensPerDay })])
})

test('a task of the extension is in flight until it is over, and its result counts once', async () => {
  await set('/api/servers/newer', { quota: { atOnce: 1, resultTokensPerDay: 1_000_000 } })
  const client = new RawModern(hub, '/mcp/newer', await admin.mcpKey())
  const make = (seconds: number) =>
    client.call('tools/call', { name: 'slow_compute', arguments: { seconds, label: 'x' } }, { capabilities })
  const get = async (taskId: string) => (await client.call('tasks/get', { taskId }, { capabilities })).result
  const { taskId: long } = (await make(3_600)).result
  expect(await usedOf('/api/servers/newer')).toMatchObject({ perDay: 1, atOnce: 1 })
  expect((await make(0)).error?.data?.code).toBe('quota_at_once')
  await client.call('tasks/cancel', { taskId: long }, { capabilities })
  expect(await usedOf('/api/servers/newer')).toMatchObject({ perDay: 1, atOnce: 0, resultTokensPerDay: 0 })

  const { taskId } = (await make(0)).result
  await until(async () => (await get(taskId)).result, { what: 'the result' })
  const { resultTokensPerDay } = await usedOf('/api/servers/newer')
  expect(resultTokensPerDay).toBeGreaterThan(0)
  await get(taskId)
  expect(await usedOf('/api/servers/newer')).toMatchObject({ perDay: 2, atOnce: 0, resultTokensPerDay })
})

test('quotas of the configuration count what was used on that day before, and after a quota of an administrator', async () => {
  const today = async () => {
    const { items } = await admin.ok('GET', '/api/quotas')
    return ['system', 'user'].map(of => items.find((item: { of: string }) => item.of === of)?.used.perDay)
  }
  await echo()
  const [{ calls }] = (await admin.ok('GET', '/api/usage?range=1d')).items
  await configure({ quota: { perDay: 1_000 }, users: { perDay: 1_000 } })
  expect(await today()).toEqual([calls, calls])
  await set('/api/admin/users/admin', { quota: { perDay: 500 } })
  await echo()
  await set('/api/admin/users/admin', { quota: null })
  expect(await today()).toEqual([calls + 1, calls + 1])
  // Alert rules see the use of users before their next call, too.
  await configure({ users: { perDay: 900 } })
  const rule = { condition: 'quotas.used{kind="user"} > 0', duration: '0s' }
  const { now } = await admin.ok('POST', '/api/monitoring/rule-preview', rule)
  expect(now.map(({ subject }: { subject: string }) => subject)).toEqual(['user admin: calls'])
  await configure({})
})

test('a call that is in flight while the plugin is switched off counts as one, with what was used until then', async () => {
  await set('/api/servers/slow', { quota: { perDay: 1_000 } })
  const calls = async () => (await admin.ok('GET', '/api/usage?range=1d&by=server')).items.find(isSlow)?.calls ?? 0
  const isSlow = ({ server }: { server?: string }) => server === 'admin~slow'
  const long = admin.request('POST', '/api/servers/slow/tools/wait/call', { arguments: { ms: 60_000 } })
  await inFlight(admin)
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: false })
  await admin.ok('POST', '/api/servers/slow/stop')
  expect((await long).status).toBeGreaterThan(200)
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: true })
  expect([await calls(), await usedOf('/api/servers/slow')]).toEqual([
    1,
    expect.objectContaining({ perDay: 1, atOnce: 0 }),
  ])
})

test('the owner learns once which quota is nearly used up, and again after the quota has changed', async () => {
  const stream = await fetch(`${hub.url}/api/stream?topics=plugins`, {
    headers: { authorization: `Bearer ${admin.token}` },
  })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const reading = (async () => {
    for (;;) {
      const part = await reader?.read()
      if (!part || part.done) return
      text += part.value
    }
  })()
  const events = () =>
    [...text.matchAll(/^data: (.*"quotas\.near".*)$/gm)].map(([, json = '']) => JSON.parse(json).data)
  const { id, secret } = await admin.ok('POST', '/api/keys', { label: 'night job', scopes: ['api'] })
  const call = () => echo({ authorization: `Bearer ${secret}` })
  await set(`/api/keys/${id}`, { quota: { perDay: 2 } })
  for (let time = 0; time < 3; time += 1) await call()
  // A change of the configuration starts the plugin again.
  await configure({ users: { perDay: 1_000 } })
  await call()
  await set(`/api/keys/${id}`, { quota: { perDay: 4 } })
  for (let time = 0; time < 3; time += 1) await call()
  await until(() => events().length > 1, { what: 'the second event' })
  const about = { of: 'key', name: 'access key "night job" of user admin', quota: 'perDay' }
  expect(events()).toEqual([
    { ...about, limit: 2, used: 2 },
    { ...about, limit: 4, used: 4 },
  ])
  await reader?.cancel()
  await reading
  await configure({})
})
