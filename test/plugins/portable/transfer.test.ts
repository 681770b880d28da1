/** A server and a group that pass to another owner, with their shares, quotas, rules and invitation links. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../../support/hub.ts'
import { startReceiver } from '../../support/receiver.ts'
import { callText, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

setDefaultTimeout(60_000)

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ASK = { when: { tools: ['env'] }, then: 'ask', who: 'owner' }

let hub: Hub
let admin: Client
let people: Record<'ada' | 'bob' | 'cleo' | 'dan', Client>
const receiver = startReceiver(() => Response.json({ action: 'pass' }))

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  const ada = await hub.user('ada', 'admin')
  const bob = await hub.user('bob', 'admin')
  const [cleo, dan] = await Promise.all(['cleo', 'dan'].map(name => hub.user(name)))
  people = { ada, bob, cleo, dan } as typeof people
  await ada.ok('POST', '/api/servers', { name: 'notes', ...stdioFixture('echo') })
  await online(ada, ['notes'])
  await ada.ok('POST', '/api/groups', { name: 'work', members: ['notes'] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 120_000)

test('shares, quotas and rules stay; the new owner decides, and webhooks of the former owner are not asked', async () => {
  const { ada, bob, cleo, dan } = people
  const hook = { url: receiver.url, secret: SECRET, timeoutMs: 2_000, onFailure: 'closed' }
  const review = { id: 'review', on: 'arguments', then: 'refuse', webhook: hook }
  const shares = [
    { subject: 'user:bob', role: 'see' },
    { subject: 'user:cleo', role: 'use' },
  ]
  for (const path of ['servers/notes', 'groups/work']) {
    await ada.ok('PUT', `/api/${path}/shares`, { shares })
    await ada.ok('PUT', `/api/${path}/quota`, { quota: { perDay: 30 } })
    await ada.ok('PUT', `/api/${path}/approvals`, { rules: [ASK] })
  }
  await ada.ok('PUT', '/api/servers/notes/guards', { rules: [review] })
  const { url } = await ada.ok('POST', '/api/invitations', { things: [{ kind: 'server', ref: 'notes' }], role: 'use' })
  const before = await ada.mcp('/mcp/notes')
  expect(await callText(before, 'echo', { text: 'one' })).toContain('one')
  expect(receiver.received.length).toBe(1)

  await admin.ok('PATCH', '/api/servers/ada~notes', { owner: 'bob' })
  await admin.ok('PATCH', '/api/groups/ada~work', { owner: 'bob' })
  for (const path of ['servers/notes', 'groups/work']) {
    // The new owner's own share ends; the one of others stays, given by whom it was.
    expect((await bob.ok('GET', `/api/${path}/shares`)).items).toMatchObject([
      { subject: 'user:cleo', role: 'use', grantedBy: 'ada' },
    ])
    expect((await bob.ok('GET', `/api/${path}/quota`)).quota).toEqual({ perDay: 30 })
    expect((await bob.ok('GET', `/api/${path}/approvals`)).rules).toEqual([ASK])
  }
  const accepted = await dan.request('POST', '/api/invitations/accept', { token: new URL(url).hash.slice(1) })
  expect([accepted.status, accepted.json.code]).toEqual([410, 'invitation_expired'])
  expect((await dan.request('GET', '/api/servers/bob~notes')).status).toBe(404)

  await online(bob, ['notes'])
  const client = await cleo.mcp('/mcp/@bob/notes')
  const refused = await client.callTool({ name: 'echo', arguments: { text: 'two' } })
  expect([refused.isError, JSON.stringify(refused)]).toEqual([true, expect.stringContaining('guard_refused')])
  expect(receiver.received.length).toBe(1)
  const { rules } = await bob.ok('GET', '/api/servers/notes/guards')
  await bob.ok('PUT', '/api/servers/notes/guards', { rules })
  expect(await callText(client, 'echo', { text: 'three' })).toContain('three')
  expect(receiver.received.length).toBe(2)
  // The rule asks the new owner.
  const call = client.callTool({ name: 'env', arguments: { name: 'HOME' } })
  const [{ id }] = await until(
    async () => {
      const { items } = await bob.ok('GET', '/api/approvals?state=pending')
      return items.length > 0 && items
    },
    { what: 'the question to the new owner' },
  )
  await bob.ok('POST', `/api/approvals/${id}`, { decision: 'approve' })
  expect((await call).isError ?? false).toBe(false)
})
