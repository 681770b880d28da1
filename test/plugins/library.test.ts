import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type Hub, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { inFolder } from '../support/moving.ts'
import { startAuthor } from '../support/plugins/author.ts'
import { makeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const EXAMPLES = join(ROOT, 'examples')
const PLUGINS = '/api/admin/plugins'
const BOOKS = '/api/plugins/library/books'
let hub: Hub
let admin: Client
let ada: Client
let bob: Client
let source: string

beforeAll(async () => {
  const folder = await makeTemp('hub')
  for (const name of ['library', 'library-classics'])
    await cp(join(EXAMPLES, name), join(folder, 'plugins', name), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  for (const name of ['zod', 'kysely'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  source = await readFile(join(EXAMPLES, 'library/plugin.ts'), 'utf8')
  // The first version of the plugin, before its second migration.
  const first = source
    .replace(", '0002-stars': stars }", ' }')
    .replace("'2.0.0'", "'1.0.0'")
    .replace('books, type LibraryTables, stars', 'books, type LibraryTables')
  expect(first.length).toBe(source.length - ", '0002-stars': stars".length - ', stars'.length)
  await writeFile(join(folder, 'plugins/library/plugin.ts'), first, { mode: 0o600 })
  hub = await startHub({ folder, settings: { mcpServers: {} }, env: { LIBRARY_GREETING: 'Hello' } })
  admin = await hub.setup()
  ada = await hub.user('ada')
  bob = await hub.user('bob')
}, 90_000)
afterAll(() => hub.stop())

const plugin = async (name: string) =>
  (await admin.ok('GET', PLUGINS)).items.find((each: { name: string }) => each.name === name)
const document = async () => (await admin.ok('GET', '/api/openapi.json')).paths

test('an administrator adds a plugin; a missing need fails one alone, by name', async () => {
  const body = { use: './plugins/library-classics/plugin.ts', isolate: false }
  expect((await ada.request('POST', PLUGINS, body)).json.code).toBe('admin_only')
  for (const use of ['../library/plugin.ts', '/etc/plugin.ts', './plugins/../../plugin.ts', './data/x.ts', 'zod'])
    expect((await admin.request('POST', PLUGINS, { use })).json.errors[0].pointer).toBe('#/use')
  const classics = await admin.ok('POST', PLUGINS, body)
  expect(classics).toMatchObject({ state: 'failed', code: 'plugin_failed' })
  expect(classics.message).toContain('needs plugin "library"')
  expect((await admin.request('POST', PLUGINS, body)).json.code).toBe('name_taken')
  const library = await admin.ok('POST', PLUGINS, { use: './plugins/library/plugin.ts', isolate: false })
  expect(library).toMatchObject({ name: 'library', state: 'running', version: '1.0.0', limits: { booksPerUser: 3 } })
  // A plugin that waited for it runs now.
  expect((await plugin('library-classics')).state).toBe('running')
})

test('routes check their fields and rights, count in metrics, and are in the API document', async () => {
  expect(Object.keys((await document())[BOOKS])).toEqual(['get', 'post'])
  expect((await document())[BOOKS].post['x-access']).toBe('user')
  const refusals = [
    await ada.request('POST', BOOKS, { title: '' }),
    await ada.request('POST', BOOKS, { title: 'Emma', owner_id: 'bob' }),
    await ada.request('GET', `${BOOKS}?owner=bob`),
    await ada.request('PATCH', BOOKS, {}),
    await ada.request('PUT', '/api/plugins/library/catalogue-key', { key: 'k' }),
  ]
  expect(refusals.map(({ status, json }) => [status, json.code, json.errors?.[0]?.pointer])).toEqual([
    [400, 'validation_failed', '#/title'],
    [400, 'validation_failed', '#/owner_id'],
    [400, 'validation_failed', '?owner'],
    [405, 'method_not_allowed', undefined],
    [403, 'admin_only', undefined],
  ])
  expect((await fetch(`${hub.url}${BOOKS}`)).status).toBe(401)
  const [hers, his, all] = await Promise.all([ada, bob, admin].map(who => openStream(who, '?topics=plugins')))
  const emma = await ada.ok('POST', BOOKS, { title: 'Emma' })
  expect(emma.shelves).toEqual(['classics'])
  expect(await bob.ok('GET', BOOKS)).toEqual({ greeting: 'Hello', items: [] })
  const added = { event: 'library.book_added', data: { owner: 'ada', data: { bookId: emma.id, title: 'Emma' } } }
  for (const stream of [hers, all]) expect(await stream?.next(() => true)).toMatchObject(added)
  expect(his?.events).toEqual([])
  await Promise.all([hers, his, all].map(stream => stream?.close()))
  const audit = await admin.ok('GET', '/api/admin/audit?action=library.book_add')
  expect(audit.items).toHaveLength(1)
  const metrics = await admin.request('GET', '/metrics')
  expect(metrics.text).toContain('route="/api/plugins/library/books"')
})

test('a plugin refuses in its own code, up to a limit that an administrator changes', async () => {
  await ada.ok('POST', BOOKS, { title: 'Faust' })
  await ada.ok('POST', BOOKS, { title: 'Ulysses' })
  const full = await ada.request('POST', BOOKS, { title: 'Hamlet' })
  expect(full.status).toBe(409)
  expect(full.json).toMatchObject({
    code: 'library_full',
    title: 'The library is full',
    hint: 'Remove a book first.',
    books: 3,
  })
  const limits = await ada.ok('GET', '/api/limits')
  expect(limits.items).toContainEqual({ name: 'booksPerUser', plugin: 'library', value: 3, unit: 'count' })
  await admin.ok('PATCH', `${PLUGINS}/library`, { limits: { booksPerUser: 4 } })
  expect((await ada.request('POST', BOOKS, { title: 'Hamlet' })).status).toBe(201)
})

test('a secret is kept sealed, a job writes into the folder, a page is in the console', async () => {
  const key = 'catalogue-key-of-forty-characters-0123456789'
  expect(await admin.ok('PUT', '/api/plugins/library/catalogue-key', { key })).toEqual({ last4: '6789' })
  expect(Buffer.from(await readFile(join(hub.dataDir, 'patchbay.db'))).includes(key)).toBe(false)
  const count = () => readFile(join(hub.dataDir, 'plugins/library/count.txt'), 'utf8')
  await until(async () => (await count()) === '4', { what: 'the count of books' })
  const pages = await ada.ok('GET', '/api/plugins/pages')
  expect(pages.items).toMatchObject([{ plugin: 'library', path: 'library' }])
  // With those of bundled plugins.
  expect(pages.words['Remove a book first.']).toBe('请先移除一本书。')
  expect(Object.keys(pages.words).length).toBeGreaterThan(3)
})

test('contributions of others to a point leave with its owner and come back with it', async () => {
  await admin.ok('PATCH', `${PLUGINS}/library`, { enabled: false })
  expect(await document()).not.toHaveProperty([BOOKS])
  expect((await ada.request('GET', BOOKS)).json.code).toBe('route_not_found')
  expect((await ada.ok('GET', '/api/plugins/pages')).words).not.toHaveProperty('Remove a book first.')
  expect(await plugin('library-classics')).toMatchObject({ state: 'failed', contributions: [] })
  await admin.ok('PATCH', `${PLUGINS}/library`, { enabled: true })
  expect(await plugin('library-classics')).toMatchObject({ state: 'running', contributions: ['libraryShelf/classics'] })
  expect((await ada.ok('GET', BOOKS)).items[0].shelves).toEqual(['classics'])
})

test('an upgrade brings its migration; one that fails leaves the tables as they were, and the plugin off', async () => {
  const file = join(hub.folder, 'plugins/library/plugin.ts')
  const broken = source.replace(
    "'0002-stars': stars",
    "'0002-stars': async db => { await stars(db, 'sqlite'); throw new Error('no room for stars') }",
  )
  await writeFile(file, broken)
  await admin.ok('PATCH', `${PLUGINS}/library`, { enabled: true })
  const failed = await plugin('library')
  expect(failed.state).toBe('failed')
  expect(failed.message).toContain('"0002-stars" failed, and its tables are as they were: no room for stars')
  await writeFile(file, source)
  expect(await admin.ok('PATCH', `${PLUGINS}/library`, { enabled: true })).toMatchObject({
    state: 'running',
    version: '2.0.0',
  })
  const { items } = await ada.ok('GET', `${BOOKS}?title=Emma`)
  expect(items).toMatchObject([{ title: 'Emma', stars: null }])
  await ada.ok('PUT', `${BOOKS}/${items[0].id}/stars`, { stars: 5 })
  expect((await bob.request('PUT', `${BOOKS}/${items[0].id}/stars`, { stars: 1 })).json.code).toBe(
    'library_book_not_found',
  )
  expect((await ada.ok('GET', `${BOOKS}?title=Emma`)).items[0].stars).toBe(5)
})

test('a plugin that is withdrawn and added again finds its data; those of a user are gone with the user', async () => {
  await admin.ok('DELETE', `${PLUGINS}/library`)
  expect(await plugin('library')).toBeUndefined()
  expect((await admin.request('DELETE', `${PLUGINS}/groups`)).json.code).toBe('plugin_not_found')
  await admin.ok('POST', PLUGINS, { use: './plugins/library/plugin.ts', isolate: false })
  expect((await ada.ok('GET', BOOKS)).items).toHaveLength(4)
  expect((await inFolder(hub.folder, ['backup', join(hub.folder, 'b.backup')])).stdout).toContain('rows written')
  await admin.ok('DELETE', '/api/admin/users/ada?cascade=true')
  const count = () => readFile(join(hub.dataDir, 'plugins/library/count.txt'), 'utf8')
  await until(async () => (await count()) === '0', { what: 'a library without the books of ada' })
})

/** Runs in a worker, and asks for a service of the main thread where its settings say so. */
const COUNTER = `
import { definePlugin } from 'patchbay/contract'
import { z } from 'zod'
export default definePlugin({
  name: 'counter',
  contract: 1,
  config: z.object({ secrets: z.boolean().optional() }),
  limits: { most: 2 },
  errors: { counter_full: { status: 409, title: 'Counted to the end', remedy: 'Count something else.' } },
  events: { 'counter.counted': { audience: 'owner' } },
  async setup(context) {
    if (context.config.secrets) await context.secrets.hub('key').open()
    let heard = 0
    context.events.on('counter.counted', () => { heard += 1 })
    context.routes.add({
      method: 'POST', path: '/counts/{name}', access: 'user', summary: 'Count',
      body: z.object({ by: z.int().min(1).default(1) }),
      answers: { 200: { description: 'The count' } },
      async handle({ actor, params: { name }, body: { by } }) {
        const { [name]: before = 0 } = await context.settings.user(actor.userId)
        if (before + by > context.limits.most) throw context.error('counter_full', 'That is too many', { data: { before } })
        await context.settings.setUser(actor.userId, { [name]: before + by })
        await context.jobs.once('event', async () => context.events.emit('counter.counted', actor.userId, {}))
        return { body: { count: before + by, heard, folder: await context.folder() } }
      },
    })
    context.routes.add({
      method: 'POST', path: '/sizes', access: 'user', summary: 'Measure', rawBody: 100,
      answers: { 200: { description: 'The size' } },
      handle: ({ bytes }) => ({ body: { first: bytes[0], bytes: bytes.length } }),
    })
    context.routes.add({
      method: 'POST', path: '/table', access: 'user', summary: 'A table', reads: true,
      body: z.object({ type: z.string(), header: z.string() }),
      answers: { 200: { description: 'The table', contentType: 'text/csv', example: 'a,b' } },
      handle: ({ body: { type, header } }) => ({ text: 'a,b\\n1,2\\n', type, headers: { [header]: 'attachment' } }),
    })
    context.routes.add({
      method: 'GET', path: '/fault', access: 'user', summary: 'Fail', answers: { 200: { description: 'Never' } },
      handle: () => { throw new Error('a fault of the counter') },
    })
    return undefined
  },
})
`

test('a plugin in a worker has the services that cross; its faults are its own', async () => {
  await writeFile(join(hub.folder, 'plugins/counter.ts'), COUNTER, { mode: 0o600 })
  const refused = await admin.request('POST', PLUGINS, { use: './plugins/counter.ts', config: { secrets: true } })
  expect(refused.json).toMatchObject({ code: 'plugin_failed' })
  expect(refused.json.detail).toContain('"secrets" is open to plugins in the main thread alone')
  expect(await plugin('./plugins/counter.ts')).toBeUndefined()
  expect(await admin.ok('POST', PLUGINS, { use: './plugins/counter.ts' })).toMatchObject({
    name: 'counter',
    isolated: true,
  })
  const count = (body: object) => bob.request('POST', '/api/plugins/counter/counts/pages', body)
  expect((await count({})).json).toEqual({ count: 1, heard: 0, folder: join(hub.dataDir, 'plugins/counter') })
  expect((await count({ by: 0 })).json.errors).toMatchObject([{ pointer: '#/by' }])
  expect((await count({ by: 2 })).json).toMatchObject({ code: 'counter_full', status: 409, before: 1 })
  expect(await until(async () => (await count({})).json.heard ?? 1)).toBe(1)
  const codes = (await admin.ok('GET', '/api/openapi.json')).components.schemas.Problem.properties.code.enum
  expect(codes).toContain('counter_full')
  const fault = await bob.request('GET', '/api/plugins/counter/fault')
  expect([fault.status, fault.json.code, fault.text.includes('a fault of the counter')]).toEqual([
    500,
    'internal',
    false,
  ])
  await hub.logged('a fault of the counter')

  const table = (client: Client, type = 'text/csv; charset=utf-8', header = 'content-disposition') =>
    client.request('POST', '/api/plugins/counter/table', { type, header })
  const { secret } = await bob.ok('POST', '/api/keys', { label: 'reads', scopes: ['api:read'] })
  const reader = new Client(hub.url, 'bob', secret)
  const file = await table(reader)
  expect([file.status, file.text, file.headers.get('content-type')]).toEqual([
    ...[200, 'a,b\n1,2\n', 'text/csv; charset=utf-8'],
  ])
  expect(file.headers.get('content-disposition')).toBe('attachment')
  for (const refusal of [await table(bob, 'text/html'), await table(bob, 'text/csv', 'set-cookie')])
    expect([refusal.status, refusal.json.code]).toEqual([500, 'internal'])
  const { paths } = await admin.ok('GET', '/api/openapi.json')
  expect(paths['/api/plugins/counter/table'].post.responses[200].content).toEqual({ 'text/csv': { example: 'a,b' } })
})

test('servers, groups, states, clients and requests are used in the rights of whoever asks', async () => {
  await cp(join(EXAMPLES, 'workshop'), join(hub.folder, 'plugins/workshop'), { recursive: true })
  await admin.ok('POST', PLUGINS, { use: './plugins/workshop/plugin.ts', isolate: false })
  const benches = '/api/plugins/workshop/benches'
  const bench = await admin.ok('POST', benches, { name: 'bench', server: stdioFixture('echo') })
  expect(bench.state).toBe('online')
  expect(bench.tools).toContain('echo')
  const said = await admin.ok('POST', `${benches}/bench/calls`, { tool: 'echo', arguments: { text: 'hello' } })
  expect(JSON.stringify(said.content)).toContain('hello')
  const wrong = await admin.request('POST', `${benches}/bench/calls`, { tool: 'none', arguments: {} })
  expect(wrong.json.code).toBe('tool_not_found')
  // Nobody else's, as in the hub's own routes.
  expect((await bob.request('POST', `${benches}/bench/calls`, { tool: 'echo', arguments: {} })).json.code).toBe(
    'group_not_found',
  )
  expect((await bob.request('DELETE', `${benches}/admin~bench`)).json.code).toBe('group_not_found')
  const refused = await bob.request('POST', benches, { name: 'mine', server: { command: '' } })
  expect(refused.json.code).toBe('validation_failed')
  await using near = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('here') })
  const reach = `/api/plugins/workshop/reach?url=${encodeURIComponent(`http://127.0.0.1:${near.port}/`)}`
  expect((await bob.request('GET', reach)).json.code).toBe('url_address_blocked')
  expect(await admin.ok('GET', reach)).toEqual({ status: 200 })
  let closed = 0
  await using talker = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request, server) => (server.upgrade(request) ? undefined : new Response(null, { status: 400 })),
    websocket: {
      message: (socket, text) => void socket.send(`heard ${text}`),
      close() {
        closed += 1
      },
    },
  })
  const url = `ws://127.0.0.1:${talker.port}/`
  const ask = '/api/plugins/workshop/ask'
  expect((await bob.request('POST', ask, { url, text: 'hello' })).json.code).toBe('url_address_blocked')
  expect(await admin.ok('POST', ask, { url, text: 'hello' })).toEqual({ answer: 'heard hello' })
  await until(() => closed === 1)
  await admin.ok('DELETE', `${benches}/bench`)
  expect((await admin.ok('GET', '/api/servers')).items).toEqual([])
  const audit = await admin.ok('GET', '/api/admin/audit?action=server.create')
  expect(audit.items[0]).toMatchObject({ target: 'admin~bench', detail: { plugin: 'workshop' } })
})

