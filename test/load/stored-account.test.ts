// Requests of an ordinary user make the data folder grow by no more than the user's accounts say.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { LIMITS } from '../../core/config/limits.ts'
import { folderSizes, tableSizes } from '../support/data-folder.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { prepareStored, STORING, STORING_NOTHING, UNPACKED_BYTES } from '../support/stored-routes.ts'
import { until } from '../support/wait.ts'
import { routeTargets } from '../support/work-fuzz.ts'

const KIB = 1024
/** Pages of a B-tree are at least half full after a split, and long values take whole pages of their own. */
const FACTOR = 2
/** A table and each of its indexes may have one page more that is nearly empty: 4 KiB each, of some tables at once. */
const FIXED_BYTES = 64 * KIB
const ROUNDS = extent(1, 4)

/** The tables of each account of `GET /api/limits`. */
const ACCOUNTS = {
  storedBytesPerUser: [
    ...['server', 'openapi_document', 'openapi_document_part', 'server_group', 'group_member', 'group_lost_member'],
    ...['group_former_path', 'setting', 'access_key', 'owned_setting', 'alert_silence', 'import_run'],
  ],
  diskBytesPerUser: ['plugin_bundles__files', 'plugin_bundles__owners', 'plugin_bundles__parts'],
} as const
type Account = keyof typeof ACCOUNTS

/** Tables with limits of their own: the most rows of one user, and bytes of each. */
const BOUNDED: Readonly<Record<string, { readonly rows: number; readonly rowBytes: number }>> = {
  audit: { rows: LIMITS.auditRowsKept, rowBytes: LIMITS.auditDetailBytes + KIB },
  sign_in: { rows: LIMITS.signInsPerUser, rowBytes: KIB },
  client_session: { rows: LIMITS.sessionsPerUser, rowBytes: KIB },
  revoked_token: { rows: LIMITS.signInsPerUser, rowBytes: KIB },
  reset_link: { rows: 1, rowBytes: KIB },
  alert_instance: { rows: LIMITS.alertInstancesPerUser, rowBytes: 2 * KIB },
  alert_incident: { rows: LIMITS.alertsKept, rowBytes: 4 * KIB },
  alert_delivery: { rows: LIMITS.alertChannelsPerUser * LIMITS.alertDeliveriesWaiting, rowBytes: 2 * KIB },
  server_era: { rows: LIMITS.serversPerUser, rowBytes: KIB },
  server_asking: { rows: LIMITS.serversPerUser, rowBytes: 64 * KIB },
  server_catalog: { rows: LIMITS.serversPerUser, rowBytes: 4 * LIMITS.serverTextBytes },
  server_catalog_part: { rows: LIMITS.catalogBytesPerUser / (64 * KIB), rowBytes: 128 * KIB },
  tool_definition: { rows: LIMITS.serversPerUser * LIMITS.toolDefinitions, rowBytes: KIB },
  plugin_oauth_client__credential: { rows: 200, rowBytes: 512 * KIB },
  plugin_oauth_client__held_token: { rows: 250, rowBytes: 512 * KIB },
  // One limit for all users together.
  plugin_oauth_client__registration: { rows: 1_000, rowBytes: 128 * KIB },
  plugin_oauth_client__migration: { rows: 100, rowBytes: KIB },
  plugin_approvals__policy: { rows: LIMITS.serversPerUser + LIMITS.groupsPerUser, rowBytes: 256 * KIB },
  plugin_approvals__approval: { rows: 200 + 16, rowBytes: 64 * KIB },
  plugin_approvals__decision: { rows: 2 * 200, rowBytes: KIB },
  plugin_approvals__migration: { rows: 100, rowBytes: KIB },
  plugin_invitations__invitation: { rows: 100, rowBytes: 4 * KIB },
  plugin_invitations__acceptance: { rows: 100 * 100, rowBytes: KIB },
  plugin_invitations__migration: { rows: 100, rowBytes: KIB },
  plugin_quotas__plan: { rows: 200 + LIMITS.serversPerUser * 100, rowBytes: KIB },
  plugin_quotas__counter: { rows: 200 + LIMITS.serversPerUser * 100, rowBytes: KIB },
  plugin_quotas__usage: { rows: 31 * 100, rowBytes: KIB },
  plugin_quotas__migration: { rows: 100, rowBytes: KIB },
  plugin_oauth_server__grants: { rows: 100, rowBytes: 8 * KIB },
  plugin_oauth_server__codes: { rows: 100, rowBytes: KIB },
  plugin_oauth_server__decisions: { rows: 10_000, rowBytes: KIB },
  plugin_sign_in__factors: { rows: 11, rowBytes: 2 * KIB },
  plugin_sign_in__passkeys: { rows: 11, rowBytes: 12 * KIB },
  plugin_sign_in__recovery_codes: { rows: 10, rowBytes: KIB },
  plugin_sign_in__identities: { rows: 20, rowBytes: 4 * KIB },
  plugin_sign_in__tickets: { rows: 20, rowBytes: KIB },
  plugin_guards__rule_set: { rows: LIMITS.serversPerUser + LIMITS.groupsPerUser, rowBytes: 64 * KIB },
  plugin_guards__migration: { rows: 100, rowBytes: KIB },
  plugin_bundles__migration: { rows: 100, rowBytes: KIB },
  plugin_sign_in__migration: { rows: 100, rowBytes: KIB },
  // Only administrators and the hub write these.
  plugin_oauth_server__clients: { rows: 500, rowBytes: 8 * KIB },
  plugin_oauth_server__blocks: { rows: 500, rowBytes: 4 * KIB },
  plugin_oauth_server__migration: { rows: 100, rowBytes: KIB },
  waiting_row: { rows: 0, rowBytes: KIB },
  share: { rows: LIMITS.sharesPerThing * (LIMITS.serversPerUser + LIMITS.groupsPerUser), rowBytes: KIB },
  team: { rows: LIMITS.teams, rowBytes: KIB },
  team_member: { rows: LIMITS.teams * LIMITS.teamMembers, rowBytes: KIB },
  user: { rows: 2, rowBytes: KIB },
  kysely_migration: { rows: 1_000, rowBytes: KIB },
  kysely_migration_lock: { rows: 1, rowBytes: KIB },
}

