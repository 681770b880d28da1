/** Configuration of records and health checks: in the settings file, through the API, and after a restart. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const CONFIG = '/api/monitoring/config'
const CHECKED = { enabled: true, interval: 5_000, retries: 4 }
const SETTINGS = {
  mcpServers: { echo: stdioFixture('echo'), own: { ...stdioFixture('echo'), healthCheck: { retries: 1 } } },
  healthCheck: CHECKED,
  logging: { database: { table: 'order', retention: '7d', indexes: ['timestamp', 'server', 'requestId'] } },
  systemConfig: { logRotation: { interval: 'weekly', maxFiles: 3 } },
}

let folder: string
let hub: Hub
let admin: Client

beforeAll(async () => {
  folder = await makeTemp('config')
  hub = await startHub({ folder, env: LOOPBACK, settings: SETTINGS })
  admin = await hub.setup()
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await removeTemp(folder)
}, 120_000)

test('the settings file: sections at the top level and in systemConfig', async () => {
  const user = await hub.user('ada')
  const { healthCheck, logRotation, logging, notifications, alerting, dashboards } = await user.ok('GET', CONFIG)
  expect(healthCheck).toEqual({ ...CHECKED, timeout: 5_000 })
  expect(logRotation).toMatchObject({ enabled: true, interval: 'weekly', maxFiles: 3, compress: true })
  const { database } = logging
  expect(database).toMatchObject({ enabled: true, table: 'order', retention: '7d' })
  expect(database.indexes).toEqual(['timestamp', 'server', 'requestId'])
  expect([notifications, alerting.rules, dashboards.length]).toEqual([{}, [], 5])
})

test('healthCheck of the file is what its servers have that say nothing else, and an edit of one leaves it so', async () => {
  expect((await admin.ok('GET', '/api/servers/echo')).healthCheck).toMatchObject({ ...CHECKED, timeout: 5_000 })
  expect((await admin.ok('GET', '/api/servers/own')).healthCheck).toMatchObject({ ...CHECKED, retries: 1 })
  await admin.ok('PATCH', '/api/servers/echo', { description: 'changed' })
  const { mcpServers } = JSON.parse(await readFile(hub.settingsFile, 'utf8'))
  expect(mcpServers.echo).toEqual({ ...stdioFixture('echo'), description: 'changed' })
  await admin.ok('PATCH', '/api/servers/own', { description: 'changed' })
  const { mcpServers: after } = JSON.parse(await readFile(hub.settingsFile, 'utf8'))
  expect(after.own).toEqual({ ...stdioFixture('echo'), healthCheck: { retries: 1 }, description: 'changed' })
})

test('records lie in the named table with columns and indexes for queries by hand, and are found as ever', async () => {
  await online(admin, ['echo'])
  await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'x' })
  await until(async () => (await admin.ok('GET', '/api/logs/search?tool=echo')).total === 1)
  const files = join(folder, 'data/history')
  const name = (await readdir(files)).find(each => /^log-.*\.db$/.test(each)) ?? ''
  const db = new Database(join(files, name), { readonly: true })
  const query = `select tool, status, userId, duration from "order" where server = 'echo' and tool is not null`
  expect(db.prepare(query).all()).toEqual([
    { tool: 'echo', status: 'success', userId: expect.any(String), duration: expect.any(Number) },
  ])
  const plan = db.prepare(`explain query plan ${query}`).all() as { detail: string }[]
  expect(plan.map(({ detail }) => detail).join()).toContain('order_server')
  const indexes = db.prepare(`select name from sqlite_schema where type = 'index' and name like 'order~_%' escape '~'`)
  expect((indexes.all() as { name: string }[]).map(each => each.name).sort()).toEqual([
    ...['order_requestid', 'order_server', 'order_timestamp'],
  ])
  db.close()
})

test('PUT is an administrator’s, and names what is wrong or held by file or environment', async () => {
  const ada = await hub.signIn('ada')
  expect((await ada.request('PUT', CONFIG, {})).json.code).toBe('admin_only')
  const wrong = { logging: { database: { retention: 'soon', maxSize: '1 fish' } }, logRotation: { maxSize: 'much' } }
  const { status, json } = await admin.request('PUT', CONFIG, wrong)
  expect([status, json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()]).toEqual([
    400,
    ['#/logRotation/maxSize', '#/logging/database/maxSize', '#/logging/database/retention'],
  ])
  // Under the name that was sent, not the hub's own for the setting.
  expect(json.errors.map(({ detail }: { detail: string }) => detail.split(' ')[0]).sort()).toEqual([
    ...['"maxSize"', '"maxSize"', '"retention"'],
  ])
  for (const body of [{ logRotation: { interval: 'daily' } }, { logging: { database: { table: 'other' } } }]) {
    const refused = await admin.request('PUT', CONFIG, body)
    expect([refused.status, refused.json.code]).toEqual([409, 'setting_locked'])
  }
  for (const part of [
    { alerting: { rules: [{ name: 'x' }] } },
    { notifications: { ops: {} } },
    { dashboards: [] },
    { healthCheck: { interval: 1 } },
    { problems: [{}] },
  ]) {
    const { status: answered, json: said } = await admin.request('PUT', CONFIG, part)
    expect([answered, said.errors]).toEqual([
      400,
      [expect.objectContaining({ code: 'read_only', pointer: `#/${Object.keys(part)[0]}` })],
    ])
  }
  expect((await admin.request('PUT', CONFIG, { other: 1 })).json.errors[0].code).toBe('unknown_field')
})

test('the whole answer is sent back, and nothing changes; sizes and durations read as they were written', async () => {
  const channel = { name: 'hook', type: 'webhook', config: { url: 'http://127.0.0.1:9/', secret: undefined } }
  await admin.ok('POST', '/api/monitoring/channels', channel)
  const rule = {
    name: 'r',
    condition: 'servers_offline >= 0',
    severity: 'warning',
    duration: '90m',
    repeatInterval: '60m',
  }
  await admin.ok('POST', '/api/monitoring/rules', rule)
  const before = await admin.request('GET', CONFIG)
  expect(before.json.alerting.rules).toMatchObject([{ duration: '90m', repeatInterval: '60m' }])
  const audit = async () => (await admin.ok('GET', '/api/admin/audit?action=settings.update')).total
  const audited = await audit()
  const back = await admin.request('PUT', CONFIG, before.json, { 'if-match': before.headers.get('etag') ?? '' })
  expect([back.status, back.headers.get('etag')]).toEqual([200, before.headers.get('etag')])
  const steady = (config: { alerting: { rules: object[] } }) => ({
    ...config,
    alerting: { rules: config.alerting.rules.map(one => ({ ...one, pending: undefined, health: undefined })) },
  })
  expect(steady(back.json)).toEqual(steady(before.json))
  expect(await audit()).toBe(audited)
  for (const maxSize of ['10MB', '10M', '1GiB', 5_000_000, '700000']) {
    const { logRotation, logging } = await admin.ok('PUT', CONFIG, {
      logRotation: { maxSize },
      logging: { level: 'WARNING', database: { maxSize } },
    })
    expect([logRotation.maxSize, logging.database.maxSize, logging.level]).toEqual([maxSize, maxSize, 'warn'])
    const settings = await admin.ok('GET', '/api/admin/settings')
    expect([typeof settings.logMaxSizeBytes, typeof settings.historyMaxBytes]).toEqual(['number', 'number'])
    const { logMaxSizeBytes } = await admin.ok('GET', '/api/admin/settings/sources')
    expect(logMaxSizeBytes).toMatchObject({ text: String(maxSize), pending: true })
    const again = await admin.ok('GET', CONFIG)
    expect((await admin.request('PUT', CONFIG, again)).status).toBe(200)
  }
  // In the file, which holds it: the same text is taken back, another one is not.
  expect((await admin.request('PUT', CONFIG, { logging: { database: { retention: '7d' } } })).status).toBe(200)
  expect((await admin.request('PUT', CONFIG, { logging: { database: { retention: '8d' } } })).json.code).toBe(
    'setting_locked',
  )
  await admin.ok('PATCH', '/api/admin/settings', { logMaxSizeBytes: null, historyMaxBytes: null, logLevel: null })
  await admin.ok('DELETE', '/api/monitoring/rules/r')
  await admin.ok('DELETE', '/api/monitoring/channels/hook')
})

beyondCore(() => {
  test('settings made through the API hold from the next start on, before anything of the log is removed', async () => {
    const changed = await admin.ok('PUT', CONFIG, {
      logging: { database: { maxSize: '100MB' } },
      logRotation: { maxSize: '5MB', compress: false },
    })
    expect([changed.logging.database.maxSize, changed.logRotation.maxSize]).toEqual(['100MB', '5MB'])
    await hub.stop({ keep: true })

    // Without the sections of the file, so that the API may set the rest.
    const logs = join(folder, 'logs')
    const env = { ...LOOPBACK, LOG_FILE: join(logs, 'hub.log') }
    hub = await startHub({ folder, env, settings: { mcpServers: {} } })
    admin = await hub.signIn('admin')
    await admin.ok('PUT', CONFIG, { logRotation: { maxFiles: 30 } })
    const rotation = async (body: object) => {
      const { status, json } = await admin.request('PUT', CONFIG, { logRotation: body })
      return status === 200 ? [json.logRotation.enabled, json.logRotation.interval] : json.errors[0].pointer
    }
    expect(await rotation({ interval: 'weekly', enabled: true })).toEqual([true, 'weekly'])
    expect(await rotation({ enabled: true })).toEqual([true, 'weekly'])
    expect(await rotation({ enabled: false })).toEqual([false, 'none'])
    expect(await rotation({ enabled: true, interval: 'none' })).toBe('#/logRotation/interval')
    expect(await rotation({ enabled: true })).toEqual([true, 'daily'])
    await admin.ok('PATCH', '/api/admin/settings', { logLevel: 'warn', logFormat: 'pretty' })
    await hub.stop({ keep: true })

    await mkdir(logs, { recursive: true })
    const old = Array.from({ length: 20 }, (_, day) => `hub-202601${String(day + 10)}T000000.000Z.log`)
    for (const name of old) await writeFile(join(logs, name), 'a line\n')
    await writeFile(join(logs, 'hub.log'), '')
    hub = await startHub({ folder, env })
    admin = await hub.signIn('admin')
    const { logRotation, logging } = await admin.ok('GET', CONFIG)
    expect(logRotation).toMatchObject({ maxFiles: 30, maxSize: '5MB', compress: false })
    expect(logging).toMatchObject({ level: 'warn', database: { maxSize: '100MB' } })
    await hub.stop({ keep: true })
    expect((await readdir(logs)).filter(name => name.startsWith('hub-')).sort()).toEqual(old)
    // Nor does anything go wrong while it stops.
    expect(await readFile(join(logs, 'hub.log'), 'utf8')).toBe('')
  }, 120_000)
})
