/** The settings file of another hub with users, servers, groups and keys: taken over, and taken back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'

/** Numbers of users and remote servers of the other hub, besides its administrator and the two commands. */
const USERS = extent(5, 20)
const REMOTES = extent(14, 58)
const KEY = 'f3b1c0de5a7e49d2a6c84e0d9b7a1c55f0e2d4b6'
const GROUP_KEY = 'aa11bb22cc33dd44ee55ff6600778899aabbccdd'
/** Secrets of an outbound and of an inbound endpoint of an assistant. */
const DIALLED = 'wss://assistant.example/bridge?token=0123456789abcdef0123'
const OLD_TOKEN = 'inbound-token-0123456789abcdef0123456789'
const GROUP_ID = '6f1d8a52-1c0b-4a3e-9f57-0d2b4c6e8a10'
const OLD_PASSWORD = 'the password of before'

let hub: Hub
let admin: Client
let carol: Client
/** A user of the other hub. */
let user0: Client
let document: Record<string, unknown>
let id: string

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  const hash = await Bun.password.hash(OLD_PASSWORD, { algorithm: 'bcrypt', cost: 4 })
  const first = await Bun.password.hash('admin123', { algorithm: 'bcrypt', cost: 4 })
  const users = Array.from({ length: USERS }, (_, n) => ({ username: `user${n}`, password: hash, isAdmin: n === 0 }))
  const servers = Object.fromEntries(
    Array.from({ length: REMOTES }, (_, n) => {
      const fields = { type: 'streamable-http', url: `https://never.example/${n}`, enabled: false }
      return [
        `remote${n}`,
        { ...fields, owner: `user${n % USERS}`, headers: { Authorization: `Bearer old-secret-${n}` } },
      ]
    }),
  )
  document = {
    mcpServers: {
      ...servers,
      // These have no owner, so they become the first administrator's.
      echo: { type: 'stdio', tags: ['EU'], ...stdioFixture('echo', { WHO: 'imported', API_KEY: '$OLD_KEY' }) },
      second: {
        type: 'stdio',
        ...stdioFixture('echo', { WHO: 'second' }),
        options: { timeout: 30_000 },
        keepAliveInterval: 5,
      },
    },
    users: [...users, { username: 'root', password: first, isAdmin: true }],
    groups: [
      {
        ...{ id: GROUP_ID, name: 'work', owner: 'user0', tags: ['daily', 'no/slash'] },
        servers: ['echo', { name: 'second', tools: ['echo'] }, 'gone'],
      },
      { id: 'g2', name: 'theirs', owner: 'user1', servers: ['remote1', `remote${USERS + 1}`] },
    ],
    bearerKeys: [
      { id: 'k1', name: 'everything', token: KEY, enabled: true, accessType: 'all', owner: 'user0' },
      {
        id: 'k2',
        name: 'one group',
        token: GROUP_KEY,
        enabled: true,
        accessType: 'groups',
        allowedGroups: [GROUP_ID],
        owner: 'user0',
      },
      { id: 'k3', name: 'off', token: `${KEY}0`, enabled: false, accessType: 'all' },
      { id: 'k4', name: 'short', token: 'short-key-1', enabled: true, accessType: 'all' },
    ],
    userConfigs: { user1: { modelscope: { apiKey: 'ms-key-of-user1' }, routing: { skipAuth: true } } },
    oauthClients: [{ clientId: 'x' }],
    systemConfig: {
      ...{ smartRouting: { enabled: true }, routing: { enableGlobalRoute: true } },
      modelscope: { apiKey: 'ms-key-of-the-hub' },
      assistant: {
        enabled: true,
        endpoints: [{ name: 'desk', owner: 'user1', direction: 'inbound', group: 'g2', token: OLD_TOKEN }],
      },
    },
    assistant: {
      endpoints: [
        { name: 'kitchen', owner: 'user0', direction: 'outbound', url: DIALLED, group: GROUP_ID },
        { url: DIALLED },
      ],
    },
  }
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

type Item = {
  kind: string
  name: string
  verdict: string
  pointer: string
  warnings: string[]
  error?: { code: string }
}
const of = (items: Item[], kind: string) => items.filter(item => item.kind === kind)
const verdicts = (items: Item[]) => Object.fromEntries(items.map(({ pointer, verdict }) => [pointer, verdict]))

