import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../support/hub.ts'

const use = join(import.meta.dir, '../unit/plugin-host/fixtures/configured.ts')
const PATH = '/api/admin/plugins/fixture-configured'

describe.each([true, false])('a plugin with a schema of its configuration, isolated: %p', isolate => {
  let hub: Hub
  let admin: Client
  beforeAll(async () => {
    hub = await startHub({ settings: { plugins: [{ use, isolate, config: { greeting: 'good day' } }] } })
    admin = await hub.setup()
  }, 120_000)
  afterAll(() => hub.stop(), 120_000)

  const instance = async () =>
    (await admin.request('GET', '/api/plugins/fixture-configured/config')).headers.get('x-instance')
  const inForce = async () => (await admin.request('GET', '/api/plugins/fixture-configured/config')).json

  test('is refused with a pointer to each wrong place, and runs on with the configuration that it had', async () => {
    const before = await instance()
    expect(before).toBeString()
    const config = { greeting: 7, limits: { 'per/day': 0 }, names: ['a', 2] }
    const answer = await admin.request('PATCH', PATH, { config })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ code: 'validation_failed' })
    const pointers = answer.json.errors.map((error: { pointer: string }) => error.pointer)
    expect(pointers).toEqual(['#/config/greeting', '#/config/limits/per~1day', '#/config/names/1'])
    expect(await inForce()).toEqual({ greeting: 'good day', names: [] })
    expect(await instance()).toBe(before)
    const { items } = (await admin.request('GET', '/api/admin/plugins')).json
    const after = items.find((item: { name: string }) => item.name === 'fixture-configured')
    expect(after).toMatchObject({ state: 'running', isolated: isolate })
  })

  test('takes what its schema takes', async () => {
    const answer = await admin.request('PATCH', PATH, { config: { greeting: 'hi' } })
    expect([answer.status, answer.json.state]).toEqual([200, 'running'])
    expect(await inForce()).toEqual({ greeting: 'hi', names: [] })
  })

  test('a plugin without a schema takes no configuration', async () => {
    const answer = await admin.request('PATCH', '/api/admin/plugins/groups', { config: { a: 1 } })
    expect(answer.status).toBe(400)
    expect(answer.json.errors).toMatchObject([{ pointer: '#/config', code: 'unknown_field' }])
    const { items } = (await admin.request('GET', '/api/admin/plugins')).json
    expect(items.find((item: { name: string }) => item.name === 'groups')).toMatchObject({ state: 'running' })
  })
})
