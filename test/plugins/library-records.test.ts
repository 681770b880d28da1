/** A kind of records that a plugin defines: by REST, in the settings file, sealed, moved, and kept without its plugin. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFile, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Client, type Hub, ROOT, send, startHub } from '../support/hub.ts'
import { inFolder } from '../support/moving.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const PLUGINS = '/api/admin/plugins'
const SHOPS = '/api/plugins/library/shops'
const LIBRARY = { use: './plugins/library/plugin.ts', isolate: false }
const TOKEN = 'shop-token-of-forty-characters-0123456789'
const CORNER = { name: 'corner', url: 'https://corner.example/orders', token: TOKEN }
let hub: Hub
let admin: Client
let ada: Client
let bob: Client

beforeAll(async () => {
  const folder = await makeTemp('hub')
  await cp(join(ROOT, 'examples/library'), join(folder, 'plugins/library'), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  for (const name of ['zod', 'kysely'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  const shops = [
    { name: 'town', url: 'https://town.example/', token: TOKEN },
    { name: 'none', url: 'nowhere' },
  ]
  hub = await startHub({ folder, settings: { mcpServers: {}, records: { library: { shops } } } })
  await hub.logged('/records/library/shops: No plugin that runs has records of the kind')
  admin = await hub.setup()
  await admin.ok('POST', PLUGINS, LIBRARY)
  ;[ada, bob] = [await hub.user('ada'), await hub.user('bob')]
}, 90_000)
afterAll(() => hub.stop())

const storedText = async () =>
  Buffer.concat(
    await Promise.all(
      ['patchbay.db', 'patchbay.db-wal'].map(name => readFile(join(hub.dataDir, name)).catch(() => Buffer.alloc(0))),
    ),
  )

test('a record is created, read, changed under its revision and deleted; others do not see it', async () => {
  const made = await ada.request('POST', SHOPS, CORNER)
  expect([made.status, made.headers.get('etag'), made.headers.get('location')]).toEqual([
    201,
    '"1"',
    `${hub.url}${SHOPS}/ada~corner`,
  ])
  expect(made.json).toMatchObject({
    ...{ name: 'corner', ref: 'ada~corner', owner: 'ada', enabled: true, revision: 1, origin: 'api' },
    ...{ url: CORNER.url, token: '••••6789', status: { host: 'corner.example' } },
  })
  expect((await storedText()).includes(TOKEN)).toBe(false)
  expect(await ada.ok('GET', `${SHOPS}/corner`)).toEqual(made.json)
  expect((await ada.ok('GET', SHOPS)).items).toEqual([made.json])
  expect((await bob.ok('GET', SHOPS)).items).toEqual([])
  expect((await bob.request('GET', `${SHOPS}/ada~corner`)).json).toMatchObject({
    code: 'record_not_found',
    status: 404,
  })
  expect((await admin.ok('GET', `${SHOPS}?owner=ada`)).total).toBe(1)
  const off = await ada.ok('PATCH', `${SHOPS}/corner`, { enabled: false })
  expect(off).toMatchObject({ enabled: false, revision: 2, token: '••••6789' })
  const late = await ada.request('PUT', `${SHOPS}/corner`, off, { 'if-match': '"1"' })
  expect(late.json).toMatchObject({ code: 'version_conflict', revision: 2, changedBy: 'ada' })
  expect((await ada.ok('PUT', `${SHOPS}/corner`, { ...off, enabled: true })).revision).toBe(3)
  const audit = await admin.ok('GET', '/api/admin/audit?action=library.shops.update')
  expect(audit.items.map(({ target }: { target: string }) => target)).toEqual(['ada~corner', 'ada~corner'])
})

test('the bytes of a record count in what its owner stores', async () => {
  const stored = async () => {
    const { items } = await ada.ok('GET', '/api/limits')
    return items.find(({ name }: { name: string }) => name === 'storedBytesPerUser').used
  }
  const before = await stored()
  const large = { ...CORNER, name: 'large', url: `https://large.example/${'x'.repeat(400)}` }
  await ada.ok('POST', SHOPS, large)
  expect((await stored()) - before).toBeGreaterThan(400 + TOKEN.length)
  await ada.ok('DELETE', `${SHOPS}/large`)
  expect(await stored()).toBe(before)
})

test('mistakes are named by their fields, and a user has as many as the kind permits', async () => {
  const refused = [
    await ada.request('POST', SHOPS, { url: 'nowhere' }),
    await ada.request('POST', SHOPS, { name: 'x', url: 'nowhere' }),
    await ada.request('POST', SHOPS, { name: 'x', url: CORNER.url, owner_id: 'bob' }),
    await ada.request('POST', SHOPS, { name: 'x', url: CORNER.url, token: '••••6789' }),
    await ada.request('PATCH', `${SHOPS}/corner`, { id: 'other' }),
  ]
  expect(refused.map(({ status, json }) => [status, json.code, json.errors[0].pointer])).toEqual(
    ['#/name', '#/url', '#/owner_id', '#/token', '#/id'].map(pointer => [400, 'validation_failed', pointer]),
  )
  expect((await ada.request('POST', SHOPS, CORNER)).json.code).toBe('name_taken')
  await ada.ok('POST', SHOPS, { ...CORNER, name: 'second' })
  const full = await ada.request('POST', SHOPS, { ...CORNER, name: 'third' })
  expect([full.status, full.json.code]).toEqual([409, 'quota_records'])
  expect((await ada.request('DELETE', `${SHOPS}/second`)).status).toBe(204)
  expect((await ada.request('PUT', SHOPS, {})).headers.get('allow')).toBe('GET, HEAD, POST')
})

test('an access key cannot send a stored secret to another address', async () => {
  const { secret } = await ada.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })
  const byKey = (body: object) => send(hub.url, 'PATCH', `${SHOPS}/corner`, body, { authorization: `Bearer ${secret}` })
  const moved = await byKey({ url: 'https://evil.example/' })
  expect([moved.status, moved.json.errors[0]]).toMatchObject([400, { code: 'secret_required', pointer: '#/token' }])
  expect((await byKey({ enabled: true })).status).toBe(200)
  const foreign = await admin.request('PATCH', `${SHOPS}/ada~corner`, { enabled: true })
  expect(foreign.json.errors[0]).toMatchObject({ code: 'secret_mask', pointer: '#/token' })
})

test('the settings file holds records, and says what is wrong with one', async () => {
  await hub.logged('/records/library/shops/1/url')
  const { items } = await admin.ok('GET', SHOPS)
  expect(items).toMatchObject([{ name: 'town', origin: 'file', url: 'https://town.example', token: '••••6789' }])
  expect((await admin.request('DELETE', `${SHOPS}/town`)).json).toMatchObject({ code: 'setting_locked' })
})

test('the API document has the kind with its fields and examples', async () => {
  const { paths } = await admin.ok('GET', '/api/openapi.json')
  expect([Object.keys(paths[SHOPS]), Object.keys(paths[`${SHOPS}/{ref}`])]).toEqual([
    ['get', 'post'],
    ['get', 'put', 'patch', 'delete'],
  ])
  const { post } = paths[SHOPS]
  expect(post['x-access']).toBe('user')
  const { schema, example } = post.requestBody.content['application/json']
  expect([Object.keys(schema.properties), schema.required]).toEqual([
    ['name', 'enabled', 'url', 'token'],
    ['name', 'url'],
  ])
  expect(example).toMatchObject({ name: 'one', url: 'https://books.example/orders' })
  expect(post.responses[201].content['application/json'].example.revision).toBe(1)
})

test('a record is exported and imported with its secret, replaced, and taken back', async () => {
  const document = await ada.ok('POST', '/api/export', {})
  expect(document['library.shops']).toEqual({
    corner: { url: CORNER.url, enabled: true, token: '<secret:/library.shops/corner/token>' },
  })
  await ada.ok('PATCH', `${SHOPS}/corner`, { url: 'https://other.example' })
  const choices = { '#/library.shops/corner': 'replace' }
  // A passphrase would carry the secret too, and takes a second for each use.
  const answers = { '/library.shops/corner/token': TOKEN }
  const wish = { document, answers, choices }
  const plan = await ada.ok('POST', '/api/import?dryRun=true', wish)
  expect(plan.items).toMatchObject([{ kind: 'library.shops', name: 'corner', verdict: 'replaced' }])
  const done = await ada.ok('POST', '/api/import', { ...wish, planHash: plan.planHash })
  expect((await ada.ok('GET', `${SHOPS}/corner`)).url).toBe(CORNER.url)
  const back = await ada.ok('POST', `/api/import/${done.id}/rollback`)
  expect(back.restored).toEqual([{ kind: 'library.shops', name: 'corner' }])
  expect(await ada.ok('GET', `${SHOPS}/corner`)).toMatchObject({ url: 'https://other.example', token: '••••6789' })
  // From somebody else: off until its new owner has seen it.
  const theirs = await bob.ok('POST', '/api/import?dryRun=true', { document, answers })
  await bob.ok('POST', '/api/import', { document, answers, planHash: theirs.planHash })
  expect(await bob.ok('GET', `${SHOPS}/corner`)).toMatchObject({ enabled: false, token: '••••6789' })
})

const CLASHING = `
import { definePlugin } from 'patchbay/contract'
import { shops } from './library/shops.ts'
export default definePlugin({
  name: 'clashing', contract: 1,
  setup({ records, routes }) {
    records.define(shops)
    const answers = { 200: { description: 'One' } }
    routes.add({ method: 'GET', path: '/{word}', access: 'user', summary: 'One', answers, handle: () => ({ body: {} }) })
    routes.add({ method: 'GET', path: '/shops/{id}', access: 'user', summary: 'One', answers, handle: () => ({ body: {} }) })
    return undefined
  },
})
`

test('two plugins call a kind the same; a route at its paths is refused', async () => {
  const file = join(hub.folder, 'plugins/clashing.ts')
  const start = () => admin.request('POST', PLUGINS, { use: './plugins/clashing.ts', isolate: false })
  await writeFile(file, CLASHING, { mode: 0o600 })
  const refused = await start()
  expect(refused.json.detail).toContain('route GET /shops/{id}: there is one for these paths already')
  await writeFile(file, CLASHING.replaceAll('/shops/{id}', '/free/{id}'), { mode: 0o600 })
  expect((await start()).status).toBe(201)
  // The fixed word wins over the parameter of another route.
  expect(await ada.ok('GET', '/api/plugins/clashing/shops')).toMatchObject({ items: [], total: 0 })
  expect(await ada.ok('GET', '/api/plugins/clashing/other')).toEqual({})
  await admin.ok('DELETE', `${PLUGINS}/clashing`)
})

test('records stay without their plugin, and are there again with it; a backup holds them', async () => {
  const document = await ada.ok('POST', '/api/export', {})
  await admin.ok('DELETE', `${PLUGINS}/library`)
  expect((await ada.request('GET', SHOPS)).json.code).toBe('route_not_found')
  expect((await admin.ok('GET', '/api/openapi.json')).paths).not.toHaveProperty([SHOPS])
  const plan = await ada.ok('POST', '/api/import?dryRun=true', { document })
  expect([plan.items, plan.notCarried[0].what]).toEqual([[], 'records of the kind "library.shops"'])
  const file = join(hub.folder, 'b.backup')
  const backup = await inFolder(hub.folder, ['backup', file])
  expect(backup.code).toBe(0)
  const other = await makeTemp('restored')
  await mkdir(join(other, 'data'), { mode: 0o700 })
  await copyFile(join(hub.dataDir, 'master.key'), join(other, 'data/master.key'))
  expect((await inFolder(other, ['restore', file])).code).toBe(0)
  const restored = new Database(join(other, 'data/patchbay.db'), { readonly: true })
  const kept = restored.prepare("select name from owned_setting where kind = 'library.shops' order by name").all()
  restored.close()
  await removeTemp(other)
  expect(kept).toEqual(['corner', 'corner', 'town'].map(name => ({ name })))
  await admin.ok('POST', PLUGINS, LIBRARY)
  expect(await ada.ok('GET', `${SHOPS}/corner`)).toMatchObject({ url: 'https://other.example', revision: 7 })
  // It acts, so that it has no more rights than its owner had when it was saved.
  await admin.ok('PATCH', '/api/admin/users/ada', { role: 'admin' })
  const [promoted] = (await admin.ok('GET', `${SHOPS}?owner=ada`)).items
  expect(promoted).toMatchObject({ name: 'corner', limited: true, revision: 8 })
  await admin.ok('DELETE', '/api/admin/users/bob?cascade=true')
  const gauge = async () => (await admin.request('GET', '/metrics')).text
  await until(async () => /name="library_shops"[^\n]* 2$/m.test(await gauge()), { what: 'the shops of two users' })
})

test('a record that its plugin cannot show is listed without what the plugin shows, and logged', async () => {
  const source = `
    import { definePlugin } from 'patchbay/contract'
    import { z } from 'zod'
    export default definePlugin({ name: 'shelves', contract: 1, setup: ({ records }) => void records.define({
      kind: 'boards', title: 'board', schema: z.object({ length: z.int() }), most: 5, example: { length: 1 },
      show({ fields: { length } }) {
        if (length < 0) throw new Error('no board is that short')
        return { long: length > 100 }
      },
    }) })`
  await writeFile(join(hub.folder, 'plugins/shelves.ts'), source, { mode: 0o600 })
  await admin.ok('POST', PLUGINS, { use: './plugins/shelves.ts', isolate: false })
  const boards = '/api/plugins/shelves/boards'
  await ada.ok('POST', boards, { name: 'a', length: 200 })
  expect((await ada.request('POST', boards, { name: 'b', length: -1 })).status).toBe(201)
  const { items } = await ada.ok('GET', boards)
  expect(items.map(({ name, status }: { name: string; status: unknown }) => [name, status])).toEqual([
    ['a', { long: true }],
    ['b', {}],
  ])
  await hub.logged('no board is that short')
})