async function count(path: string): Promise<number> {
  return (await admin.ok('GET', path)).total
}

test('a dry run says what would be made and what is left behind, and makes nothing', async () => {
  const plan = await admin.ok('POST', '/api/import?dryRun=true', { document })
  expect(plan.source).toBe('hub')
  expect(of(plan.items, 'user').every(({ verdict }) => verdict === 'new')).toBe(true)
  expect(of(plan.items, 'server').every(({ verdict }) => verdict === 'new')).toBe(true)
  expect([of(plan.items, 'user').length, of(plan.items, 'server').length]).toEqual([USERS + 1, REMOTES + 2])
  expect(JSON.stringify(plan)).not.toMatch(/old-secret|f3b1c0de5|ms-key-of/)
  const echo = plan.items.find(({ name }: Item) => name === 'echo')
  expect(echo).toMatchObject({ owner: 'user0', ref: 'user0~echo', missing: [{ name: 'OLD_KEY', secret: true }] })
  const group = plan.items.find(({ name }: Item) => name === 'work')
  expect(group.warnings.join()).toContain('"gone"')
  expect(group.warnings.join()).toContain('A tag is left out: The name "no/slash"')
  expect(plan.items.find(({ name }: Item) => name === 'root').warnings.join()).toContain('disabled')
  expect(verdicts(of(plan.items, 'key'))).toEqual({
    '#/bearerKeys/0': 'new',
    '#/bearerKeys/1': 'new',
    '#/bearerKeys/3': 'invalid',
  })
  const left = plan.notCarried.map(({ pointer }: Item) => pointer)
  expect(left).toEqual([
    ...['#/bearerKeys/2', '#/assistant/endpoints/1', '#/systemConfig/assistant/endpoints/0/token', '#/oauthClients'],
    ...[
      '#/systemConfig/smartRouting',
      '#/systemConfig/routing',
      '#/systemConfig/modelscope',
      '#/systemConfig/assistant',
    ],
    '#/userConfigs/user1/routing',
  ])
  expect(JSON.stringify(plan)).not.toContain(OLD_TOKEN)
  expect(of(plan.items, 'endpoint')).toMatchObject([
    { name: 'kitchen', owner: 'user0', verdict: 'new', pointer: '#/assistant/endpoints/0' },
    { name: 'desk', owner: 'user1', verdict: 'new', pointer: '#/systemConfig/assistant/endpoints/0' },
  ])
  expect(plan.warnings.join()).toContain('two hubs')
  expect(plan.warnings.join()).toContain('keepAliveInterval')
  expect([await count('/api/servers?scope=all'), await count('/api/admin/users')]).toEqual([0, 1])
  const unplanned = await admin.request('POST', '/api/import', { document })
  expect([unplanned.status, unplanned.json.errors[0].pointer]).toEqual([400, '#/planHash'])
  const other = await admin.request('POST', '/api/import', { document, off: true, planHash: plan.planHash })
  expect([other.status, other.json.code]).toEqual([409, 'plan_changed'])
  expect(await count('/api/admin/users')).toBe(1)
}, 120_000)

test('an ordinary user gets the servers and groups, as its own, and no account', async () => {
  carol = await hub.user('carol')
  const plan = await carol.ok('POST', '/api/import?dryRun=true', { document })
  for (const kind of ['user', 'key'])
    expect(of(plan.items, kind).every(({ verdict }) => verdict === 'skipped')).toBe(true)
  expect(plan.items.find(({ name }: Item) => name === 'remote1')).toMatchObject({ owner: 'carol', verdict: 'new' })
  const key = (await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })).secret
  const answer = await send(
    hub.url,
    'POST',
    '/api/import?dryRun=true',
    { document },
    { authorization: `Bearer ${key}` },
  )
  expect(of(answer.json.items, 'user').every(({ verdict }) => verdict === 'skipped')).toBe(true)
})

