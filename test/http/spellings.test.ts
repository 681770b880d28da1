/** The words of the specification and of other programs, in their own spelling: accepted forms, and the texts of refusals. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { startReceiver } from '../support/receiver.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const RULES = '/api/monitoring/rules'
const CHANNELS = '/api/monitoring/channels'
const SEARCH = '/api/logs/search'
const DOWN = { name: 'down', condition: 'server_status == offline', severity: 'critical' }
const CLOSED = 'http://169.254.169.254/latest'

let hub: Hub
let admin: Client
let ada: Client
const receiver = startReceiver(() => new Response('ok'))

beforeAll(async () => {
  hub = await startHub({
    env: { ...LOOPBACK, LOG_LEVEL: 'DEBUG' },
    settings: {
      mcpServers: {
        echo: { ...stdioFixture('echo'), type: 'STDIO', visibility: 'Public' },
        api: { transport: 'OpenAPI', url: `${receiver.url}/openapi.json`, enabled: false },
        far: { type: 'Streamable_HTTP', url: 'https://mcp.example.com/', enabled: false },
      },
      users: [{ username: 'root', role: 'Admin' }],
      alerting: {
        rules: [
          { name: 'slow', condition: 'avgResponseTime > 1000', threshold: 1_000, severity: 'WARNING', duration: '3m' },
        ],
      },
      notifications: {
        chatWebhook: { enabled: true, webhook: `${receiver.url}/chat`, channel: '#ops' },
        genericWebhook: { enabled: true, config: { url: `${receiver.url}/generic` } },
        slack: { enabled: false, config: { webhook: `${receiver.url}/slack` }, channel: '#x' },
        closed: { type: 'genericWebhook', url: CLOSED },
        email: { enabled: false, smtp: { host: '169.254.169.254' }, recipients: ['ops@example.com'] },
      },
      assistant: { endpoints: [{ name: 'gone', direction: 'OUTBOUND', url: 'ws://169.254.169.254/x', group: 'echo' }] },
      logRotation: { enabled: true, interval: 'Weekly', maxSize: '100M' },
    },
  })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await online(admin, ['echo'])
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 120_000)

async function outcome(by: Client, method: string, path: string, body?: object): Promise<string> {
  const { status, json } = await by.request(method, path, body)
  const errors = (json?.errors ?? []).map(({ code, pointer }: Record<string, string>) => `${code} ${pointer}`)
  return [status, ...(status < 400 ? [] : errors.length > 0 ? errors : [json.code])].join(' ')
}

describe('servers', () => {
  const api = { name: 'pets', transport: 'openapi', enabled: false }
  const rows: readonly (readonly [string, object, object])[] = [
    ['SSE', { transport: 'SSE', url: 'https://a.example/sse' }, { transport: 'sse' }],
    ['Streamable-HTTP', { transport: 'Streamable-HTTP', url: 'https://a.example' }, { transport: 'streamable-http' }],
    ['streamable_http', { type: 'streamable_http', url: 'https://a.example' }, { transport: 'streamable-http' }],
    ['HTTP', { type: 'HTTP', url: 'https://a.example' }, { transport: 'streamable-http' }],
    [
      'STDIO with words of its own fields',
      { transport: 'STDIO', command: 'node', sandbox: 'FULL', network: 'None', start: 'Lazy', session: 'Per_Session' },
      { transport: 'stdio', sandbox: 'full', network: 'none', start: 'lazy', session: 'per-session' },
    ],
    ['public', { transport: 'sse', url: 'https://a.example', visibility: 'PUBLIC' }, { visibility: 'public' }],
    ['not public', { transport: 'sse', url: 'https://a.example', visibility: 'not public' }, { visibility: 'private' }],
    [
      'OpenAPI with the address of its document beside it',
      { transport: 'OpenAPI', url: 'https://a.example/openapi.json' },
      { transport: 'openapi', openapi: { url: 'https://a.example/openapi.json' } },
    ],
    [
      'OpenAPI with that address as a text',
      { openapi: 'https://a.example/openapi.json' },
      { transport: 'openapi', openapi: { url: 'https://a.example/openapi.json' } },
    ],
  ]
  for (const [name, body, shown] of rows) {
    test(name, async () => {
      const made = await ada.ok('POST', '/api/servers', { name: 'one', enabled: false, ...body })
      expect(made).toMatchObject(shown)
      await ada.ok('PATCH', '/api/servers/one', { description: 'as it was read' })
      await ada.ok('DELETE', '/api/servers/one')
    })
  }

  test('two different addresses of one document are refused, and an unknown word with those that there are', async () => {
    const two = { ...api, url: 'https://a.example/1', openapi: { url: 'https://a.example/2' } }
    expect(await outcome(ada, 'POST', '/api/servers', two)).toBe('400 ambiguous #/url')
    const { json } = await ada.request('POST', '/api/servers', { name: 'x', transport: 'pigeon', url: 'https://a.b' })
    expect(json.errors[0].detail).toContain('stdio')
  })

  test('of the settings file, and a user of it', async () => {
    expect(await admin.ok('GET', '/api/servers/echo')).toMatchObject({ transport: 'stdio', visibility: 'public' })
    expect(await admin.ok('GET', '/api/servers/far')).toMatchObject({ transport: 'streamable-http' })
    const { openapi, transport } = await admin.ok('GET', '/api/servers/api')
    expect([transport, openapi]).toEqual(['openapi', { url: `${receiver.url}/openapi.json` }])
    await admin.ok('PATCH', '/api/servers/api', { openapi: { url: `${receiver.url}/other.json` } })
    expect((await admin.ok('GET', '/api/servers/api')).openapi.url).toBe(`${receiver.url}/other.json`)
    const { items } = await admin.ok('GET', '/api/admin/users')
    expect(items.find(({ name }: { name: string }) => name === 'root')).toMatchObject({ role: 'admin' })
  })
})

describe('channels', () => {
  test('of the settings file: by the specification’s words, flat or under config; a closed address is a mistake', async () => {
    const { items } = await admin.ok('GET', CHANNELS)
    const made = items.map(({ name, type, enabled }: Record<string, unknown>) => [name, type, enabled])
    expect(made).toEqual([
      ['chatWebhook', 'chat', true],
      ['genericWebhook', 'webhook', true],
      ['slack', 'chat', false],
    ])
    expect(items[2].config.channel).toBe('#x')
    const { problems } = await admin.ok('GET', '/api/monitoring/config')
    const found = problems.map(({ pointer, detail }: Record<string, string>) => `${pointer}: ${detail}`)
    for (const place of ['/notifications/closed', '/notifications/email', '/assistant/endpoints/0'])
      expect(found).toContainEqual(expect.stringMatching(new RegExp(`^${place}: .*169\\.254\\.169\\.254`)))
    expect((await admin.request('GET', '/health')).status).toBe(200)
  })

  const url = `${receiver.url}/hook`
  for (const [type, config] of [
    ['chatWebhook', { webhook: url, template: 'Slack' }],
    ['slack', { webhook: url }],
    ['chat', { webhook: url }],
    ['genericWebhook', { url, headers: { Authorization: 'Bearer 0123456789' } }],
    ['Webhook', { url }],
  ] as const) {
    test(`${type}, flat and under config, and changed in either form`, async () => {
      const kind = type.toLowerCase().includes('chat') || type === 'slack' ? 'chat' : 'webhook'
      const flat = await ada.ok('POST', CHANNELS, { name: 'flat', type, enabled: true, ...config })
      const nested = await ada.ok('POST', CHANNELS, { name: 'nested', type, config })
      expect([flat.type, nested.type]).toEqual([kind, kind])
      expect(flat.config).toEqual(nested.config)
      const member = kind === 'chat' ? 'webhook' : 'url'
      await ada.ok('PATCH', `${CHANNELS}/flat`, { [member]: `${url}/2`, enabled: false })
      await ada.ok('PUT', `${CHANNELS}/flat`, { ...flat, config: undefined, ...config })
      for (const name of ['flat', 'nested']) await ada.ok('DELETE', `${CHANNELS}/${name}`)
    })
  }

  test('an error is named with its place, and two values for one field are refused', async () => {
    const body = { name: 'x', type: 'webhook' }
    expect(await outcome(ada, 'POST', CHANNELS, { ...body, url: 'ftp://a.b' })).toBe('400 url_scheme #/url')
    expect(await outcome(ada, 'POST', CHANNELS, { ...body, config: { url: 'ftp://a.b' } })).toBe(
      '400 url_scheme #/config/url',
    )
    expect(await outcome(ada, 'POST', CHANNELS, { ...body, url, ulr: url })).toBe('400 unknown_field #/ulr')
    expect(await outcome(ada, 'POST', CHANNELS, { ...body, url, config: { url: 'https://a.b' } })).toBe(
      '400 ambiguous #/url',
    )
  })
})

describe('an address that its owner may not reach is refused when it is saved', () => {
  const closed = '403 url_address_blocked'
  for (const host of ['169.254.169.254', '10.0.0.1', '[::ffff:10.0.0.1]', '0x0a.1', 'metadata.google.internal'])
    test(host, async () => {
      const url = `http://${host}/`
      expect(await outcome(ada, 'POST', CHANNELS, { name: 'c', type: 'webhook', url })).toBe(closed)
      expect(await outcome(ada, 'POST', CHANNELS, { name: 'c', type: 'slack', webhook: url })).toBe(closed)
      const endpoint = { name: 'e', direction: 'Outbound', url: `ws://${host}/`, group: 'echo' }
      expect(await outcome(ada, 'POST', '/api/assistant/endpoints', endpoint)).toBe(closed)
    })

  test('of a mail server too, and of a change', async () => {
    const email = { name: 'm', type: 'Email', recipients: ['ops@example.com'] }
    for (const host of ['169.254.169.254', 'metadata', 'fe80::1'])
      expect(await outcome(admin, 'POST', CHANNELS, { ...email, smtp: { host } })).toBe(closed)
    await ada.ok('POST', CHANNELS, { name: 'open', type: 'webhook', url: `${receiver.url}/` })
    expect(await outcome(ada, 'PATCH', `${CHANNELS}/open`, { url: CLOSED })).toBe(closed)
    expect(await outcome(ada, 'PATCH', `${CHANNELS}/open`, { config: { url: CLOSED }, enabled: false })).toBe(closed)
    await ada.ok('DELETE', `${CHANNELS}/open`)
  })
})

describe('rules', () => {
  const rows: readonly (readonly [string, object, string])[] = [
    ['camel case', { condition: 'errorRate[5m] > 5%' }, '201'],
    ['a state in any case', { condition: "serverStatus == 'Offline' OR servers_offline > 2" }, '201'],
    ['the same number twice', { condition: 'error_rate > 7%', threshold: 0.07 }, '201'],
    ['another number', { condition: 'error_rate > 7%', threshold: 0.08 }, '400 ambiguous #/threshold'],
    ['words in any case', { severity: 'Warning', per: 'TOTAL', noData: 'OK', condition: 'errorCount > 1' }, '201'],
  ]
  for (const [name, body, expected] of rows)
    test(`${name}: ${expected}`, async () => {
      expect(await outcome(ada, 'POST', RULES, { ...DOWN, ...body })).toBe(expected)
      if (expected === '201') await ada.ok('DELETE', `${RULES}/down`)
    })

  test('a threshold that differs is named with what the condition has', async () => {
    const { json } = await ada.request('POST', RULES, { ...DOWN, condition: 'avgResponseTime > 1s', threshold: 5 })
    expect(json.errors[0].detail).toContain('"threshold" is 5, and the condition compares with 1000')
    const [rule] = (await admin.ok('GET', RULES)).items
    expect(rule).toMatchObject({
      name: 'slow',
      severity: 'warning',
      condition: 'avgResponseTime > 1000',
      duration: '3m',
    })
  })
})

describe('the log', () => {
  const total = async (query: string) => (await admin.ok('GET', `${SEARCH}?${query}`)).total
  const posted = async (query: object) => (await admin.ok('POST', SEARCH, { query })).total

  test('a level is that one and worse by GET and POST, in any case; eq is that one alone', async () => {
    await until(async () => (await total('level=INFO')) > 0)
    await ada.request('POST', '/api/auth/login', { username: 'ada', password: 'wrong password here' })
    const fixed = `from=2020-01-01&to=${new Date().toISOString()}`
    const within = { timestamp: { lte: new URLSearchParams(fixed).get('to') } }
    await until(async () => (await admin.ok('GET', `${SEARCH}?limit=1`)).behind === 0)
    for (const level of ['DEBUG', 'info', 'Warning', 'WARN', 'error'])
      expect([level, await posted({ and: [{ level }, within] })]).toEqual([
        level,
        await total(`${fixed}&level=${level}`),
      ])
    const one = await posted({ and: [{ level: { eq: 'INFO' } }, within] })
    expect(one).toBe(await posted({ and: [{ level: { in: ['INFO'] } }, within] }))
    expect(one).toBeLessThan(await posted({ and: [{ level: 'DEBUG' }, within] }))
  })

  test('times by now, whose cursor holds for the next page', async () => {
    const first = await admin.ok('GET', `${SEARCH}?from=now-1h&to=now&limit=1`)
    expect(first.items).toHaveLength(1)
    const second = await admin.ok('GET', `${SEARCH}?from=now-1h&to=now&limit=1&cursor=${first.nextCursor}`)
    expect(second.items).toHaveLength(1)
    expect(await posted({ timestamp: { gte: 'now-15m' } })).toBeGreaterThan(0)
    expect(await total('from=now')).toBe(0)
    const { json } = await admin.request('GET', `${SEARCH}?from=yesterday`)
    expect(json.errors[0].detail).toContain('now-1h')
    await ada.ok('POST', '/api/monitoring/silences', { rule: 'down', severity: 'WARNING', endsAt: 'now+2h' })
  })
})

describe('every other enumeration, in bodies and queries', () => {
  const rows: readonly (readonly [string, string, object | undefined])[] = [
    ['GET', '/api/monitoring/export?format=JSON', undefined],
    ['GET', '/api/logs/aggregations/errors?by=Tool&scope=MINE', undefined],
    ['GET', '/api/logs/aggregations/timeline?by=LEVEL', undefined],
    ['GET', '/api/logs/search?order=ASC', undefined],
    ['GET', '/api/monitoring/alerts?state=Firing', undefined],
    ['GET', '/api/servers?scope=Mine&sort=-CreatedAt', undefined],
    ['POST', SEARCH, { query: { level: 'info' }, sort: [{ timestamp: 'DESC' }] }],
    ['PATCH', '/api/settings', { theme: 'Dark', language: 'EN' }],
    ['PATCH', '/api/admin/settings', { marketUsers: 'ALL' }],
    ['PATCH', '/api/admin/logging', { levels: { http: 'WARNING' } }],
    ['POST', '/api/admin/users', { username: 'lea', password: 'correct-horse-staple-92', role: 'USER' }],
    ['POST', '/api/monitoring/custom-metrics', { metrics: [{ name: 'orders', kind: 'Counter', value: 1 }] }],
    ['POST', '/api/monitoring/query', { type: 'Metric', query: 'Request_Count OVER 1h' }],
    [
      'POST',
      '/api/monitoring/dashboards',
      { name: 'd', widgets: [{ type: 'Chart', title: 't', query: 'request_count', visualization: 'lineChart' }] },
    ],
    ['POST', '/api/groups', { name: 'g', servers: ['echo'], visibility: 'PUBLIC', naming: 'Prefixed' }],
    ['POST', '/api/keys', { label: 'k', scopes: ['API:read'] }],
  ]
  for (const [method, path, body] of rows)
    test(`${method} ${path} ${JSON.stringify(body ?? '')}`, async () => {
      expect(await outcome(admin, method, path, body)).toMatch(/^20[01]$/)
    })

  test('an unknown word is refused with the known ones', async () => {
    const { json } = await admin.request('GET', '/api/monitoring/export?format=xml')
    expect(json.errors[0]).toMatchObject({
      code: 'enum',
      detail: expect.stringContaining('"json", "csv", "prometheus"'),
    })
    expect((await admin.ok('GET', '/api/monitoring/config')).logRotation).toMatchObject({ interval: 'weekly' })
  })
})

describe('POST /api/monitoring/test-alert', () => {
  test('sends to every enabled channel of the owner’s own, about a subject that is made up, and reports each', async () => {
    for (const name of ['a', 'b', 'off', 'dead'])
      await ada.ok('POST', CHANNELS, {
        ...{ name, type: 'webhook', enabled: name !== 'off' },
        url: name === 'dead' ? 'http://127.0.0.1:1/' : `${receiver.url}/${name}`,
      })
    await ada.ok('POST', RULES, DOWN)
    const before = receiver.received.length
    const judged = await ada.ok('POST', '/api/monitoring/test-alert', { rule: 'down', send: false })
    expect([judged.deliveries, receiver.received.length]).toEqual([undefined, before])
    const { deliveries } = await ada.ok('POST', '/api/monitoring/test-alert', { rule: 'down' })
    const said = { at: expect.any(String), durationMs: expect.any(Number) }
    expect(
      deliveries.toSorted((a: { channel: string }, b: { channel: string }) => (a.channel < b.channel ? -1 : 1)),
    ).toEqual([
      { channel: 'a', ok: true, detail: '200', ...said },
      { channel: 'b', ok: true, detail: '200', ...said },
      {
        channel: 'dead',
        ok: false,
        code: 'connection_lost',
        detail: expect.stringContaining('connection_lost'),
        ...said,
      },
    ])
    const sent = receiver.received.slice(before)
    expect(sent.map(({ path }) => path).sort()).toEqual(['/a', '/b'])
    for (const { json } of sent)
      expect(json).toMatchObject({ kind: 'test', rule: 'down', instances: [{ subject: 'TEST: example-server' }] })
    const foreign = await outcome(admin, 'POST', '/api/monitoring/test-alert', { rule: 'ada~down' })
    expect(foreign).toBe('403 not_owner')
    expect(await outcome(admin, 'POST', '/api/monitoring/test-alert', { rule: 'ada~down', send: false })).toBe('200')
    expect(receiver.received).toHaveLength(before + 2)
  })
})
