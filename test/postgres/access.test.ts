/** Quotas, guards, approvals and invitations on PostgreSQL, by REST and MCP. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import { checked } from '../plugins/guards/planted.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import type { Postgres } from '../support/postgres.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { anyPostgres } from './support/any-postgres.ts'

setDefaultTimeout(60_000)

let postgres: Pick<Postgres, 'database' | 'stop'>
let env: { DATABASE_URL: string }
let hub: Hub
let admin: Client
let bo: Client

beforeAll(async () => {
  postgres = await anyPostgres()
  env = { DATABASE_URL: await postgres.database('access') }
  const mcpServers = { echo: stdioFixture('echo'), bank: stdioFixture('counting') }
  hub = await startHub({ env, settings: { mcpServers }, ownProcess: true })
  admin = await hub.setup()
  bo = await hub.user('bo')
  await online(admin, ['echo', 'bank'])
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await postgres?.stop()
}, 120_000)

const echo = (user: Client, text = 'x') =>
  user.request('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text } })
const overMcp = async (name: string, args: object) =>
  new RawModern(hub, `/mcp/${name === 'echo' ? 'echo' : 'bank'}`, await admin.mcpKey()).call('tools/call', {
    name,
    arguments: args,
  } as never)

test('an invitation for one person, taken by four at the same time, is given to one', async () => {
  const people: Client[] = []
  for (const name of ['ann', 'cleo', 'dan', 'eve']) people.push(await hub.user(name))
  const things = [{ kind: 'server', ref: 'echo' }]
  const { url } = await admin.ok('POST', '/api/invitations', { things, role: 'use' })
  const token = new URL(url).hash.slice(1)
  const answers = await Promise.all(people.map(one => one.request('POST', '/api/invitations/accept', { token })))
  const codes = answers.map(({ status, json }) => (status === 200 ? 'accepted' : json.code)).toSorted()
  expect(codes).toEqual(['accepted', ...Array.from({ length: 3 }, () => 'invitation_used')])
  const reached = await Promise.all(people.map(one => echo(one)))
  expect(reached.filter(({ status }) => status === 200).length).toBe(1)
  await admin.ok('PUT', '/api/servers/echo/shares/user:bo', { role: 'use' })
})

test('guards mask by REST and MCP, and count what they found', async () => {
  const secret = `ghp_${checked()}`
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ id: 'no-keys', on: 'result', match: { secrets: true }, then: 'mask' }]
  await admin.ok('PUT', '/api/servers/echo/guards', { rules })
  const byRest = await echo(bo, `the key ${secret}`)
  expect([byRest.status, byRest.text.includes(secret)]).toEqual([200, false])
  const { result } = await overMcp('echo', { text: `the key ${secret}` })
  expect([result !== undefined, JSON.stringify(result).includes(secret)]).toEqual([true, false])
  expect(JSON.stringify(await admin.ok('GET', '/api/servers/echo/guards'))).toContain('no-keys')
  await admin.ok('PUT', '/api/servers/echo/guards', { rules: [] })
})

test('of two decisions at the same time one counts, and one call is sent', async () => {
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { tools: ['pay'] }, then: 'ask', by: ['console'] }]
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules })
  const asked = overMcp('pay', { amount: 5 })
  const [{ id }] = await until(async () => {
    const { items } = await admin.ok('GET', '/api/approvals?state=pending')
    return items.length > 0 && items
  })
  const decide = (decision: string) => admin.request('POST', `/api/approvals/${id}`, { decision })
  const decided = await Promise.all([decide('approve'), decide('approve')])
  expect(decided.map(({ status, json }) => (status === 200 ? 'decided' : json.code)).toSorted()).toEqual([
    ...['approval_decided', 'decided'],
  ])
  // A modern client sends its call again after the decision.
  const first = await asked
  const done = first.result?.content ? first : await overMcp('pay', { amount: 5 })
  expect(done.error).toBeUndefined()
  const { result } = await admin.ok('POST', '/api/servers/bank/tools/paid/call', {})
  expect(result.content[0].text).toBe('1')
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules: [] })
})

/** True when this many calls of one user are in both tables of the quotas. */
async function isStored(calls: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: env.DATABASE_URL })
  await client.connect()
  try {
    const used = await client.query('select 1 from plugin_quotas__usage group by user_id having sum(calls) = $1', [
      calls,
    ])
    const counted = await client.query('select 1 from plugin_quotas__counter where calls = $1', [calls])
    return used.rows.length > 0 && counted.rows.length > 0
  } finally {
    await client.end()
  }
}

test('a quota is exact, and its numbers outlast a kill but for those of 2 s', async () => {
  await admin.ok('PUT', '/api/admin/users/bo/quota', { quota: { perDay: 1_000 } })
  const { used } = await admin.ok('GET', '/api/admin/users/bo/quota')
  await admin.ok('PUT', '/api/admin/users/bo/quota', { quota: { perDay: used.perDay + 5 } })
  const answers = await Promise.all(Array.from({ length: 20 }, () => echo(bo)))
  expect(answers.filter(({ status }) => status === 200).length).toBe(5)
  expect(answers.filter(({ status, text }) => status === 429 && text.includes('quota_day')).length).toBe(15)
  await until(() => isStored(used.perDay + 5), { what: 'the numbers in the store' })
  await hub.kill9()
  hub = await startHub({ env, folder: hub.folder, ownProcess: true })
  const again = await hub.signIn('bo')
  await until(async () => (await echo(again)).status === 429, { what: 'the refusal after the start' })
  const { items } = await again.ok('GET', '/api/usage?by=tool&range=1d')
  expect(items.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)).toBe(used.perDay + 5)
}, 120_000)
