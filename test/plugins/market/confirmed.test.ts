/** Plans of the market are confirmed as they were shown: by the same user, in the same role, for the same template. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'

const UPGRADE = '/api/servers/admin~shared/upgrade'
let registry: ReturnType<typeof Bun.serve>
let hub: Hub
let admin: Client
let servers: readonly object[] = []

beforeAll(async () => {
  registry = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({ servers, metadata: {} }) })
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  const config = { registries: { mine: registry.url.href } }
  await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await registry?.stop(true)
}, 120_000)

/** The source lists one remote server, of this version and with this path. */
async function list(version: string, path: string): Promise<void> {
  const url = `https://versioned.example/${path}`
  servers = [
    {
      server: {
        ...{ name: 'com.example/versioned', title: 'Versioned', description: 'Has versions', version },
        remotes: [{ type: 'streamable-http', url }],
      },
      _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
    },
  ]
  expect(await admin.ok('POST', '/api/market/sources/mine/refresh')).toMatchObject({ state: 'ready' })
}

test('nothing is installed or changed by the plan of another template, of another user, or of a role that is lost', async () => {
  await list('1.0.0', 'a')
  const path = '/api/market/templates/mine:com.example~versioned/install'
  const wish = { name: 'shared', inputs: {} }
  const before = await admin.ok('POST', `${path}?dryRun=true`, wish)
  await list('1.0.0', 'b')
  const late = await admin.request('POST', path, { ...wish, planHash: before.planHash })
  expect([late.status, late.json.code]).toEqual([409, 'plan_changed'])
  const { planHash: now } = await admin.ok('POST', `${path}?dryRun=true`, wish)
  await admin.ok('POST', path, { ...wish, planHash: now })

  const bob = await hub.user('bob')
  const share = (role: string) => admin.ok('PUT', '/api/servers/shared/shares/user:bob', { role })
  const done = (planHash: string) => bob.request('POST', UPGRADE, { planHash })
  const planned = (client: Client) => client.ok('POST', `${UPGRADE}?dryRun=true`, {})
  await share('change')
  await list('2.0.0', 'c')
  const [foreign, old] = [await planned(admin), await planned(bob)]
  expect([(await done(foreign.planHash)).json.code, old.to]).toEqual(['plan_changed', '2.0.0'])
  await list('2.0.0', 'd')
  expect((await done(old.planHash)).json.code).toBe('plan_changed')
  const { planHash } = await planned(bob)
  await share('use')
  const lost = await done(planHash)
  expect([lost.status, lost.json.code]).toEqual([403, 'not_owner'])
  expect((await admin.ok('GET', '/api/servers/shared')).url).toBe('https://versioned.example/b')
  await share('change')
  expect((await done(planHash)).status).toBe(200)
  expect((await admin.ok('GET', '/api/servers/shared')).url).toBe('https://versioned.example/d')
})
