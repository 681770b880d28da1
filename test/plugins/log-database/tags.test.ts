/** Tags of servers and groups as filters of log records and of their numbers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startEveryOutcome } from '../../support/every-outcome.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { online } from '../../support/servers.ts'

const remote = startEveryOutcome('secret')
let hub: Hub
let admin: Client
let ann: Client
let ben: Client

beforeAll(async () => {
  const crowd = Array.from({ length: 250 }, (_, at) => [
    `crowd-${at}`,
    { url: remote.url, tags: ['crowd'], enabled: false },
  ])
  const open = { url: remote.url, tags: ['Prod', 'eu', 'crowd'] }
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { ...Object.fromEntries(crowd), open } } })
  admin = await hub.setup()
  ann = await hub.user('ann')
  ben = await hub.user('ben')
  await admin.ok('PATCH', '/api/servers/open', { visibility: 'public' })
  for (const [person, name, tags] of [
    [ann, 'own', ['prod', 'private']],
    [ann, 'other', []],
    [ben, 'bens', ['prod']],
  ] as const)
    await person.ok('POST', '/api/servers', { name, url: remote.url, tags })
  await ann.ok('POST', '/api/groups', { name: 'night', tags: ['nightly'], members: [{ server: 'admin~open' }] })
  await ben.ok('POST', '/api/groups', { name: 'night', members: [{ server: 'admin~open' }] })
  await online(admin, ['admin~open', 'ann~own', 'ann~other', 'ben~bens'])
  const called = [
    [ann, 'ann~own', 3],
    [ann, 'ann~other', 2],
    [ben, 'ben~bens', 4],
    [ben, 'admin~open', 1],
  ] as const
  for (const [person, ref, times] of called)
    for (let call = 0; call < times; call += 1)
      await person.ok('POST', `/api/servers/${ref}/tools/good/call`, { arguments: {} })
  for (const person of [ann, ben]) {
    const client = await person.mcp('/mcp/night')
    const { tools } = await client.listTools()
    const good = tools.find(({ name }) => name.endsWith('good'))?.name ?? ''
    await client.callTool({ name: good, arguments: {} })
  }
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

const CALLS = 'q=tools/call'
const total = async (person: Client, query: string): Promise<number> =>
  (await person.ok('GET', `/api/logs/search?${CALLS}&${query}`)).total

test('a tag finds the records of the servers that have it and that the reader sees, letter case ignored', async () => {
  // ann: 3 at her own server, 1 at the public one by the group.
  expect(await total(ann, 'tag=PROD')).toBe(4)
  expect(await total(ben, 'tag=prod')).toBe(6)
  expect(await total(admin, 'tag=prod')).toBe(10)
  expect(await total(admin, 'tag=prod&scope=mine')).toBe(3)
  expect(await total(admin, 'tag=eu')).toBe(3)
  expect(await total(ann, 'tag=prod&server=own')).toBe(3)
})

test('a tag of a group finds the calls by that group alone, not those by another one of the same name', async () => {
  expect([await total(ann, 'tag=nightly'), await total(admin, 'tag=nightly')]).toEqual([1, 1])
  expect(await total(ben, 'tag=nightly')).toBe(0)
})

test('the text of a query and the conditions of a body take tags too, and a wrong operator has its place', async () => {
  const search = (text: string) => ann.ok('GET', `/api/logs/search?q=${encodeURIComponent(`tools/call ${text}`)}`)
  expect((await search('tag:private')).total).toBe(3)
  expect((await search('-tag:prod')).total).toBe(2)
  expect((await search('tag:(private or nightly)')).total).toBe(4)
  const post = async (query: object) =>
    (await ann.ok('POST', '/api/logs/search', { query: { and: [{ text: 'tools/call' }, query] } })).total
  expect([await post({ tag: { in: ['private', 'nightly'] } }), await post({ not: { tag: 'prod' } })]).toEqual([4, 2])
  const refused = await ann.request('POST', '/api/logs/search', { query: { tag: { contains: 'pro' } } })
  expect([refused.status, refused.json.errors[0]]).toMatchObject([
    400,
    { code: 'condition_unknown', pointer: '#/query/tag/contains' },
  ])
})

test('the counts over time, the numbers by server, the exports and the activity are those of the tag', async () => {
  const { histogram } = await ann.ok('GET', `/api/logs/search?${CALLS}&tag=prod&histogram=1h`)
  const counted = histogram.points.reduce((sum: number, point: { total: number }) => sum + point.total, 0)
  expect(counted).toBe(4)
  const bySever = await ann.ok('GET', '/api/logs/aggregations/requests-by-server?tag=prod')
  expect([bySever.total, bySever.outcomes, bySever.items.map((item: { server: string }) => item.server)]).toEqual([
    4,
    { ok: 4 },
    ['own', 'open'],
  ])
  const points = (await ann.ok('GET', '/api/logs/aggregations/timeline?tag=prod&by=outcome')).points
  expect(points.reduce((sum: number, point: { total: number }) => sum + point.total, 0)).toBe(4)
  expect((await ann.ok('GET', '/api/logs/aggregations/errors?tag=prod')).total).toBe(0)
  const { text } = await ann.request('GET', '/api/monitoring/export?format=csv&tag=private')
  expect(
    new Set(
      text
        .split('\n')
        .slice(1, -1)
        .map((line: string) => line.split(',')[2]),
    ),
  ).toEqual(new Set(['own']))
  expect((await ann.ok('GET', '/api/monitoring/activity?tag=prod')).calls).toBe(4)
})

test('a tag says nothing about servers that the reader does not see: as one that no server has', async () => {
  // One after the other, since a user has two searches at a time.
  const seen = async (person: Client, tag: string) => {
    const answers: object[] = []
    for (const path of ['logs/search?', 'logs/aggregations/requests-by-server?', 'monitoring/activity?']) {
      const { from: _from, to: _to, behind: _behind, ...rest } = await person.ok('GET', `/api/${path}tag=${tag}`)
      answers.push(rest)
    }
    return answers
  }
  expect(await seen(ben, 'private')).toEqual(await seen(ben, 'none-has-it'))
  expect((await ben.ok('GET', '/api/logs/aggregations/requests-by-server?tag=private')).total).toBe(0)
  const own = await admin.ok('GET', '/api/logs/aggregations/requests-by-server?tag=prod&scope=mine')
  expect(own.total).toBe(await total(admin, 'tag=prod&scope=mine'))
  // Calls at a server that was public stay readable by their caller, but its tags are not.
  await admin.ok('PATCH', '/api/servers/open', { visibility: 'private' })
  expect([await total(ben, 'tag=eu'), await total(ben, 'tag=prod'), await total(ben, '')]).toEqual([0, 4, 6])
  await admin.ok('PATCH', '/api/servers/open', { visibility: 'public' })
})

test('more servers than the index of terms takes are found too', async () => {
  expect(await total(admin, 'tag=crowd')).toBe(3)
  expect(await total(ann, 'tag=crowd')).toBe(1)
})
