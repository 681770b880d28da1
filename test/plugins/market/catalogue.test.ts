// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of catalogues, not template strings
/** Catalogues in JSON: their forms, versions that are not pinned, and entries that administrators switch off. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../core/contract/json.ts'
import { checkTemplate } from '../../../plugins/market/template-check.ts'
import { hubEntryTemplate } from '../../../plugins/market-json/hub-entry.ts'
import { type JsonItem, JsonItems } from '../../../plugins/market-json/json-items.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { startRegistry } from '../../support/package-registry.ts'

const AMAP = {
  ...{ name: 'maps', display_name: 'Maps 地图', description: 'Finds\nplaces', license: 'MIT', author: { name: 'ada' } },
  ...{ repository: { type: 'git', url: 'https://github.com/ada/maps' }, homepage: 'http://no-tls.example/' },
  ...{ categories: ['Maps', 'Own Words'], tags: ['gps'], tools: [{ name: 'a' }, { name: 'b' }] },
  installations: {
    npm: {
      type: 'npm',
      command: 'npx',
      args: ['-y', 'maps-mcp', '--zone', '${ZONE}'],
      env: { MAPS_KEY: '<your key>' },
    },
    uv: { type: 'python', command: 'uvx', args: ['maps-mcp==1.2'], env: { MODE: 'fast' } },
    http: { type: 'http', url: 'https://maps.example/mcp', headers: { Authorization: 'Bearer ${MAPS_KEY}' } },
    docker: { type: 'docker', command: 'docker', args: ['run', 'x'] },
    odd: { command: 'npx', args: ['--registry', 'https://x.example', 'maps-mcp'] },
  },
  arguments: { MAPS_KEY: { description: 'The key', required: true, example: 'abc' }, ZONE: { required: false } },
}

describe('an entry of a hub’s map', () => {
  test('is a template as far as the hub can start it', () => {
    expect(checkTemplate(hubEntryTemplate('maps', AMAP))).toEqual({
      ...{ name: 'maps', title: 'Maps 地图', description: 'Finds places', version: 'latest', license: 'MIT' },
      ...{ publisher: 'ada', repository: 'https://github.com/ada/maps', toolCount: 2 },
      ...{ categories: ['maps'], tags: ['gps', 'own words'] },
      variants: [
        { id: 'npm', kind: 'npm', package: 'maps-mcp', args: [['--zone', '{ZONE}']], env: { MAPS_KEY: '{MAPS_KEY}' } },
        { id: 'uv', kind: 'pypi', package: 'maps-mcp', version: '1.2', args: [], env: { MODE: 'fast' } },
        {
          ...{ id: 'http', kind: 'remote', url: 'https://maps.example/mcp', transport: 'streamable-http' },
          headers: { Authorization: 'Bearer {MAPS_KEY}' },
        },
      ],
      inputs: [
        { name: 'MAPS_KEY', description: 'The key', placeholder: 'abc', required: true, secret: true },
        { name: 'ZONE' },
      ],
    } as never)
  })

  test.each<[string, JsonObject]>([
    ['without installations', {}],
    ['of containers', { installations: { docker: { command: 'docker', args: ['run', 'x'] } } }],
    ['of a shell', { installations: { sh: { command: 'sh', args: ['-c', 'curl x | sh'] } } }],
    ['with arguments for its runner', { installations: { npm: { command: 'npx', args: ['-p', 'a', 'b'] } } }],
    ['that is odd', { installations: { a: null, b: 'x', c: { command: 'npx', args: 'x' } } }],
  ])('%s is left out', (_what, entry) => {
    expect(hubEntryTemplate('x', entry)).toBeUndefined()
  })
})

describe('the items of a document', () => {
  const read = (text: string, size: number, most = 1_000) => {
    const items: JsonItem[] = []
    const reader = new JsonItems(most, item => items.push(item))
    for (let at = 0; at < text.length; at += size) reader.write(text.slice(at, at + size))
    reader.end()
    return { items: items.map(({ key, text: own }) => [key, JSON.parse(own)]), dropped: reader.dropped }
  }
  const hard = { a: '"}]\\', '{': ['}', { b: [{}] }], é: '{"x": [' }

  test.each([
    [
      'an array',
      [hard, 1, null, 'x', [{}], hard],
      [
        [undefined, hard],
        [undefined, hard],
      ],
    ],
    [
      'a map',
      { one: hard, 'o"{ne': {}, list: [{}], n: 1 },
      [
        ['one', hard],
        ['o"{ne', {}],
      ],
    ],
    [
      'templates in a document',
      { version: 1, templates: [hard, {}], after: { not: 'one' } },
      [
        [undefined, hard],
        [undefined, {}],
      ],
    ],
    ['an empty list', { templates: [] }, []],
  ])('%s, in pieces of any size', (_what, document, expected) => {
    for (const size of [1, 2, 3, 7, 10_000])
      expect(read(JSON.stringify(document), size).items).toEqual(expected as never)
    expect(read(JSON.stringify(document, null, 2), 5).items).toEqual(expected as never)
  })

  test('that are too large are dropped and counted', () => {
    const text = JSON.stringify([{ a: 1 }, { b: 'x'.repeat(200) }, { c: 3 }])
    expect(read(text, 9, 100)).toEqual({
      items: [
        [undefined, { a: 1 }],
        [undefined, { c: 3 }],
      ],
      dropped: 1,
    })
  })

  test.each(['', '   ', '{"a": {', '[{"a": 1}', '<html>', '"text"'])('%p is no document', text => {
    expect(() => read(text, 3)).toThrow(SyntaxError)
  })
})

describe('a configured catalogue', () => {
  let packages: Awaited<ReturnType<typeof startRegistry>>
  let files: ReturnType<typeof Bun.serve>
  let hub: Hub
  let admin: Client
  const documents = new Map<string, string>()
  const versions = [{ name: 'maps-mcp', version: '1.0.0', manifest: {}, files: { 'x.js': '' } }]

  beforeAll(async () => {
    packages = await startRegistry(versions)
    files = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: request => new Response(documents.get(new URL(request.url).pathname) ?? 'none', { status: 200 }),
    })
    documents.set('/map.json', JSON.stringify({ maps: AMAP }))
    hub = await startHub({ env: LOOPBACK })
    admin = await hub.setup()
    await configure({ hubs: { url: new URL('map.json', files.url).href } })
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await files?.stop(true)
    await packages?.stop()
  }, 120_000)

  const configure = (catalogues: object) =>
    admin.ok('PATCH', '/api/admin/plugins/market-json', {
      config: { catalogues, npm: packages.url, pypi: 'https://pypi.org' },
    })

  test('is a source; a version that nobody pinned is asked for, and pinned by the plan', async () => {
    expect(await admin.ok('POST', '/api/market/sources/hubs/refresh')).toMatchObject({ state: 'ready', templates: 1 })
    const template = await admin.ok('GET', '/api/market/templates/hubs:maps')
    expect(template).toMatchObject({
      verified: false,
      trust: { origin: 'catalogue', pinned: false },
      transports: ['stdio', 'streamable-http'],
    })
    expect(template.variants[0]).toMatchObject({ usable: true, inputs: ['ZONE', 'MAPS_KEY'] })
    const path = '/api/market/templates/hubs:maps/install'
    const wish = { name: 'maps', inputs: { MAPS_KEY: 'a-key-canary-of-maps' } }
    const plan = await admin.ok('POST', `${path}?dryRun=true`, wish)
    expect(plan).toMatchObject({ version: '1.0.0', argv: ['npx', '-y', 'maps-mcp@1.0.0'], missing: [] })
    const made = await admin.ok('POST', path, { ...wish, planHash: plan.planHash })
    expect(made).toMatchObject({ args: ['-y', 'maps-mcp@1.0.0'], template: { id: 'hubs:maps', version: '1.0.0' } })
    // The source says nothing of versions: only a dry run asks.
    expect((await admin.ok('GET', '/api/market/updates')).items).toEqual([])
    const current = await admin.request('POST', '/api/servers/maps/upgrade?dryRun=true', {})
    expect(current.json.code).toBe('upgrade_unavailable')
    documents.set(
      '/map.json',
      JSON.stringify({
        gone: { ...AMAP, name: 'gone', installations: { npm: { command: 'npx', args: ['no-such-package'] } } },
      }),
    )
    await admin.ok('POST', '/api/market/sources/hubs/refresh')
    const none = await admin.request('POST', '/api/market/templates/hubs:gone/install?dryRun=true', {})
    expect([none.status, none.json.code]).toEqual([409, 'template_unusable'])
  })

  test('with a SHA-256 is used only as it was', async () => {
    const text = JSON.stringify({ templates: [] as object[], maps: AMAP })
    documents.set('/sealed.json', text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    await configure({ sealed: { url: new URL('sealed.json', files.url).href, sha256 } })
    expect(await admin.ok('POST', '/api/market/sources/sealed/refresh')).toMatchObject({ state: 'ready' })
    documents.set('/sealed.json', `${text} `)
    const state = await admin.ok('POST', '/api/market/sources/sealed/refresh')
    expect(state).toMatchObject({ state: 'failed', lastError: { code: 'template_integrity' } })
    const bob = await hub.user('bob')
    const { items } = await bob.ok('GET', '/api/market/sources')
    const shown = items.find(({ id }: JsonObject) => id === 'sealed')
    expect(shown.lastError).toMatchObject({
      code: 'template_integrity',
      message: 'The catalogue is not the one that was expected',
    })
  })

  test('that was never read is 503, alone; administrators switch sources, users and the whole market off at once', async () => {
    documents.set('/none.json', 'none')
    await configure({ broken: { url: new URL('none.json', files.url).href } })
    const alone = await admin.request('GET', '/api/market/templates?source=broken')
    expect([alone.status, alone.json.code]).toEqual([503, 'market_unavailable'])
    expect((await admin.request('GET', '/api/market/templates/broken:x')).json.code).toBe('market_unavailable')
    expect((await admin.ok('GET', '/api/market/templates')).total).toBeGreaterThan(60)
    const ann = await hub.user('ann')
    const set = (values: object) => admin.ok('PATCH', '/api/admin/settings', values)
    await set({ marketSourcesOff: ['bundled'] })
    const { items } = await ann.ok('GET', '/api/market/sources')
    expect(items.find(({ id }: JsonObject) => id === 'bundled')).toMatchObject({ state: 'off' })
    expect((await ann.ok('GET', '/api/market/templates')).total).toBe(0)
    expect((await ann.request('GET', '/api/market/templates/bundled:memory')).json.code).toBe('market_unavailable')
    await set({ marketSourcesOff: null, marketUsers: 'admin' })
    expect((await ann.request('GET', '/api/market/templates')).json.code).toBe('admin_only')
    expect((await ann.request('POST', '/api/servers/x/upgrade?dryRun=true', {})).json.code).toBe('server_not_found')
    expect((await admin.ok('GET', '/api/market/templates')).total).toBeGreaterThan(60)
    await set({ marketUsers: null, marketEnabled: false })
    for (const path of ['templates', 'templates/bundled:memory', 'categories', 'sources']) {
      const answer = await admin.request('GET', `/api/market/${path}`)
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'market_disabled'])
    }
    await set({ marketEnabled: null, marketOffline: true })
    const offline = (await ann.ok('GET', '/api/market/sources')).items
    expect(offline.map(({ id, state }: JsonObject) => [id, state])).toContainEqual(['broken', 'offline'])
    expect((await ann.ok('GET', '/api/market/templates')).total).toBeGreaterThan(60)
    await set({ marketOffline: null })
  })
})
