/** A request ends when its caller may not make the call any more; callers read names that they know. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Access } from '../../../plugins/approvals/access.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { openStream } from '../../support/live-stream.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { type Payments, startPayments } from './payments.ts'

setDefaultTimeout(120_000)

const THEN = 'then'
let hub: Hub
let admin: Client
let bob: Client
let una: Client
let payments: Payments
let amount = 0

beforeAll(async () => {
  payments = startPayments()
  const plugins = [{ use: 'approvals', config: { holdSeconds: 1 } }]
  hub = await startHub({ env: LOOPBACK, settings: { plugins, mcpServers: {} } })
  admin = await hub.setup()
  bob = await hub.user('bob')
  una = await hub.user('una')
  for (const name of ['bank', 'gone']) {
    await bob.ok('POST', '/api/servers', { name, url: payments.url })
    await bob.ok('PUT', `/api/servers/${name}/approvals`, { rules: [{ [THEN]: 'ask', timeout: '1h' }] })
  }
  await online(bob, ['bank', 'gone'])
  const tools = [{ name: 'pay_owner', as: 'spend' }]
  await bob.ok('POST', '/api/groups', { name: 'desk', members: [{ server: 'bank', tools }] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await payments?.stop()
}, 120_000)

const share = (thing: string, role: 'use' | null) =>
  role ? bob.ok('PUT', `/api/${thing}/shares/user:una`, { role }) : bob.ok('DELETE', `/api/${thing}/shares/user:una`)
const requests = async (who: Client) => (await who.ok('GET', '/api/approvals')).items
const one = async (who: Client, id: string) => who.ok('GET', `/api/approvals/${id}`)

/** A call at this path that waits, and the id of its request. */
async function waits(path: string, name: string, key: string): Promise<string> {
  amount += 1
  const { result, error } = await new RawModern(hub, path, key).call('tools/call', { name, arguments: { amount } })
  const [, id = ''] = /\/approvals\/([\w-]+)/.exec(JSON.stringify(error ?? result)) ?? []
  expect(JSON.stringify(error ?? result)).toContain('approval_pending')
  return id
}
const ended = (id: string, who = una) =>
  until(async () => ((await one(who, id)).state === 'pending' ? undefined : one(who, id)), { what: 'the end' })

test('a caller who knows only the group reads its name, and the name that the tool has there', async () => {
  await share('groups/desk', 'use')
  const stream = await openStream(una, '?topics=plugins')
  const id = await waits('/mcp/@bob/desk', 'spend', await una.mcpKey())
  const seen = await one(una, id)
  expect([seen.server, seen.group, seen.tool]).toEqual([undefined, 'bob~desk', 'spend'])
  const { id: serverId } = await bob.ok('GET', '/api/servers/bank')
  const [listed] = await requests(una)
  expect(JSON.stringify([seen, listed])).not.toMatch(new RegExp(`bank|pay_owner|${serverId}`))
  const [ofBob] = await requests(bob)
  expect([ofBob.server, ofBob.group, ofBob.tool]).toEqual(['bob~bank', 'bob~desk', 'pay_owner'])
  await share('groups/desk', null)
  const over = await ended(id)
  expect([over.state, over.reason, over.group, over.tool]).toEqual(['expired', 'access_ended', 'bob~desk', 'spend'])
  const event = await stream.next(({ event: name }) => name === 'approvals.decided', 'the end')
  expect(event.data.data).toMatchObject({ approvalId: id, server: 'bob~desk', tool: 'spend', state: 'expired' })
  await stream.close()
  const late = await bob.request('POST', `/api/approvals/${id}`, { decision: 'approve' })
  expect([late.json.code, payments.paid(amount)]).toEqual(['approval_decided', 0])
  const { items } = await admin.ok('GET', '/api/admin/audit?action=approvals.access_ended&limit=5')
  expect(items.map(({ detail }: { detail: { approval: string } }) => detail.approval)).toContain(id)
})

test('it ends when the group loses the server, and with the group', async () => {
  await share('groups/desk', 'use')
  const losses = [
    () => bob.ok('PATCH', '/api/groups/desk', { members: ['gone'] }),
    () => bob.ok('DELETE', '/api/groups/desk'),
  ]
  for (const [name, lose] of [
    ['spend', losses[0]],
    ['pay_owner', losses[1]],
  ] as const) {
    const id = await waits('/mcp/@bob/desk', name, await una.mcpKey())
    await lose?.()
    const { state, reason } = await ended(id, bob)
    expect([name, state, reason]).toEqual([name, 'expired', 'access_ended'])
  }
})

test('it ends with the share of an administrator, who still sees the server', async () => {
  const path = '/api/servers/bank/shares/user:art'
  const art = await hub.user('art', 'admin')
  await bob.ok('PUT', path, { role: 'use' })
  const id = await waits('/mcp/@bob/bank', 'pay_owner', await art.mcpKey())
  await bob.ok('DELETE', path)
  const { state, reason } = await ended(id, bob)
  expect([state, reason]).toEqual(['expired', 'access_ended'])
})

test('it ends with the share of the server, the key, the account and the server, and others stay', async () => {
  const key = async () => una.ok('POST', '/api/keys', { label: `k${amount}`, scopes: ['mcp'] })
  const over = async (id: string, end: () => Promise<unknown>) => {
    const other = await waits('/mcp/@bob/gone', 'pay_caller', await una.mcpKey())
    await end()
    const { state, reason } = await ended(id, bob)
    expect([state, reason, (await one(bob, other)).state]).toEqual(['expired', 'access_ended', 'pending'])
  }
  await share('servers/gone', 'use')
  await share('servers/bank', 'use')
  await over(await waits('/mcp/@bob/bank', 'pay_owner', (await key()).secret), () => share('servers/bank', null))
  await share('servers/bank', 'use')
  const { id: keyId, secret } = await key()
  await over(await waits('/mcp/@bob/bank', 'pay_owner', secret), () => una.ok('DELETE', `/api/keys/${keyId}`))
  const left = await waits('/mcp/@bob/bank', 'pay_owner', await una.mcpKey())
  await bob.ok('DELETE', '/api/servers/gone')
  expect((await requests(bob)).filter((item: { server: string }) => item.server === 'bob~gone')).toEqual([])
  await admin.ok('PATCH', '/api/admin/users/una', { disabled: true })
  const { state, reason } = await ended(left, bob)
  expect([state, reason]).toEqual(['expired', 'access_ended'])
})

test('nothing ends while the store cannot say whether a credential has ended', async () => {
  const ended: unknown[] = []
  const continues = async ({ name }: { name: string }): Promise<boolean> => {
    if (name === 'unknown') throw new Error('the disk is full')
    return false
  }
  const waiting = ['unknown', 'gone'].map(name => ({ callers: [{ name }] }))
  const requests = { pending: waiting, decide: (request: unknown) => ended.push(request) }
  const access = new Access({ events: { on: () => undefined }, people: { continues } } as never, requests as never)
  await access.checkCredentials()
  expect(ended).toEqual([waiting[1]])
})
