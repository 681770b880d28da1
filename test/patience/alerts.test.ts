import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Authority } from '../support/certificates.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { startMailServer } from '../support/mail-server.ts'
import { isSigned, startReceiver } from '../support/receiver.ts'
import { online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const RULE = {
  name: 'down',
  condition: 'server_status == offline',
  severity: 'critical',
  duration: '2s',
  keepFiringFor: '1s',
}

const AUTH = { user: 'hub@example.com', pass: 'the pass word of the mail server' }

let hub: Hub
let admin: Client
let folder: string
let ca: string
let mail: Awaited<ReturnType<typeof startMailServer>>
const receiver = startReceiver()

beforeAll(async () => {
  folder = await makeTemp('mail')
  const authority = new Authority(folder)
  ca = authority.certificate
  mail = await startMailServer({ certificate: authority.issue('mail', 'IP:127.0.0.1'), auth: AUTH })
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  receiver.stop()
  await mail?.stop()
  await removeTemp(folder)
}, 120_000)

async function firing() {
  return (await admin.ok('GET', '/api/monitoring/alerts?state=firing')).items
}

test('a server is lost, the alert fires once, the hub is killed, and one message says that it is resolved', async () => {
  await admin.ok('POST', '/api/servers', { name: 'fake', ...stdioFixture('echo') })
  await online(admin, ['fake'])
  const config = { url: `${receiver.url}/hook`, secret: SECRET, headers: { Authorization: 'Bearer of the receiver' } }
  await admin.ok('POST', '/api/monitoring/channels', { name: 'ops', type: 'webhook', config })
  const smtp = { host: '127.0.0.1', port: mail.port, auth: AUTH, ca }
  const post = { name: 'post', type: 'email', config: { smtp, recipients: ['ops@example.com'] } }
  const { config: shown } = await admin.ok('POST', '/api/monitoring/channels', post)
  expect(JSON.stringify(shown)).not.toContain(AUTH.pass)
  await admin.ok('POST', '/api/monitoring/rules', RULE)
  expect(await firing()).toEqual([])

  // A command that is not there: every attempt fails, and each would be a new beginning if attempts counted.
  const lostAtMs = performance.now()
  await admin.ok('PATCH', '/api/servers/fake', { command: '/nowhere/at-all', args: [] })
  const [alert] = await until(async () => ((await firing()).length > 0 ? firing() : undefined), {
    timeoutMs: 60_000,
    what: 'the alert to fire',
  })
  expect(performance.now() - lostAtMs).toBeGreaterThan(1_900)
  expect(alert).toMatchObject({ rule: 'down', subject: 'admin~fake', severity: 'critical', value: 'offline' })
  expect((await statusOf(admin, 'fake')).state).not.toBe('online')

  await until(() => receiver.received.length > 0, { timeoutMs: 60_000, what: 'the message' })
  const [fired] = receiver.received
  if (!fired) throw new Error('nothing came')
  expect(fired.path).toBe('/hook')
  expect(isSigned(fired, SECRET)).toBe(true)
  expect(fired.headers.get('authorization')).toBe('Bearer of the receiver')
  expect(fired.headers.get('webhook-id')).toBe(fired.json.id)
  expect(fired.json).toMatchObject({ version: '1', kind: 'fired', rule: 'down', severity: 'critical', owner: 'admin' })
  expect(fired.json.instances).toMatchObject([{ incident: alert.id, subject: 'admin~fake', state: 'firing' }])
  await until(async () => (await deliveries())[0]?.state === 'sent', { what: 'the delivery to be noted' })

  hub.signal('SIGKILL')
  await hub.exited(10_000)
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  expect(await firing()).toMatchObject([{ id: alert.id }])
  await admin.ok('PATCH', '/api/servers/fake', stdioFixture('echo'))
  await online(admin, ['fake'])
  await until(async () => (await firing()).length === 0, { timeoutMs: 60_000, what: 'the alert to be resolved' })
  await until(() => receiver.received.length > 1, { timeoutMs: 90_000, what: 'the message that it is resolved' })
  const [, resolved] = receiver.received
  expect(resolved && isSigned(resolved, SECRET)).toBe(true)
  expect(resolved?.json).toMatchObject({ kind: 'resolved', instances: [{ incident: alert.id, state: 'resolved' }] })
  expect(resolved?.headers.get('webhook-id')).not.toBe(fired.headers.get('webhook-id'))
  await until(async () => (await deliveries()).every(({ state }) => state === 'sent'), { what: 'both to be noted' })
  expect((await deliveries()).map(({ kind }) => kind)).toEqual(['resolved', 'fired'])
  expect(receiver.received).toHaveLength(2)

  await until(() => mail.received.length > 1, { timeoutMs: 60_000, what: 'the mail that it is resolved' })
  expect(mail.received.map(({ to, secure, user }) => [to, secure, user])).toEqual([
    [['ops@example.com'], true, AUTH.user],
    [['ops@example.com'], true, AUTH.user],
  ])
  const [firedMail = '', resolvedMail = ''] = mail.received.map(({ text }) => text)
  expect(firedMail).toMatch(/^Subject: \[FIRING\] critical: down \(admin~fake\)/m)
  expect(resolvedMail).toMatch(/^Subject: \[RESOLVED\] critical: down \(admin~fake\)/m)
  for (const text of [firedMail, resolvedMail]) expect(text).toContain(`References: <${alert.id}@patchbay>`)
  expect(mail.passwords.every(({ secure }) => secure)).toBe(true)
  expect(hub.log()).not.toContain(AUTH.pass)
}, 300_000)

async function deliveries(): Promise<readonly { readonly state: string; readonly kind: string }[]> {
  return (await admin.ok('GET', '/api/monitoring/channels/ops/deliveries')).items
}
