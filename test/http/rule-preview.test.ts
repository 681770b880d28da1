/** What a rule that is not saved would have said, and when a saved one will fire. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const PREVIEW = '/api/monitoring/rule-preview'
const CALLS = 7
const FAILED = 3

const remote = startGoodAndBad()
let hub: Hub
let admin: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  bob = await hub.user('bob')
  await admin.ok('POST', '/api/servers', { name: 'remote', url: remote.url, healthCheck: { enabled: false } })
  await online(admin, ['remote'])
  const client = await admin.mcp('/mcp/remote')
  for (let n = 0; n < CALLS; n += 1) await client.callTool({ name: n < FAILED ? 'bad' : 'good', arguments: {} })
  await until(async () => (await counted()) === CALLS, { what: 'the stored calls' })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

const preview = (by: Client, condition: string, more = {}) => by.ok('POST', PREVIEW, { condition, ...more })

async function counted(): Promise<unknown> {
  return (await preview(admin, 'request_count[10m] > 0')).now[0]?.value
}

test('counts how often the rule would have fired, with the highest value, and saves nothing', async () => {
  const { condition, now, past } = await preview(admin, 'request_count[10m] > 6', { duration: '0s' })
  expect(condition).toContain('request_count')
  expect(now).toEqual([{ subject: 'admin~remote', value: CALLS, holds: true }])
  expect(past).toMatchObject({ fired: 1, stepMs: 60_000, series: { subject: 'admin~remote' } })
  expect(past.firings).toEqual([{ subject: 'admin~remote', startsAt: expect.any(String), highest: CALLS }])
  expect(Date.parse(past.to) - Date.parse(past.from)).toBe(24 * 60 * 60_000)
  expect(Math.max(...past.series.values)).toBe(CALLS)
  expect((await admin.ok('GET', '/api/monitoring/rules')).items).toEqual([])
})

test.each([
  ['request_count[10m] > 7', {}, 'admin~remote', CALLS, false, 0],
  ['request_count[10m] > 6', { duration: '1h' }, 'admin~remote', CALLS, true, 0],
  ['error_rate[10m] > 40%', { duration: '0s' }, 'admin~remote', FAILED / CALLS, true, 1],
  ['error_count[10m] > threshold', { threshold: 2, duration: '0s', per: 'total' }, 'total', FAILED, true, 1],
  ['request_count{tool="bad"}[10m] > 2', { duration: '0s', per: 'tool' }, 'admin~remote bad', FAILED, true, 1],
])('%s with %o', async (condition, more, subject, value, holds, fired) => {
  const { now, past } = await preview(admin, condition, more)
  expect(now).toEqual([{ subject, value, holds }])
  expect(past.fired).toBe(fired)
})

test('says why what is not kept has no past, and answers each user of the own servers', async () => {
  const state = await preview(admin, 'server_status == offline')
  expect(state).toMatchObject({ now: [{ subject: 'admin~remote', value: 'online', holds: false }] })
  expect([state.past, state.why]).toEqual([undefined, expect.stringContaining('"server_status" is not kept')])
  const own = await preview(bob, 'request_count[10m] > 6', { duration: '0s' })
  expect([own.now, own.past.fired]).toEqual([[], 0])
  const { status, json } = await bob.request('POST', PREVIEW, { condition: 'error_rate >' })
  expect([status, json.errors[0].code, json.errors[0].pointer]).toEqual([400, 'condition_invalid', '#/condition'])
})

test('a saved rule that is pending says when each subject will fire', async () => {
  const body = { name: 'soon', condition: 'servers_offline >= 0', duration: '10m', severity: 'warning', per: 'total' }
  await bob.ok('POST', '/api/monitoring/rules', body)
  const { pending } = await until(async () => {
    const rule = await bob.ok('GET', '/api/monitoring/rules/soon')
    return rule.pending ? rule : undefined
  })
  expect(pending).toEqual([{ subject: 'total', firesAt: expect.any(String) }])
  const inMs = Date.parse(pending[0].firesAt) - Date.now()
  expect(inMs).toBeGreaterThan(8 * 60_000)
  expect(inMs).toBeLessThanOrEqual(10 * 60_000)
})
