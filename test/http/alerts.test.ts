/** Alert rules, channels and silences by the API: their owners, refusals, and the test of a rule. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { startReceiver } from '../support/receiver.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const RULES = '/api/monitoring/rules'
const CHANNELS = '/api/monitoring/channels'
const SILENCES = '/api/monitoring/silences'
const RULE = { name: 'down', condition: 'server_status == offline', severity: 'critical' }

let hub: Hub
let admin: Client
let alice: Client
let bob: Client
let fay: Client
const STATUSES: Readonly<Record<string, number>> = { '/gone': 410, '/busy': 503 }
const receiver = startReceiver(({ path }) => new Response('', { status: STATUSES[path] ?? 200 }))

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  fay = await hub.user('fay')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 120_000)

async function refused(by: Client, path: string, body: object): Promise<string> {
  const { status, json } = await by.request('POST', path, body)
  const errors = (json.errors ?? []).map(({ code, pointer }: Record<string, string>) => `${code} ${pointer}`)
  return [status, ...(errors.length > 0 ? errors : [json.code])].join(' ')
}

describe('rules', () => {
  test('are made, read, replaced with their revision, and deleted', async () => {
    const made = await alice.request('POST', RULES, { ...RULE, duration: '90s', repeatInterval: '1h30m' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${hub.url}${RULES}/alice~down`)
    expect(made.json).toMatchObject({
      ...{ ref: 'alice~down', owner: 'alice', duration: '90s', keepFiringFor: '1m30s', repeatInterval: '1h30m' },
      ...{ enabled: true, per: 'server', noData: 'keep', revision: 1, health: { state: 'ok' } },
    })
    const read = await alice.ok('GET', `${RULES}/down`)
    const changed = await alice.ok('PUT', `${RULES}/down`, { ...read, severity: 'warning' })
    expect(changed).toMatchObject({ id: read.id, severity: 'warning', revision: 2, duration: '90s' })
    const old = await alice.request('PUT', `${RULES}/down`, read, { 'if-match': '"1"' })
    expect([old.status, old.json.code]).toEqual([412, 'version_conflict'])
    expect(await refused(alice, RULES, RULE)).toBe('409 name_taken')
    await alice.request('DELETE', `${RULES}/down`)
    expect((await alice.request('GET', `${RULES}/down`)).json.code).toBe('rule_not_found')
  })

  test('are changed and replaced as they were read while they are pending', async () => {
    await alice.ok('POST', RULES, { ...RULE, name: 'soon', condition: 'servers_offline >= 0', duration: '1h' })
    const read = await until(async () => {
      const rule = await alice.ok('GET', `${RULES}/soon`)
      return rule.pending ? rule : undefined
    })
    expect(read.pending).toEqual([{ subject: 'total', firesAt: expect.any(String) }])
    expect(await alice.ok('PUT', `${RULES}/soon`, read)).toMatchObject({ revision: 2 })
    expect(await alice.ok('PATCH', `${RULES}/soon`, { enabled: false })).toMatchObject({ enabled: false, revision: 3 })
    await alice.request('DELETE', `${RULES}/soon`)
  })

  const wrong: readonly (readonly [string, object, string])[] = [
    ['nothing', {}, '400 required #/name required #/condition required #/severity'],
    ['an unfinished condition', { ...RULE, condition: 'error_rate >' }, '400 condition_invalid #/condition'],
    ['SQL', { ...RULE, condition: 'select 1' }, '400 condition_invalid #/condition'],
    [
      'a long one',
      { ...RULE, condition: `${RULE.condition}${' '.repeat(1_024)}` },
      '400 condition_invalid #/condition',
    ],
    [
      'a field that it has not',
      { ...RULE, condition: 'log_count{tool="x"} > 5' },
      '400 metric_unavailable #/condition',
    ],
    ['a long window', { ...RULE, condition: 'error_count[2h] > 5' }, '400 metric_unavailable #/condition'],
    ['a severity', { ...RULE, severity: 'meh' }, '400 enum #/severity'],
    ['a threshold of text', { ...RULE, condition: 'error_rate', threshold: '5' }, '400 type #/threshold'],
    ['no threshold', { ...RULE, condition: 'error_rate' }, '400 required #/threshold'],
    ['a ratio of 5', { ...RULE, condition: 'error_rate', threshold: 5 }, '400 range #/threshold'],
    ['a threshold beside', { ...RULE, threshold: 5 }, '400 ambiguous #/threshold'],
    ['two days', { ...RULE, duration: '2d' }, '400 duration #/duration'],
    ['a channel that is not there', { ...RULE, channels: ['none'] }, '400 member_not_found #/channels/0'],
    ['another field', { ...RULE, treshold: 5 }, '400 unknown_field #/treshold'],
  ]
  for (const [name, body, outcome] of wrong) {
    test(`with ${name}: ${outcome}`, async () => expect(await refused(alice, RULES, body)).toBe(outcome))
  }

  test('of others are as if they were missing, but to administrators', async () => {
    await bob.ok('POST', RULES, { ...RULE, name: 'bobs' })
    for (const path of [`${RULES}/bob~bobs`, `${RULES}/bobs`]) {
      expect((await alice.request('GET', path)).json.code).toBe('rule_not_found')
      expect((await alice.request('DELETE', path)).json.code).toBe('rule_not_found')
    }
    const test = await alice.request('POST', '/api/monitoring/test-alert', { rule: 'bob~bobs' })
    expect([test.status, test.json.code]).toEqual([404, 'rule_not_found'])
    expect((await alice.request('GET', `${RULES}?owner=bob`)).json.code).toBe('user_not_found')
    expect((await admin.ok('GET', `${RULES}?owner=bob`)).total).toBe(1)
    expect((await admin.ok('GET', `${RULES}/bob~bobs`)).owner).toBe('bob')
  })
})

describe('channels', () => {
  const config = { url: `${receiver.url}/a`, headers: { Authorization: 'Bearer 0123456789abcdef' } }

  test('keep their secrets for themselves, and a mask keeps what is stored', async () => {
    const made = await alice.ok('POST', CHANNELS, { name: 'hook', type: 'webhook', config })
    expect(made.config).toEqual({ url: `••••${config.url.slice(-4)}`, headers: { Authorization: '••••cdef' } })
    await alice.ok('PUT', `${CHANNELS}/hook`, made)
    const off = await alice.ok('PATCH', `${CHANNELS}/hook`, { enabled: false })
    expect(off).toMatchObject({ enabled: false, config: made.config })
    await alice.ok('PATCH', `${CHANNELS}/hook`, { enabled: true })
    await alice.ok('POST', RULES, { ...RULE, name: 'sent', channels: ['hook'] })
    const test = await alice.ok('POST', '/api/monitoring/test-alert', { rule: 'sent', send: true })
    expect(test.deliveries).toEqual([
      { channel: 'hook', ok: true, detail: '200', at: expect.any(String), durationMs: expect.any(Number) },
    ])
    const last = receiver.received.at(-1)
    expect(last?.headers.get('authorization')).toBe(config.headers.Authorization)
    expect(last?.json).toMatchObject({ version: '1', kind: 'test', rule: 'sent', owner: 'alice' })
    expect((await alice.ok('GET', `${CHANNELS}/hook/deliveries`)).items).toMatchObject([
      { kind: 'test', state: 'sent' },
    ])
    const byAdmin = await admin.request('PUT', `${CHANNELS}/alice~hook`, made)
    expect(byAdmin.json.errors.map(({ code }: { code: string }) => code)).toEqual(['secret_mask', 'secret_mask'])
  })

  const wrong: readonly (readonly [string, object, string])[] = [
    ['nothing', {}, '400 required #/name required #/type required #/config'],
    ['an unknown type', { name: 'x', type: 'pigeon', config: {} }, '400 enum #/type'],
    ['no address', { name: 'x', type: 'webhook', config: {} }, '400 required #/config/url'],
    ['a file', { name: 'x', type: 'webhook', config: { url: 'file:///etc/passwd' } }, '400 url_scheme #/config/url'],
    [
      'a header of the signature',
      { name: 'x', type: 'webhook', config: { ...config, headers: { 'Webhook-Id': 'x' } } },
      '400 header_reserved #/config/headers/Webhook-Id',
    ],
    [
      'a mask of nothing',
      { name: 'x', type: 'webhook', config: { ...config, url: '••••abcd' } },
      '400 secret_mask #/config/url',
    ],
  ]
  for (const [name, body, outcome] of wrong) {
    test(`with ${name}: ${outcome}`, async () => expect(await refused(alice, CHANNELS, body)).toBe(outcome))
  }

  test('of mail are for administrators, with the password sealed', async () => {
    const auth = { user: 'hub@example.com', pass: 'the password of the mail server' }
    const smtp = { host: '127.0.0.1', port: 1, auth }
    const channel = { name: 'post', type: 'email', enabled: false, config: { smtp, recipients: ['ops@example.com'] } }
    expect(await refused(alice, CHANNELS, channel)).toBe('403 admin_only')
    const made = await admin.ok('POST', CHANNELS, channel)
    expect(made.config.smtp.auth).toEqual({ user: auth.user, pass: '••••rver' })
    const two = { ...channel, config: { smtp, recipients: ['d@e.f\r\nBcc: q@x.y'] } }
    expect(await refused(admin, CHANNELS, two)).toBe('400 email_invalid #/config/recipients/0')
  })

  beyondCore(() => {
    test('trial messages are sent six times a minute at most', async () => {
      const carol = await hub.user('carol')
      await carol.ok('POST', RULES, { ...RULE, name: 'tried' })
      const outcomes: number[] = []
      for (let n = 0; n < 7; n += 1) {
        const tried = await carol.request('POST', '/api/monitoring/test-alert', { rule: 'tried', send: true })
        outcomes.push(tried.status)
      }
      expect(outcomes).toEqual([200, 200, 200, 200, 200, 200, 429])
      await carol.ok('POST', '/api/monitoring/test-alert', { rule: 'tried', send: false })
    })
  })

  test('one is tried without any rule, while it is off too, and by its owner alone', async () => {
    const dan = await hub.user('dan')
    const url = `${receiver.url}/lonely`
    await dan.ok('POST', CHANNELS, { name: 'lonely', type: 'webhook', enabled: false, config: { url } })
    const tried = await dan.ok('POST', `${CHANNELS}/lonely/test`)
    expect(tried).toMatchObject({ channel: 'lonely', ok: true, detail: '200' })
    const last = receiver.received.at(-1)
    expect(last?.json).toMatchObject({ kind: 'test', owner: 'dan', instances: [{ subject: 'channel lonely' }] })
    expect((await dan.ok('GET', `${CHANNELS}/lonely/deliveries`)).items).toMatchObject([
      { kind: 'test', state: 'sent' },
    ])
    const foreign = await alice.request('POST', `${CHANNELS}/dan~lonely/test`)
    expect([foreign.status, foreign.json.code]).toEqual([404, 'channel_not_found'])
    const codes: number[] = []
    for (let n = 0; n < 6; n += 1) codes.push((await dan.request('POST', `${CHANNELS}/lonely/test`)).status)
    expect(codes).toEqual([200, 200, 200, 200, 200, 429])
  })

  test('a missing channel is reported, and a delivery of a test is made again', async () => {
    await alice.ok('POST', CHANNELS, { name: 'gone', type: 'webhook', config: { url: `${receiver.url}/gone` } })
    await alice.ok('POST', RULES, { ...RULE, name: 'to-gone', channels: ['gone'] })
    const { deliveries } = await alice.ok('POST', '/api/monitoring/test-alert', { rule: 'to-gone', send: true })
    expect(deliveries).toMatchObject([
      { channel: 'gone', ok: false, code: 'delivery_failed', detail: 'delivery_failed: The receiver answered 410' },
    ])
    const [delivery] = (await alice.ok('GET', `${CHANNELS}/gone/deliveries`)).items
    expect(delivery).toMatchObject({ state: 'dead', attempts: 1, code: 'delivery_failed' })
    const retry = await alice.request('POST', `${CHANNELS}/gone/deliveries/${delivery.id}/retry`)
    expect([retry.status, retry.json.code]).toEqual([404, 'delivery_not_found'])
    expect((await bob.request('GET', `${CHANNELS}/alice~gone/deliveries`)).json.code).toBe('channel_not_found')
  })

  test('a message that waits for another attempt is dropped when its channel is switched off', async () => {
    await fay.ok('POST', CHANNELS, { name: 'busy', type: 'webhook', config: { url: `${receiver.url}/busy` } })
    const rule = { ...RULE, condition: 'servers_offline >= 0', per: 'total', duration: '0s' }
    await fay.ok('POST', RULES, { ...rule, name: 'to-busy', channels: ['busy'] })
    const first = async () => (await fay.ok('GET', `${CHANNELS}/busy/deliveries`)).items[0]
    const failed = await until(async () => ((await first())?.state === 'failed' ? first() : undefined), {
      what: 'an attempt that fails',
    })
    expect(failed.code).toBe('delivery_failed')
    await fay.ok('PATCH', `${CHANNELS}/busy`, { enabled: false })
    await until(async () => (await first()).state === 'dead', { timeoutMs: 60_000, what: 'the end of the delivery' })
    expect(await first()).toMatchObject({ code: 'channel_off' })
    await fay.request('DELETE', `${RULES}/to-busy`)
  }, 120_000)

  test('one whose plugin is switched off sends nothing, and says so', async () => {
    const plugin = '/api/admin/plugins/alert-webhook'
    await fay.ok('POST', CHANNELS, { name: 'hook', type: 'webhook', config })
    await admin.ok('PATCH', plugin, { enabled: false })
    expect(await fay.ok('POST', `${CHANNELS}/hook/test`)).toMatchObject({ ok: false, code: 'channel_type_unavailable' })
    await admin.ok('PATCH', plugin, { enabled: true })
    expect(await fay.ok('POST', `${CHANNELS}/hook/test`)).toMatchObject({ ok: true })
  })
})

describe('silences', () => {
  const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()

  test('are listed until they are ended', async () => {
    const made = await alice.ok('POST', SILENCES, { server: 'fake', endsAt: inMs(60_000) })
    expect((await alice.ok('GET', SILENCES)).items).toMatchObject([{ id: made.id, server: 'fake' }])
    expect((await bob.request('DELETE', `${SILENCES}/${made.id}`)).json.code).toBe('silence_not_found')
    expect((await alice.request('DELETE', `${SILENCES}/${made.id}`)).status).toBe(204)
  })

  test('run forward, and for 30 days at most', async () => {
    expect(await refused(alice, SILENCES, {})).toBe('400 required #/endsAt')
    expect(await refused(alice, SILENCES, { endsAt: 'tomorrow' })).toBe('400 timestamp #/endsAt')
    // An empty text does not mean any rule or server: a field that a script left empty would hold back the messages of all
    // rules.
    const empty = { rule: '', server: '', endsAt: inMs(60_000) }
    expect(await refused(alice, SILENCES, empty)).toBe('400 length #/rule length #/server')
    const backwards = { startsAt: inMs(60_000), endsAt: inMs(30_000) }
    expect(await refused(alice, SILENCES, backwards)).toBe('400 range_order #/endsAt')
    expect(await refused(alice, SILENCES, { endsAt: inMs(31 * 86_400_000) })).toBe('400 range #/endsAt')
  })
})

test('a rule sees the servers of its owner, an administrator’s all, and acknowledging is for its owner', async () => {
  const lost = { name: 'lost', ...stdioFixture('echo'), command: '/nowhere/at-all' }
  await admin.ok('POST', '/api/servers', { ...lost, owner: 'admin' })
  await admin.ok('POST', '/api/servers', { name: 'fake', ...stdioFixture('echo') })
  await online(admin, ['fake'])
  const rule = { ...RULE, name: 'calls', condition: 'request_count == 0', duration: '0s', repeatInterval: '0s' }
  await admin.ok('POST', RULES, { ...rule, condition: 'server_status{server="fake"} == online' })
  const [alert] = await until(async () => {
    const { items } = await admin.ok('GET', '/api/monitoring/alerts?state=firing')
    return items.length > 0 ? items : undefined
  })
  expect(alert).toMatchObject({ rule: 'calls', server: 'admin~fake', value: 'online', state: 'firing' })
  const ack = `/api/monitoring/alerts/${alert.id}/ack`
  expect((await alice.request('POST', ack)).json.code).toBe('alert_not_found')
  expect(await admin.ok('POST', ack)).toMatchObject({ ackedBy: 'admin' })
  expect((await alice.ok('GET', '/api/monitoring/alerts')).items).toEqual([])
  const tested = await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'calls' })
  expect(tested).toMatchObject({ holds: true, subjects: [{ subject: 'admin~fake', holds: true, phase: 'firing' }] })
  await alice.ok('POST', RULES, { ...rule, condition: 'servers_offline >= 0' })
  expect(await alice.ok('POST', '/api/monitoring/test-alert', { rule: 'calls' })).toMatchObject({
    subjects: [{ subject: 'total', value: 0 }],
  })
  await admin.request('DELETE', `${RULES}/calls`)
  const { items } = await admin.ok('GET', '/api/monitoring/alerts?state=resolved')
  expect(items).toMatchObject([{ id: alert.id, reason: 'rule_removed' }])
})

test('one rule, channel or silence too many is refused', async () => {
  const carl = await hub.user('carl')
  const kinds = [
    [RULES, LIMITS.alertRulesPerUser, 'quota_rules', RULE],
    [CHANNELS, LIMITS.alertChannelsPerUser, 'quota_channels', { type: 'webhook', config: { url: receiver.url } }],
    [
      SILENCES,
      LIMITS.alertSilencesPerUser,
      'quota_silences',
      { endsAt: new Date(Date.now() + 3_600_000).toISOString() },
    ],
  ] as const
  for (const [path, most, code, body] of kinds) {
    for (let made = 0; made < most; ) {
      const named = path === SILENCES ? body : { ...body, name: `n${made}` }
      const { status, json, headers } = await carl.request('POST', path, named)
      if (status === 429) await Bun.sleep(Number(headers.get('retry-after')) * 1_000)
      else {
        expect([status, json.code]).toEqual([201, undefined])
        made += 1
      }
    }
    await until(
      async () => (await refused(carl, path, path === SILENCES ? body : { ...body, name: 'last' })) === `409 ${code}`,
    )
  }
}, 120_000)
