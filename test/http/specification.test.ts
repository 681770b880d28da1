/**
 * The specification's rows with their names as they stand there: fields, words, paths and query parameters, sent through the API
 * and written into the settings file and the environment of a real hub.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { startMailServer } from '../support/mail-server.ts'
import { promtoolSays } from '../support/prometheus.ts'
import { startReceiver } from '../support/receiver.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const HEALTH_CHECK = {
  ...{ enabled: true, interval: 30_000, timeout: 5_000, retries: 3 },
  endpoints: { ping: '/ping', tools: '/tools' },
}
const COMMON = { timeout: 30_000, visibility: 'public', variables: { WHO: 'ada' }, healthCheck: HEALTH_CHECK }
const REMOTE = { url: 'https://mcp.example.com/', headers: { 'X-Who': `${'$'}{WHO}` } }
const STDIO = { command: process.execPath, args: ['-e', '0'], env: { MODE: 'x' } }

/** Servers of every transport type, with the words of the specification. */
const SERVERS: Readonly<Record<string, object>> = {
  stdio: { ...STDIO, ...COMMON },
  SSE: { ...REMOTE, ...COMMON },
  'streamable-http': { ...REMOTE, ...COMMON },
  OpenAPI: { url: 'https://api.example.com/openapi.json', headers: REMOTE.headers, ...COMMON },
}

/** The specification's example rules. */
const RULES = [
  { name: 'errors', condition: 'error_rate > 0.1', threshold: 0.1, duration: '5m', severity: 'warning' },
  { name: 'offline', condition: 'server_status == offline', duration: '1m', severity: 'critical' },
  { name: 'slow', condition: 'avg_response_time > 1000', duration: '3m', severity: 'warning' },
]
const DASHBOARD = {
  name: 'board',
  widgets: [
    { type: 'metric', title: 'Calls', query: 'request_count', visualization: 'single-stat' },
    { type: 'chart', title: 'Over time', query: 'request_count over 1h', visualization: 'line-chart' },
    { type: 'table', title: 'Servers', query: 'servers', visualization: 'table' },
  ],
}
const BUILT_IN = ['system-overview', 'server-status', 'request-analysis', 'error-tracking', 'user-activity']

const receiver = startReceiver(() => new Response('ok'))
let mail: Awaited<ReturnType<typeof startMailServer>>
let folder: string
let hub: Hub
let admin: Client
let ada: Client

function channels(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const smtp = { host: '127.0.0.1', port: mail.port, auth: { user: 'hub@example.com', pass: 'a-password-of-mail' } }
  return {
    email: { enabled: true, smtp: { ...smtp, allowInsecureAuth: true }, recipients: ['ops@example.com'] },
    chatWebhook: { enabled: true, webhook: `${receiver.url}/chat`, channel: '#ops' },
    genericWebhook: { enabled: true, url: `${receiver.url}/generic`, headers: { Authorization: 'Bearer 0123456789' } },
  }
}

beforeAll(async () => {
  mail = await startMailServer({ auth: { user: 'hub@example.com', pass: 'a-password-of-mail' } })
  folder = await makeTemp('specification')
  hub = await startHub({
    folder,
    env: {
      ...LOOPBACK,
      ...{
        LOG_LEVEL: 'debug',
        LOG_FORMAT: 'json',
        LOG_FILE: join(folder, 'logs/hub.log'),
        ENABLE_REQUEST_LOGS: 'true',
      },
      ...{ LOG_ROTATION: 'daily', LOG_MAX_SIZE: '10MB', LOG_MAX_FILES: '5' },
      ...{ ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'a-key-of-the-platform-0123456789' },
      ...{ SYSLOG_ENABLED: 'false', SYSLOG_HOST: '127.0.0.1', SYSLOG_PORT: '514', SYSLOG_FACILITY: 'local0' },
      ...{ SEARCH_ENGINE_INDEX: 'logs' },
    },
    settings: {
      mcpServers: {
        echo: { ...stdioFixture('echo'), timeout: 30_000, visibility: 'public' },
        ...Object.fromEntries(
          Object.entries(SERVERS).map(([transport, fields]) => [
            `file ${transport}`,
            { transport, enabled: false, ...fields },
          ]),
        ),
      },
      healthCheck: { enabled: true, interval: 20_000, timeout: 4_000, retries: 3 },
      alerting: { rules: RULES },
      notifications: channels(),
      logRotation: { enabled: true, maxSize: '10MB', maxFiles: 5, compress: true, interval: 'daily' },
      logging: {
        database: { enabled: true, table: 'logs', retention: '30d', indexes: ['timestamp', 'level', 'server'] },
      },
      dashboard: DASHBOARD,
    },
  })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await online(admin, ['echo'])
  await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'x' })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
  await mail?.stop()
  await removeTemp(folder)
}, 120_000)

