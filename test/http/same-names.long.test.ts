/** Things of several owners under one name, and bodies that name an owner. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, send, startHub } from '../support/hub.ts'
import { type LiveStream, openStream } from '../support/live-stream.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const NAMES = ['ada', 'bob'] as const
type Name = (typeof NAMES)[number]

const KINDS = [
  ['/api/monitoring/rules', { condition: 'server_status == offline', severity: 'critical' }],
  ['/api/monitoring/channels', { type: 'webhook', config: { url: 'https://hooks.example/a' } }],
  ['/api/monitoring/dashboards', { widgets: [{ type: 'metric', query: 'servers_total' }] }],
  ['/api/assistant/endpoints', { direction: 'inbound', group: 'ada~same' }],
] as const

let hub: Hub
let admin: Client
const upstreams = new Map<Name, Program>()
const people = new Map<Name, Client>()
const streams = new Map<Name, LiveStream>()
const of = <T>(map: Map<Name, T>, name: Name): T => {
  const found = map.get(name)
  if (found === undefined) throw new Error(`Nothing of ${name}`)
  return found
}

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  for (const name of NAMES) {
    upstreams.set(name, await startProgram(join(ROOT, 'test/support/mcp-servers/echo-http.ts'), { env: { WHO: name } }))
    people.set(name, await hub.user(name))
    streams.set(name, await openStream(of(people, name), '?topics=servers,logs,calls'))
  }
  for (const name of NAMES) {
    const me = of(people, name)
    await me.ok('POST', '/api/servers', { name: 'same', url: of(upstreams, name).url, description: `of ${name}` })
    await me.ok('POST', '/api/groups', { name: 'same', members: ['same'] })
    await online(me, ['same'])
  }
}, 120_000)

afterAll(async () => {
  for (const stream of streams.values()) await stream.close()
  await hub?.stop()
  for (const upstream of upstreams.values()) await upstream.stop()
}, 120_000)

describe('of two people, each with a server and a group "same"', () => {
  test('each one lists, reads and calls the own, also by its full name', async () => {
    for (const name of NAMES) {
      const me = of(people, name)
      for (const path of ['/api/servers?scope=visible', '/api/groups?scope=visible']) {
        expect((await me.ok('GET', path)).items.map((item: { ref: string }) => item.ref)).toEqual([`${name}~same`])
      }
      for (const ref of ['same', 'SAME', `${name}~same`]) {
        expect((await me.ok('GET', `/api/servers/${ref}`)).description).toBe(`of ${name}`)
        const { result } = await me.ok('POST', `/api/servers/${ref}/tools/whoami/call`, {})
        expect(result.content[0].text).toContain(`"who":"${name}"`)
      }
    }
  })

  test('each one receives only its own states, calls and log records', async () => {
    for (const name of NAMES) {
      const stream = of(streams, name)
      await stream.next(({ event }) => event === 'tool.called')
      await stream.next(({ event, data }) => event === 'connection.state' && data.data.state === 'online')
      expect([...new Set(stream.events.map(({ data }) => data.owner).filter(owner => owner !== null))]).toEqual([name])
      expect(stream.text()).not.toContain(of(people, name === 'ada' ? 'bob' : 'ada').name)
    }
  })

  test('an administrator’s charts, tables and counts over time tell them apart', async () => {
    const both = ['ada~same', 'bob~same']
    const shown = (person: Client, type: string, query: string) =>
      person.ok('POST', '/api/monitoring/query', { type, query })
    const chart = await until(async () => {
      const { series } = await shown(admin, 'chart', 'request_count by server')
      const calls = series.flatMap(({ points }: { points: [string, number][] }) => points.map(([, count]) => count))
      return calls.reduce((sum: number, count: number) => sum + count, 0) === 6 ? series : undefined
    })
    expect(chart.map(({ label }: { label: string }) => label).sort()).toEqual(both)
    const { series } = await shown(admin, 'chart', 'request_count by tool')
    expect(series.map(({ label }: { label: string }) => label).sort()).toEqual(both.map(ref => `${ref} whoami`))
    const first = (rows: readonly (readonly string[])[]) => rows.map(row => row[0]).sort()
    for (const query of ['request_count by server', 'p95_response_time by tool', 'tools']) {
      expect([query, first((await shown(admin, 'table', query)).rows)]).toEqual([query, both])
      expect(first((await shown(of(people, 'ada'), 'table', query)).rows)).toEqual(['same'])
    }
    const calls = (await shown(admin, 'table', 'calls')).rows
    expect([...new Set(calls.map((row: readonly string[]) => row[3]))].sort()).toEqual(both)
    const counts = async (person: Client) => {
      const query = 'timeline?by=server&interval=1h&range=1h'
      const { points } = await person.ok('GET', `/api/logs/aggregations/${query}`)
      return [...new Set(points.flatMap((point: { counts: object }) => Object.keys(point.counts)))]
    }
    expect(await counts(admin)).toEqual(expect.arrayContaining(both))
    expect(await counts(admin)).not.toContain('same')
    expect(await counts(of(people, 'ada'))).toEqual(['same'])
  })

  test('an edit, a stop and a removal by one is nothing to the other', async () => {
    const before = await of(people, 'bob').ok('GET', '/api/servers/same')
    const ada = of(people, 'ada')
    await ada.ok('PATCH', '/api/servers/same/tools/whoami', { enabled: false })
    await ada.ok('POST', '/api/servers/same/restart?wait=5s')
    await ada.ok('POST', '/api/servers/same/stop?wait=30s')
    await ada.ok('PATCH', '/api/groups/same', { description: 'of ada' })
    await ada.ok('DELETE', '/api/groups/same')
    await ada.ok('DELETE', '/api/servers/same')
    expect(await of(people, 'bob').ok('GET', '/api/servers/same')).toEqual(before)
    expect((await of(people, 'bob').ok('GET', '/api/groups/same')).members).toMatchObject([{ server: 'bob~same' }])
    expect((await ada.request('GET', '/api/servers/same')).status).toBe(404)
    expect((await ada.request('GET', '/api/servers/bob~same')).status).toBe(404)
    expect(of(streams, 'bob').text()).not.toContain('ada')
  }, 120_000)

  test('the audit and an administrator tell them apart', async () => {
    const { items } = await admin.ok('GET', '/api/admin/audit?action=server.create')
    expect(items.map((item: { user: string; target: string }) => `${item.user} ${item.target}`).sort()).toEqual([
      'ada ada~same',
      'bob bob~same',
    ])
    expect((await admin.ok('GET', '/api/servers/same')).ref).toBe('bob~same')
    await of(people, 'ada').ok('POST', '/api/servers', { name: 'same', url: of(upstreams, 'ada').url, enabled: false })
    const several = await admin.request('GET', '/api/servers/same')
    expect([several.status, several.json.code, several.json.candidates]).toEqual([
      409,
      'server_ambiguous',
      ['ada~same', 'bob~same'],
    ])
  })
})

describe('a body that repeats the identity of its record', () => {
  const ada = () => of(people, 'ada')
  beforeAll(async () => void (await ada().ok('POST', '/api/groups', { name: 'same', members: ['same'] })), 120_000)

  describe.each(KINDS)('%s', (path, fields) => {
    const refused = async (by: Client, method: string, at: string, body: object) => {
      const { status, json } = await by.request(method, at, body)
      return [status, ...(json.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
    }

    test('another owner is refused at its field, on making, replacing and changing', async () => {
      const other = { owner: 'bob' }
      for (const by of [ada(), admin]) {
        expect(await refused(by, 'POST', path, { name: 'moved', ...fields, ...other })).toEqual([400, '#/owner'])
        expect((await by.request('GET', `${path}/moved`)).status).toBe(404)
      }
      const made = await ada().ok('POST', path, { name: 'kept', ...fields, owner: 'ada' })
      const at = `${path}/ada~kept`
      for (const by of [ada(), admin]) {
        expect(await refused(by, 'PUT', at, { name: 'kept', ...fields, ...other })).toEqual([400, '#/owner'])
        expect(await refused(by, 'PATCH', at, other)).toEqual([400, '#/owner'])
        expect(await refused(by, 'PATCH', at, { owner: null })).toEqual([400, '#/owner'])
      }
      const foreign = { ...made, id: 'x', ref: 'ada~another', owner: 7 }
      expect(await refused(ada(), 'PUT', at, foreign)).toEqual([400, '#/owner', '#/id', '#/ref'])
      expect(await ada().ok('GET', at)).toMatchObject({ owner: 'ada', revision: 1, id: made.id })
    })

    test('a body that was read can be changed and written back, also under another name, by owner and administrator', async () => {
      const read = await ada().ok('GET', `${path}/kept`)
      const renamed = await ada().ok('PUT', `${path}/kept`, { ...read, name: 'renamed' })
      expect(renamed).toMatchObject({ id: read.id, ref: 'ada~renamed', owner: 'ada', revision: 2 })
      expect(await ada().ok('PATCH', `${path}/renamed`, { ...renamed, name: 'again' })).toMatchObject({ revision: 3 })
      // Only the owner can use masks.
      const config = 'config' in fields ? { config: fields.config } : {}
      const known = await admin.ok('GET', `${path}/ada~again`)
      expect(await admin.ok('PATCH', `${path}/ada~again`, { name: 'last', owner: 'ADA', ...config })).toMatchObject({
        ...{ id: known.id, owner: 'ada', ref: 'ada~last' },
      })
      // A copy of one's own thing: it gets an id of its own.
      const { token: _token, ...copied } = await ada().ok('GET', `${path}/last`)
      expect((await ada().ok('POST', path, { ...copied, name: 'copy', ...config })).id).not.toBe(copied.id)
    })
  })
})

describe('signing in', () => {
  test('is slowed down by account and address after five failures, whatever headers say', async () => {
    const attempt = (at: number) =>
      send(
        hub.url,
        'POST',
        '/api/auth/login',
        { username: at % 2 ? 'BOB' : 'bob', password: `wrong ${at}` },
        { 'x-forwarded-for': `203.0.113.${at}` },
      )
    const statuses: number[] = []
    for (let at = 0; at < 5; at += 1) statuses.push((await attempt(at)).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401])
    // Repeated, since the pause may be over meanwhile on a slow machine; each failure doubles it.
    let tried = 5
    const sixth = await until(async () => {
      tried += 1
      const answer = await attempt(tried)
      return answer.status === 429 && answer
    })
    expect([sixth.status, sixth.json.code]).toEqual([429, 'login_throttled'])
    expect(Number(sixth.headers.get('retry-after'))).toBeWithin(1, 2 ** (tried - 6) + 1)
    expect((await of(people, 'bob').request('GET', '/api/auth/me')).status).toBe(200)
    await until(
      async () =>
        (
          await send(hub.url, 'POST', '/api/auth/login', {
            username: 'bob',
            password: 'correct horse battery staple 7',
          })
        ).status === 200,
      { what: 'the right password to be taken again', intervalMs: 250 },
    )
  }, 120_000)
})
