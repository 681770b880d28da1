import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, send, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { alive, descendants } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { silencedAlert } from '../support/silenced-alert.ts'
import { timed, until } from '../support/wait.ts'

/** Longest time of an answer while the store is silent, besides its time on a quiet hub. */
const SILENT_MS = 5_000

let postgres: Postgres
let databaseUrl: string
let hub: Hub
let admin: Client
let key: string

beforeAll(async () => {
  postgres = await startPostgres()
  databaseUrl = await postgres.database('hub')
  hub = await startHub({
    env: { DATABASE_URL: databaseUrl },
    settings: { mcpServers: { filed: stdioFixture('echo', { WHO: 'filed' }) } },
  })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await postgres?.stop()
}, 120_000)

async function state(client: Client): Promise<unknown> {
  const [servers, groups, keys, users] = await Promise.all(
    ['/api/servers?sort=name', '/api/groups', '/api/keys', '/api/admin/users'].map(
      async path => (await client.ok('GET', path)).items,
    ),
  )
  return {
    servers: servers.map(({ status: _, ...server }: { status: unknown }) => server),
    groups: groups.map(({ endpoint: _, ...group }: { endpoint: string }) => group),
    keys: keys.map(({ lastUsedAt: _, ...one }: { lastUsedAt?: string }) => one),
    users: users.map(({ username, role }: { username: string; role: string }) => [username, role]),
  }
}

async function health(): Promise<{ status: number; store: string }> {
  const answer = await send(hub.url, 'GET', '/health')
  return { status: answer.status, store: answer.json.checks.store }
}

test('a hub on PostgreSQL: set-up, server, group, key, MCP call', async () => {
  await admin.ok('POST', '/api/servers', { name: 'stored', ...stdioFixture('echo', { WHO: 'stored' }) })
  await admin.ok('POST', '/api/groups', { name: 'g', members: ['filed', 'stored'] })
  await hub.user('bob')
  key = await admin.mcpKey()
  await online(admin, ['filed', 'stored'])
  const client = await admin.mcp('/mcp/g')
  expect(JSON.parse(await callText(client, 'stored_whoami')).who).toBe('stored')
  expect(await health()).toEqual({ status: 200, store: 'ok' })
})

test('rules, channels, silences, alerts and dashboards on PostgreSQL', async () => {
  await silencedAlert(admin, false)
  const [page] = (await admin.ok('GET', '/api/monitoring/alerts')).items
  expect(page).toMatchObject({ rule: 'gone', state: 'resolved' })
  await admin.ok('POST', '/api/monitoring/dashboards', {
    name: 'mine',
    widgets: [{ type: 'metric', title: 'Calls', query: 'request_count over 1h' }],
  })
  const { widgets } = await admin.ok('GET', '/api/monitoring/dashboards/mine/data')
  expect(widgets).toMatchObject([{ title: 'Calls', value: expect.any(Number) }])
  expect((await admin.ok('GET', '/api/monitoring/activity')).total).toBeGreaterThan(0)
}, 120_000)

test('many writes at once are all kept, and two of one name are one', async () => {
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      admin.request('POST', '/api/servers', { name: `w-${n % 6}`, url: 'http://127.0.0.1:9/mcp', enabled: false }),
    ),
  )
  expect(made.map(({ status }) => status).sort()).toEqual([...Array(6).fill(201), ...Array(6).fill(409)])
  for (const { status, text } of made) if (status === 409) expect(JSON.parse(text).code).toBe('server_name_taken')
  for (let n = 0; n < 6; n += 1) await admin.ok('DELETE', `/api/servers/w-${n}`)
})