test('imported: old passwords sign in, and clients work with only the host changed', async () => {
  const answers = { OLD_KEY: 'value-of-old-key' }
  const begun = performance.now()
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document, answers })
  const done = await admin.ok('POST', '/api/import', { document, answers, planHash })
  console.log(
    `dry run and import of ${REMOTES + 2} servers and ${USERS + 1} users: ${Math.round(performance.now() - begun)} ms`,
  )
  id = done.id
  user0 = await hub.signIn('user0', OLD_PASSWORD)
  await online(user0, ['echo', 'second'])
  expect(await user0.ok('GET', '/api/servers/echo')).toMatchObject({ name: 'echo', tags: ['EU'] })
  expect((await user0.ok('GET', '/api/groups/work')).tags).toEqual(['daily'])
  expect((await send(hub.url, 'POST', '/api/auth/login', { username: 'root', password: 'admin123' })).status).toBe(401)
  const paths = [
    `/mcp/${GROUP_ID}`,
    '/mcp/work',
    `/user0/mcp/${GROUP_ID}`,
    '/user0/mcp/work',
    '/user0/mcp/echo',
    '/mcp/echo',
  ]
  for (const path of paths) {
    const client = await user0.mcp(path, { credential: KEY })
    const { tools } = await client.listTools()
    const tool = tools.map(({ name }) => name).find(name => /^(echo.)?env$/.test(name)) ?? ''
    expect([path, await callText(client, tool, { name: 'API_KEY' })]).toEqual([path, 'value-of-old-key'])
  }
  const old = await user0.mcp(`/user0/sse/${GROUP_ID}`, { credential: GROUP_KEY, sse: true })
  expect((await old.listTools()).tools.map(({ name }) => name).filter(name => name.startsWith('second'))).toHaveLength(
    1,
  )
  const everything = await user0.mcp('/user0/mcp', { credential: KEY })
  expect((await everything.listTools()).tools.length).toBeGreaterThan(3)
  // The key of one group opens nothing else, and no such key opens the REST API.
  const refused = async (path: string, key: string) =>
    (await send(hub.url, 'POST', path, {}, { authorization: `Bearer ${key}` })).status
  expect(await refused('/mcp/second', GROUP_KEY)).toBeGreaterThanOrEqual(400)
  expect((await send(hub.url, 'GET', '/api/servers', undefined, { authorization: `Bearer ${KEY}` })).status).toBe(403)
  const user1 = await hub.signIn('user1', OLD_PASSWORD)
  expect((await user1.ok('GET', '/api/settings')).hostedKeys.modelscope.last4).toBe('ser1')
  // A former path of another user does not exist here.
  expect(await refused(`/mcp/${GROUP_ID}`, await user1.mcpKey())).toBe(404)
}, 120_000)

test('a second import is all the same', async () => {
  const answers = { OLD_KEY: 'value-of-old-key' }
  const plan = await admin.ok('POST', '/api/import?dryRun=true', { document, answers })
  const others = plan.items.filter(({ verdict }: Item) => verdict !== 'same')
  expect(others.map(({ kind, name, verdict }: Item) => [kind, name, verdict])).toEqual([['key', 'short', 'invalid']])
}, 120_000)

test('a short key is taken for 30 days where it is wanted; items are renamed and skipped', async () => {
  const small = {
    mcpServers: { one: { url: 'https://never.example/' } },
    groups: [{ name: 'g', servers: ['one'] }],
    bearerKeys: document.bearerKeys,
  }
  const choices = { '#/bearerKeys/3': 'accept', '#/mcpServers/one': { rename: 'uno' }, '#/bearerKeys/0': 'skip' }
  const plan = await admin.ok('POST', '/api/import?dryRun=true', { document: small, choices, off: true })
  expect(plan.items.map(({ name, verdict }: Item) => [name, verdict])).toEqual([
    ['uno', 'new'],
    ['g', 'new'],
    ['everything', 'skipped'],
    ['one group', 'same'],
    ['short', 'new'],
  ])
  const done = await admin.ok('POST', '/api/import', { document: small, choices, off: true, planHash: plan.planHash })
  expect((await admin.ok('GET', '/api/groups/g')).members.map((one: { server: string }) => one.server)).toEqual([
    'admin~uno',
  ])
  const { items } = await admin.ok('GET', '/api/keys')
  const days =
    (Date.parse(items.find((key: { label: string }) => key.label === 'short').expiresAt) - Date.now()) / 86_400_000
  expect(Math.round(days)).toBe(30)
  const back = await admin.ok('POST', `/api/import/${done.id}/rollback`)
  expect([back.removed.length, back.kept]).toEqual([3, []])
})