describe('servers', () => {
  for (const [transport, fields] of Object.entries(SERVERS)) {
    test(`of the transport type ${transport}, by the API and by the file`, async () => {
      const sent = { name: `api ${transport}`, transport, enabled: false, ...fields }
      const made = await ada.request('POST', '/api/servers', sent)
      expect([made.status, made.json.errors]).toEqual([201, undefined])
      const read = await admin.ok('GET', `/api/servers/${encodeURIComponent(`file ${transport}`)}`)
      for (const server of [made.json, read])
        expect(server).toMatchObject({
          ...{ transport: transport.toLowerCase(), timeout: 30_000, visibility: 'public', healthCheck: HEALTH_CHECK },
          variables: { WHO: 'ada' },
        })
      expect([made.json.owner, read.owner]).toEqual(['ada', 'admin'])
    })
  }

  test('stdio has a working directory', async () => {
    const sent = { name: 'in', ...STDIO, cwd: 'work', transport: 'stdio', enabled: false }
    expect((await ada.request('POST', '/api/servers', sent)).status).toBe(201)
  })

  test('two users own a server of one name; one user does not', async () => {
    const sent = { name: 'same', transport: 'SSE', ...REMOTE, variables: { WHO: 'x' }, enabled: false }
    for (const user of [ada, admin]) expect((await user.request('POST', '/api/servers', sent)).status).toBe(201)
    expect((await ada.request('POST', '/api/servers', sent)).status).toBe(409)
  })

  test('a tool of the settings file’s server is called at /mcp/{group}', async () => {
    await ada.ok('POST', '/api/groups', { name: 'mine', servers: ['admin~echo'] })
    expect(await callText(await ada.mcp('/mcp/mine'), 'echo', { text: 'by ada' })).toContain('by ada')
  })
})

describe('alerts', () => {
  test('the example rules, by the file and by the API, with what was written', async () => {
    const { items } = await admin.ok('GET', '/api/monitoring/rules')
    for (const rule of RULES) {
      expect(items).toContainEqual(expect.objectContaining({ ...rule, origin: 'file' }))
      expect(await ada.ok('POST', '/api/monitoring/rules', rule)).toMatchObject(rule)
    }
  })

  test('a test of a rule goes to e-mail, chat and webhook of the file, marked as a test', async () => {
    const { items } = await admin.ok('GET', '/api/monitoring/channels')
    expect(items.map(({ type }: { type: string }) => type).sort()).toEqual(['chat', 'email', 'webhook'])
    const { deliveries } = await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'offline' })
    const told = deliveries.map(({ channel, ok }: { channel: string; ok: boolean }) => [channel, ok])
    expect(told.toSorted()).toEqual([
      ['chatWebhook', true],
      ['email', true],
      ['genericWebhook', true],
    ])
    expect(mail.received.at(-1)?.text).toContain('TEST')
    const paths = new Map(receiver.received.map(received => [received.path, received]))
    expect(JSON.stringify(paths.get('/chat')?.json)).toContain('TEST')
    expect(paths.get('/generic')?.json).toMatchObject({ kind: 'test', rule: 'offline', severity: 'critical' })
    expect(paths.get('/generic')?.headers.get('authorization')).toBe('Bearer 0123456789')
  })

  test('each kind of channel by the API, flat as the specification has it', async () => {
    for (const [type, fields] of Object.entries(channels())) {
      const made = await admin.request('POST', '/api/monitoring/channels', { name: `api ${type}`, type, ...fields })
      expect([type, made.status, made.json.errors]).toEqual([type, 201, undefined])
      await admin.ok('DELETE', `/api/monitoring/channels/${encodeURIComponent(`api ${type}`)}`)
    }
  })
})

