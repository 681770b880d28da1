/** The store of log records switched off and on in a running hub, and by the settings file: what reads it says so, and nothing runs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client, type Hub, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

const SEARCH = { query: { and: [{ level: 'WARN' }] } }
const READERS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/api/logs/search'],
  ['POST', '/api/logs/search', SEARCH],
  ['GET', '/api/logs/aggregations/errors'],
  ['GET', '/api/logs/aggregations/requests-by-server'],
  ['GET', '/api/logs/aggregations/timeline'],
  ['GET', '/api/monitoring/activity'],
  ['GET', '/api/monitoring/overview'],
  ['GET', '/api/monitoring/metrics'],
  ['GET', '/api/monitoring/export'],
]
/** The lines that a server writes to its error output, which are no records. */
const LIVE_LINES = '/api/servers/{ref}/logs'
const PREVIEW = { condition: 'error_rate > 0.1' }
/** Every request is logged. */
const env = { ENABLE_REQUEST_LOGS: 'true' }

let hub: Hub
let admin: Client

beforeAll(async () => {
  // The tests look at the threads of its process.
  hub = await startHub({ ownProcess: true, env })
  admin = await hub.setup()
})
afterAll(() => hub.stop())

const statuses = (client: Client) =>
  Promise.all(
    READERS.map(async ([method, path, body]) => {
      const { status, json } = await client.request(method, path, body)
      return [path, status, json?.code]
    }),
  )
const refused = READERS.map(([, path]) => [path, 503, 'log_search_unavailable'])
const switched = (client: Client, enabled: boolean) =>
  client.ok('PATCH', '/api/admin/plugins/log-database', { enabled })
const checks = async () => (await admin.ok('GET', '/health')).checks
const sinks = async () => (await admin.ok('GET', '/api/admin/logging')).sinks.map(({ id }: { id: string }) => id)
const firstRecord = async (client: Client) => (await client.ok('GET', '/api/logs/search?order=asc&limit=1')).items[0]
/** Names, sizes and times of the files in the folder of the store. */
const files = (of: Hub) =>
  readdirSync(join(of.dataDir, 'history')).map(name => {
    const { size, mtimeMs } = statSync(join(of.dataDir, 'history', name))
    return [name, size, mtimeMs]
  })
/** Threads of the plugin in the hub's process; the system shows the first 15 characters of a name. */
const threads = () =>
  readdirSync(`/proc/${hub.pid}/task`).filter(id => {
    try {
      return readFileSync(`/proc/${hub.pid}/task/${id}/comm`, 'utf8').startsWith('patchbay-log-da')
    } catch {
      // The thread has ended.
      return false
    }
  })

describe('switched off in a running hub', () => {
  let first: object
  let document: string

  beforeAll(async () => {
    first = await firstRecord(admin)
    document = (await admin.request('GET', '/api/openapi.json')).text
    expect(await checks()).toMatchObject({ history: 'ok' })
    expect(await sinks()).toContain('database')
    expect((await admin.ok('GET', '/api/plugins/pages')).built).toContain('logs')
    await switched(admin, false)
  })

  test('routes that read records answer with what to switch on', async () => {
    expect(first).toBeDefined()
    expect(await statuses(admin)).toEqual(refused)
    const { json } = await admin.request('GET', '/api/logs/search')
    expect(json.hint).toContain('log-database')
    expect(json.retry).not.toBe(true)
    expect((await new Client(hub.url, 'nobody', 'no-token').request('GET', '/api/logs/search')).status).toBe(401)
    const { paths } = await admin.ok('GET', '/api/openapi.json')
    expect((await admin.ok('GET', '/api/plugins/pages')).built).not.toContain('logs')
    expect(Object.keys(paths).filter(path => /logs|activity|monitoring.export/.test(path))).toEqual([LIVE_LINES])
  })

  test('health, sinks, metrics and previews of rules go on without it', async () => {
    expect(await checks()).toMatchObject({ history: 'none', plugins: 'ok' })
    expect(await sinks()).not.toContain('database')
    expect((await admin.request('GET', '/metrics')).text).toContain('patchbay_history_bytes{kind="records"} 0')
    const { why, now } = await admin.ok('POST', '/api/monitoring/rule-preview', PREVIEW)
    expect([why, now]).toEqual(['This hub stores no log records', []])
  })

  test('no thread runs, and no file is touched', async () => {
    await until(() => process.platform !== 'linux' || threads().length === 0, { what: 'the thread to end' })
    const before = files(hub)
    // A flush, and the end of a slot of numbers, would change a file.
    await statuses(admin)
    await admin.ok('POST', '/api/servers', { name: 'logged', url: 'https://a.example/', enabled: false })
    expect(files(hub)).toEqual(before)
  })

  test('switched on again it finds the records of before, and stores new ones', async () => {
    await switched(admin, true)
    expect((await admin.request('GET', '/api/openapi.json')).text).toBe(document)
    expect(await firstRecord(admin)).toEqual(first)
    const { status, headers } = await admin.request('GET', '/api/servers/nobody')
    expect(status).toBe(404)
    const id = headers.get('x-request-id') ?? ''
    await until(async () => (await admin.ok('GET', `/api/logs/search?requestId=${id}`)).total > 0, {
      what: 'the new record',
    })
    expect(await checks()).toMatchObject({ history: 'ok' })
    expect(await sinks()).toContain('database')
    if (process.platform === 'linux') expect(threads()).toHaveLength(1)
  })
})

test('switched off by the settings file it makes no folder, and can be switched on', async () => {
  const off = { plugins: [{ use: 'log-database', enabled: false }], mcpServers: {} }
  const other = await startHub({ settings: off, env })
  try {
    const somebody = await other.setup()
    expect(await statuses(somebody)).toEqual(refused)
    expect(existsSync(join(other.dataDir, 'history'))).toBe(false)
    await switched(somebody, true)
    await until(async () => (await somebody.ok('GET', '/api/logs/search')).total > 0, { what: 'a stored record' })
    expect(
      files(other)
        .map(([name]) => String(name))
        .some(name => name.startsWith('log-')),
    ).toBe(true)
  } finally {
    await other.stop()
  }
})
