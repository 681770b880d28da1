/** What a credential must not turn into: one that lives longer, opens more, or survives the end of its sign-in. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Answer } from '../support/client.ts'
import { Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
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
  const { id, by } = await keyOf(ann, ['mcp'], new Date(Date.now() + 1_500).toISOString())
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

test.each([
  ['a new password', { password: OTHER_PASSWORD }],
  ['disabling', { disabled: true }],
  ['the loss of the role', { role: 'user' }],
] as const)('%s ends all families of a person', async (what, change) => {
  const name = `gone-${what.replaceAll(' ', '-')}`
  const person = await hub.user(name, 'admin')
  const refreshed = new Client(hub.url, name, (await person.ok('POST', '/api/auth/refresh')).token)
  const elsewhere = await hub.signIn(name)
  await admin.ok('PATCH', `/api/admin/users/${name}`, change)
  for (const token of [person, refreshed, elsewhere])
    expect(told(await token.request('GET', '/api/auth/me'))).toBe('401 token_revoked')
})

test('the sign-in stays ended over a restart of the hub', async () => {
  const person = await hub.signIn('ann')
  const { token } = await person.ok('POST', '/api/auth/refresh')
  await person.ok('POST', '/api/auth/logout')
  await hub.stop({ keep: true })
  const { folder } = hub
  hub = await startHub({ folder })
  const answer = await send(hub.url, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })
  expect(told(answer)).toBe('401 token_revoked')
})