describe('monitoring', () => {
  test('the configuration has the names of the specification, and goes back as a whole', async () => {
    const config = await admin.ok('GET', '/api/monitoring/config')
    const back = await admin.request('PUT', '/api/monitoring/config', config)
    expect([back.status, back.json.errors]).toEqual([200, undefined])
    expect(config).toMatchObject({
      healthCheck: { enabled: true, interval: 20_000, timeout: 4_000, retries: 3 },
      alerting: { rules: expect.arrayContaining([expect.objectContaining(RULES[1] as object)]) },
      logRotation: { enabled: true, maxSize: '10MB', maxFiles: 5, compress: true, interval: 'daily' },
      logging: {
        level: 'debug',
        database: { enabled: true, table: 'logs', retention: '30d', indexes: ['timestamp', 'level', 'server'] },
      },
      problems: [],
    })
  })

  test('GET /health, /api/monitoring/health and /api/monitoring/overview', async () => {
    expect(await admin.ok('GET', '/health')).toMatchObject({ servers: { online: 1, connecting: 0 } })
    expect((await admin.ok('GET', '/api/monitoring/health')).items.length).toBeGreaterThan(4)
    expect(Object.keys(await admin.ok('GET', '/api/monitoring/overview')).length).toBeGreaterThan(3)
  })

  test('GET /api/monitoring/metrics?server=&range=', async () => {
    const counted = async () => (await admin.ok('GET', '/api/monitoring/metrics?server=echo&range=1h')).metrics.requests
    await until(async () => (await counted()).total >= 2)
    const found = await admin.ok('GET', '/api/monitoring/metrics?range=24h')
    expect(found.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const { requests, servers, performance, system } = found.metrics
    expect(Object.keys(requests).sort()).toEqual(['errors', 'rate', 'success', 'total'])
    expect(servers).toMatchObject({ online: 1, offline: expect.any(Number), total: expect.any(Number) })
    for (const name of ['avgResponseTime', 'p95ResponseTime', 'p99ResponseTime'])
      expect([name, typeof performance[name]]).toEqual([name, 'number'])
    for (const name of ['memoryUsage', 'cpuUsage', 'uptime'])
      expect([name, typeof system[name]]).toEqual([name, 'string'])
    for (const name of ['server_startup', 'tool_execution', 'api_requests'])
      expect(Object.keys(found.responseTimeMetrics[name]).sort()).toEqual(['avg', 'p95', 'p99'])
  })

  test('business metrics are free-form objects, shown with the rest and at /metrics', async () => {
    const report = { toolUsage: { search: 12 }, userActivity: { active: 3 }, businessCounters: { orders: 7 } }
    await ada.ok('POST', '/api/monitoring/custom-metrics', report)
    expect((await ada.ok('GET', '/api/monitoring/metrics')).custom).toEqual({
      ...{ business_counters_orders: 7, tool_usage_search: 12, user_activity_active: 3 },
    })
    const { text } = await admin.request('GET', '/metrics')
    expect(text).toContain('patchbay_custom_value{owner="ada",name="tool_usage_search"} 12')
    expect(await promtoolSays(text)).toBe('')
  })

  test('GET /api/monitoring/resources', async () => {
    const { cpu, memory, disk, network } = await admin.ok('GET', '/api/monitoring/resources')
    expect([typeof cpu.cores, cpu.loadAverage.length]).toEqual(['number', 3])
    for (const part of [memory, disk])
      expect([typeof part.used, typeof part.total, typeof part.usage]).toEqual(['string', 'string', 'string'])
    expect(Object.keys(network)).toEqual(expect.arrayContaining(['bytesIn', 'bytesOut', 'connectionsActive']))
  })

  test('GET /api/monitoring/export?format=json&range=, and the dashboard for Grafana', async () => {
    expect((await admin.request('GET', '/api/monitoring/export?format=json&range=24h')).status).toBe(200)
    expect((await admin.ok('GET', '/api/monitoring/grafana/dashboard')).panels.length).toBeGreaterThan(3)
  })

  test('dashboards: the five of the hub, one of the file, one by the API', async () => {
    await ada.ok('POST', '/api/monitoring/dashboards', DASHBOARD)
    const { items } = await admin.ok('GET', '/api/monitoring/dashboards')
    const names = items.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining([...BUILT_IN, DASHBOARD.name]))
  })
})