/** The database, files that are counted with it, and programs that the hub copies for its sandbox. */
const APART = /^(?:patchbay\.db.*|bundles|runtime)$/
/** Bytes of all other files together: a record of each request, without its body, and the hub's own files. */
const OTHER_FILES_BYTES = extent(2, 8) * KIB * KIB

let hub: Hub
let bob: Client
let round = 0

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  bob = await hub.user('bob')
  bob.patient = true
  await prepareStored(bob)
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** Routes that change something and are open to ordinary users, from the API document. */
async function changingRoutes(): Promise<readonly string[]> {
  const { paths } = await bob.ok('GET', '/api/openapi.json')
  return Object.entries(paths as Record<string, Record<string, Record<string, unknown>>>).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method, { 'x-access': access }]) => method !== 'get' && method !== 'delete' && access !== 'admin')
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

interface Sizes {
  readonly used: Readonly<Record<Account, number>>
  readonly written: Readonly<Record<Account, number>>
}

async function sizes(): Promise<Sizes> {
  const { items } = (await bob.ok('GET', '/api/limits')) as { items: { name: string; used: number }[] }
  const tables = tableSizes(hub)
  const accounts = Object.entries(ACCOUNTS)
  const used = accounts.map(([account]) => [account, items.find(({ name }) => name === account)?.used ?? 0])
  const written = accounts.map(([account, names]) => {
    const files = account === 'diskBytesPerUser' ? (folderSizes(hub).bundles ?? 0) : 0
    return [account, names.reduce((sum, name) => sum + (tables[name]?.bytes ?? 0), files)]
  })
  return { used: Object.fromEntries(used), written: Object.fromEntries(written) } as Sizes
}

/** Accounts for which one step wrote more than it charged. */
function uncharged(what: string, before: Sizes, after: Sizes): string[] {
  return (Object.keys(ACCOUNTS) as Account[]).flatMap(account => {
    const charged = after.used[account] - before.used[account]
    const written = after.written[account] - before.written[account]
    if (written <= FACTOR * Math.max(charged, 0) + FIXED_BYTES) return []
    return [`${what}: ${written} bytes written, ${charged} charged to ${account}`]
  })
}

