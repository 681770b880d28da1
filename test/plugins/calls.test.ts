/** The service `calls`: each finished call for plugins in the main thread and in a worker, and the numbers of the last hour. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const PLUGINS = '/api/admin/plugins'
const SOURCE = (name: string) => `
import { definePlugin } from 'patchbay/contract'
import type {} from 'patchbay/features'
export default definePlugin({
  name: '${name}',
  contract: 1,
  setup({ calls, routes }) {
    const seen = []
    const feed = calls.on(async call => {
      if (call.outcome !== 'ok') throw new Error('not mine')
      seen.push(call)
    })
    const answers = { 200: { description: 'Calls' } }
    routes.add({ method: 'GET', path: '/seen', access: 'admin', summary: 'Calls', answers, handle: () => ({ body: { seen, lost: feed.lost } }) })
    routes.add({
      method: 'GET', path: '/stats/{by}', access: 'user', summary: 'Numbers', answers,
      handle: async ({ actor, params: { by } }) => ({ body: await calls.stats({ by: by.split(','), range: 3_600_000, for: actor }) }),
    })
    return undefined
  },
})
`
let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { echo: { ...stdioFixture('echo'), visibility: 'public' } } } })
  admin = await hub.setup()
  bob = await hub.user('bob')
  await online(admin, ['admin~echo'])
  await mkdir(join(hub.folder, 'plugins'), { recursive: true })
}, 60_000)
afterAll(() => hub.stop())

const say = (client: Client, text: string) =>
  client.ok('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text } })

describe.each([
  ['main', false],
  ['apart', true],
])('a plugin in its thread (%s)', (name, isolate) => {
  const seen = async () => admin.ok('GET', `/api/plugins/${name}/seen`)

  test('gets each call that ended, and goes on after a handler that throws', async () => {
    await writeFile(join(hub.folder, `plugins/${name}.ts`), SOURCE(name), { mode: 0o600 })
    expect(await admin.ok('POST', PLUGINS, { use: `./plugins/${name}.ts`, isolate })).toMatchObject({
      isolated: isolate,
    })
    await say(bob, 'a secret word')
    await admin.request('POST', '/api/servers/admin~echo/tools/missing/call', { arguments: {} })
    for (const text of ['two', 'three']) await say(admin, text)
    await until(async () => (await seen()).seen.length === 3, { what: 'the calls' })
    const { seen: calls, lost } = await seen()
    expect(lost).toBe(0)
    const [first] = calls
    expect(Object.keys(first).sort()).toEqual(
      [
        ...['at', 'durationMs', 'groupId', 'outcome', 'ownerId', 'requestId', 'resultBytes', 'server', 'serverId'],
        ...['status', 'tool', 'userId'],
      ].sort(),
    )
    expect(first).toMatchObject({ server: 'echo', tool: 'echo', outcome: 'ok', status: 'success' })
    expect(first.resultBytes).toBeGreaterThan('a secret word'.length)
    expect([calls[1].userId, calls[2].userId]).toEqual([first.ownerId, first.ownerId])
    expect(JSON.stringify(calls)).not.toContain('a secret word')
    await hub.logged('A handler of calls failed: not mine')
  })

  test('reads the numbers of the last hour, those of a reader alone where it says so', async () => {
    const stats = async (client: Client, by: string) =>
      (await client.ok('GET', `/api/plugins/${name}/stats/${by}`)).rows
    const all = await stats(admin, 'server,outcome')
    expect(all[0]).toMatchObject({ server: 'echo', outcome: 'ok', failed: 0, p95Ms: expect.any(Number) })
    const [own] = await stats(bob, 'caller')
    // Calls of the run before are within the hour.
    expect([own.calls, all[0].calls]).toEqual(isolate ? [4, 8] : [1, 3])
    expect(await stats(bob, 'caller')).toHaveLength(1)
  })

  test('gets none when it is off, and those after it is on again', async () => {
    await admin.ok('PATCH', `${PLUGINS}/${name}`, { enabled: false })
    await say(bob, 'unheard')
    await admin.ok('PATCH', `${PLUGINS}/${name}`, { enabled: true })
    await say(bob, 'heard')
    await until(async () => (await seen()).seen.length > 0, { what: 'the call' })
    expect((await seen()).seen).toHaveLength(1)
    await admin.ok('PATCH', `${PLUGINS}/${name}`, { enabled: false })
    await admin.ok('DELETE', `${PLUGINS}/${name}`)
  })
})
