/** Sign-ins and reset links. A credential must not become one that lives longer, opens more, or outlives its sign-in. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atLeast } from '../support/pace.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)
const HOUR_MS = 3_600_000
const OTHER_PASSWORD = 'another long sentence 42'

let hub: Hub
let admin: Client
let ann: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  ann = await hub.user('ann')
  for (const name of ['one', 'two']) await ann.ok('POST', '/api/groups', { name, members: [] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const told = ({ status, json }: Answer) => `${status} ${json.code ?? ''}`.trim()
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

async function keyOf(person: Client, scopes: readonly unknown[], expiresAt?: string) {
  const body = { label: 'k', scopes, ...(expiresAt === undefined ? {} : { expiresAt }) }
  const made = await person.ok('POST', '/api/keys', body)
  return { id: made.id as string, by: new Client(hub.url, person.name, made.secret) }
}

test('a key that expires makes none that outlives it, and one without an end of its own ends with it', async () => {
  const end = inHours(1)
  const { by } = await keyOf(ann, ['api', 'mcp'], end)
  const late = await by.request('POST', '/api/keys', { label: 'late', scopes: ['mcp'], expiresAt: inHours(2) })
  expect([told(late), late.json.errors[0]]).toMatchObject([
    '400 validation_failed',
    { pointer: '#/expiresAt', code: 'range' },
  ])
  const made = await by.ok('POST', '/api/keys', { label: 'same', scopes: ['mcp'] })
  expect(made.expiresAt).toBe(end)
  const earlier = await by.ok('POST', '/api/keys', { label: 'early', scopes: ['api:read'], expiresAt: inHours(0.5) })
  expect(Date.parse(earlier.expiresAt)).toBeLessThan(Date.parse(end))
})

test('a key makes none that opens more than it does itself', async () => {
  const { by } = await keyOf(ann, ['api', { group: 'one' }])
  const make = async (...scopes: unknown[]) => told(await by.request('POST', '/api/keys', { label: 'x', scopes }))
  expect(await make('api:read', { group: 'one' })).toBe('201')
  expect(await make('api')).toBe('201')
  for (const wider of ['mcp', { group: 'two' }]) expect(await make('api', wider)).toBe('403 insufficient_scope')
})

test('a key does not take over a key that opens more or lives longer, by a new secret for it', async () => {
  const wide = await keyOf(ann, ['api', 'mcp'])
  const { by, id } = await keyOf(ann, ['api'], inHours(1))
  expect(told(await by.request('POST', `/api/keys/${wide.id}/rotate`))).toBe('403 insufficient_scope')
  const long = await keyOf(ann, ['api'])
  expect(told(await by.request('POST', `/api/keys/${long.id}/rotate`))).toBe('403 insufficient_scope')
  const rotated = await by.ok('POST', `/api/keys/${id}/rotate`)
  const beside = await ann.ok('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 600 })
  for (const { secret } of [rotated, beside])
    expect(told(await new Client(hub.url, 'ann', secret).request('GET', '/api/auth/me'))).toBe('200')
  const tooLong = await ann.request('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 2_592_001 })
  expect(told(tooLong)).toBe('400 validation_failed')
  expect(told(await new Client(hub.url, 'ann', rotated.secret).request('GET', '/api/auth/me'))).toBe('200')
  expect(told(await wide.by.request('GET', '/api/auth/me'))).toBe('200')
})

test('a key that has ended is not rotated: it would open nothing, or come back', async () => {
  const { id, by } = await keyOf(ann, ['mcp'], new Date(Date.now() + atLeast(1_500)).toISOString())
  await until(async () => told(await by.request('GET', '/api/auth/me')) === '401 token_expired')
  for (const body of [{}, { overlapSeconds: 600 }]) {
    expect(told(await ann.request('POST', `/api/keys/${id}/rotate`, body))).toBe('409 key_expired')
    expect(told(await admin.request('POST', `/api/keys/${id}/rotate`, body))).toBe('409 key_expired')
  }
  const { items } = await ann.ok('GET', '/api/keys')
  expect(items.filter((key: { id: string }) => key.id === id)).toHaveLength(1)
  await ann.ok('DELETE', `/api/keys/${id}`)
})

test('a key does not become a session, a password or an account, whatever its scopes', async () => {
  const { by } = await keyOf(admin, ['api', 'mcp'])
  for (const [method, path, body] of [
    ['POST', '/api/auth/refresh'],
    ['POST', '/api/auth/logout'],
    ['POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: OTHER_PASSWORD }],
    ['POST', '/api/admin/users', { username: 'mole', password: OTHER_PASSWORD, role: 'admin' }],
    ['PATCH', '/api/admin/users/admin', { password: OTHER_PASSWORD }],
    ['PATCH', '/api/admin/users/ann', { role: 'admin' }],
    ['DELETE', '/api/admin/users/ann?cascade=true'],
  ] as const)
    expect([path, told(await by.request(method, path, body))]).toEqual([path, '403 insufficient_scope'])
  expect(told(await by.request('GET', '/api/admin/users'))).toBe('200')
  expect((await admin.ok('GET', '/api/admin/users')).items.map((user: { name: string }) => user.name)).not.toContain(
    'mole',
  )
})

test('signing out ends every token of the sign-in, with its streams and sessions, and no other sign-in', async () => {
  const first = await hub.signIn('ann')
  const elsewhere = await hub.signIn('ann')
  const second = new Client(hub.url, 'ann', (await first.ok('POST', '/api/auth/refresh')).token)
  const third = new Client(hub.url, 'ann', (await second.ok('POST', '/api/auth/refresh')).token)
  const stream = await openStream(third)
  const mcp = await second.mcp('/mcp/one', { credential: second.token })
  await first.ok('POST', '/api/auth/logout')
  for (const token of [first, second, third])
    expect(told(await token.request('GET', '/api/auth/me'))).toBe('401 token_revoked')
  expect(told(await third.request('POST', '/api/auth/refresh'))).toBe('401 token_revoked')
  await until(() => stream.ended(), { what: 'the stream to end', timeoutMs: 5_000 })
  expect(await mcp.listTools().catch(error => error)).toBeInstanceOf(Error)
  await stream.close()
  expect(told(await elsewhere.request('GET', '/api/auth/me'))).toBe('200')
})

beyondCore(() => {
  test('a token that was refreshed while its sign-in ended is worth nothing', async () => {
    const person = await hub.signIn('ann')
    const [refreshed] = await Promise.all([
      person.request('POST', '/api/auth/refresh'),
      person.request('POST', '/api/auth/logout'),
    ])
    if (refreshed.status === 200) {
      const token = new Client(hub.url, 'ann', refreshed.json.token)
      expect(told(await token.request('GET', '/api/auth/me'))).toBe('401 token_revoked')
    } else expect(told(refreshed)).toBe('401 token_revoked')
  })
})

const ROLE = ['the loss of the role', { role: 'user' }] as const
const OTHERS = [
  ['a new password', { password: OTHER_PASSWORD }],
  ['disabling', { disabled: true }],
] as const
test.each(extent([ROLE], [ROLE, ...OTHERS]))('%s ends all families of a person', async (what, change) => {
  const name = `gone-${what.replaceAll(' ', '-')}`
  const person = await hub.user(name, 'admin')
  const refreshed = new Client(hub.url, name, (await person.ok('POST', '/api/auth/refresh')).token)
  const elsewhere = await hub.signIn(name)
  await admin.ok('PATCH', `/api/admin/users/${name}`, change)
  for (const token of [person, refreshed, elsewhere])
    expect(told(await token.request('GET', '/api/auth/me'))).toBe('401 token_revoked')
})

const list = async (who: Client) => (await who.ok('GET', '/api/auth/sign-ins')).items
const signIn = (name: string, password: string, headers: Record<string, string> = {}) =>
  send(hub.url, 'POST', '/api/auth/login', { username: name, password }, headers)
const statusFor = async (who: Client) => (await who.request('GET', '/api/auth/me')).status

test('open sign-ins say since when, from where and with what; one is ended, then all others', async () => {
  const first = await hub.user('amy')
  const answer = await signIn('amy', PASSWORD, { 'user-agent': `Firefox ${'x'.repeat(300)}` })
  const second = new Client(hub.url, 'amy', answer.json.token)
  const third = await hub.signIn('amy')
  const shown = await list(first)
  expect(shown).toHaveLength(3)
  expect(shown.map(({ current }: { current: boolean }) => current)).toEqual([false, false, true])
  expect(shown[1]).toMatchObject({ clientAddress: '127.0.0.1', client: `Firefox ${'x'.repeat(192)}` })
  expect(Date.parse(shown[1].expiresAt) - Date.parse(shown[1].createdAt)).toBeGreaterThan(11 * 3_600_000)

  const stream = await openStream(second)
  await first.ok('DELETE', `/api/auth/sign-ins/${shown[1].id}`)
  expect([await statusFor(second), await statusFor(third), await statusFor(first)]).toEqual([401, 200, 200])
  await until(() => stream.ended(), { what: 'the stream of the ended sign-in to end' })
  const again = await first.request('DELETE', `/api/auth/sign-ins/${shown[1].id}`)
  expect([again.status, again.json.code]).toEqual([404, 'sign_in_not_found'])

  expect(await first.ok('DELETE', '/api/auth/sign-ins')).toEqual({ ended: 1 })
  expect([await statusFor(third), await statusFor(first)]).toEqual([401, 200])
  expect(await list(first)).toEqual([expect.objectContaining({ current: true })])
  // A refreshed token belongs to the same sign-in.
  await first.ok('POST', '/api/auth/refresh')
  expect(await list(first)).toHaveLength(1)
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=50')
  const acts = items.map(({ action }: { action: string }) => action)
  expect(acts).toEqual(expect.arrayContaining(['auth.sign_in_ended', 'auth.sign_ins_ended']))
})

test('nobody sees or ends a sign-in of somebody else, and a key ends none', async () => {
  const [own] = (await list(admin)).filter(({ current }: { current: boolean }) => current)
  const refused = await ann.request('DELETE', `/api/auth/sign-ins/${own.id}`)
  const missing = await ann.request('DELETE', '/api/auth/sign-ins/nothing')
  expect([refused.status, refused.json.detail]).toEqual([404, missing.json.detail])
  expect(await statusFor(admin)).toBe(200)
  const key = await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })
  const byKey = new Client(hub.url, 'admin', key.secret)
  expect((await list(byKey)).some(({ current }: { current: boolean }) => current)).toBe(false)
  for (const path of ['/api/auth/sign-ins', `/api/auth/sign-ins/${own.id}`]) {
    const answer = await byKey.request('DELETE', path)
    expect([answer.status, answer.json.code]).toEqual([403, 'insufficient_scope'])
  }
})

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
})

test('a reset link sets a password once; the old one holds until then, and every sign-in ends', async () => {
  const carl = await hub.user('carl')
  const link = await admin.ok('POST', '/api/admin/users/carl/reset-link')
  expect(link.url).toStartWith(`${hub.url}/reset-password#`)
  const [, token = ''] = link.url.split('#')
  expect(Date.parse(link.expiresAt) - Date.now()).toBeGreaterThan(23 * 3_600_000)
  expect(await statusFor(carl)).toBe(200)
  const reset = (newPassword: string, used = token) =>
    send(hub.url, 'POST', '/api/auth/reset', { token: used, newPassword })
  const weak = await reset('carl')
  expect([weak.status, weak.json.errors[0].pointer]).toEqual([400, '#/newPassword'])
  // When two requests come at the same moment, one of them sets the password.
  const both = await Promise.all([reset(OTHER_PASSWORD), reset(`${OTHER_PASSWORD} too`)])
  expect(both.map(answer => answer.status).sort()).toEqual([200, 403])
  const done = both.find(answer => answer.status === 200)
  expect(done?.json.user).toMatchObject({ name: 'carl', mustChangePassword: false })
  expect(both.find(answer => answer.status === 403)?.json.code).toBe('reset_link_invalid')
  expect(await statusFor(carl)).toBe(401)
  expect((await signIn('carl', PASSWORD)).status).toBe(401)
  const stored = await Bun.file(join(hub.dataDir, 'patchbay.db')).text()
  expect([stored.includes(token), hub.log().includes(token)]).toEqual([false, false])
})

test('a link ends with the next one, with a new password, with its account, and after 24 hours', async () => {
  const dora = await hub.user('dora')
  const make = async (): Promise<string> =>
    (await admin.ok('POST', '/api/admin/users/dora/reset-link')).url.split('#').at(-1)
  const code = async (token: string) => {
    const answer = await until(async () => {
      const tried = await send(hub.url, 'POST', '/api/auth/reset', { token, newPassword: OTHER_PASSWORD })
      return tried.status === 429 ? undefined : tried
    })
    return [answer.status, answer.json.code]
  }
  const refused = [403, 'reset_link_invalid']
  const first = await make()
  const second = await make()
  expect(await code(first)).toEqual(refused)
  await dora.ok('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: `${OTHER_PASSWORD} 2` })
  expect(await code(second)).toEqual(refused)
  const third = await make()
  const database = new Database(join(hub.dataDir, 'patchbay.db'))
  // Waits if the hub is writing.
  database.run('PRAGMA busy_timeout = 10000')
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
})

beyondCore(() => {
  test('the sign-in stays ended over a restart of the hub', async () => {
    // The tests above have used up what an address may send at once without a credential.
    const person = await until(() => hub.signIn('ann'), { what: 'a sign-in', intervalMs: 250 })
    const { token } = await person.ok('POST', '/api/auth/refresh')
    await person.ok('POST', '/api/auth/logout')
    await hub.stop({ keep: true })
    const { folder } = hub
    hub = await startHub({ folder })
    const answer = await send(hub.url, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })
    expect(told(answer)).toBe('401 token_revoked')
  })
})

// This runs last: afterwards, the address may not sign in for a while.
test('guesses of a link are slowed down as those of a password are', async () => {
  const guess = () => send(hub.url, 'POST', '/api/auth/reset', { token: 'a guess', newPassword: OTHER_PASSWORD })
  const answers = await Promise.all(Array.from({ length: 20 }, guess))
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10)
})
