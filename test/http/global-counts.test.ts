/** Ordinary users learn nothing of how much all the others do. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MANIFEST, sendBundle } from '../support/bundle.ts'
import { differences, type Facts, readEverything } from '../support/everything-readable.ts'
import { Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { zipOf } from '../support/zip.ts'

const REQUESTS = 60
const OTHERS_SERVERS = 12

let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub({ env: { ...LOOPBACK, METRICS_TOKEN: 'a-token-for-metrics' } })
  admin = await hub.setup()
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await api.stop(true)
}, 120_000)

test('request ids are random: no part of two of them counts on', async () => {
  const ids: string[] = []
  for (let n = 0; n < REQUESTS; n += 1) ids.push((await bob.request('GET', '/api/servers/nobody')).json.requestId)
  expect(ids.filter(id => !/^[0-9a-f]{16}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(REQUESTS)
  // With a prefix or a counter, some place would hardly change; 60 random digits of 16 have some 15 different ones.
  for (let place = 0; place < 16; place += 1) {
    expect(new Set(ids.map(id => id[place])).size).toBeGreaterThan(8)
  }
  expect(ids.toSorted()).not.toEqual(ids)
})

test('the number of records that wait to be stored is shown to administrators only', async () => {
  expect(typeof (await admin.ok('GET', '/api/logs/search')).behind).toBe('number')
  const found = await bob.ok('GET', '/api/logs/search')
  expect([found.source, Object.hasOwn(found, 'behind')]).toEqual(['database', false])
})

test('a rollback says of nothing that it removed it, which was not there any more', async () => {
  const server = { url: 'https://never.example/', enabled: false }
  const document = { mcpServers: { stays: server, gone: server } }
  const { planHash } = await bob.ok('POST', '/api/import?dryRun=true', { document })
  const { id } = await bob.ok('POST', '/api/import', { document, planHash })
  await bob.ok('DELETE', '/api/servers/gone')
  expect(await bob.ok('POST', `/api/import/${id}/rollback`)).toEqual({
    ...{ removed: [{ kind: 'server', name: 'stays' }], restored: [], kept: [] },
    gone: [{ kind: 'server', name: 'gone' }],
  })
})

/** A server that is online as long as this answers, with the one tool `pets`. */
const api = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({}) })
const online = (name: string) => ({
  ...{ name, visibility: 'private' },
  // A regular check between two readings would be a difference.
  healthCheck: { interval: 3_600_000 },
  openapi: {
    schema: {
      ...{
        openapi: '3.1.0',
        info: { title: 'Pets', version: '1' },
        servers: [{ url: `http://127.0.0.1:${api.port}` }],
      },
      paths: { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'All' } } } } },
    },
  },
})

/** Makes a user's things of each kind, some of them in use. */
async function haveThings(client: Client, servers: number): Promise<void> {
  for (let at = 0; at < servers; at += 1) await client.ok('POST', '/api/servers', online(`s${at}`))
  await until(async () => (await statusOf(client, 's0')).counts.tools === 1, { what: 'a tool' })
  const alike = Array.from({ length: servers }, (_, at) => ({ name: `off${at}`, command: 'true', enabled: false }))
  await client.ok('POST', '/api/servers/batch', { servers: alike })
  await client.ok('POST', '/api/groups', { name: 'g', members: ['s0'] })
  await client.ok('POST', '/api/keys', { label: 'k', scopes: ['mcp'] })
  await client.ok('POST', '/api/monitoring/rules', { name: 'r', severity: 'warning', condition: 'servers_offline > 0' })
  const config = { url: 'https://never.example/' }
  await client.ok('POST', '/api/monitoring/channels', { name: 'c', type: 'webhook', enabled: false, config })
  await client.ok('POST', '/api/monitoring/dashboards', { name: 'd', widgets: [{ type: 'metric', query: 'sessions' }] })
  await client.ok('POST', '/api/monitoring/silences', { endsAt: new Date(Date.now() + 3_600_000).toISOString() })
  await client.ok('POST', '/api/assistant/endpoints', { name: 'e', direction: 'inbound', group: 's0' })
  await client.ok('POST', '/api/monitoring/custom-metrics', { orders: servers })
  await sendBundle(client, zipOf([{ name: 'manifest.json', content: JSON.stringify(MANIFEST) }]))
  const document = { mcpServers: { imported: { url: 'https://never.example/', enabled: false } } }
  const { planHash } = await client.ok('POST', '/api/import?dryRun=true', { document })
  await client.ok('POST', '/api/import', { document, planHash })
  for (let at = 0; at < 5 * servers; at += 1) await client.ok('POST', '/api/servers/s0/tools/pets/call', {})
  await client.request('POST', '/api/servers/s0/tools/none/call', {})
  await client.mcp('/mcp/s0')
}

const NAMES = {
  ...{ '/api/servers/': 's0', '/api/groups/': 'g', '/api/monitoring/rules/': 'r', '/api/monitoring/channels/': 'c' },
  ...{ '/api/monitoring/dashboards/': 'system-overview', '/api/assistant/endpoints/': 'e' },
  '/api/market/templates/': 'bundled:memory',
}

