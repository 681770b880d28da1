/** Quotas of things that are shared with a reader, with the reader's own use alone. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { online } from '../../support/servers.ts'
import { type Payments, startPayments } from '../approvals/payments.ts'

setDefaultTimeout(120_000)

let hub: Hub
let payments: Payments
let bob: Client
let una: Client

beforeAll(async () => {
  payments = startPayments()
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  bob = await hub.user('bob')
  una = await hub.user('una')
  for (const name of ['bank', 'hidden', 'open']) await bob.ok('POST', '/api/servers', { name, url: payments.url })
  await online(bob, ['bank', 'hidden', 'open'])
  await bob.ok('POST', '/api/groups', { name: 'desk', members: [{ server: 'hidden' }] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await payments?.stop()
}, 120_000)

const pay = (who: Client, server: string, tool = 'pay_owner') =>
  who.ok('POST', `/api/servers/${server}/tools/${tool}/call`, { arguments: { amount: 1 } })
const quotas = async (who: Client) => (await who.ok('GET', '/api/quotas')).items

test('a reader sees quotas of shared and public things that count for it, and own calls alone', async () => {
  const tools = { pay_owner: { perDay: 20 }, pay_caller: { perDay: 30 } }
  await bob.ok('PUT', '/api/servers/bank/quota', { quota: { perDay: 100, atOnce: 5 }, tools })
  await bob.ok('PUT', '/api/servers/hidden/quota', { quota: { perDay: 7 } })
  await bob.ok('PUT', '/api/servers/open/quota', { quota: { perMinute: 9 } })
  await bob.ok('PUT', '/api/groups/desk/quota', { quota: { perDay: 8 } })
  expect(await quotas(una)).toEqual([])
  await bob.ok('PUT', '/api/servers/bank/shares/user:una', { role: 'use' })
  await bob.ok('PUT', '/api/groups/desk/shares/user:una', { role: 'use' })
  await bob.ok('PATCH', '/api/servers/open', { visibility: 'public' })
  for (const who of [bob, bob, una]) await pay(who, 'bob~bank')
  await pay(bob, 'bob~bank', 'pay_caller')
  const seen = await quotas(una)
  const listed = seen.map(({ id, ...rest }: { id: string }) => rest)
  const tokens = expect.any(Number)
  expect(listed).toEqual([
    { of: 'group', name: 'desk', owner: 'bob', quota: { perDay: 8 }, used: {} },
    ...[
      {
        of: 'server',
        name: 'bank',
        quota: { perDay: 100, atOnce: 5 },
        used: { perDay: 1, resultTokensPerDay: tokens },
      },
      { of: 'tool', name: 'pay_owner', quota: { perDay: 20 }, used: { perDay: 1, resultTokensPerDay: tokens } },
      { of: 'server', name: 'open', quota: { perMinute: 9 }, used: { perDay: 0, resultTokensPerDay: 0 } },
    ].map(one => ({ ...one, owner: 'bob' })),
  ])
  expect(JSON.stringify(seen)).not.toMatch(/hidden|pay_caller/)
  const own = (await quotas(bob)).filter(({ name }: { name: string }) => name === 'bank')
  expect(own.map((one: { owner?: string; used: { perDay: number } }) => [one.owner, one.used.perDay])).toEqual([
    [undefined, 4],
  ])
  // The hub has written what was used before it was read, so that calls of yesterday can be added.
  const store = new Database(join(hub.dataDir, 'patchbay.db'))
  store.run(
    `INSERT INTO plugin_quotas__usage SELECT user_id, ?, key_id, server_id, tool, 50, 0, 50 FROM plugin_quotas__usage
     WHERE tool = 'pay_owner' AND user_id = (SELECT id FROM user WHERE name = 'una')`,
    [new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)],
  )
  store.close()
  const usedOf = (all: { name: string; used: { perDay: number } }[]) =>
    all.filter(({ name }) => name === 'bank' || name === 'pay_owner').map(({ used }) => used.perDay)
  expect(usedOf(await quotas(una))).toEqual([1, 1])
  await bob.ok('DELETE', '/api/servers/bank/shares/user:una')
  expect((await quotas(una)).map(({ name }: { name: string }) => name)).toEqual(['desk', 'open'])
})

test('the use of a server that the reader does not see any more has words in place of its name and id', async () => {
  await bob.ok('PUT', '/api/servers/bank/shares/user:una', { role: 'use' })
  await pay(una, 'bob~bank')
  const used = async (by: string) => (await una.ok('GET', `/api/usage?by=${by}`)).items
  expect((await used('server')).map(({ server }: { server: string }) => server)).toContain('bob~bank')
  const { id } = await bob.ok('GET', '/api/servers/bank')
  await bob.ok('DELETE', '/api/servers/bank/shares/user:una')
  for (const by of ['server', 'tool']) {
    const rows = await used(by)
    expect(rows).toContainEqual(
      expect.objectContaining({ server: `a server that you no longer see (${id.slice(0, 8)})`, unseen: true }),
    )
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`bank|${id}`))
  }
  await bob.ok('DELETE', '/api/servers/bank')
  const rows = (await bob.ok('GET', '/api/usage?by=server')).items
  expect(rows.filter(({ unseen }: { unseen?: true }) => unseen)).toHaveLength(1)
})
