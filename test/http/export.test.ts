/** Exports of one user: into another hub, with and without the secrets, and out of it again. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, send, startHub, stdioFixture } from '../support/hub.ts'
import { inFolder } from '../support/moving.ts'
import { callText, online } from '../support/servers.ts'

const PASSPHRASE = 'a passphrase of some words'
const SECRET = 'sk-export-secret-1'
const HOOK = 'hook-export-secret-2'
const DIAL = 'dial-export-secret-3'
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'weather', version: '1' },
  servers: [{ url: 'https://never.example' }],
  paths: { '/now': { get: { operationId: 'now', responses: { 200: { description: 'now' } } } } },
}

type Content = Record<string, Record<string, unknown>>
let one: Hub
let two: Hub
let ada: Client
let bob: Client

beforeAll(async () => {
  ;[one, two] = await Promise.all([startHub(), startHub()])
  await Promise.all([one.setup(), two.setup()])
  ada = await one.user('ada', 'admin')
  // The same person on another hub: an export of somebody else would wait for a review.
  bob = await two.user('ada', 'admin')
  await ada.ok('POST', '/api/servers', {
    ...{ name: 'echo', ...stdioFixture('echo', { API_KEY: `\${OWN_TOKEN}`, WHO: `$\${kept} as it is` }) },
    ...{ variables: { OWN_TOKEN: SECRET, part: 'x' }, description: 'Says it back', timeout: 20_000 },
    tools: {
      env: { description: 'One variable', arguments: { name: { default: 'WHO' } } },
      whoami: { enabled: false },
    },
  })
  await ada.ok('POST', '/api/servers', {
    ...{ name: 'weather', openapi: { schema: DOCUMENT }, enabled: false },
    ...{ tools: { now: { enabled: true } }, toolsDefault: 'off' },
  })
  await ada.ok('POST', '/api/servers', {
    ...{ name: 'far', url: `https://never.example/mcp?key=${SECRET}`, secrets: ['/url'], enabled: false },
    ...{ passthroughHeaders: ['x-team'], start: 'lazy', visibility: 'public' },
  })
  await ada.ok('POST', '/api/groups', {
    ...{ name: 'work', description: 'For work', naming: 'prefixed' },
    members: ['echo', { server: 'weather', alias: 'sky', tools: ['now'] }],
  })
  await ada.ok('POST', '/api/monitoring/dashboards', {
    name: 'Mine',
    widgets: [{ type: 'metric', title: 'Calls', query: 'request_count over 1h' }],
  })
  await ada.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'hook', type: 'webhook' },
    config: { url: `https://hooks.never.example/${HOOK}`, headers: { 'X-Key': HOOK } },
  })
  await ada.ok('POST', '/api/monitoring/rules', {
    ...{ name: 'errors', condition: 'error_rate[5m] > 5%', severity: 'critical', per: 'server', channels: ['hook'] },
  })
  await ada.ok('POST', '/api/assistant/endpoints', {
    ...{ name: 'desk', direction: 'outbound', url: `wss://never.example/mcp?token=${DIAL}`, group: 'work' },
    ...{ enabled: false, limits: { tools: 12 } },
  })
  await ada.ok('POST', '/api/assistant/endpoints', { name: 'all', direction: 'inbound', group: '$smart/echo' })
  await ada.ok('PATCH', '/api/settings', { theme: 'dark', hostedKeys: { modelscope: 'ms-export-1' } })
  await online(ada, ['echo'])
}, 120_000)

afterAll(async () => {
  await one?.stop()
  await two?.stop()
}, 120_000)

const comparable = ({ owner, createdAt, sha256, secrets, ...content }: Content) => content

/** Checks that the content holds no secret, open or sealed, and no id. */
function expectNoSecret(content: object): void {
  const text = JSON.stringify(content)
  for (const secret of [SECRET, HOOK, DIAL, 'ms-export-1', 'pba_']) expect(text).not.toContain(secret)
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/)
}