test('the next start serves the same state', async () => {
  const before = await state(admin)
  await hub.stop({ keep: true })
  hub = await startHub({ env: { DATABASE_URL: databaseUrl }, folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, ['filed', 'stored'])
  expect(await state(admin)).toEqual(before)
  const client = await admin.mcp('/mcp/g', { credential: key })
  expect(await callText(client, 'filed_echo', { text: 'kept' })).toBe('kept')
}, 120_000)

test('a lost database: 503 store lost, calls continue, and everything is back with it', async () => {
  const client = await admin.mcp('/mcp/g', { credential: key })
  await callText(client, 'filed_whoami')
  const { pid } = await statusOf(admin, 'filed')
  const children = descendants(hub.pid).length
  await postgres.crash()
  await until(async () => (await health()).store === 'lost', { what: '/health to say that the store is lost' })
  expect((await health()).status).toBe(503)
  expect(JSON.parse(await callText(client, 'filed_whoami')).pid).toBe(pid)
  const refused = await timed(() => admin.request('POST', '/api/groups', { name: 'late', members: [] }))
  expect(refused.value.status).toBe(503)
  expect(refused.value.json.code).toBe('storage_unavailable')
  expect(refused.ms).toBeLessThan(atMost(6_000))
  const restarting = process.kill(pid ?? 0, 'SIGKILL')
  expect(restarting).toBe(true)
  await postgres.again()
  await until(async () => (await health()).status === 200, { timeoutMs: 60_000, what: '/health to be 200' })
  await admin.ok('POST', '/api/groups', { name: 'late', members: [] })
  await online(admin, ['filed', 'stored'], 70_000)
  expect(await until(() => callText(client, 'filed_echo', { text: 'back' }), { timeoutMs: 60_000 })).toBe('back')
  expect(descendants(hub.pid).length).toBe(children)
}, 120_000)

beyondCore(() => {
  test('a database that takes reads alone: 503 for changes, /health degraded, and everything is back with it', async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    /** Acts like a fail-over to a standby: the setting holds for new connections, and the old ones are cut. */
    const readOnly = async (on: boolean) => {
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter database hub set default_transaction_read_only = ${on ? 'on' : 'off'}`)
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> $2', [
        'hub',
        (await client.query('select pg_backend_pid() as pid')).rows[0].pid,
      ])
    }
    try {
      await readOnly(true)
      const change = () => admin.request('POST', '/api/groups', { name: 'read-only', members: [] })
      await until(async () => (await change()).status > 299 && (await health()).store === 'unwritable', {
        what: '/health to say that nothing can be written',
      })
      const refused = await change()
      expect([refused.status, refused.json.code]).toEqual([503, 'storage_unavailable'])
      expect((await health()).status).toBe(200)
      expect((await admin.ok('GET', '/api/groups')).items.length).toBeGreaterThan(0)
      await readOnly(false)
      await until(async () => (await health()).store === 'ok', { what: '/health to find it well again by itself' })
      await admin.ok('POST', '/api/groups', { name: 'read-only', members: [] })
    } finally {
      await client.end()
    }
  }, 120_000)
})

/** Runs the work while PostgreSQL is stopped but keeps its connections. */
async function hanging(work: () => Promise<void>): Promise<void> {
  const everything = [postgres.pid, ...descendants(postgres.pid).map(stat => stat.pid)]
  for (const pid of everything) process.kill(pid, 'SIGSTOP')
  try {
    await work()
  } finally {
    for (const pid of everything.reverse()) process.kill(pid, 'SIGCONT')
  }
}

beyondCore(() => {
  test('a database that hangs: answers stay bounded, calls continue, and it recovers', async () => {
    const client = await admin.mcp('/mcp/g', { credential: key })
    await callText(client, 'filed_whoami')
    const list = () => timed(() => admin.request('GET', '/api/groups'))
    // The hub has this many connections, and each of them will hang.
    const calm = await Promise.all(Array.from({ length: 20 }, list))
    const calmMs = Math.max(...calm.map(({ ms }) => ms))
    await hanging(async () => {
      const asked = await timed(health)
      expect(asked.value).toEqual({ status: 503, store: 'lost' })
      expect(asked.ms).toBeLessThan(atMost(2_000))
      const many = Array.from({ length: 12 }, list)
      expect(await callText(client, 'filed_echo', { text: 'on' })).toBe('on')
      for (const { value, ms } of await Promise.all(many)) {
        expect([value.status, value.json.code]).toEqual([503, 'storage_unavailable'])
        expect(ms).toBeLessThan(SILENT_MS + atMost(calmMs))
      }
      const late = await timed(() => admin.request('POST', '/api/groups', { name: 'hanging', members: [] }))
      expect([late.value.status, late.value.json.code]).toEqual([503, 'storage_unavailable'])
      expect(late.ms).toBeLessThan(SILENT_MS + atMost(calmMs))
    })
    await until(async () => (await health()).status === 200, { timeoutMs: 60_000 })
    expect((await admin.ok('GET', '/api/groups')).items.length).toBeGreaterThan(0)
    await client.close()
  }, 120_000)
})

/** A connection to the database that can be lost: open sockets then stay open and never send anything. */
function wayTo(url: string) {
  const { port, hostname } = new URL(url)
  const sockets = new Set<Socket>()
  let lost = false
  const server = createServer(from => {
    const to = connect(Number(port), hostname)
    for (const socket of [from, to]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    if (lost) return
    from.pipe(to).pipe(from)
  })
  return {
    async listen(): Promise<string> {
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      return url.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`)
    },
    lose(): void {
      lost = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    find(): void {
      lost = false
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

beyondCore(() => {
  test('a lost connection to the database: 503 within 5 s, nothing is written later, and new connections repair it', async () => {
    await using way = wayTo(await postgres.database('distant'))
    const far = await startHub({ env: { DATABASE_URL: await way.listen() } })
    try {
      const owner = await far.setup()
      const ask = (n: number) =>
        timed(() =>
          n % 2 === 0
            ? owner.request('GET', '/api/groups')
            : owner.request('POST', '/api/groups', { name: `lost-${n}`, members: [] }),
        )
      const calm = await timed(() => Promise.all(Array.from({ length: 12 }, () => owner.ok('GET', '/api/groups'))))
      way.lose()
      const answers = Promise.all(Array.from({ length: 14 }, (_, n) => ask(n)))
      const look = await timed(() => send(far.url, 'GET', '/health'))
      expect([look.value.status, look.value.json.checks.store]).toEqual([503, 'lost'])
      for (const { value, ms } of await answers) {
        expect([value.status, value.json.code]).toEqual([503, 'storage_unavailable'])
        expect(ms).toBeLessThan(SILENT_MS + atMost(calm.ms))
      }
      way.find()
      await until(async () => (await send(far.url, 'GET', '/health')).status === 200, {
        timeoutMs: 60_000,
        what: '/health to be 200',
      })
      await owner.ok('POST', '/api/groups', { name: 'found', members: [] })
      const { items } = await owner.ok('GET', '/api/groups')
      expect(items.map(({ name }: { name: string }) => name)).toEqual(['found'])
    } finally {
      await far.stop()
    }
  }, 120_000)

  test('TERM while the database hangs ends the hub in time with 0, and no child is left', async () => {
    const children = descendants(hub.pid).map(stat => stat.pid)
    // Records of the audit that wait to be stored.
    await Promise.all(Array.from({ length: 5 }, () => admin.ok('POST', '/api/servers/stored/refresh')))
    await hanging(async () => {
      const { value: code, ms } = await timed(() => hub.stop({ keep: true }))
      expect(code).toBe(0)
      expect(ms).toBeLessThan(atMost(10_000))
    })
    expect(children.filter(alive)).toEqual([])
    hub = await startHub({ env: { DATABASE_URL: databaseUrl }, folder: hub.folder })
    await hub.signIn('admin')
  }, 120_000)
})

test('a database that is not there ends the start with one line and no secret', async () => {
  const url = databaseUrl.replace('test@', 'test:canary-word@').replace('/hub', '/missing')
  const failure = await startHub({ env: { DATABASE_URL: url } }).catch((error: unknown) => error)
  expect(failure).toMatchObject({ exitCode: 1, log: expect.stringContaining('error: store_unavailable: ') })
  expect(JSON.stringify(failure)).not.toContain('canary-word')
}, 120_000)
