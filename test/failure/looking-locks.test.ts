/** What only looks is answered while another program holds the lock with which the database is written. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQL } from 'bun'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'

describe.each(extent(['sqlite'], ['sqlite', 'postgres']))('%s:', kind => {
  let postgres: Postgres | undefined
  let databaseUrl = ''
  let hub: Hub
  let admin: Client

  beforeAll(async () => {
    postgres = kind === 'postgres' ? await startPostgres() : undefined
    databaseUrl = postgres ? await postgres.database('looking') : ''
    hub = await startHub({ env: postgres ? { DATABASE_URL: databaseUrl } : {} })
    admin = await hub.setup()
    await admin.ok('POST', '/api/servers', { name: 'there', url: 'https://never.example/', enabled: false })
    await admin.ok('POST', '/api/groups', { name: 'group', members: ['there'] })
  }, 120_000)

  afterAll(async () => {
    await hub?.stop()
    await postgres?.stop()
  }, 120_000)

  /** Nobody else can write until `work` is done. */
  async function locked(work: () => Promise<void>): Promise<void> {
    if (kind === 'sqlite') {
      const database = new Database(join(hub.dataDir, 'patchbay.db'))
      try {
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
      // Reads go on beside this lock, and no write does.
      for (const { name } of tables) await trx.unsafe(`lock table ${name} in exclusive mode`)
      await work()
    })
    await sql.close()
  }

  test('imports, trials, previews and drafts', async () => {
    const server = { url: 'https://never.example/1', enabled: false }
    const replaced = { '#/mcpServers/there': 'replace' }
    const document = {
      ...{ users: [{ username: 'bob' }], mcpServers: { made: server, there: server } },
      groups: [{ name: 'both', servers: ['made', 'there'] }],
    }
    const looks: readonly (readonly [string, object])[] = [
      ['/api/import?dryRun=true', { document, choices: replaced }],
      ['/api/servers/import?dryRun=true', { document: { mcpServers: { made: server } } }],
      ['/api/groups/preview', { name: 'seen', members: ['there'] }],
      ['/api/monitoring/rule-preview', { condition: 'error_rate[5m] > 0.05' }],
    ]
    await locked(async () => {
      // The lock is real: a write is refused, or waits for longer than the hub lets it.
      const refused = await admin.request('PATCH', '/api/servers/there', { description: 'x' })
      expect([refused.status >= 500, refused.json.code]).toEqual([true, 'storage_busy'])
      for (const [path, body] of looks) {
        const { status, text } = await admin.request('POST', path, body)
        expect(`${path} ${status} ${status === 200 ? '' : text}`).toBe(`${path} 200 `)
      }
      const plan = await admin.ok('POST', '/api/import?dryRun=true', { document, choices: replaced })
      expect(plan.items.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['new', 'new', 'replaced', 'new'])
    })
    expect((await admin.ok('GET', '/api/servers')).total).toBe(1)
  }, 60_000)
})