test('an export names no secret, no id and no other owner’s things', async () => {
  const plain = await ada.ok('POST', '/api/export', {})
  expectNoSecret(plain)
  expect(Object.keys(plain.servers)).toEqual(['echo', 'far', 'weather'])
  expect(plain.servers.echo.variables.OWN_TOKEN).toBe('<secret:/servers/echo/variables/OWN_TOKEN>')
  expect(plain.servers.weather).toMatchObject({ tools: { now: { enabled: true } }, toolsDefault: 'off' })
  expect(plain.dashboards.Mine.widgets).toMatchObject([{ query: 'request_count over 1h' }])
  expect(plain.rules.errors).toMatchObject({ channels: ['hook'], duration: '1m' })
  expect(plain.endpoints.desk).toEqual({
    ...{ direction: 'outbound', group: 'work', enabled: false, url: '<secret:/endpoints/desk/url>' },
    limits: { tools: 12, resultCharacters: 2_000 },
  })
  expect(plain.endpoints.all).toMatchObject({ direction: 'inbound', group: '$smart/echo' })
  expect(plain.groups.work.members[1]).toMatchObject({ server: 'weather', alias: 'sky' })
  const carol = await one.user('carol')
  expect(comparable(await carol.ok('POST', '/api/export', {}))).toMatchObject({
    servers: {},
    groups: {},
    hostedKeys: {},
  })
})

test('secrets are sealed only for somebody who has just signed in, with a passphrase', async () => {
  const key = (await ada.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })).secret
  const byKey = (body: object) => send(one.url, 'POST', '/api/export', body, { authorization: `Bearer ${key}` })
  expect((await byKey({})).status).toBe(200)
  expect((await byKey({ passphrase: PASSPHRASE })).json.code).toBe('insufficient_scope')
  const short = await ada.request('POST', '/api/export', { passphrase: 'short' })
  expect([short.status, short.json.errors[0].pointer]).toEqual([400, '#/passphrase'])
})

test('export, import, export is equal; calls go with the secrets', async () => {
  const document = await ada.ok('POST', '/api/export', { passphrase: PASSPHRASE })
  expectNoSecret(document)
  const without = await bob.request('POST', '/api/import?dryRun=true', { document })
  expect([without.status, without.json.errors[0].pointer]).toEqual([400, '#/passphrase'])
  const wish = { document, passphrase: PASSPHRASE }
  const plan = await bob.ok('POST', '/api/import?dryRun=true', wish)
  expect([plan.source, plan.warnings]).toEqual(['patchbay', []])
  expect(plan.items.map(({ verdict }: { verdict: string }) => verdict)).toEqual(Array(11).fill('new'))
  const done = await bob.ok('POST', '/api/import', { ...wish, planHash: plan.planHash })
  await online(bob, ['echo'])
  const client = await bob.mcp('/mcp/echo')
  expect(await callText(client, 'env', { name: 'API_KEY' })).toBe(SECRET)
  const [mine, theirs] = [await bob.ok('POST', '/api/export', {}), await ada.ok('POST', '/api/export', {})]
  expect(comparable(mine)).toEqual(comparable(theirs))
  // Each of these derives a key from the passphrase, which is slow on purpose.
  for (const again of extent([], [wish])) {
    const { items } = await bob.ok('POST', '/api/import?dryRun=true', again)
    expect(items.map(({ verdict }: { verdict: string }) => verdict)).toEqual(Array(11).fill('same'))
    const wrong = await bob.request('POST', '/api/import?dryRun=true', { document, passphrase: 'another passphrase' })
    expect([wrong.status, wrong.json.errors[0].pointer]).toEqual([400, '#/passphrase'])
  }
  const back = await bob.ok('POST', `/api/import/${done.id}/rollback`)
  expect([back.removed.length, back.restored, back.kept]).toEqual([11, [], []])
  expect(comparable(await bob.ok('POST', '/api/export', {}))).toMatchObject({ servers: {}, groups: {}, settings: {} })
}, 120_000)

