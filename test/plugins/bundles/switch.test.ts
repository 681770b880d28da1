/** Bundles switched off and on in a running hub, and by the settings file: nothing names them, and all comes back as it was. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { sendBundle, shutInBundle } from '../../support/bundle.ts'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const ID = 'ab'.repeat(32)
const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/api/bundles'],
  ['POST', '/api/bundles'],
  ['GET', `/api/bundles/${ID}`],
  ['DELETE', `/api/bundles/${ID}`],
  ['POST', `/api/bundles/${ID}/install`],
]
const PLUGIN = '/api/admin/plugins/bundles'

const hub: Hub = await startHub()
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
const bob = await hub.user('bob')
afterAll(() => hub.stop(), 120_000)

const statuses = (client: Client) =>
  Promise.all(
    ROUTES.map(async ([method, path]) => {
      const { status, json } = await client.request(method, path, method === 'POST' ? {} : undefined)
      return [path, status, json.code]
    }),
  )
const absent = ROUTES.map(([, path]) => [path, 404, 'route_not_found'])
const documentOf = async (client: Client): Promise<string> => (await client.request('GET', '/api/openapi.json')).text
const limitsOf = async (client: Client): Promise<string[]> =>
  (await client.ok('GET', '/api/limits')).items.map(({ name }: { name: string }) => name)

/** All rows of the plugin's tables. */
function rowsOf(of: Hub): unknown {
  const db = new Database(join(of.dataDir, 'patchbay.db'), { readonly: true })
  const rows = ['files', 'owners', 'parts', 'migration'].map(name =>
    db.query(`select * from plugin_bundles__${name}`).all(),
  )
  db.close()
  return rows
}

async function installed(client: Client, id: string, name: string) {
  const path = `/api/bundles/${id}/install`
  const { planHash } = await client.ok('POST', `${path}?dryRun=true`, { name, start: true })
  return client.ok('POST', path, { name, start: true, planHash })
}

describe('switched off in a running hub', () => {
  let before: { document: string; rows: unknown; bundleId: string; body: object }

  beforeAll(async () => {
    const { bundleId } = (await sendBundle(bob, await shutInBundle())).json
    let body = {}
    if (level === 'full') {
      body = await installed(bob, bundleId, 'shut')
      await online(bob, ['shut'], 60_000)
    }
    before = { document: await documentOf(admin), rows: rowsOf(hub), bundleId, body }
    await admin.ok('PATCH', PLUGIN, { enabled: false })
  }, 120_000)

  test('there is no route, no page, no limit, and no word in the API document', async () => {
    expect(await statuses(bob)).toEqual(absent)
    expect(before.document).toContain('/api/bundles/{id}/install')
    const words = [...(await documentOf(admin)).matchAll(/\w*bundle\w*/gi)].map(([word]) => word.toLowerCase())
    expect(words.filter(word => word !== 'bundled')).toEqual([])
    expect((await bob.ok('GET', '/api/plugins/pages')).built).not.toContain('bundles')
    expect(await limitsOf(bob)).not.toContain('diskBytesPerUser')
    expect(rowsOf(hub)).toEqual(before.rows)
  })

  test('a server that names a bundle is not saved, and the answer says which plugin to switch on', async () => {
    const server = { name: 'late', command: 'node', args: ['x'], bundle: before.bundleId }
    for (const path of ['/api/servers', '/api/servers/test']) {
      const { status, json } = await bob.request('POST', path, server)
      expect([path, status, json.code, json.detail]).toEqual([
        ...[path, 503, 'program_unavailable'],
        'The plugin "bundles" stores the program of the server ("bundle"), and does not run',
      ])
      expect(json.hint).toContain('/api/admin/plugins/')
    }
  })

  if (level === 'full') {
    test('a server that runs one goes offline with the plugin’s name, stays as it is stored, and can be changed', async () => {
      const { reason } = await until(async () => {
        const status = await statusOf(bob, 'shut')
        return status.state === 'offline' && status.reason && status
      })
      expect(reason).toMatchObject({ code: 'program_unavailable', message: expect.stringContaining('"bundles"') })
      const changed = await bob.ok('PATCH', '/api/servers/shut', { description: 'waits' })
      expect([changed.bundle, changed.args]).toEqual([before.bundleId, ['/opt/package/server/index.js']])
      await bob.ok('PATCH', '/api/servers/shut', { enabled: false })
      await bob.ok('PATCH', '/api/servers/shut', { enabled: true })
      // An administrator’s copy of it does not run outside of the sandbox either.
      const { status, json } = await admin.request('POST', '/api/servers/test', {
        ...{ name: 'copy', command: 'node', args: ['/opt/package/server/index.js'], bundle: before.bundleId },
      })
      expect([status, json.code]).toEqual([503, 'program_unavailable'])
    }, 60_000)
  }

  test('switched on again all is as before, and its servers run, without a restart', async () => {
    await admin.ok('PATCH', PLUGIN, { enabled: true })
    expect(await documentOf(admin)).toBe(before.document)
    expect((await bob.ok('GET', '/api/plugins/pages')).built).toContain('bundles')
    const [listed] = (await bob.ok('GET', '/api/bundles')).items
    expect(listed).toMatchObject({ bundleId: before.bundleId, servers: level === 'full' ? ['shut'] : [] })
    if (level !== 'full') return
    await online(bob, ['shut'], 60_000)
    expect(JSON.parse(await callText(await bob.mcp('/mcp/shut'), 'self', {}))).toMatchObject({ cwd: '/home/server' })
  }, 90_000)
})

test('switched off by the settings file it does not start, and can be switched on', async () => {
  const other = await startHub({ settings: { plugins: [{ use: 'bundles', enabled: false }], mcpServers: {} } })
  try {
    const somebody = await other.setup()
    expect(await statuses(somebody)).toEqual(absent)
    expect(rowsOf(other)).toMatchObject([[], [], [], [{ name: '0001-bundles' }]])
    await somebody.ok('PATCH', PLUGIN, { enabled: true })
    const { status, json } = await sendBundle(somebody, await shutInBundle())
    expect([status, (await somebody.ok('GET', '/api/bundles')).total]).toEqual([201, 1])
    await somebody.ok('DELETE', `/api/bundles/${json.bundleId}`)
  } finally {
    await other.stop()
  }
}, 60_000)
