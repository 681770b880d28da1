/** The market switched off and on in a running hub, and by the settings file: nothing names it, and it comes back as it was. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../../support/hub.ts'

const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/api/market/templates'],
  ['GET', '/api/market/templates/bundled:memory'],
  ['POST', '/api/market/templates/bundled:memory/install'],
  ['GET', '/api/market/categories'],
  ['GET', '/api/market/sources'],
  ['POST', '/api/market/sources/bundled/refresh'],
  ['GET', '/api/market/updates'],
  ['POST', '/api/servers/notes/upgrade'],
  ['POST', '/api/servers/notes/downgrade'],
]

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
})
afterAll(() => hub.stop())

const statuses = (client: Client) =>
  Promise.all(
    ROUTES.map(async ([method, path]) => {
      const { status, json } = await client.request(method, path, method === 'POST' ? {} : undefined)
      return [path, status, json.code]
    }),
  )
const absent = ROUTES.map(([, path]) => [path, 404, 'route_not_found'])
const switched = (enabled: boolean) => admin.ok('PATCH', '/api/admin/plugins/market', { enabled })
const stateOf = async (plugin: string) => {
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  return items.find(({ name }: { name: string }) => name === plugin)
}
const installed = async (name: string, client = admin) => {
  const path = '/api/market/templates/bundled:memory/install'
  const { planHash } = await client.ok('POST', `${path}?dryRun=true`, { name })
  return client.ok('POST', path, { name, planHash })
}

describe('switched off in a running hub', () => {
  let before: { document: string; template: object; sources: unknown[] }

  beforeAll(async () => {
    const { template } = await installed('notes')
    const { items } = await admin.ok('GET', '/api/market/sources')
    before = { document: (await admin.request('GET', '/api/openapi.json')).text, template, sources: items }
    await switched(false)
  })

  test('it has no route, no page, and no word in the API document but its settings', async () => {
    expect(await statuses(admin)).toEqual(absent)
    const { document } = before
    expect(document).toContain('/api/market/templates')
    const without = (await admin.request('GET', '/api/openapi.json')).text
    const words = [...without.matchAll(/\w*market\w*/gi)].map(([word]) => word)
    expect([...new Set(words)].sort()).toEqual(['marketEnabled', 'marketOffline', 'marketSourcesOff', 'marketUsers'])
    expect(without).not.toContain('template_unusable')
    expect((await admin.ok('GET', '/api/plugins/pages')).built).not.toContain('market')
  })

  test('a server that it installed runs on, without the template that nobody can read; what adds sources waits', async () => {
    const { template, ...server } = await admin.ok('GET', '/api/servers/notes')
    expect([template, server.command]).toEqual([undefined, 'npx'])
    const bundled = await stateOf('market-bundled')
    expect(bundled).toMatchObject({ state: 'running', waiting: ['marketSource/bundled'] })
    expect(await stateOf('smart-group')).toMatchObject({ state: 'running' })
    expect((await admin.ok('GET', '/api/servers')).total).toBe(1)
  })

  test('switched on again it is as before, with the templates of its servers', async () => {
    await switched(true)
    expect((await admin.request('GET', '/api/openapi.json')).text).toBe(before.document)
    expect((await admin.ok('GET', '/api/plugins/pages')).built).toContain('market')
    expect((await admin.ok('GET', '/api/servers/notes')).template).toEqual(before.template)
    const [source] = (await admin.ok('GET', '/api/market/sources')).items
    expect(source).toMatchObject({ id: 'bundled', state: 'ready' })
    expect((await stateOf('market-bundled')).waiting).toBeUndefined()
    await installed('more')
  })
})

test('switched off by the settings file it does not start, leaves its folder alone, and can be switched on', async () => {
  const systemConfig = { marketUsers: 'all', marketSourcesOff: ['official'] }
  const off = { plugins: [{ use: 'market', enabled: false }], systemConfig, mcpServers: {} }
  const other = await startHub({ settings: off, env: { MARKET_USERS: 'admin' } })
  try {
    const somebody = await other.setup()
    expect(await statuses(somebody)).toEqual(absent)
    expect(existsSync(join(other.folder, 'data/plugins/market'))).toBe(false)
    // Its settings are read and kept meanwhile.
    await somebody.ok('PATCH', '/api/admin/settings', { marketOffline: true })
    const kept = { ...systemConfig, marketUsers: 'admin', marketOffline: true }
    expect(await somebody.ok('GET', '/api/admin/settings')).toMatchObject(kept)
    const sources = await somebody.ok('GET', '/api/admin/settings/sources')
    expect(sources.marketUsers).toMatchObject({ source: 'env', variable: 'MARKET_USERS', locked: true })
    expect(sources.marketSourcesOff).toMatchObject({ source: 'file', locked: true })
    expect(sources.marketOffline).toMatchObject({ restart: false, pending: false })
    // A hub of an earlier version kept its lists there.
    await mkdir(join(other.folder, 'data/market'), { recursive: true })
    await writeFile(join(other.folder, 'data/market/mine.jsonl'), '{}\n')
    await somebody.ok('PATCH', '/api/admin/plugins/market', { enabled: true })
    expect((await somebody.ok('GET', '/api/market/templates?limit=1')).items).toHaveLength(1)
    expect((await (await other.user('bob')).request('GET', '/api/market/templates')).json.code).toBe('admin_only')
    expect(await somebody.ok('GET', '/api/admin/settings')).toMatchObject(kept)
    expect(existsSync(join(other.folder, 'data/plugins/market/mine.jsonl'))).toBe(true)
    expect(existsSync(join(other.folder, 'data/market'))).toBe(false)
  } finally {
    await other.stop()
  }
})