test('a route takes a file as its raw body, up to its limit, in the main thread and in a worker', async () => {
  const send = (path: string, content: string) =>
    fetch(`${hub.url}/api/plugins/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bob.token}`, 'content-type': 'application/octet-stream' },
      body: content,
    })
  const counted = await send('workshop/words/file', 'a few\nwords')
  expect([counted.status, await counted.json()]).toEqual([200, { words: 3, bytes: 11 }])
  const long = await send('workshop/words/file', 'x'.repeat(10_001))
  expect([long.status, (await long.json()).code]).toEqual([413, 'body_too_large'])
  const operation = (await document())['/api/plugins/workshop/words/file'].post
  expect(Object.keys(operation.requestBody.content)).toEqual(['application/octet-stream'])
  const sized = await send('counter/sizes', 'in a worker')
  expect([sized.status, await sized.json()]).toEqual([200, { first: 105, bytes: 11 }])
})

test('a thread answers beside the hub; one that does not is ended, and starts again', async () => {
  const count = (text: string) => bob.request('POST', '/api/plugins/workshop/words', { text })
  expect((await count('a few words')).json).toEqual({ words: 3 })
  expect((await count('')).json.code).toBe('internal')
  const [endless, health] = await Promise.all([count('for ever'), bob.request('GET', '/health')])
  expect(health.status).toBe(200)
  expect(endless.json.code).toBe('connection_lost')
  expect((await count('it counts again')).json).toEqual({ words: 3 })
})

