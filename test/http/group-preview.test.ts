/** What a group would look like to a client, before it is saved. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'

let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  const settings = { mcpServers: { one: stdioFixture('echo'), two: stdioFixture('echo') } }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  bob = await hub.user('bob')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

const shown = ({ items, counts, tokens, warnings }: Record<string, unknown>) => ({ items, counts, tokens, warnings })

test.each([
  ['a clash of names', { members: ['one', 'two'] }],
  ['prefixes', { naming: 'prefixed', members: ['one', { server: 'two', alias: 'second' }] }],
  ['a selection under another name', { members: [{ server: 'one', tools: [{ name: 'echo', as: 'say' }] }, 'two'] }],
  ['nothing in it', { members: [] }],
])('the preview of a group equals what it lists once it is saved: %s', async (_, body) => {
  const name = 'previewed'
  const preview = await admin.ok('POST', '/api/groups/preview', { name, ...body })
  expect((await admin.request('GET', `/api/groups/${name}`)).status).toBe(404)
  await admin.ok('POST', '/api/groups', { name, ...body })
  expect(shown(preview)).toEqual(shown(await admin.ok('GET', `/api/groups/${name}/tools`)))
  await admin.ok('DELETE', `/api/groups/${name}`)
})

test('it can be read in pages', async () => {
  const body = { name: 'paged', members: ['one', 'two'] }
  const whole = await admin.ok('POST', '/api/groups/preview', body)
  expect(whole.total).toBeGreaterThan(1)
  const last = await admin.ok('POST', `/api/groups/preview?limit=1&offset=${whole.total - 1}`, body)
  expect(last.items).toEqual(whole.items.slice(-1))
  expect(last.total).toBe(whole.total)
})

test('it saves nothing, and leaves no trace in the audit', async () => {
  const before = await admin.ok('GET', '/api/groups')
  const audit = await admin.ok('GET', '/api/admin/audit')
  await admin.ok('POST', '/api/groups/preview', { name: 'unsaved', members: ['one'] })
  expect((await admin.ok('GET', '/api/groups')).total).toBe(before.total)
  expect((await admin.ok('GET', '/api/admin/audit')).total).toBe(audit.total)
})

test('what saving refuses is refused alike: private servers of others, unknown ones, owners', async () => {
  for (const body of [
    { name: 'x', members: ['admin~one'] },
    { name: 'x', members: ['no-such-server'] },
    { name: 'x', owner: 'admin', members: [] },
    { name: '', members: [] },
  ]) {
    const preview = await bob.request('POST', '/api/groups/preview', body)
    const saving = await bob.request('POST', '/api/groups', body)
    expect(saving.status).toBeGreaterThanOrEqual(400)
    const { requestId: _, instance: __, ...refused } = saving.json
    expect(preview.json).toMatchObject(refused)
    expect(preview.status).toBe(saving.status)
  }
})
