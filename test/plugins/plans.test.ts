/** Work that is shown before it is done: the same rules for a plugin's own, for templates, bundles and imports. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST, packed, sendBundle } from '../support/bundle.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { makeTemp } from '../support/temp.ts'

const KITS = '/api/plugins/kit/kits'
const NOTE = `${KITS}/work/note`
let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  const folder = await makeTemp('hub')
  await cp(join(ROOT, 'examples/kit'), join(folder, 'plugins/kit'), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  await symlink(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'))
  const held = { url: 'https://held.example/mcp', enabled: false }
  hub = await startHub({ folder, settings: { mcpServers: { 'held-notes': held, 'held-time': held } } })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await admin.ok('POST', '/api/admin/plugins', { use: './plugins/kit/plugin.ts', isolate: false })
}, 90_000)
afterAll(() => hub?.stop())

const names = async (path: string) => (await ada.ok('GET', path)).items.map(({ name }: { name: string }) => name).sort()

test('a plan shows servers, groups and records, and makes none; done as shown, they are all there', async () => {
  const wish = { name: 'work', token: 'a-token-of-somebody' }
  const plan = await ada.ok('POST', `${KITS}?dryRun=true`, wish)
  expect(plan.servers.map(({ ref, verdict }: { ref: string; verdict: string }) => [ref, verdict])).toEqual([
    ['ada~work-notes', 'new'],
    ['ada~work-time', 'new'],
  ])
  expect(plan.groups[0].ref).toBe('ada~work')
  expect(plan.groups[0].body.members).toHaveLength(2)
  expect([plan.records[0].kind, plan.records[0].ref]).toEqual(['dashboard', 'ada~work'])
  expect([plan.missing, plan.warnings.length]).toEqual([[], 1])
  expect(JSON.stringify(plan)).not.toContain(wish.token)
  expect([await names('/api/servers?scope=mine'), await names('/api/groups?scope=mine')]).toEqual([[], []])

  // Both secrets have the same mask.
  const other = await ada.request('POST', KITS, { ...wish, token: 'b-token-of-somebody', planHash: plan.planHash })
  expect([other.status, other.json.code]).toEqual([409, 'plan_changed'])
  const made = await ada.request('POST', KITS, { ...wish, planHash: plan.planHash })
  expect([made.status, made.json]).toEqual([201, plan])
  expect(await names('/api/servers?scope=mine')).toEqual(['work-notes', 'work-time'])
  expect((await ada.ok('GET', '/api/groups/work')).members).toHaveLength(2)
  expect(await names('/api/monitoring/dashboards')).toContain('work')
  const audit = await admin.ok('GET', '/api/admin/audit?action=group.create')
  expect(audit.items[0]).toMatchObject({ target: 'ada~work', detail: { plugin: 'kit' } })
})

test('a plan takes no lock, and waits for none', async () => {
  using database = new Database(join(hub.dataDir, 'patchbay.db'))
  database.exec('begin immediate')
  const plan = await ada.ok('POST', `${KITS}?dryRun=true`, { name: 'free', token: 't' })
  expect(plan.servers).toHaveLength(2)
  const write = await ada.request('PATCH', '/api/servers/work-time', { description: 'x' })
  expect(write.json.code).toBe('storage_busy')
  database.exec('rollback')
})

test('missing inputs are named, and nothing is made without them', async () => {
  const plan = await ada.ok('POST', `${KITS}?dryRun=true`, { name: 'bare' })
  expect(plan.missing).toEqual(['token'])
  const refused = await ada.request('POST', KITS, { name: 'bare', planHash: plan.planHash })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/inputs/token'])
  expect(await names('/api/servers?scope=mine')).not.toContain('bare-time')
})

test('it is made whole or not at all', async () => {
  await ada.ok('POST', '/api/servers', { name: 'half-time', url: 'https://time.example/mcp', enabled: false })
  const refused = await ada.request('POST', `${KITS}?dryRun=true`, { name: 'half', token: 't' })
  expect([refused.status, refused.json.code]).toEqual([409, 'server_name_taken'])
  // Taken after the plan.
  const wish = { name: 'late', token: 't' }
  const { planHash } = await ada.ok('POST', `${KITS}?dryRun=true`, wish)
  await ada.ok('POST', '/api/groups', { name: 'late', members: [] })
  const late = await ada.request('POST', KITS, { ...wish, planHash })
  expect([late.status, late.json.code]).toEqual([409, 'group_name_taken'])
  expect(await names('/api/servers?scope=mine')).not.toContain('late-notes')
})

test('changes are planned too; what others own and what the settings file holds stays', async () => {
  const plan = await ada.ok('PUT', `${NOTE}?dryRun=true`, { text: 'Ours' })
  expect(plan.servers.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['changed', 'changed'])
  expect((await ada.ok('GET', '/api/servers/work-time')).description).toBeUndefined()
  await ada.ok('PATCH', '/api/servers/work-time', { visibility: 'public' })
  expect((await ada.request('PUT', NOTE, { text: 'Ours', planHash: plan.planHash })).json.code).toBe('plan_changed')
  const { planHash } = await ada.ok('PUT', `${NOTE}?dryRun=true`, { text: 'Ours' })
  await ada.ok('PUT', NOTE, { text: 'Ours', planHash })
  expect((await ada.ok('GET', '/api/servers/work-time')).description).toBe('Ours')
  expect((await ada.ok('GET', '/api/groups/work')).description).toBe('Ours')

  // The document of a server stays as it is.
  const schema =
    "openapi: 3.1.0\ninfo: {title: Pets, version: '1'}\nservers: [{url: 'https://pets.example'}]\npaths: {}\n"
  for (const name of ['doc-notes', 'doc-time'])
    await ada.ok('POST', '/api/servers', { name, enabled: false, openapi: { schema } })
  await ada.ok('POST', '/api/groups', { name: 'doc', members: ['doc-notes'] })
  const seen = await ada.ok('PUT', `${KITS}/doc/note?dryRun=true`, { text: 'Pets' })
  await ada.ok('PUT', `${KITS}/doc/note`, { text: 'Pets', planHash: seen.planHash })
  expect((await ada.request('GET', '/api/servers/doc-notes/document')).text).toBe(schema)

  const others = await (await hub.user('bob')).request('PUT', `${KITS}/ada~work/note?dryRun=true`, { text: 'Mine' })
  expect(others.json.code).toBe('server_not_found')
  const held = await admin.request('PUT', `${KITS}/held/note?dryRun=true`, { text: 'Mine' })
  expect([held.status, held.json.code]).toEqual([409, 'settings_read_only'])
})

test('only the user to whom a plan was shown can apply it', async () => {
  const wish = { name: 'mine', token: 't' }
  const [cleo, dora] = [await hub.user('cleo'), await hub.user('dora')]
  const seen = await cleo.ok('POST', `${KITS}?dryRun=true`, wish)
  expect((await dora.request('POST', KITS, { ...wish, planHash: seen.planHash })).json.code).toBe('plan_changed')
  expect((await dora.ok('GET', '/api/servers?scope=mine')).items).toEqual([])
  await cleo.ok('POST', KITS, { ...wish, planHash: seen.planHash })

  // An administrator and the owner are shown the same change, and each confirms the own plan.
  const path = `${KITS}/cleo~mine/note`
  const planned = (client: Client) => client.ok('PUT', `${path}?dryRun=true`, { text: 'Both' })
  const [{ planHash: foreign, ...hers }, { planHash, ...own }] = [await planned(cleo), await planned(admin)]
  expect(hers).toEqual(own)
  expect((await admin.request('PUT', path, { text: 'Both', planHash: foreign })).json.code).toBe('plan_changed')
  expect((await cleo.ok('GET', '/api/groups/mine')).description).toBeUndefined()
  await admin.ok('PUT', path, { text: 'Both', planHash })
  expect((await cleo.ok('GET', '/api/groups/mine')).description).toBe('Both')
})

test('without a hash, and with one that is not of the plan, all refuse alike', async () => {
  const { bundleId } = (await sendBundle(admin, await packed(MANIFEST, { 'server/index.js': '' }))).json
  const document = { mcpServers: { brought: { url: 'https://brought.example/mcp', enabled: false } } }
  const requests = [
    [KITS, { name: 'all', token: 't' }],
    ['/api/market/templates/bundled:memory/install', { name: 'all' }],
    [`/api/bundles/${bundleId}/install`, { name: 'all' }],
    ['/api/import', { document }],
  ] as const
  for (const [path, body] of requests) {
    const unseen = await admin.request('POST', path, body)
    expect([path, unseen.status, unseen.json.code, unseen.json.errors]).toEqual([
      path,
      400,
      'validation_failed',
      [{ pointer: '#/planHash', code: 'required', detail: 'Ask with ?dryRun=true, and send its planHash' }],
    ])
    const plan = await admin.ok('POST', `${path}?dryRun=true`, body)
    expect(plan.planHash).toMatch(/^[0-9a-f]{64}$/)
    expect((await admin.ok('POST', `${path}?dryRun=true`, body)).planHash).toBe(plan.planHash)
    const other = await admin.request('POST', path, { ...body, planHash: '0'.repeat(64) })
    expect([path, other.status, other.json.code]).toEqual([path, 409, 'plan_changed'])
  }
  expect((await admin.ok('GET', '/api/servers?scope=mine')).items.map(({ name }: { name: string }) => name)).toEqual([
    'held-notes',
    'held-time',
  ])
})