/** Values that may differ although the reader has and did the same, each with its reason. */
const EXPLAINED: Readonly<Record<string, RegExp>> = {
  'each answer has another id': /\/requestId$/,
  'a time, or the time since then': /\/(?:timestamp|from|to|at|lastUsedAt|since|uptimeMs|uptime|ageMs)$/,
  'a number by a time that has gone on': /\/(?:rate|callsPerMinute)$|"request_rate"\}\/body\/value$/,
  'the machine':
    /resources\/body\/(?:cpu|memory|disk|network\/bytes)|metrics\/system\/|(?:cpu|memory|disk)_usage\b|event_loop/,
  'requests of the reader': /api_requests\/|_api_time"|"api_\w+_count"/,
  'the summary that the specification gives to everybody': /^GET \/health\/body\/(?:servers|tools)\b/,
}

/** Differences that nothing explains, with their values. */
function unexplained(before: Facts, after: Facts): readonly string[] {
  return differences(before, after)
    .filter(({ place }) => !Object.values(EXPLAINED).some(pattern => pattern.test(place)))
    .map(({ place, values }) => `${place}: ${JSON.stringify(values)}`)
}

/** The answers and events for bob and a stranger when `name` has made things; undefined if a minute ended meanwhile. */
async function seenBeside(name: string) {
  const minute = () => Math.floor(Date.now() / 60_000)
  const begun = minute()
  // A metric is known for a minute after its report.
  await bob.ok('POST', '/api/monitoring/custom-metrics', { orders: 2 })
  const stranger = new Client(hub.url, '', '')
  const live = await openStream(bob, '?topics=servers,logs,alerts,calls')
  const [before, outside] = [await readEverything(bob, NAMES), await readEverything(stranger, NAMES)]
  const heard = live.events.length

  const other = await hub.user(name)
  other.patient = true
  await haveThings(other, OTHERS_SERVERS)
  for (let at = 0; at < 3; at += 1) await hub.user(`${name}${at}`)
  const spoken = await openStream(other)
  const [after, outsideAfter] = [await readEverything(bob, NAMES), await readEverything(stranger, NAMES)]
  await Promise.all([live.close(), spoken.close()])
  const events = live.events.slice(heard).map(({ data }) => data)
  return minute() === begun ? { before, after, outside, outsideAfter, events } : undefined
}

test('things and actions of others change nothing that a user can read or receive', async () => {
  bob.patient = true
  await haveThings(bob, 2)
  const requests = async () =>
    (await bob.ok('POST', '/api/monitoring/query', { type: 'metric', query: 'api_request_count' })).value
  // Requests are counted a moment after their answer.
  const settled = await requests()
  await until(async () => (await requests()) > settled, { what: 'the requests to be counted' })
  let seen: Awaited<ReturnType<typeof seenBeside>>
  for (const name of ['carol', 'dora', 'emil']) seen ??= await seenBeside(name)
  if (!seen) throw new Error('A minute ended between the two readings, three times')

  // The reading is not empty: it contains all things of the reader itself.
  const tools = [seen.before, seen.after].map(facts => facts.get('GET /api/monitoring/overview/body/tools'))
  expect([tools, seen.before.size > 1_000]).toEqual([[2, 2], true])
  expect(unexplained(seen.before, seen.after)).toEqual([])
  expect(unexplained(seen.outside, seen.outsideAfter)).toEqual([])
  expect(seen.events).toEqual([])
}, 120_000)

test('requests to the API are counted for who made them', async () => {
  const count = async (client: Client) =>
    (await client.ok('POST', '/api/monitoring/query', { type: 'metric', query: 'api_request_count' })).value
  const carol = await hub.signIn('carol')
  const mine = await count(bob)
  const all = await count(admin)
  for (let at = 0; at < REQUESTS; at += 1) await carol.ok('GET', '/api/auth/me')
  await until(async () => (await count(admin)) > all + REQUESTS, { what: 'all requests for the administrator' })
  // One request of bob's own may be counted by now.
  expect(await count(bob)).toBeLessThanOrEqual(mine + 1)
})

test('ids of live events do not count the events of others', async () => {
  const live = await openStream(bob)
  const made = async (name: string) => {
    await bob.ok('POST', '/api/servers', { name, command: 'true', enabled: false })
    return (await live.next(({ event, data }) => event === 'server.created' && data.data.name === name)).id ?? ''
  }
  const ids: string[] = []
  for (let at = 0; at < 20; at += 1) ids.push(await made(`event${at}`))
  await live.close()
  expect(ids.filter(id => !/^[0-9a-f]{32}$/.test(id))).toEqual([])
  for (let place = 0; place < 32; place += 1) expect(new Set(ids.map(id => id[place])).size).toBeGreaterThan(3)
  expect(ids.toSorted()).not.toEqual(ids)
})
