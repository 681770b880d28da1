/** Servers from the market: an install, upgrade or downgrade from elsewhere gives them no administrator's rights. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { startRegistry } from '../support/package-registry.ts'
import { refusedWithout } from '../support/plugins-off.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }
const PATH = '/api/market/templates/mine:com.example~versioned/install'

let packages: Awaited<ReturnType<typeof startRegistry>>
let source: ReturnType<typeof Bun.serve>
let hub: Hub
let admin: Client
let mal: Client
let version = '1.0.0'

/** Reports that it runs, and records beside the data folder which version could read the hub's key. */
const program = (of: string) => `#!/usr/bin/env node
const f = require('node:fs'), root = process.env.ROOT
console.error('${of} ran as ' + process.getuid())
try { f.readFileSync(root + '/data/master.key'); f.writeFileSync(root + '/proof/${of}', '') } catch {}
process.exit(3)`
const pack = (of: string) => ({
  ...{ name: 'versioned', version: of, manifest: { bin: { versioned: 'server.js' } } },
  files: { 'server.js': program(of) },
})

beforeAll(async () => {
  packages = await startRegistry([pack('1.0.0'), pack('2.0.0')])
  const listed = () => ({
    server: {
      ...{ name: 'com.example/versioned', title: 'Versioned', description: 'Has versions', version },
      packages: [
        {
          ...{ registryType: 'npm', identifier: 'versioned', version, transport: { type: 'stdio' } },
          environmentVariables: [{ name: 'ROOT', isRequired: true }],
        },
      ],
    },
    _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
  })
  source = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => Response.json({ servers: [listed()], metadata: {} }),
  })
  hub = await startHub({
    env: {
      ...{ ...LOOPBACK, REGISTRIES: packages.url },
      ...{ TRUSTED_PROXIES: '127.0.0.1', ADMIN_ADDRESSES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' },
    },
  })
  admin = await hub.setup()
  mal = await hub.user('mal')
  await mkdir(join(hub.folder, 'proof'))
  const registries = { mine: source.url.href }
  await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config: { registries } })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await source?.stop(true)
  await packages?.stop()
}, 120_000)

const rose = (of: string): boolean => existsSync(join(hub.folder, 'proof', of))

/** Waits until the server has run this version, in whatever rights: it says so in its last lines. */
async function ran(ref: string, of: string): Promise<string> {
  return until(
    async () => {
      const { items } = await admin.ok('GET', `/api/servers/${ref}/logs`)
      return items.map(({ line }: { line: string }) => line).findLast((line: string) => line.startsWith(`${of} ran as`))
    },
    { what: `${ref} to run ${of}`, timeoutMs: 60_000 },
  )
}

/** The sandbox of the last start of this server, as the audit has it. */
async function startedIn(name: string): Promise<string | undefined> {
  const { items } = await admin.ok('GET', '/api/admin/audit?action=process.start&limit=100')
  return items.find(({ target }: { target: string }) => target === name)?.detail.sandbox
}

async function install(client: Client, name: string, headers = {}): Promise<void> {
  const wish = { name, inputs: { ROOT: hub.folder }, start: true }
  const { json } = await client.request('POST', `${PATH}?dryRun=true`, wish, headers)
  const made = await client.request('POST', PATH, { ...wish, planHash: json.planHash }, headers)
  expect(made.status).toBe(201)
}

async function change(client: Client, ref: string, way: 'upgrade' | 'downgrade', headers = {}): Promise<number> {
  const { json } = await client.request('POST', `/api/servers/${ref}/${way}?dryRun=true`, {}, headers)
  const body = { planHash: json.planHash ?? '0'.repeat(64) }
  return (await client.request('POST', `/api/servers/${ref}/${way}`, body, headers)).status
}

test('install from elsewhere', async () => {
  const body = { name: 'theirs', start: true, planHash: '0'.repeat(64) }
  const asks = [mal, admin].flatMap(by => [{}, OUTSIDE].map(from => () => by.request('POST', PATH, body, from)))
  if (await refusedWithout(PATH, asks)) return
  await install(mal, 'theirs')
  await install(admin, 'from-outside', OUTSIDE)
  expect(await ran('mal~theirs', '1.0.0')).toMatch(/ran as 2\d{4}$/)
  expect(await ran('admin~from-outside', '1.0.0')).toMatch(/ran as 2\d{4}$/)
  expect(rose('1.0.0')).toBe(false)
})

beyondCore(() => {
  test('upgrade and downgrade from elsewhere', async () => {
    const path = '/api/servers/admin~plain/upgrade'
    const asks = [admin, mal].map(by => () => by.request('POST', path, {}, OUTSIDE))
    if (await refusedWithout(path, asks)) return
    await install(admin, 'plain')
    // It asks npm's own registry outside the sandbox, so only its start is checked.
    expect(await until(() => startedIn('plain'), { what: 'a start of the plain one' })).not.toBe('full')

    version = '2.0.0'
    await admin.ok('POST', '/api/market/sources/mine/refresh')
    expect(await change(mal, 'admin~plain', 'upgrade')).toBe(404)
    expect(await change(admin, 'admin~plain', 'upgrade', OUTSIDE)).toBe(200)
    expect(await ran('admin~plain', '2.0.0')).toMatch(/ran as 2\d{4}$/)
    expect(rose('2.0.0')).toBe(false)

    expect(await change(mal, 'admin~plain', 'downgrade')).toBe(404)
    // A change made from outside the list keeps its limit when it is undone inside.
    expect(await change(admin, 'admin~plain', 'downgrade')).toBe(200)
    expect(await ran('admin~plain', '1.0.0')).toMatch(/ran as 2\d{4}$/)
    expect(rose('1.0.0')).toBe(false)
  })
})
