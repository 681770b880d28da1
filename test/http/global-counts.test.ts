/** Ordinary users learn nothing of how much all the others do. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

const REQUESTS = 60

let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('request ids are random: no part of two of them counts on', async () => {
  const ids: string[] = []
  for (let n = 0; n < REQUESTS; n += 1) ids.push((await bob.request('GET', '/api/servers/nobody')).json.requestId)
  expect(ids.filter(id => !/^[0-9a-f]{16}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(REQUESTS)
  // Of a prefix or a counter some place would hardly change; 60 random digits of 16 leave some 15 different ones.
  for (let place = 0; place < 16; place += 1) {
    expect(new Set(ids.map(id => id[place])).size).toBeGreaterThan(8)
  }
  expect(ids.toSorted()).not.toEqual(ids)
})

test('how many records of all wait to be stored is said to administrators alone', async () => {
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
