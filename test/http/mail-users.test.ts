/** Mail to ordinary users: by the hub's own server where an administrator lets them, and by no other. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { startMailServer } from '../support/mail-server.ts'

const CHANNELS = '/api/monitoring/channels'
const PLUGIN = '/api/admin/plugins/alert-email'
const own = { name: 'me', type: 'email', config: { recipients: ['ada@example.com'] } }

let mail: Awaited<ReturnType<typeof startMailServer>>
let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  mail = await startMailServer()
  const config = { smtp: { host: '127.0.0.1', port: mail.port }, from: 'hub@example.com', allowUsers: true }
  hub = await startHub({ env: LOOPBACK, settings: { plugins: [{ use: 'alert-email', config }] } })
  admin = await hub.setup()
  ada = await hub.user('ada')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await mail.stop()
}, 120_000)

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
  expect(mail.received).toHaveLength(1)
}, 120_000)
