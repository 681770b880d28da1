import { expect } from 'bun:test'
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

/** A server is lost, the alert fires once, the hub is killed, and one message says that it is resolved. */
export async function lostAlert(): Promise<void> {
  const folder = await makeTemp('mail')
  const authority = new Authority(folder)
  const mail = await startMailServer({ certificate: authority.issue('mail', 'IP:127.0.0.1'), auth: AUTH })
  const receiver = startReceiver()
  const hub = await startHub()
  const world: World = { hub, admin: await hub.setup(), ca: authority.certificate, mail, receiver }
  try {
    await fireAndResolve(world)
  } finally {
    await world.hub.stop()
    receiver.stop()
    await mail.stop()
    await removeTemp(folder)
  }
}

interface World {
  /** Replaced by another hub after the kill. */
  hub: Hub
  admin: Client
  readonly ca: string
  readonly mail: Awaited<ReturnType<typeof startMailServer>>
  readonly receiver: ReturnType<typeof startReceiver>
}

async function firing({ admin }: World) {
  return (await admin.ok('GET', '/api/monitoring/alerts?state=firing')).items
}

type Delivery = { readonly state: string; readonly kind: string }

async function deliveries({ admin }: World, channel = 'ops'): Promise<readonly Delivery[]> {
  return (await admin.ok('GET', `/api/monitoring/channels/${channel}/deliveries`)).items
}

async function fireAndResolve(world: World): Promise<void> {
  const { ca, mail, receiver } = world
  let { hub, admin } = world
  await admin.ok('POST', '/api/servers', { name: 'fake', ...stdioFixture('echo') })
  await online(admin, ['fake'])
  const config = { url: `${receiver.url}/hook`, secret: SECRET, headers: { Authorization: 'Bearer of the receiver' } }
  await admin.ok('POST', '/api/monitoring/channels', { name: 'ops', type: 'webhook', config })
  const smtp = { host: '127.0.0.1', port: mail.port, auth: AUTH, ca }
  const post = { name: 'post', type: 'email', config: { smtp, recipients: ['ops@example.com'] } }
  const { config: shown } = await admin.ok('POST', '/api/monitoring/channels', post)
  expect(JSON.stringify(shown)).not.toContain(AUTH.pass)
  await admin.ok('POST', '/api/monitoring/rules', RULE)
  expect(await firing(world)).toEqual([])

  // The command does not exist: every attempt fails, and each would start the alert again if attempts counted.
  const lostAtMs = performance.now()
  await admin.ok('PATCH', '/api/servers/fake', { command: '/nowhere/at-all', args: [] })
  const [alert] = await until(async () => ((await firing(world)).length > 0 ? firing(world) : undefined), {
    timeoutMs: 60_000,
    intervalMs: 200,
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
  // A message that was sent but not recorded would be sent again after the kill.
  for (const channel of ['ops', 'post']) {
    await until(async () => (await deliveries(world, channel))[0]?.state === 'sent', { what: `${channel} to be noted` })
  }

  hub.signal('SIGKILL')
  await hub.exited(10_000)
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  Object.assign(world, { hub, admin })
  expect(await firing(world)).toMatchObject([{ id: alert.id }])
  await admin.ok('PATCH', '/api/servers/fake', stdioFixture('echo'))
  await online(admin, ['fake'])
  await until(async () => (await firing(world)).length === 0, {
    timeoutMs: 60_000,
    intervalMs: 200,
    what: 'the alert to be resolved',
  })
  await until(() => receiver.received.length > 1, { timeoutMs: 90_000, what: 'the message that it is resolved' })
  const [, resolved] = receiver.received
  expect(resolved && isSigned(resolved, SECRET)).toBe(true)
  expect(resolved?.json).toMatchObject({ kind: 'resolved', instances: [{ incident: alert.id, state: 'resolved' }] })
  expect(resolved?.headers.get('webhook-id')).not.toBe(fired.headers.get('webhook-id'))
  await until(async () => (await deliveries(world)).every(({ state }) => state === 'sent'), {
    what: 'both to be noted',
  })
  expect((await deliveries(world)).map(({ kind }) => kind)).toEqual(['resolved', 'fired'])
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
}
