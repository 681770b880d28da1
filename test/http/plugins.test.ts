import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { z } from 'zod'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { until } from '../support/wait.ts'

const use = join(import.meta.dir, '../unit/plugin-host/fixtures/middleware.ts')
const config = { greeting: 'good day' }
const CONFIGURED = [
  {
    name: 'fixture-configured',
    use: join(import.meta.dir, '../unit/plugin-host/fixtures/configured.ts'),
    isolate: true,
  },
  { name: 'fixture-configured-inside', use: join(import.meta.dir, 'fixtures/configured-inside.ts'), isolate: false },
]
let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      plugins: [{ use }, { use: './missing.ts' }, ...CONFIGURED.map(({ name: _, ...entry }) => ({ ...entry, config }))],
      mcpServers: { echo: stdioFixture('echo') },
    },
  })
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub.stop(), 120_000)

const plugin = async (name: string) => {
  const { json } = await admin.request('GET', '/api/admin/plugins')
  return json.items.find((item: { name: string }) => item.name === name)
}

test('a plugin from the settings file runs isolated, and one that cannot be found is reported while the hub continues', async () => {
  expect(await plugin('fixture-middleware')).toMatchObject({ state: 'running', isolated: true, bundled: false })
  expect(await plugin('./missing.ts')).toMatchObject({ state: 'failed', code: 'plugin_failed' })
  expect((await admin.request('GET', '/health')).json).toMatchObject({
    status: 'degraded',
    checks: { plugins: 'failed' },
  })
})

test('a plugin route is served below /api/plugins with the access that it asks for', async () => {
  const path = '/api/plugins/fixture-middleware/status'
  const answer = await admin.request('POST', path, { hello: 1 })
  expect(answer.status).toBe(201)
  expect(answer.json).toEqual({ method: 'POST', echo: '{"hello":1}' })
  const anonymous = await fetch(hub.url + path, { method: 'POST' })
  expect(anonymous.status).toBe(401)
  expect((await admin.request('GET', '/api/plugins/fixture-middleware/other')).status).toBe(404)
})

test('a middleware of a plugin runs round MCP calls', async () => {
  await until(async () => (await admin.request('GET', '/health')).json.servers.online === 1, {
    what: 'echo to be online',
  })
  const client = await admin.mcp('/mcp/echo')
  const listed = (await client.request({ method: 'tools/list' }, z.looseObject({}))) as Record<string, unknown>
  expect(Object.keys(listed)).toEqual(['wrapped'])
  await client.close()
})

test('a plugin that is switched off takes its routes and middlewares along', async () => {
  expect(
    (await admin.request('PATCH', '/api/admin/plugins/fixture-middleware', { enabled: false })).json,
  ).toMatchObject({ state: 'disabled' })
  expect((await admin.request('GET', '/api/plugins/fixture-middleware/status')).status).toBe(404)
  const client = await admin.mcp('/mcp/echo')
  expect((await client.listTools()).tools.length).toBeGreaterThan(0)
  await client.close()
})

describe.each(CONFIGURED)('a plugin with a schema of its configuration, isolated: $isolate', ({ name, isolate }) => {
  const instance = async () => (await admin.request('GET', `/api/plugins/${name}/config`)).headers.get('x-instance')
  const inForce = async () => (await admin.request('GET', `/api/plugins/${name}/config`)).json

  test('is refused with a pointer to each wrong place, and runs on with the configuration that it had', async () => {
    const before = await instance()
    expect(before).toBeString()
    const config = { greeting: 7, limits: { 'per/day': 0 }, names: ['a', 2] }
    const answer = await admin.request('PATCH', `/api/admin/plugins/${name}`, { config })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ code: 'validation_failed' })
    const pointers = answer.json.errors.map((error: { pointer: string }) => error.pointer)
    expect(pointers).toEqual(['#/config/greeting', '#/config/limits/per~1day', '#/config/names/1'])
    expect(await inForce()).toEqual({ greeting: 'good day', names: [] })
    expect(await instance()).toBe(before)
    const { items } = (await admin.request('GET', '/api/admin/plugins')).json
    const after = items.find((item: { name: string }) => item.name === name)
    expect(after).toMatchObject({ state: 'running', isolated: isolate })
  })

  test('takes what its schema takes', async () => {
    const answer = await admin.request('PATCH', `/api/admin/plugins/${name}`, { config: { greeting: 'hi' } })
    expect([answer.status, answer.json.state]).toEqual([200, 'running'])
    expect(await inForce()).toEqual({ greeting: 'hi', names: [] })
  })
})

test('a plugin without a schema takes no configuration', async () => {
  const answer = await admin.request('PATCH', '/api/admin/plugins/groups', { config: { a: 1 } })
  expect(answer.status).toBe(400)
  expect(answer.json.errors).toMatchObject([{ pointer: '#/config', code: 'unknown_field' }])
  const { items } = (await admin.request('GET', '/api/admin/plugins')).json
  expect(items.find((item: { name: string }) => item.name === 'groups')).toMatchObject({ state: 'running' })
})