test('every route that changes something is known to store something or not', async () => {
  const known = [...Object.keys(STORING), ...Object.keys(STORING_NOTHING)]
  const ofPlugins = known.filter(route => route.includes(' /api/plugins/'))
  expect(known.toSorted()).toEqual([...(await changingRoutes()), ...ofPlugins].toSorted())
})

test('bytes that each route stores count on an account', async () => {
  const problems: string[] = []
  let before = await sizes()
  for (let at = 0; at < ROUNDS; at += 1) {
    for (const [route, send] of Object.entries(STORING)) {
      await send(bob, round)
      round += 1
      const after = await sizes()
      problems.push(...uncharged(route, before, after))
      const charged = (Object.keys(ACCOUNTS) as Account[]).some(name => after.used[name] > before.used[name])
      if (at === 0 && !charged) problems.push(`${route}: nothing was charged, so that this shows nothing`)
      before = after
    }
  }
  expect(problems).toEqual([])
}, 120_000)

test(
  'requests to the other routes store nothing that no account counts',
  async () => {
    const problems: string[] = []
    let before = await sizes()
    for (const { name, growths, send } of await routeTargets(bob, () => bob)) {
      if (STORING_NOTHING[name] === undefined || / \/api\/(?:setup|auth)/.test(name)) continue
      const short = growths.filter(({ name: what }) => /^(?:text|list|map)/.test(what)).slice(0, 2)
      for (const { sizes: lengths, make } of extent(short, growths))
        for (const length of extent(lengths.slice(0, 1), lengths)) await send(make(Math.floor(length)))
      const after = await sizes()
      problems.push(...uncharged(name, before, after))
      before = after
    }
    expect(problems).toEqual([])
  },
  extent(60_000, 600_000),
)

test('the unpacked files of a bundle that runs are on the account', async () => {
  const { items } = await bob.ok('GET', '/api/bundles')
  const name = items.flatMap(({ servers }: { servers: string[] }) => servers)[0]
  await bob.ok('POST', `/api/servers/${name}/start`)
  await until(() => (folderSizes(hub).bundles ?? 0) > UNPACKED_BYTES, { what: 'unpacked files' })
  const { written, used } = await sizes()
  expect(written.diskBytesPerUser).toBeLessThan(used.diskBytesPerUser + FIXED_BYTES)
  await bob.ok('POST', `/api/servers/${name}/stop`)
})

test('all else that was written has a limit of its own', async () => {
  const accounted = new Set<string>(Object.values(ACCOUNTS).flat())
  const beyond = Object.entries(tableSizes(hub))
    .filter(([table]) => !accounted.has(table))
    .filter(([table, { rows, bytes }]) => {
      const bound = BOUNDED[table]
      return !bound || rows > bound.rows || bytes > FACTOR * rows * bound.rowBytes + FIXED_BYTES
    })
  expect(beyond).toEqual([])
  const files = Object.entries(folderSizes(hub)).filter(([name]) => !APART.test(name))
  const bytes = files.reduce((sum, [, size]) => sum + size, 0)
  expect([bytes < OTHER_FILES_BYTES, files]).toEqual([true, files])
})

test('at the limit nothing that grows is taken, by any route', async () => {
  // Makes the accounts full, with one document and one bundle of that size.
  const db = new Database(join(hub.dataDir, 'patchbay.db'))
  db.run('pragma busy_timeout = 5000')
  const document = 'update openapi_document set bytes = ? where id = (select min(id) from openapi_document)'
  db.run(document, [LIMITS.storedBytesPerUser])
  db.run(
    'update plugin_bundles__files set unpacked_bytes = ? where sha256 = (select min(sha256) from plugin_bundles__files)',
    [1_024 * KIB * KIB],
  )
  db.close()
  const taken: string[] = []
  let before = await sizes()
  for (const [route, send] of Object.entries(STORING)) {
    const said = await send(bob, round).then(JSON.stringify, String)
    round += 1
    const after = await sizes()
    const grown = (Object.keys(ACCOUNTS) as Account[]).some(name => after.used[name] > before.used[name])
    before = after
    const isRefused = said?.includes('quota_stored_bytes') ?? false
    if (grown || (route.startsWith('POST') && !isRefused)) taken.push(`${route}: ${said?.slice(0, 200)}`)
  }
  expect(taken).toEqual([])
}, 60_000)
