/** Sign-ins that nobody uses, and those of disabled users: the hub renews the former once a week, and the latter not at all. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

const WEEK_MS = 7 * 24 * 3_600_000
const DAY_MS = 24 * 3_600_000
let server: ScriptedIssuer
let issuer: ScriptedIssuer
let hub: Hub

beforeAll(async () => {
  server = new ScriptedIssuer()
  issuer = new ScriptedIssuer()
  hub = await startHub({ env: LOOPBACK })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await Promise.all([server?.stop(), issuer?.stop()])
}, 120_000)

/** Runs a statement in the database of a hub that has stopped. */
function inDatabase<T>(work: (db: Database, table: string) => T): T {
  const [file = ''] = [...new Bun.Glob('**/*.{db,sqlite}').scanSync({ cwd: hub.folder })]
  const db = new Database(join(hub.folder, file))
  const named = db.query<{ name: string }, []>("select name from sqlite_master where name like '%credential'").all()
  try {
    return work(db, named[0]?.name ?? '')
  } finally {
    db.close()
  }
}

async function signIn(client: Client, refresh: string): Promise<void> {
  issuer.token = () =>
    Response.json({ access_token: 'scripted', refresh_token: refresh, token_type: 'Bearer', expires_in: 3_600 })
  const { authorizeUrl } = await client.ok('POST', '/api/servers/ada~notes/connect', {})
  const back = await fetch(authorizeUrl, { redirect: 'manual' })
  await client.ok('POST', '/api/connections/finish', { url: back.headers.get('location') })
}

test('a sign-in that was not used for a day is renewed, and then in a week; that of a disabled user stays as it is', async () => {
  const root = await hub.setup()
  const ada = await hub.user('ada')
  const bob = await hub.user('bob')
  server.raw = () => Response.json({ resource: `${server.url}/mcp`, authorization_servers: [issuer.url] })
  const place = { name: 'notes', url: `${server.url}/mcp`, oauth: {}, visibility: 'public' }
  await ada.ok('POST', '/api/servers', place)
  await signIn(bob, 'of-bob')
  await signIn(ada, 'of-ada')
  await ada.ok('PATCH', '/api/servers/notes', { enabled: false })
  await root.ok('PATCH', '/api/admin/users/bob', { disabled: true })
  await hub.stop({ keep: true })
  const before = new Date(Date.now() - 30 * DAY_MS).toISOString()
  inDatabase((db, table) => db.run(`update ${table} set created_at = ?1, last_used_at = ?1, refresh_at = ?1`, [before]))
  issuer.bodies.length = 0
  hub = await startHub({ env: LOOPBACK, folder: hub.folder })
  await until(() => issuer.bodies.length > 0, { what: 'the renewal', timeoutMs: 30_000 })
  await hub.stop({ keep: true })
  expect(issuer.bodies.map(body => body.get('refresh_token'))).toEqual(['of-ada'])
  const times = inDatabase((db, table) => db.query<{ refresh_at: string }, []>(`select refresh_at from ${table}`).all())
  for (const { refresh_at } of times) expect(Date.parse(refresh_at) - Date.now()).toBeGreaterThan(WEEK_MS - DAY_MS)
})
