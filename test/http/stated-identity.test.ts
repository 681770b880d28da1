/** A body may repeat what was answered of its record; it cannot give the record to somebody else, or mean another one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'

const KINDS = [
  ['/api/monitoring/rules', { condition: 'server_status == offline', severity: 'critical' }],
  ['/api/monitoring/channels', { type: 'webhook', config: { url: 'https://hooks.example/a' } }],
  ['/api/monitoring/dashboards', { widgets: [{ type: 'metric', query: 'servers_total' }] }],
  ['/api/assistant/endpoints', { direction: 'inbound', group: 'admin~echo' }],
] as const

let hub: Hub
let admin: Client
let alice: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { echo: { ...stdioFixture('echo'), visibility: 'public' } } } })
  admin = await hub.setup()
  alice = await hub.user('alice')
  await hub.user('bob')
  await online(admin, ['echo'])
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

describe.each(KINDS)('%s', (path, fields) => {
  const refused = async (by: Client, method: string, at: string, body: object) => {
    const { status, json } = await by.request(method, at, body)
    return [status, ...(json.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
  }

  test('another owner is refused at its field, on making, replacing and changing', async () => {
    const other = { owner: 'bob' }
    for (const by of [alice, admin]) {
      expect(await refused(by, 'POST', path, { name: 'moved', ...fields, ...other })).toEqual([400, '#/owner'])
      expect((await by.request('GET', `${path}/moved`)).status).toBe(404)
    }
    const made = await alice.ok('POST', path, { name: 'kept', ...fields, owner: 'alice' })
    const at = `${path}/alice~kept`
    for (const by of [alice, admin]) {
      expect(await refused(by, 'PUT', at, { name: 'kept', ...fields, ...other })).toEqual([400, '#/owner'])
      expect(await refused(by, 'PATCH', at, other)).toEqual([400, '#/owner'])
      expect(await refused(by, 'PATCH', at, { owner: null })).toEqual([400, '#/owner'])
    }
    const foreign = { ...made, id: 'x', ref: 'alice~another', owner: 7 }
    expect(await refused(alice, 'PUT', at, foreign)).toEqual([400, '#/owner', '#/id', '#/ref'])
    expect(await alice.ok('GET', at)).toMatchObject({ owner: 'alice', revision: 1, id: made.id })
  })

  test('what was read is changed and written back, also under another name, by owner and administrator', async () => {
    const read = await alice.ok('GET', `${path}/kept`)
    const renamed = await alice.ok('PUT', `${path}/kept`, { ...read, name: 'renamed' })
    expect(renamed).toMatchObject({ id: read.id, ref: 'alice~renamed', owner: 'alice', revision: 2 })
    expect(await alice.ok('PATCH', `${path}/renamed`, { ...renamed, name: 'again' })).toMatchObject({ revision: 3 })
    // Masks are for the owner alone.
    const config = 'config' in fields ? { config: fields.config } : {}
    const known = await admin.ok('GET', `${path}/alice~again`)
    expect(await admin.ok('PATCH', `${path}/alice~again`, { name: 'last', owner: 'ALICE', ...config })).toMatchObject({
      ...{ id: known.id, owner: 'alice', ref: 'alice~last' },
    })
    // A copy of one's own thing: it gets an id of its own.
    const { token: _token, ...copied } = await alice.ok('GET', `${path}/last`)
    expect((await alice.ok('POST', path, { ...copied, name: 'copy', ...config })).id).not.toBe(copied.id)
  })
})
