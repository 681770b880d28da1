/** Quotas of connected clients and of tools are set for those that there are; those of clients end with them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sharedFixture } from '../../mcp/shared-fixture.ts'
import type { Client, Hub } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
import { startOnline } from '../../support/online-hub.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'

setDefaultTimeout(60_000)

const QUOTA = { perDay: 100 }
const UNKNOWN = [404, 'quota_client_unknown']
let hub: Hub
let admin: Client
let bo: Client
let app: RawOAuth

beforeAll(async () => {
  const settings = {
    mcpServers: { echo: sharedFixture('echo') },
    plugins: [{ use: 'quotas', limits: { quotasPerUser: 1 } }],
  }
  ;({ hub, admin } = await startOnline({ settings }))
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  bo = await hub.user('bo')
  app = await new RawOAuth(hub.url).register()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** A client that a user has let in. */
async function connected(user: Client): Promise<{ readonly id: string; readonly token: string }> {
  const token = (await app.tokens(user, '/mcp/@admin/echo')).access_token
  return { id: (await user.ok('GET', '/api/oauth/grants')).items[0].id, token }
}

async function put(user: Client, id: string, quota: object | null = QUOTA): Promise<unknown[]> {
  const { status, json } = await user.request('PUT', `/api/grants/${id}/quota`, { quota })
  return status === 200 ? [status, json.quota] : [status, json.code]
}
const read = async (user: Client, id: string) => {
  const { status, json } = await user.request('GET', `/api/grants/${id}/quota`)
  return status === 200 ? [status, json.quota] : [status, json.code]
}
const listed = async (user: Client) =>
  (await user.ok('GET', '/api/quotas')).items.filter(({ of }: { readonly of: string }) => of === 'grant')

test('a quota is set for a client that the user has, and for no other id', async () => {
  const { id } = await connected(admin)
  for (const [user, other] of [
    [bo, id],
    [bo, crypto.randomUUID()],
    [admin, 'any'],
  ] as const)
    expect([await put(user, other), await put(user, other, null), await read(user, other)]).toEqual([
      ...[UNKNOWN, UNKNOWN, UNKNOWN],
    ])
  expect([await put(admin, id), await read(admin, id)]).toEqual([
    ...[
      [200, QUOTA],
      [200, QUOTA],
    ],
  ])
  expect(await listed(admin)).toMatchObject([{ id, name: 'Raw', quota: QUOTA }])
  await put(admin, id, null)
})

test('the quota of a client that was disconnected is gone, and leaves its place to another one', async () => {
  const [first, second] = [await connected(bo), await connected(bo)]
  expect(await put(bo, first.id)).toEqual([200, QUOTA])
  expect(await put(bo, second.id)).toEqual([409, 'quota_plans'])
  await bo.ok('DELETE', `/api/oauth/grants/${first.id}`)
  expect([await put(bo, second.id), await put(bo, first.id)]).toEqual([[200, QUOTA], UNKNOWN])
  await bo.ok('DELETE', `/api/oauth/grants/${second.id}`)
  expect([await listed(bo), await read(bo, second.id)]).toEqual([[], UNKNOWN])
})

test('quotas stay while nobody knows which clients there are, and a client is known by its calls', async () => {
  const { id, token } = await connected(bo)
  const client = new RawModern(hub, '/mcp/@admin/echo', token)
  expect((await client.call('tools/call', { name: 'echo', arguments: { text: 'x' } })).status).toBe(200)
  const turn = (enabled: boolean) => admin.ok('PATCH', '/api/admin/plugins/oauth-server', { enabled })
  await turn(false)
  expect([await put(bo, crypto.randomUUID()), await put(bo, id)]).toEqual([UNKNOWN, [200, QUOTA]])
  expect(await put(admin, id)).toEqual(UNKNOWN)
  expect(await listed(bo)).toMatchObject([{ id, quota: QUOTA }])
  await turn(true)
  await until(async () => (await bo.request('GET', '/api/oauth/grants')).status === 200, { what: 'the plugin' })
  expect([await listed(bo), await read(bo, id)]).toMatchObject([[{ id }], [200, QUOTA]])
})

test('a quota of a tool that the server does not have is kept, and the answer says that it limits nothing', async () => {
  const put = (tools: object) => admin.ok('PUT', '/api/servers/echo/quota', { tools })
  expect((await put({ echo: QUOTA })).warnings).toBeUndefined()
  const { tools, warnings } = await put({ echo: QUOTA, ecko: QUOTA })
  expect([tools.echo.missing, tools.ecko.missing, warnings]).toEqual([
    ...[undefined, true, [expect.stringContaining('has no tool "ecko"')]],
  ])
  // The name that its owner gives a tool is not the one that counts.
  await admin.ok('PATCH', '/api/servers/echo', { tools: { echo: { name: 'say' } } })
  const renamed = await put({ echo: QUOTA, say: QUOTA })
  expect(renamed.warnings).toEqual([expect.stringContaining('has no tool "say"')])
  expect((await admin.ok('GET', '/api/servers/echo/quota')).warnings).toEqual(renamed.warnings)
  await admin.ok('POST', '/api/servers', { name: 'unread', url: 'http://127.0.0.1:9/mcp', enabled: false })
  const unread = await admin.ok('PUT', '/api/servers/unread/quota', { tools: { any: QUOTA } })
  expect([unread.tools.any.quota, unread.warnings]).toEqual([QUOTA, undefined])
})
