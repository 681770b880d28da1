/** Previews before saving: of a group, of a rule, and of a server by a trial with the mask of a stored secret. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { expectWell } from './rows.ts'

const PREVIEW = '/api/monitoring/rule-preview'
const CALLS = 7
const FAILED = 3
const SECRET = 'Bearer of-the-owner-1f3c'
/** As the API shows it. */
const MASK = '••••1f3c'

const remote = startGoodAndBad()
let hub: Hub
let admin: Client
let alice: Client
let bob: Client
/** An upstream that notes what credential each request had. */
let upstream: Bun.Server<undefined>
let elsewhere: Bun.Server<undefined>
const seen: (string | null)[] = []

beforeAll(async () => {
  const notes = (request: Request): Response => {
    seen.push(request.headers.get('authorization'))
    return new Response('no MCP here', { status: 404 })
  }
  upstream = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: notes })
  elsewhere = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: notes })
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  await alice.ok('POST', '/api/servers', {
    ...{ name: 's', url: `${upstream.url}`, enabled: false, visibility: 'public' },
    headers: { Authorization: SECRET, 'x-plain': 'v' },
  })
  for (const name of ['one', 'two'])
    await admin.ok('POST', '/api/servers', { name, url: remote.url, healthCheck: { enabled: false } })
  await online(admin, ['one', 'two'])
  const client = await admin.mcp('/mcp/one')
  for (let n = 0; n < CALLS; n += 1) await client.callTool({ name: n < FAILED ? 'bad' : 'good', arguments: {} })
  await until(async () => (await counted()) === CALLS, { what: 'the stored calls' })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await Promise.all([upstream?.stop(true), elsewhere?.stop(true), remote.stop()])
}, 120_000)

describe('the preview of a group', () => {
  const shown = ({ items, counts, tokens, warnings }: Record<string, unknown>) => ({ items, counts, tokens, warnings })

  test.each([
    ['a clash of names', { members: ['one', 'two'] }],
    ['prefixes', { naming: 'prefixed', members: ['one', { server: 'two', alias: 'second' }] }],
    ['a selection under another name', { members: [{ server: 'one', tools: [{ name: 'good', as: 'fine' }] }, 'two'] }],
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

  test('refuses the same as saving: private servers of others, unknown ones, owners', async () => {
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
})

const trial = (who: Client, more: object = {}) =>
  who.request('POST', '/api/servers/test', {
    ...{ name: 's', url: `${upstream.url}`, headers: { Authorization: MASK }, ...more },
  })

describe('a trial with the mask of a stored secret', () => {
  test('connects with the secret for the owner, also where the address is another one', async () => {
    for (const url of [`${upstream.url}`, `${elsewhere.url}x`]) {
      seen.length = 0
      const answer = await trial(alice, { url })
      expect([answer.status, answer.json.ok]).toEqual([200, false])
      expect(seen.length).toBeGreaterThan(0)
      expect(new Set(seen)).toEqual(new Set([SECRET]))
      expect(answer.text).not.toContain('of-the-owner')
    }
  })

  test('and for an administrator at the same address alone', async () => {
    seen.length = 0
    expect((await trial(admin, { owner: 'alice' })).status).toBe(200)
    expect(new Set(seen)).toEqual(new Set([SECRET]))
    seen.length = 0
    const moved = await trial(admin, { owner: 'alice', url: `${elsewhere.url}` })
    expect([moved.status, moved.json.errors]).toMatchObject([
      400,
      [{ code: 'secret_required', pointer: '#/headers/Authorization' }],
    ])
    const own = await trial(admin, { owner: 'admin' })
    expect([own.status, own.json.errors]).toMatchObject([400, [{ code: 'secret_mask' }]])
    expect(seen).toEqual([])
  })

  test.each([
    ['by somebody who only sees the server', () => trial(bob)],
    ['by its full name too', () => trial(bob, { name: 'alice~s' })],
    ['under another name', () => trial(alice, { name: 'other' })],
    ['under no name', () => trial(alice, { name: undefined })],
    ['in another field', () => trial(alice, { headers: { 'x-plain': MASK } })],
    ['that is another one', () => trial(alice, { headers: { Authorization: '••••ffff' } })],
  ])('%s is secret_mask, and nothing is sent', async (_what, ask) => {
    seen.length = 0
    const answer = await ask()
    expect([answer.status, answer.json.code]).toEqual([400, 'validation_failed'])
    expect(answer.json.errors.map((error: { code: string }) => error.code)).toContain('secret_mask')
    expect(answer.text).not.toContain('of-the-owner')
    expect(seen).toEqual([])
    await expectWell(hub)
  })

  test('saves nothing', async () => {
    const { items } = await alice.ok('GET', '/api/servers?scope=mine')
    expect(items.map((item: { name: string }) => item.name)).toEqual(['s'])
    expect(await alice.ok('GET', '/api/servers/s')).toMatchObject({ revision: 1, headers: { Authorization: MASK } })
  })
})

const previewed = (by: Client, condition: string, more = {}) => by.ok('POST', PREVIEW, { condition, ...more })

async function counted(): Promise<unknown> {
  return (await previewed(admin, 'request_count[10m] > 0')).now[0]?.value
}

test('counts how often the rule would have fired, with the highest value, and saves nothing', async () => {
  const { condition, now, past } = await previewed(admin, 'request_count[10m] > 6', { duration: '0s' })
  expect(condition).toContain('request_count')
  expect(now).toEqual([{ subject: 'admin~one', value: CALLS, holds: true }])
  expect(past).toMatchObject({ fired: 1, stepMs: 60_000, series: { subject: 'admin~one' } })
  expect(past.firings).toEqual([{ subject: 'admin~one', startsAt: expect.any(String), highest: CALLS }])
  expect(Date.parse(past.to) - Date.parse(past.from)).toBe(24 * 60 * 60_000)
  expect(Math.max(...past.series.values)).toBe(CALLS)
  expect((await admin.ok('GET', '/api/monitoring/rules')).items).toEqual([])
})

test.each([
  ['request_count[10m] > 7', {}, 'admin~one', CALLS, false, 0],
  ['request_count[10m] > 6', { duration: '1h' }, 'admin~one', CALLS, true, 0],
  ['error_rate[10m] > 40%', { duration: '0s' }, 'admin~one', FAILED / CALLS, true, 1],
  ['error_count[10m] > threshold', { threshold: 2, duration: '0s', per: 'total' }, 'total', FAILED, true, 1],
  ['request_count{tool="bad"}[10m] > 2', { duration: '0s', per: 'tool' }, 'admin~one bad', FAILED, true, 1],
])('%s with %o', async (condition, more, subject, value, holds, fired) => {
  const { now, past } = await previewed(admin, condition, more)
  expect(now).toEqual([{ subject, value, holds }])
  expect(past.fired).toBe(fired)
})

test('says why what is not kept has no past, and answers each user of the own servers', async () => {
  const state = await previewed(admin, 'server_status{server="one"} == offline')
  expect(state).toMatchObject({ now: [{ subject: 'admin~one', value: 'online', holds: false }] })
  expect([state.past, state.why]).toEqual([undefined, expect.stringContaining('"server_status" is not kept')])
  const own = await previewed(bob, 'request_count[10m] > 6', { duration: '0s' })
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