test('a restore brings the rows of plugins back', async () => {
  await hub.stop({ keep: true })
  const restored = await inFolder(hub.folder, ['restore', join(hub.folder, 'b.backup'), '--replace'])
  expect(restored.stderr).toBe('')
  // A plugin that the API has added is gone after a restart, unless the settings file has it.
  const plugins = [{ use: './plugins/library/plugin.ts', isolate: false }]
  hub = await startHub({ folder: hub.folder, settings: { mcpServers: {}, plugins } })
  admin = await hub.signIn('admin')
  expect((await plugin('library')).state).toBe('running')
  ada = await hub.signIn('ada')
  const { items } = await ada.ok('GET', BOOKS)
  expect(items).toHaveLength(4)
  expect(items.find(({ title }: { title: string }) => title === 'Emma').stars).toBe(5)
})

test('a plugin from elsewhere has no whole paths, and reads no credentials', async () => {
  const path = join(hub.folder, 'plugins/taker.ts')
  const source = (definition: string, route: string) => `
    import { definePlugin } from 'patchbay/contract'
    export default definePlugin({ name: 'taker', contract: 1, ${definition} setup: ({ routes }) => routes.add({
      method: 'GET', access: 'public', summary: 'Take', answers: { 200: { description: 'Taken' } }, handle: () => ({}), ${route}
    }) })`
  const wrong = {
    '"claims" of its definition': source("claims: ['/health'],", "path: '/health', whole: true"),
    'only bundled plugins have whole paths': source('', "path: '/health', whole: true"),
    'reads a credential of its own': source('', "path: '/mine', ownCredential: true"),
  }
  for (const isolate of [true, false]) {
    for (const [why, text] of Object.entries(wrong)) {
      await writeFile(path, text, { mode: 0o600 })
      const refused = await admin.request('POST', PLUGINS, { use: './plugins/taker.ts', isolate })
      expect([refused.json.code, refused.json.detail]).toEqual(['plugin_failed', expect.stringContaining(why)])
    }
  }
})

test('the examples are right against the exported types alone', async () => {
  await using author = await startAuthor()
  for (const name of ['library', 'library-classics', 'workshop', 'kit'])
    await cp(join(EXAMPLES, name), join(author.folder, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules/bun-types'), join(author.folder, 'node_modules/bun-types'), 'dir')
  await writeFile(join(author.folder, 'node.d.ts'), '/// <reference types="bun-types" />\n')
  expect(await author.typeCheck()).toBe('')
}, 90_000)
