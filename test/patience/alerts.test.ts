import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { isSigned, startReceiver } from '../support/receiver.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const RULE = {
  name: 'down',
  condition: 'server_status == offline',
  severity: 'critical',
  duration: '2s',
  keepFiringFor: '1s',
}

let hub: Hub
let admin: Client
const receiver = startReceiver()

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 30_000)

afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 40_000)

async function firing() {
  return (await admin.ok('GET', '/api/monitoring/alerts?state=firing')).items
}

test('a server is lost, the alert fires once, the hub is killed, and one message says that it is resolved', async () => {
  await admin.ok('POST', '/api/servers', { name: 'fake', ...stdioFixture('echo') })
  await online(admin, ['fake'])
  const config = { url: `${receiver.url}/hook`, secret: SECRET, headers: { Authorization: 'Bearer of the receiver' } }
  await admin.ok('POST', '/api/monitoring/channels', { name: 'ops', type: 'webhook', config })
  await admin.ok('POST', '/api/monitoring/rules', RULE)
  expect(await firing()).toEqual([])

  // A command that is not there: every attempt fails, and each would be a new beginning if attempts counted.
  const lostAtMs = performance.now()
  await admin.ok('PATCH', '/api/servers/fake', { command: '/nowhere/at-all', args: [] })
  const [alert] = await until(async () => ((await firing()).length > 0 ? firing() : undefined), {
    timeoutMs: 15_000,
    what: 'the alert to fire',
  })
  expect(performance.now() - lostAtMs).toBeGreaterThan(1_900)
  expect(alert).toMatchObject({ rule: 'down', subject: 'admin~fake', severity: 'critical', value: 'offline' })
  expect((await statusOf(admin, 'fake')).state).not.toBe('online')

  await until(() => receiver.received.length > 0, { timeoutMs: 15_000, what: 'the message' })
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
}, 180_000)

async function deliveries(): Promise<readonly { readonly state: string; readonly kind: string }[]> {
  return (await admin.ok('GET', '/api/monitoring/channels/ops/deliveries')).items
}
