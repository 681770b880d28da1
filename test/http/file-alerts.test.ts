/**
 * Alert rules, channels and the mail server of the settings file: they work, follow edits of the file, and cannot be changed
 * elsewhere.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rename, writeFile } from 'node:fs/promises'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const RULES = '/api/monitoring/rules'
const CHANNELS = '/api/monitoring/channels'
const DOWN = {
  name: 'down',
  condition: 'servers_offline >= threshold',
  threshold: 0,
  duration: '0s',
  severity: 'critical',
}
const SECRET = 'Bearer a-token-of-the-webhook'

const PLUGIN = '/api/admin/plugins/alert-email'
const own = { name: 'me', type: 'email', config: { recipients: ['ada@example.com'] } }

const receiver = startReceiver(() => new Response(''))
const webhook = { enabled: true, url: `${receiver.url}/hook`, headers: { Authorization: SECRET } }
const broken = { command: '/does/not/exist' }

let mail: Awaited<ReturnType<typeof startMailServer>>
let hub: Hub
let admin: Client
let ada: Client

async function edit(settings: object): Promise<void> {
  await writeFile(`${hub.settingsFile}.tmp`, JSON.stringify(settings), { mode: 0o600 })
  await rename(`${hub.settingsFile}.tmp`, hub.settingsFile)
}
const names = async (path: string): Promise<string[]> =>
  (await admin.ok('GET', path)).items.map(({ name }: { name: string }) => name)

beforeAll(async () => {
  mail = await startMailServer()
  const config = { smtp: { host: '127.0.0.1', port: mail.port }, from: 'hub@example.com', allowUsers: true }
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: { broken },
      plugins: [{ use: 'alert-email', config }],
      alerting: { rules: [DOWN, { name: 'wrong', condition: 'error_rate >', severity: 'warning' }] },
      notifications: { webhook, pager: { enabled: true } },
      systemConfig: {
        alerting: {
          rules: [
            { ...DOWN, severity: 'warning' },
            { ...DOWN, name: 'inner', enabled: false },
          ],
        },
        notifications: { slack: { enabled: false, webhook: 'https://hooks.example.com/x', channel: '#ops' } },
      },
    },
  })
  admin = await hub.setup()
  ada = await hub.user('ada')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  receiver.stop()
  await mail.stop()
}, 120_000)

describe('mail to ordinary users: by the hub’s own server where an administrator lets them, and by no other', () => {
  const types = async (user: Client) => (await user.ok('GET', '/api/monitoring/channel-types')).items
  const tried = async (user: Client, body: object): Promise<string> => {
    const { status, json } = await user.request('POST', CHANNELS, body)
    return `${status} ${json.code ?? 'ok'}`
  }

  test('a user has a channel with recipients alone, and its mail comes from the hub', async () => {
    expect(await types(ada)).toMatchObject([
      { type: 'webhook', withheld: [] },
      { type: 'chat', withheld: [] },
      { type: 'email', withheld: ['smtp', 'from'], configSchema: { required: ['recipients'] } },
    ])
    const smtp = { host: '127.0.0.1', port: mail.port }
    expect(await tried(ada, { ...own, config: { ...own.config, smtp } })).toBe('403 admin_only')
    expect(await tried(ada, { ...own, config: { ...own.config, from: 'boss@example.com' } })).toBe('403 admin_only')
    expect(await tried(ada, own)).toBe('201 ok')
    await ada.ok('POST', '/api/monitoring/rules', { name: 'r', condition: 'servers_offline > 0', severity: 'warning' })
    const sent = await ada.ok('POST', '/api/monitoring/test-alert', { rule: 'r', send: true })
    expect(JSON.stringify(sent)).toContain('250')
    expect(mail.received).toMatchObject([{ from: 'hub@example.com', to: ['ada@example.com'] }])
  }, 120_000)

  test('without allowUsers there are no such channels for users, and those that there were send nothing', async () => {
    const config = { smtp: { host: '127.0.0.1', port: mail.port }, from: 'hub@example.com' }
    await admin.ok('PATCH', PLUGIN, { config })
    expect((await types(ada)).map(({ type }: { type: string }) => type)).toEqual(['webhook', 'chat'])
    expect(await types(admin)).toHaveLength(3)
    expect(await tried(ada, { ...own, name: 'other' })).toBe('403 admin_only')
    const sent = await ada.ok('POST', '/api/monitoring/test-alert', { rule: 'r', send: true })
    expect(JSON.stringify(sent)).toContain('Only administrators have channels')
    expect(await tried(admin, { ...own, name: 'mine' })).toBe('201 ok')
    await admin.ok('DELETE', `${CHANNELS}/mine`)
    expect(mail.received).toHaveLength(1)
  }, 120_000)
})

test('they are listed with their origin and fire, one with a mistake is logged with its place', async () => {
  const stream = await openStream(admin, '?topics=alerts')
  const { items: rules } = await admin.ok('GET', RULES)
  expect(rules).toEqual([
    expect.objectContaining({ ...DOWN, origin: 'file', owner: 'admin', severity: 'critical' }),
    expect.objectContaining({ name: 'inner', enabled: false, origin: 'file' }),
  ])
  const { items: channels } = await admin.ok('GET', CHANNELS)
  expect(channels.map(({ name, type, enabled }: Record<string, unknown>) => [name, type, enabled])).toEqual([
    ['slack', 'chat', false],
    ['webhook', 'webhook', true],
  ])
  expect(JSON.stringify(channels)).not.toContain('a-token-of')
  await until(() => hub.log().includes('The settings file cannot be used at /alerting/rules/1/condition: '))
  await until(() => hub.log().includes('The settings file cannot be used at /notifications/pager/type: '))
  const { problems } = await admin.ok('GET', '/api/monitoring/config')
  expect(problems.map(({ pointer, code }: Record<string, string>) => `${code} ${pointer}`).sort()).toEqual([
    'condition_invalid /alerting/rules/1/condition',
    'enum /notifications/pager/type',
  ])
  const { attention } = await admin.ok('GET', '/api/monitoring/overview')
  expect(attention.filter(({ kind }: { kind: string }) => kind === 'settings_problem')).toHaveLength(2)
  expect((await ada.ok('GET', '/api/monitoring/config')).problems).toBeUndefined()
  const fired = await until(() => receiver.received.find(({ text }) => text.includes('"kind":"fired"')), {
    timeoutMs: 60_000,
  })
  expect(fired.headers.get('authorization')).toBe(SECRET)
  expect(fired.json).toMatchObject({ rule: 'down', severity: 'critical' })
  const live = { name: 'live', condition: 'servers_offline >= 0', duration: '0s', severity: 'warning' }
  await admin.ok('POST', RULES, live)
  const { data } = await until(() => stream.events.find(({ event }) => event === 'alert.fired'), { timeoutMs: 60_000 })
  expect(data).toMatchObject({ owner: 'admin', data: { rule: 'live', severity: 'warning' } })
  await admin.ok('DELETE', `${RULES}/live`)
  await until(() => stream.events.some(({ event }) => event === 'alert.resolved'))
  await stream.close()
  await until(async () => {
    const metrics = await (await fetch(`${hub.url}/metrics`)).text()
    return metrics.includes('patchbay_alert_deliveries_total{channel="webhook",result="sent"} 1\n')
  })
}, 120_000)

test('the API shows and tests them, and refuses to change them', async () => {
  const before = await admin.ok('GET', `${RULES}/down`)
  for (const [method, path, body] of [
    ['PUT', `${RULES}/down`, before],
    ['DELETE', `${RULES}/down`, undefined],
    ['PUT', `${CHANNELS}/webhook`, await admin.ok('GET', `${CHANNELS}/webhook`)],
    ['DELETE', `${CHANNELS}/webhook`, undefined],
  ] as const) {
    const { status, json } = await admin.request(method, path, body)
    expect([status, json.code]).toEqual([409, 'setting_locked'])
    expect(json.hint).toContain('settings file')
  }
  expect(await admin.ok('GET', `${RULES}/down`)).toEqual(before)
  expect((await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'down' })).holds).toBe(true)
})

test('an edit is applied: unchanged entries continue, removed ones end, ones made by the API are taken over', async () => {
  await admin.ok('POST', RULES, { ...DOWN, name: 'own', duration: '5m' })
  await admin.ok('POST', RULES, { ...DOWN, name: 'later', duration: '5m' })
  const before = await admin.ok('GET', `${RULES}/down`)
  await edit({
    mcpServers: { broken },
    alerting: { rules: [DOWN, { ...DOWN, name: 'later', duration: '10m' }] },
    notifications: { webhook },
  })
  await until(async () => (await admin.ok('GET', `${RULES}/later`)).origin === 'file')
  expect(await names(RULES)).toEqual(['down', 'later', 'own'])
  expect(await names(CHANNELS)).toEqual(['webhook'])
  expect(await admin.ok('GET', `${RULES}/down`)).toEqual(before)
  expect(await admin.ok('GET', `${RULES}/later`)).toMatchObject({ duration: '10m', revision: 2 })
  const { items } = await admin.ok('GET', '/api/monitoring/alerts?state=firing')
  expect(items.map(({ rule }: { rule: string }) => rule)).toEqual(['down'])
  await edit({ mcpServers: { broken }, notifications: { webhook: { ...webhook, url: `${receiver.url}/other` } } })
  await until(async () => (await names(RULES)).join() === 'own')
  expect((await admin.ok('GET', '/api/monitoring/alerts?state=firing')).items).toEqual([])
  await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'own', send: true })
  await until(() => receiver.received.some(({ path }) => path === '/other'))
  await edit({ mcpServers: { broken }, notifications: {} })
  await until(async () => (await names(CHANNELS)).length === 0)
}, 120_000)
