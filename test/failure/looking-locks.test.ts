/** Requests that only read are answered while another program holds the lock with which the database is written. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import { MANIFEST, packed, sendBundle } from '../support/bundle.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { online } from '../support/servers.ts'
import { known } from './fixtures/known.ts'

/** A list of MCP's registry with one template, of this version. */
const listed = (version: string) => ({
  metadata: {},
  servers: [
    {
      server: {
        ...{ name: 'com.example/listed', description: 'Is listed', version },
        packages: [{ registryType: 'npm', identifier: 'listed', version, transport: { type: 'stdio' } }],
      },
      _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
    },
  ],
})
const TEMPLATE = '/api/market/templates/mine:com.example~listed/install'

describe.each(extent(['sqlite'], ['sqlite', 'postgres']))('%s:', kind => {
  let postgres: Postgres | undefined
  let databaseUrl = ''
  let hub: Hub
  let admin: Client
  let bundleId = ''
  let version = '1.0.0'
  const receiver = startReceiver()
  const registry = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(listed(version)) })

  beforeAll(async () => {
    postgres = kind === 'postgres' ? await startPostgres() : undefined
    databaseUrl = postgres ? await postgres.database('looking') : ''
    hub = await startHub({ env: { ...LOOPBACK, ...(postgres ? { DATABASE_URL: databaseUrl } : {}) } })
    admin = await hub.setup()
    await admin.ok('POST', '/api/servers', { name: 'there', url: 'https://never.example/', enabled: false })
    await admin.ok('POST', '/api/servers', { name: 'runs', ...known('echo') })
    await online(admin, ['runs'])
    await admin.ok('POST', '/api/groups', { name: 'group', members: ['there', 'runs'] })
    const config = { url: receiver.url }
    await admin.ok('POST', '/api/monitoring/channels', { name: 'hook', type: 'webhook', config })
    const rule = { name: 'down', condition: 'servers_offline > 0', severity: 'warning', channels: ['hook'] }
    await admin.ok('POST', '/api/monitoring/rules', rule)
    bundleId = (await sendBundle(admin, await packed(MANIFEST, { 'server/index.js': '' }))).json.bundleId
    await admin.ok('PATCH', '/api/admin/plugins/market-registry', {
      config: { registries: { mine: registry.url.href } },
    })
    await refresh('1.0.0')
    await install('installed')
    await install('upgraded')
    await refresh('2.0.0')
    const { planHash } = await admin.ok('POST', '/api/servers/upgraded/upgrade?dryRun=true', {})
    await admin.ok('POST', '/api/servers/upgraded/upgrade', { planHash })
  }, 120_000)

  afterAll(async () => {
    await hub?.stop()
    await Promise.all([registry.stop(true), receiver.stop(), postgres?.stop()])
  }, 120_000)

  async function refresh(next: string): Promise<void> {
    version = next
    await admin.ok('POST', '/api/market/sources/mine/refresh')
  }

  async function install(name: string): Promise<void> {
    const { planHash } = await admin.ok('POST', `${TEMPLATE}?dryRun=true`, { name })
    await admin.ok('POST', TEMPLATE, { name, planHash })
  }

  /** Nobody else can write until `work` is done. */
  async function locked(work: () => Promise<void>): Promise<void> {
    if (kind === 'sqlite') {
      const database = new Database(join(hub.dataDir, 'patchbay.db'))
      try {
        database.exec('pragma busy_timeout = 10000')
        database.exec('begin immediate')
        await work()
      } finally {
        database.close()
      }
      return
    }
    const sql = new SQL(databaseUrl)
    await sql.begin(async trx => {
      const tables = await trx`select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`
      // This lock allows reads and blocks all writes.
      for (const { name } of tables) await trx.unsafe(`lock table ${name} in exclusive mode`)
      await work()
    })
    await sql.close()
  }

  test('plans, trials, previews, tests and lists', async () => {
    const server = { url: 'https://never.example/1', enabled: false }
    const replaced = { '#/mcpServers/there': 'replace' }
    const document = {
      ...{ users: [{ username: 'bob' }], mcpServers: { made: server, there: server } },
      groups: [{ name: 'both', servers: ['made', 'there'] }],
    }
    const totalBefore = (await admin.ok('GET', '/api/servers')).total
    const looks: readonly (readonly [string, object])[] = [
      ['/api/import?dryRun=true', { document, choices: replaced }],
      ['/api/servers/import?dryRun=true', { document: { mcpServers: { made: server } } }],
      ['/api/groups/preview', { name: 'seen', members: ['there'] }],
      ['/api/groups/preview', { name: 'group', members: [{ server: 'runs', tools: [] }] }],
      ['/api/monitoring/rule-preview', { condition: 'error_rate[5m] > 0.05' }],
      ['/api/monitoring/test-alert', { rule: 'down', send: false }],
      ['/api/monitoring/test-alert', { rule: 'down' }],
      ['/api/monitoring/channels/hook/test', {}],
      [`/api/bundles/${bundleId}/install?dryRun=true`, {}],
      [`${TEMPLATE}?dryRun=true`, { name: 'next' }],
      ['/api/servers/installed/upgrade?dryRun=true', {}],
      ['/api/servers/upgraded/downgrade?dryRun=true', {}],
      ['/api/servers/test', known('echo')],
      ['/api/servers/test', { name: 'there', url: receiver.url }],
      ['/api/export', { passphrase: 'long enough to be one' }],
    ]
    const lists = [
      ...['servers/runs/tools', 'groups/group', 'bundles', 'market/updates', 'limits'],
      ...['auth/me', 'keys', 'import', 'monitoring/overview', 'monitoring/config', 'monitoring/alerts', 'settings'],
    ]
    await locked(async () => {
      // The lock is real: a write is refused, or waits for longer than the hub lets it.
      const refused = await admin.request('PATCH', '/api/servers/there', { description: 'x' })
      expect([refused.status >= 500, refused.json.code]).toEqual([true, 'storage_busy'])
      const requests = [
        ...looks.map(([path, body]) => ['POST', path, body] as const),
        ...lists.map(name => ['GET', `/api/${name}`] as const),
      ]
      const refusedLooks: string[] = []
      for (const [method, path, body] of requests) {
        const { status, text } = await admin.request(method, path, body)
        if (status !== 200) refusedLooks.push(`${method} ${path}: ${status} ${text}`)
      }
      expect(refusedLooks).toEqual([])
      const plan = await admin.ok('POST', '/api/import?dryRun=true', { document, choices: replaced })
      expect(plan.items.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['new', 'new', 'replaced', 'new'])
    })
    expect((await admin.ok('GET', '/api/servers')).total).toBe(totalBefore)
  }, 60_000)
})