describe('logs', () => {
  const total = async (query: string) => (await admin.ok('GET', `/api/logs/search?${query}`)).total

  test('GET with level, from, to, server and limit; a record has the fields of the specification', async () => {
    const query = 'level=INFO&from=2020-01-01&to=now&server=echo&limit=10'
    await until(async () => (await total(`${query}&tool=echo`)) >= 2)
    const { items } = await admin.ok('GET', `/api/logs/search?${query}&tool=echo`)
    expect(items[0]).toMatchObject({
      ...{ timestamp: expect.any(String), level: 'INFO', message: expect.any(String), server: 'echo', tool: 'echo' },
      ...{ duration: expect.any(Number), status: 'success', requestId: expect.any(String), userId: expect.any(String) },
    })
    for (const level of ['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE']) await total(`level=${level}`)
  })

  test('POST with {and}, {level}, {server: {in}}, {timestamp: {gte}}, sort and limit', async () => {
    const and = [{ level: 'INFO' }, { server: { in: ['echo'] } }, { timestamp: { gte: '2020-01-01T00:00:00Z' } }]
    const body = { query: { and }, sort: [{ timestamp: 'asc' }], limit: 5 }
    const { items } = await admin.ok('POST', '/api/logs/search', body)
    const times = items.map(({ timestamp }: { timestamp: string }) => timestamp)
    expect(times.length).toBeGreaterThan(0)
    expect(times).toEqual(times.toSorted())
  })

  test('aggregations: errors, requests-by-server, timeline?interval=&range=', async () => {
    expect((await admin.ok('GET', '/api/logs/aggregations/errors')).items).toBeArray()
    const { items } = await admin.ok('GET', '/api/logs/aggregations/requests-by-server')
    expect(items).toContainEqual(expect.objectContaining({ server: 'echo' }))
    expect(
      (await admin.ok('GET', '/api/logs/aggregations/timeline?interval=1h&range=24h')).points.length,
    ).toBeGreaterThanOrEqual(24)
  })
})

test('the variables of the environment are in effect', async () => {
  const settings = await admin.ok('GET', '/api/admin/settings')
  expect(settings).toMatchObject({
    ...{ logLevel: 'debug', logFormat: 'json', requestLogs: true, logRotation: 'daily', logMaxFiles: 5 },
    ...{ logMaxSizeBytes: 10_000_000, logFile: join(folder, 'logs/hub.log'), assistantEnabled: true },
    ...{ syslogEnabled: false, syslogHost: '127.0.0.1', syslogPort: 514, syslogFacility: 'local0' },
    searchEngineIndex: 'logs',
  })
})

test('the other paths are there', async () => {
  const login = { username: 'ada', password: 'wrong-password-9183' }
  expect((await ada.request('POST', '/api/auth/login', login)).status).toBe(401)
  const stream = await openStream(ada)
  await stream.close()
  expect((await fetch(`${hub.url}/api/assistant/ws`)).status).not.toBe(404)
})