test('rights do not rise: what somebody else ran there waits for a review here', async () => {
  const boss = await hub.user('boss', 'admin')
  const command = stdioFixture('echo', { API_KEY: 'one-secret' })
  const theirs = {
    users: [],
    mcpServers: {
      'of-stranger': { ...command, owner: 'stranger' },
      'of-admin': { ...command, owner: 'admin' },
      'of-boss': { ...command, owner: 'boss', enabled: false },
    },
  }
  const { planHash } = await boss.ok('POST', '/api/import?dryRun=true', { document: theirs })
  const done = await boss.ok('POST', '/api/import', { document: theirs, planHash })
  expect(done.items.map(({ name, warnings }: Item) => [name, warnings.join().includes('reviewed')])).toEqual([
    ['of-stranger', true],
    ['of-admin', true],
    ['of-boss', false],
  ])
  for (const ref of ['boss~of-stranger', 'admin~of-admin']) {
    expect((await boss.request('POST', `/api/servers/${ref}/start`)).json.code).toBe('review_required')
  }
  // An import does not reveal by trial which secret is stored.
  const guess = JSON.parse(JSON.stringify(theirs).replaceAll('one-secret', 'a guess'))
  for (const document of [theirs, guess]) {
    const { items } = await boss.ok('POST', '/api/import?dryRun=true', { document })
    expect(items.map(({ verdict }: Item) => verdict)).toEqual(['same', 'same', 'same'])
  }
  expect((await boss.ok('POST', `/api/import/${done.id}/rollback`)).kept).toEqual([])
  await admin.ok('DELETE', '/api/admin/users/boss')
})

test('an access key takes no user back', async () => {
  const document = {
    users: [{ username: 'temp' }],
    mcpServers: { t: { url: 'https://never.example/', enabled: false } },
  }
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document })
  const done = await admin.ok('POST', '/api/import', { document, planHash })
  const key = (await admin.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })).secret
  const path = `/api/import/${done.id}/rollback`
  const { json } = await send(hub.url, 'POST', path, undefined, { authorization: `Bearer ${key}` })
  expect(json.kept).toMatchObject([{ kind: 'user', name: 'temp', why: expect.stringContaining('sign in') }])
  expect((await admin.ok('GET', '/api/admin/users')).items.some(({ name }: Item) => name === 'temp')).toBe(true)
  await admin.ok('DELETE', '/api/admin/users/temp')
})

test('a rollback removes what nobody has changed since, and says what it left', async () => {
  await user0.ok('PATCH', '/api/servers/remote0', { description: 'mine now' })
  expect((await admin.ok('GET', '/api/import')).items.map((one: { id: string }) => one.id)).toEqual([id])
  expect((await carol.request('POST', `/api/import/${id}/rollback`)).json.code).toBe('import_not_found')
  const { items: keys } = await user0.ok('GET', '/api/keys')
  const rotated = keys.find(({ label }: { label: string }) => label === 'one group')
  await user0.ok('POST', `/api/keys/${rotated.id}/rotate`)
  const back = await admin.ok('POST', `/api/import/${id}/rollback`)
  expect(back.kept).toEqual([
    { kind: 'key', name: 'one group', why: 'it was changed since' },
    { kind: 'server', name: 'remote0', why: 'it was changed since' },
    { kind: 'user', name: 'user0', why: expect.stringContaining('owns') },
  ])
  expect([await count('/api/servers?scope=all'), await count('/api/admin/users')]).toEqual([1, 3])
  expect((await send(hub.url, 'POST', '/mcp', {}, { authorization: `Bearer ${KEY}` })).status).toBe(401)
  expect((await admin.request('POST', `/api/import/${id}/rollback`)).status).toBe(404)
  expect((await hub.signIn('admin', PASSWORD)).name).toBe('admin')
}, 120_000)
