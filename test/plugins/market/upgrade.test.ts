// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of the hub, not template strings
/** The origin of installed servers, their other versions, and changes to those and back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { mergeFields } from '../../../plugins/market/merge.ts'
import { compareVersions } from '../../../plugins/market/versions.ts'
import { beyondCore } from '../../support/extent.ts'
import { Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { startRegistry } from '../../support/package-registry.ts'
import { until } from '../../support/wait.ts'

describe('two versions', () => {
  test.each([
    ['1.2.3', '1.2.3', 'same'],
    ['1.2.3', '1.10.0', 'newer'],
    ['2.0.0', '1.10.0', 'older'],
    ['1.2.3-beta.2', '1.2.3', 'newer'],
    ['1.2.3', '1.2.3-beta.2', 'older'],
    ['1.2.3-beta.2', '1.2.3-beta.10', 'newer'],
    ['0.0.1a8', '0.0.1', 'newer'],
    ['2026.8.31', '2026.10.2', 'newer'],
    ['1.2', '1.2.0', 'other'],
    ['latest', '1.0.0', 'other'],
    ['1.0.0', 'x'.repeat(64), 'other'],
  ] as const)('%s → %s: %s', (installed, found, order) => {
    expect(compareVersions(installed, found)).toBe(order)
  })
})

describe('changes by hand', () => {
  const merged = (installed: JsonObject, present: JsonObject, offered: JsonObject, choices = {}) => {
    const { fields, kept, conflicts } = mergeFields(installed, present, offered, choices)
    return { fields, kept, conflicts: conflicts.map(({ pointer }) => pointer) }
  }
  const args = (...words: string[]) => ({ args: words })

  test.each<[string, JsonObject, JsonObject, JsonObject, object]>([
    [
      'nobody changed anything',
      args('a@1'),
      args('a@1'),
      args('a@1'),
      { fields: args('a@1'), kept: [], conflicts: [] },
    ],
    [
      'only the template did',
      args('a@1'),
      args('a@1'),
      args('a@2', 'x'),
      { fields: args('a@2', 'x'), kept: [], conflicts: [] },
    ],
    [
      'only the user did',
      args('a@1'),
      args('a@1', 'x'),
      args('a@1'),
      { fields: args('a@1', 'x'), kept: ['/args'], conflicts: [] },
    ],
    [
      'both, in other places',
      args('-y', 'a@1', 'b'),
      args('-y', 'a@1', 'b', 'x'),
      args('-y', 'a@2', 'b'),
      { fields: args('-y', 'a@2', 'b', 'x'), kept: ['/args'], conflicts: [] },
    ],
    [
      'both, side by side',
      args('-y', 'a@1'),
      args('-y', 'a@1', 'x'),
      args('-y', 'a@2'),
      { fields: args('-y', 'a@2', 'x'), kept: ['/args'], conflicts: [] },
    ],
    [
      'both add at one place',
      args('a'),
      args('a', 'x'),
      args('a', 'y'),
      { fields: args('a', 'x'), kept: [], conflicts: ['/args'] },
    ],
    [
      'both the same word',
      args('a@1'),
      args('a@3'),
      args('a@2'),
      { fields: args('a@3'), kept: [], conflicts: ['/args'] },
    ],
    ['both alike', args('a@1'), args('a@2'), args('a@2'), { fields: args('a@2'), kept: [], conflicts: [] }],
    [
      'entries of maps, one by one',
      { env: { A: '1', B: '1', C: '1', D: '1' } },
      { env: { A: 'mine', B: '1', D: 'mine', E: 'mine' } },
      { env: { A: '1', B: '2', C: '1', D: '2', F: '2' } },
      {
        fields: { env: { A: 'mine', B: '2', D: 'mine', E: 'mine', F: '2' } },
        kept: ['/env/A', '/env/E', '/env/C'],
        conflicts: ['/env/D'],
      },
    ],
    [
      'a masked value is what it stands for',
      { env: { A: 'a long secret value' } },
      { env: { A: '••••alue' } },
      { env: { A: 'new' } },
      { fields: { env: { A: 'new' } }, kept: [], conflicts: [] },
    ],
  ])('%s', (_what, installed, present, offered, expected) => {
    expect(merged(installed, present, offered)).toEqual(expected as never)
  })

  test('the choice counts if both differ', () => {
    const three = [args('a@1'), args('a@3'), args('a@2')] as const
    expect(merged(...three, { '/args': 'take' }).fields).toEqual(args('a@2'))
    expect(merged(...three, { '/args': 'keep' }).fields).toEqual(args('a@3'))
  })
})

/** A server of MCP whose one tool has the version in its name. */
const program = (version: string) => `#!/usr/bin/env node
const { createInterface } = require('node:readline')
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const tools = [{ name: 'version_${version.replaceAll('.', '_')}', inputSchema: { type: 'object' } }]
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'v', version: '${version}' } }
    : method === 'tools/list' ? { tools } : {}
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
})`
const pack = (version: string) => ({
  ...{ name: 'versioned', version, manifest: { bin: { versioned: 'server.js' } } },
  files: { 'server.js': program(version) },
})