test('without its secrets it asks for each by its place, and switches such servers off', async () => {
  const document = await ada.ok('POST', '/api/export', {})
  const at = '/servers/echo/variables/OWN_TOKEN'
  const plan = await bob.ok('POST', '/api/import?dryRun=true', { document, answers: { [at]: 'given' } })
  const [echo, far] = plan.items
  expect(echo).toMatchObject({ name: 'echo', verdict: 'new' })
  expect(echo.missing).toBeUndefined()
  // A server without its address is invalid.
  expect(far).toMatchObject({ name: 'far', verdict: 'invalid', missing: [{ name: '/servers/far/url', secret: true }] })
  const unanswered = await bob.ok('POST', '/api/import?dryRun=true', { document })
  expect(unanswered.items[0]).toMatchObject({
    name: 'echo',
    verdict: 'new',
    body: { enabled: false },
    missing: [{ name: at }],
  })
})

test('changes are reported, a newer version is refused, and a hostile entry is one invalid item', async () => {
  const document = await ada.ok('POST', '/api/export', {})
  const changed = { ...document, settings: { theme: 'light' } }
  const plan = await bob.ok('POST', '/api/import?dryRun=true', { document: changed })
  expect(plan.warnings).toEqual(['The file was changed since it was exported'])
  const newer = await bob.request('POST', '/api/import?dryRun=true', { document: { ...document, version: 2 } })
  expect([newer.status, newer.json.code]).toEqual([400, 'export_newer'])
  const hostile = {
    ...{ format: 'patchbay-export', version: 1, sha256: 5, hostedKeys: [], settings: { theme: 7, admin: true } },
    ...{
      servers: { a: null, '../b': { command: 'x' }, c: { command: `<secret:${'/x'.repeat(10_000)}>` } },
      groups: { g: 5 },
    },
    secrets: { kdf: 'scrypt', n: 2 ** 30, r: 8, p: 1, salt: '', nonce: '', sealed: '' },
  }
  const refused = await bob.request('POST', '/api/import?dryRun=true', { document: hostile, passphrase: PASSPHRASE })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/passphrase'])
  const items = (await bob.ok('POST', '/api/import?dryRun=true', { document: { ...hostile, secrets: null } })).items
  const verdicts = items.map(({ name, verdict }: { name: string; verdict: string }) => [name, verdict])
  expect(verdicts.slice(0, 2)).toEqual([
    ['a', 'invalid'],
    ['../b', 'invalid'],
  ])
  expect((await bob.ok('GET', '/api/servers')).total).toBe(0)
})

beyondCore(() => {
  test('the command line writes an export and takes it', async () => {
    const file = join(one.folder, 'mine.json')
    const env = (hub: Hub, client: Client) => ({ PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: client.token })
    const fresh = await one.signIn('ada')
    const made = await inFolder(one.folder, ['export', file, '--with-secrets'], {
      env: env(one, fresh),
      stdin: PASSPHRASE,
    })
    expect([made.stderr, made.stdout]).toEqual(['', expect.stringContaining('3 servers and 1 groups')])
    expect((await inFolder(one.folder, ['export', file], { env: env(one, fresh) })).stderr).toContain('already')
    const options = { env: env(two, bob), stdin: PASSPHRASE }
    const taken = await inFolder(two.folder, ['import', file, '--passphrase-stdin'], options)
    expect([taken.stderr, taken.code]).toEqual(['', 0])
    expect(taken.stdout).toMatch(/created +server +echo/)
    await writeFile(join(one.folder, 'cut.json'), '{"format": "patchbay-export", "version"')
    expect((await inFolder(two.folder, ['import', join(one.folder, 'cut.json')], { env: env(two, bob) })).code).toBe(1)
  })
})
