import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { until } from '../support/wait.ts'

const NEW = 'a wholly other sentence 9'
let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const list = async (who: Client) => (await who.ok('GET', '/api/auth/sign-ins')).items
const signIn = (name: string, password: string, headers: Record<string, string> = {}) =>
  send(hub.url, 'POST', '/api/auth/login', { username: name, password }, headers)
const status = async (who: Client) => (await who.request('GET', '/api/auth/me')).status

test('open sign-ins say since when, from where and with what; one is ended, then all others', async () => {
  const first = await hub.user('ann')
  const answer = await signIn('ann', PASSWORD, { 'user-agent': `Firefox ${'x'.repeat(300)}` })
  const second = new Client(hub.url, 'ann', answer.json.token)
  const third = await hub.signIn('ann')
  const shown = await list(first)
  expect(shown).toHaveLength(3)
  expect(shown.map(({ current }: { current: boolean }) => current)).toEqual([false, false, true])
  expect(shown[1]).toMatchObject({ clientAddress: '127.0.0.1', client: `Firefox ${'x'.repeat(192)}` })
  expect(Date.parse(shown[1].expiresAt) - Date.parse(shown[1].createdAt)).toBeGreaterThan(11 * 3_600_000)

  const stream = await openStream(second)
  await first.ok('DELETE', `/api/auth/sign-ins/${shown[1].id}`)
  expect([await status(second), await status(third), await status(first)]).toEqual([401, 200, 200])
  await until(() => stream.ended(), { what: 'the stream of the ended sign-in to end' })
  const again = await first.request('DELETE', `/api/auth/sign-ins/${shown[1].id}`)
  expect([again.status, again.json.code]).toEqual([404, 'sign_in_not_found'])

  expect(await first.ok('DELETE', '/api/auth/sign-ins')).toEqual({ ended: 1 })
  expect([await status(third), await status(first)]).toEqual([401, 200])
  expect(await list(first)).toEqual([expect.objectContaining({ current: true })])
  // A refreshed token belongs to the same sign-in.
  await first.ok('POST', '/api/auth/refresh')
  expect(await list(first)).toHaveLength(1)
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=50')
  const acts = items.map(({ action }: { action: string }) => action)
  expect(acts).toEqual(expect.arrayContaining(['auth.sign_in_ended', 'auth.sign_ins_ended']))
}, 120_000)

test('nobody sees or ends a sign-in of somebody else, and a key ends none', async () => {
  const [own] = (await list(admin)).filter(({ current }: { current: boolean }) => current)
  const eve = await hub.user('eve')
  const refused = await eve.request('DELETE', `/api/auth/sign-ins/${own.id}`)
  const missing = await eve.request('DELETE', '/api/auth/sign-ins/nothing')
  expect([refused.status, refused.json.detail]).toEqual([404, missing.json.detail])
  expect(await status(admin)).toBe(200)
  const key = await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })
  const byKey = new Client(hub.url, 'admin', key.secret)
  expect((await list(byKey)).some(({ current }: { current: boolean }) => current)).toBe(false)
  for (const path of ['/api/auth/sign-ins', `/api/auth/sign-ins/${own.id}`]) {
    const answer = await byKey.request('DELETE', path)
    expect([answer.status, answer.json.code]).toEqual([403, 'insufficient_scope'])
  }
}, 120_000)

test('administrators see what each user has and when it was last seen', async () => {
  const bob = await hub.user('bob')
  await bob.ok('POST', '/api/servers', { name: 'x', url: 'https://mcp.example/mcp', enabled: false })
  await bob.ok('POST', '/api/keys', { label: 'k', scopes: ['mcp'] })
  const one = await admin.ok('GET', '/api/admin/users/bob')
  expect(one.has).toEqual({ servers: 1, groups: 0, keys: 1, signIns: 1 })
  expect(Date.now() - Date.parse(one.lastSeenAt)).toBeLessThan(60_000)
  const { items } = await admin.ok('GET', '/api/admin/users')
  expect(items.find(({ name }: { name: string }) => name === 'bob')).toMatchObject({ has: one.has })
  await admin.ok('POST', '/api/admin/users', { username: 'never', password: PASSWORD })
  expect(await admin.ok('GET', '/api/admin/users/never')).toMatchObject({ lastSeenAt: null, has: { signIns: 0 } })
}, 120_000)

test('a reset link sets a password once; the old one holds until then, and every sign-in ends', async () => {
  const carl = await hub.user('carl')
  const link = await admin.ok('POST', '/api/admin/users/carl/reset-link')
  expect(link.url).toStartWith(`${hub.url}/reset-password#`)
  const [, token = ''] = link.url.split('#')
  expect(Date.parse(link.expiresAt) - Date.now()).toBeGreaterThan(23 * 3_600_000)
  expect(await status(carl)).toBe(200)
  const reset = (newPassword: string, used = token) =>
    send(hub.url, 'POST', '/api/auth/reset', { token: used, newPassword })
  const weak = await reset('carl')
  expect([weak.status, weak.json.errors[0].pointer]).toEqual([400, '#/newPassword'])
  // Two at the same moment: one sets its password.
  const both = await Promise.all([reset(NEW), reset(`${NEW} too`)])
  expect(both.map(answer => answer.status).sort()).toEqual([200, 403])
  const done = both.find(answer => answer.status === 200)
  expect(done?.json.user).toMatchObject({ name: 'carl', mustChangePassword: false })
  expect(both.find(answer => answer.status === 403)?.json.code).toBe('reset_link_invalid')
  expect(await status(carl)).toBe(401)
  expect((await signIn('carl', PASSWORD)).status).toBe(401)
  const stored = await Bun.file(join(hub.dataDir, 'patchbay.db')).text()
  expect([stored.includes(token), hub.log().includes(token)]).toEqual([false, false])
}, 120_000)

test('a link ends with the next one, with a new password, with its account, and after 24 hours', async () => {
  const dora = await hub.user('dora')
  const make = async (): Promise<string> =>
    (await admin.ok('POST', '/api/admin/users/dora/reset-link')).url.split('#').at(-1)
  const code = async (token: string) => {
    const answer = await until(async () => {
      const tried = await send(hub.url, 'POST', '/api/auth/reset', { token, newPassword: NEW })
      return tried.status === 429 ? undefined : tried
    })
    return [answer.status, answer.json.code]
  }
  const refused = [403, 'reset_link_invalid']
  const first = await make()
  const second = await make()
  expect(await code(first)).toEqual(refused)
  await dora.ok('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: `${NEW} 2` })
  expect(await code(second)).toEqual(refused)
  const third = await make()
  const database = new Database(join(hub.dataDir, 'patchbay.db'))
  database.run("UPDATE reset_link SET expires_at = '2020-01-01T00:00:00.000Z'")
  database.close()
  expect(await code(third)).toEqual(refused)
  const fourth = await make()
  await admin.ok('PATCH', '/api/admin/users/dora', { disabled: true })
  expect(await code(fourth)).toEqual(refused)
  const closed = await admin.request('POST', '/api/admin/users/dora/reset-link')
  expect([closed.status, closed.json.code]).toEqual([409, 'account_disabled'])
  await admin.ok('PATCH', '/api/admin/users/dora', { disabled: false })
  expect(await code(fourth)).toEqual(refused)
}, 120_000)

test('guesses of a link are slowed down as those of a password are', async () => {
  const guess = () => send(hub.url, 'POST', '/api/auth/reset', { token: 'a guess', newPassword: NEW })
  const answers = await Promise.all(Array.from({ length: 20 }, guess))
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10)
})