interface Listing {
  readonly version: string
  readonly args?: readonly JsonObject[]
  readonly env?: readonly JsonObject[]
}

const entry = ({ version, args = [], env = [] }: Listing) => ({
  server: {
    ...{ name: 'com.example/versioned', title: 'Versioned', description: 'Has versions', version },
    packages: [
      {
        ...{ registryType: 'npm', identifier: 'versioned', version, transport: { type: 'stdio' } },
        ...{ packageArguments: args, environmentVariables: env },
      },
    ],
  },
  _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
})

describe('an installed server', () => {
  let packages: Awaited<ReturnType<typeof startRegistry>>
  let registry: ReturnType<typeof Bun.serve>
  let hub: Hub
  let admin: Client
  let servers: readonly object[] = []
  const ID = 'mine:com.example~versioned'
  const KEY = { name: 'API_KEY', isRequired: true, isSecret: true }

  beforeAll(async () => {
    packages = await startRegistry([pack('1.0.0'), pack('2.0.0')])
    registry = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({ servers, metadata: {} }) })
    hub = await startHub({ env: { ...LOOPBACK, REGISTRIES: packages.url } })
    admin = await hub.setup()
    await admin.ok('PATCH', '/api/admin/plugins/market-registry', {
      config: { registries: { mine: registry.url.href } },
    })
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await registry?.stop(true)
    await packages?.stop()
  }, 120_000)

  const list = async (...listings: Listing[]) => {
    servers = listings.map(entry)
    expect(await admin.ok('POST', '/api/market/sources/mine/refresh')).toMatchObject({ state: 'ready' })
  }
  const install = async (client: Client, name: string, inputs: object = {}, more: object = {}) => {
    const path = `/api/market/templates/${ID}/install`
    const { planHash } = await client.ok('POST', `${path}?dryRun=true`, { name, inputs, ...more })
    return client.ok('POST', path, { name, inputs, ...more, planHash })
  }
  const change = (client: Client, name: string, body: object = {}, way = 'upgrade', query = '?dryRun=true') =>
    client.request('POST', `/api/servers/${name}/${way}${query}`, body)
  const upgrade = async (client: Client, name: string, body: object = {}, way = 'upgrade') => {
    const plan = await change(client, name, body, way)
    expect([plan.status, plan.json.detail]).toEqual([200, undefined])
    const done = await change(client, name, { ...body, planHash: plan.json.planHash }, way, '')
    return { plan: plan.json, status: done.status, server: done.json }
  }
  const updates = async (client: Client) => (await client.ok('GET', '/api/market/updates')).items

  test('knows its template, over a rename, a restart and a move to another hub', async () => {
    await list({ version: '1.0.0', env: [KEY] })
    const made = await install(admin, 'first', { API_KEY: 'the-secret-canary-of-it' })
    const origin = { id: 'mine:com.example/versioned', source: 'mine', version: '1.0.0', variant: 'npm' }
    expect(made.template).toMatchObject({ ...origin, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    await admin.ok('PATCH', '/api/servers/first', { name: 'renamed', description: 'x' })
    const shown = await admin.ok('GET', '/api/servers/renamed')
    expect(shown.template).toEqual(made.template)
    expect((await admin.ok('PUT', '/api/servers/renamed', shown)).template).toEqual(made.template)
    expect((await admin.ok('GET', `/api/market/templates/${ID}`)).installed).toEqual([
      { server: 'admin~renamed', version: '1.0.0', variant: 'npm', update: false },
    ])
    const carried = await admin.ok('POST', '/api/export', { passphrase: 'long enough to be one' })
    expect(JSON.stringify(carried)).not.toContain('canary')
    const other = await hub.user('carol')
    const bring = { document: carried, passphrase: 'long enough to be one' }
    const { planHash } = await other.ok('POST', '/api/import?dryRun=true', bring)
    await other.ok('POST', '/api/import', { ...bring, planHash })
    expect((await other.ok('GET', '/api/servers/carol~renamed')).template).toEqual(made.template)
    await admin.ok('PATCH', '/api/servers/renamed', { visibility: 'public' })
    expect((await other.ok('GET', '/api/servers/admin~renamed')).template).toBeUndefined()
    await admin.ok('DELETE', '/api/servers/renamed')
    await admin.ok('DELETE', '/api/admin/users/carol?transferTo=admin')
    expect((await admin.ok('GET', '/api/servers/renamed')).template).toEqual(made.template)
    await admin.ok('DELETE', '/api/servers/renamed')
    expect(hub.log()).not.toContain('canary')
  })

  test('is listed with what its source has now, and nothing changes by itself', async () => {
    await list({ version: '1.0.0' })
    const made = await install(admin, 'watched')
    expect(await updates(admin)).toEqual([])
    const state = async (...listings: Listing[]) => {
      await list(...listings)
      return (await updates(admin)).map((one: JsonObject) => [one.server, one.state, one.installed, one.available])
    }
    expect(await state({ version: '2.0.0' })).toEqual([['admin~watched', 'newer', '1.0.0', '2.0.0']])
    const [item] = (await admin.ok('GET', '/api/market/templates?source=mine&installed=true')).items
    expect(item.installed).toMatchObject([{ server: 'admin~watched', update: true }])
    expect(await state({ version: '0.9.0' })).toEqual([['admin~watched', 'older', '1.0.0', '0.9.0']])
    expect(await state({ version: '1.0.0', env: [{ name: 'NEW' }] })).toEqual([
      ['admin~watched', 'changed', '1.0.0', '1.0.0'],
    ])
    expect(await state()).toEqual([['admin~watched', 'removed', '1.0.0', undefined]])
    expect(await admin.ok('GET', '/api/servers/watched')).toMatchObject({ revision: made.revision, args: made.args })
    expect((await change(admin, 'watched')).json.code).toBe('template_not_found')
    expect((await change(admin, 'watched', {}, 'downgrade')).json.code).toBe('upgrade_unavailable')
    await list({ version: '1.0.0' })
    expect((await change(admin, 'watched')).json.code).toBe('upgrade_unavailable')
    await admin.ok('DELETE', '/api/servers/watched')
    await admin.ok('POST', '/api/servers', { name: 'by-hand', command: 'x', enabled: false })
    expect((await change(admin, 'by-hand')).json.code).toBe('upgrade_unavailable')
  })

  test('changes to what was planned, keeps what was entered and set, and goes back', async () => {
    await list({ version: '1.0.0', env: [KEY, { name: 'OLD' }], args: [{ type: 'positional', valueHint: 'folder' }] })
    await install(admin, 'kept', { API_KEY: 'the-secret-canary-of-it', OLD: 'old', folder: 'notes' })
    const set = { timeout: 5_000, tools: { version_1_0_0: { name: 'renamed_tool' } }, env: { EXTRA: 'mine' } }
    const before = await admin.ok('PATCH', '/api/servers/kept', set)
    await admin.ok('PATCH', '/api/servers/kept', { args: [...before.args, '--mine'] })
    await list({
      ...{ version: '2.0.0', env: [KEY, { name: 'NEEDED', isRequired: true }] },
      args: [{ type: 'positional', valueHint: 'folder' }],
    })
    const asked = (await change(admin, 'kept')).json
    expect(asked).toMatchObject({
      ...{ from: '1.0.0', to: '2.0.0', missing: ['NEEDED'], conflicts: [], kept: ['/args', '/env/EXTRA'] },
      inputs: { kept: expect.arrayContaining(['API_KEY', 'folder']), removed: ['OLD'] },
      argvBefore: ['npx', '-y', 'versioned@1.0.0', '${FOLDER}', '--mine'],
      argv: ['npx', '-y', 'versioned@2.0.0', '${FOLDER}', '--mine'],
      reconnects: false,
    })
    expect(asked.inputs.added.map(({ name }: { name: string }) => name)).toEqual(['NEEDED'])
    const unfilled = await change(admin, 'kept', { planHash: asked.planHash }, 'upgrade', '')
    expect(unfilled.json.errors).toMatchObject([{ pointer: '#/inputs/NEEDED', code: 'required' }])
    const body = { inputs: { NEEDED: 'now' } }
    const { planHash } = (await change(admin, 'kept', body)).json
    expect((await change(admin, 'kept', body, 'upgrade', '')).json.errors[0].pointer).toBe('#/planHash')
    await admin.ok('PATCH', '/api/servers/kept', { description: 'meanwhile' })
    expect((await change(admin, 'kept', { ...body, planHash }, 'upgrade', '')).json.code).toBe('plan_changed')
    const { status, server } = await upgrade(admin, 'kept', body)
    expect(status).toBe(200)
    expect(server).toMatchObject({
      ...{ args: ['-y', 'versioned@2.0.0', '${FOLDER}', '--mine'], timeout: 5_000, tools: set.tools, enabled: false },
      variables: { API_KEY: '••••f-it', FOLDER: 'notes', NEEDED: 'now' },
      env: { API_KEY: '${API_KEY}', NEEDED: '${NEEDED}', EXTRA: 'mine' },
      ...{ description: 'meanwhile', template: { version: '2.0.0', previous: '1.0.0' } },
    })
    expect(Object.keys(server.variables).sort()).toEqual(['API_KEY', 'FOLDER', 'NEEDED'])
    const back = await upgrade(admin, 'kept', { inputs: { OLD: 'again' } }, 'downgrade')
    expect(back.server).toMatchObject({
      ...{ args: ['-y', 'versioned@1.0.0', '${FOLDER}', '--mine'], env: { OLD: '${OLD}', EXTRA: 'mine' } },
      template: { version: '1.0.0' },
    })
    expect(back.server.template.previous).toBeUndefined()
    const secret = await hub.user('reader')
    expect((await change(secret, 'admin~kept')).json.code).toBe('server_not_found')
    expect(hub.log()).not.toContain('canary')
    const { items } = await admin.ok('GET', '/api/admin/audit?action=server.upgrade')
    expect(items[0]).toMatchObject({ target: 'admin~kept', detail: { version: '2.0.0' } })
    await admin.ok('DELETE', '/api/servers/kept')
  })

  test('is not upgraded with an access key where its secrets would go to another program', async () => {
    await list({ version: '1.0.0', env: [KEY] })
    await install(admin, 'guarded', { API_KEY: 'the-secret-canary-of-it' })
    await list({ version: '2.0.0', env: [KEY] })
    const { secret: credential } = await admin.ok('POST', '/api/keys', { label: 'automation', scopes: ['api'] })
    const key = new Client(hub.url, 'automation', credential)
    const { planHash } = (await change(admin, 'guarded')).json
    for (const [body, query] of [
      [{}, '?dryRun=true'],
      [{ planHash }, ''],
    ] as const) {
      const { status, json } = await change(key, 'guarded', body, 'upgrade', query)
      expect([status, json.errors]).toMatchObject([400, [{ pointer: '#/variables/API_KEY', code: 'secret_required' }]])
    }
    expect((await admin.ok('GET', '/api/servers/guarded')).template.version).toBe('1.0.0')
    const given = { inputs: { API_KEY: 'the-secret-canary-of-it' } }
    const { status, server } = await upgrade(key, 'guarded', given)
    expect([status, server.template.version]).toEqual([200, '2.0.0'])
    const back = await change(key, 'guarded', {}, 'downgrade')
    expect([back.status, back.json.errors?.[0]?.code]).toEqual([400, 'secret_required'])
    expect((await upgrade(admin, 'guarded', {}, 'downgrade')).status).toBe(200)
    await admin.ok('DELETE', '/api/servers/guarded')
  })

  test('asks what counts where its user and the template changed the same word', async () => {
    await list({ version: '1.0.0', env: [{ name: 'MODE', value: 'slow' }] })
    await install(admin, 'torn')
    await admin.ok('PATCH', '/api/servers/torn', { env: { MODE: 'mine' } })
    await list({ version: '2.0.0', env: [{ name: 'MODE', value: 'fast' }] })
    const plan = (await change(admin, 'torn')).json
    expect(plan.conflicts).toEqual([{ pointer: '/env/MODE', installed: 'slow', present: 'mine', offered: 'fast' }])
    const open = await change(admin, 'torn', { planHash: plan.planHash }, 'upgrade', '')
    expect(open.json.errors).toMatchObject([{ pointer: '#/choices/~1env~1MODE', code: 'required' }])
    const kept = await upgrade(admin, 'torn', { choices: { '/env/MODE': 'keep' } })
    expect(kept.server).toMatchObject({ env: { MODE: 'mine' }, template: { version: '2.0.0' } })
    await upgrade(admin, 'torn', { choices: { '/env/MODE': 'keep' } }, 'downgrade')
    const taken = await upgrade(admin, 'torn', { choices: { '/env/MODE': 'take' } })
    expect(taken.server).toMatchObject({ env: { MODE: 'fast' } })
    await admin.ok('DELETE', '/api/servers/torn')
  })

  beyondCore(() => {
    test('that runs comes back with the new version; one that is off stays off', async () => {
      const bob = await hub.user('bob')
      await list({ version: '1.0.0' })
      await install(bob, 'running', {}, { start: true })
      const tools = async () =>
        (await bob.ok('GET', '/api/servers/running/tools')).items.map(({ name }: { name: string }) => name)
      await until(async () => (await tools()).includes('version_1_0_0'), { timeoutMs: 60_000, intervalMs: 200 })
      await list({ version: '2.0.0' })
      const { plan } = await upgrade(bob, 'running')
      expect(plan.reconnects).toBe(true)
      await until(async () => (await tools()).includes('version_2_0_0'), { timeoutMs: 60_000, intervalMs: 200 })
      await bob.ok('POST', '/api/servers/running/stop')
      const back = await upgrade(bob, 'running', {}, 'downgrade')
      expect([back.plan.reconnects, back.server.enabled]).toEqual([false, false])
    }, 300_000)
  })
})
