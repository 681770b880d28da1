/**
 * Rules, channels and endpoints that were saved with the rights of an ordinary user keep only those rights, although their
 * owner is an administrator. Tests from outside what they reach and send.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

/** The test reaches the hub through a trusted proxy of its own address, so that it may say where it comes from. */
const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }
const RULES = '/api/monitoring/rules'
const CHANNELS = '/api/monitoring/channels'
const ENDPOINTS = '/api/assistant/endpoints'
const RULE = { name: 'down', condition: 'server_status == offline', severity: 'critical' }

let hub: Hub
let admin: Client
let ann: Client
const receiver = startReceiver()
const webhook = { type: 'webhook', config: { url: `${receiver.url}/hook` } }
/** An address open to everybody, where nothing answers. */
const far = { type: 'webhook', config: { url: 'https://one.example/hook' } }
const bridged = { direction: 'outbound', url: `${receiver.url.replace('http', 'ws')}/bridge?token=0123456789abcdef` }

beforeAll(async () => {
  hub = await startHub({
    env: {
      ...{ TRUSTED_PROXIES: '127.0.0.1', ADMIN_ADDRESSES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' },
      ...{ ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() },
    },
  })
  admin = await hub.setup()
  ann = await hub.user('ann')
  await ann.ok('POST', '/api/servers', { name: 'hers', url: 'https://one.example/', enabled: false })
  await admin.ok('POST', '/api/servers', { name: 'own', url: 'https://one.example/', enabled: false })
  await admin.ok('POST', '/api/groups', { name: 'g', members: [] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  receiver.stop()
}, 120_000)

const outside = (method: string, path: string, body?: object) => admin.request(method, path, body, OUTSIDE)
const told = ({ status, json }: Answer) => `${status} ${json.code ?? ''}`.trim()

/** Results of a trial message by this rule: each channel's delivery, and the subjects in the message. */
async function tried(by: (method: string, path: string, body?: object) => Promise<Answer>, rule: string) {
  const before = receiver.received.length
  const { json } = await by('POST', '/api/monitoring/test-alert', { rule, send: true })
  const arrived = receiver.received.length > before
  const deliveries = (json.deliveries ?? []).map(({ channel, ok }: { channel: string; ok: boolean }) => [channel, ok])
  return { arrived, deliveries, subjects: json.subjects.map(({ subject }: { subject: string }) => subject).sort() }
}
const inside = (method: string, path: string, body?: object) => admin.request(method, path, body)

/** The result of a trial message to one channel, and whether it arrived. */
async function triedChannel(name: string): Promise<readonly [string, boolean]> {
  const before = receiver.received.length
  const { ok, code } = await admin.ok('POST', `${CHANNELS}/${name}/test`)
  return [ok ? 'ok' : code, receiver.received.length > before]
}

test('a channel changed from outside the list reaches no private network, until the whole of it is sent from a listed address', async () => {
  await admin.ok('POST', RULES, RULE)
  for (const name of ['plain', 'hook']) await admin.ok('POST', CHANNELS, { name, ...webhook })
  expect(told(await outside('POST', CHANNELS, { name: 'new', ...webhook }))).toBe('403 url_address_blocked')
  expect(told(await outside('PATCH', `${CHANNELS}/hook`, { enabled: true }))).toBe('403 url_address_blocked')
  const seen = await outside('POST', CHANNELS, { name: 'far', ...far })
  expect([seen.status, seen.json.limited]).toEqual([201, true])
  // A change that only switches it off is saved, and takes its rights away.
  expect((await outside('PATCH', `${CHANNELS}/hook`, { enabled: false })).json.limited).toBe(true)
  expect((await admin.ok('GET', `${CHANNELS}/plain`)).limited).toBeUndefined()
  expect(await triedChannel('hook')).toEqual(['url_address_blocked', false])

  // The rule sees the servers of all. A limited channel may not receive them, and no rule saved from outside sees them.
  expect(await tried(inside, 'down')).toMatchObject({ arrived: true, deliveries: [['plain', true]] })
  const narrow = await outside('POST', RULES, { ...RULE, name: 'narrow', channels: ['far'] })
  expect([narrow.status, narrow.json.limited]).toEqual([201, true])
  expect(await tried(outside, 'narrow')).toEqual({
    ...{ arrived: false, deliveries: [['far', false]], subjects: ['admin~own'] },
  })
  const { json } = await outside('POST', '/api/monitoring/test-alert', { rule: 'down', send: false })
  expect(json.subjects.map(({ subject }: { subject: string }) => subject)).toEqual(['admin~own'])

  // Changing one field is not enough, and neither is a mask, which hides the address.
  expect(told(await inside('PATCH', `${CHANNELS}/hook`, { enabled: true }))).toBe('409 review_required')
  const masked = { ...(await admin.ok('GET', `${CHANNELS}/hook`)), enabled: true }
  expect(told(await inside('PUT', `${CHANNELS}/hook`, masked))).toBe('409 review_required')
  expect((await admin.ok('PUT', `${CHANNELS}/hook`, { name: 'hook', ...webhook })).limited).toBeUndefined()
  expect(await triedChannel('hook')).toEqual(['ok', true])
  expect((await admin.ok('PUT', `${RULES}/narrow`, { ...RULE, name: 'narrow', channels: ['hook'] })).limited).toBe(
    undefined,
  )
  expect(await tried(inside, 'narrow')).toMatchObject({ arrived: true, subjects: ['admin~own', 'ann~hers'] })
})

test('outside the list alerts about others are neither listed nor acknowledged', async () => {
  // Nothing answers at this name: for the first half minute, the servers count as connecting.
  const up = { name: 'up', url: 'https://one.example/' }
  for (const person of [ann, admin]) await person.ok('POST', '/api/servers', up)
  const every = { condition: 'server_status == connecting', duration: '0s', repeatInterval: '0s', channels: [] }
  await admin.ok('POST', RULES, { ...RULE, ...every, name: 'every' })
  const listed = async (by: typeof inside) => (await by('GET', '/api/monitoring/alerts')).json
  const subjects = ({ items }: { items: { subject: string }[] }) => items.map(({ subject }) => subject)
  const all = await until(async () => {
    const answer = await listed(inside)
    return subjects(answer).includes('ann~up') && subjects(answer).includes('admin~up') && answer
  })
  const few = await listed(outside)
  expect([...new Set(subjects(few))]).toEqual(['admin~up'])
  expect(few.total).toBe(few.items.length)
  expect(few.total).toBeLessThan(all.total)
  const idOf = (wanted: string) => all.items.find(({ subject }: { subject: string }) => subject === wanted).id
  const ack = (id: string) => outside('POST', `/api/monitoring/alerts/${id}/ack`)
  expect(told(await ack(idOf('ann~up')))).toBe('404 alert_not_found')
  expect(told(await ack(idOf('admin~up')))).toBe('200')
  expect(subjects(await listed((method, path) => ann.request(method, path)))).toEqual([])
  for (const person of [ann, admin]) await person.ok('DELETE', '/api/servers/up')
  await admin.ok('DELETE', `${RULES}/every`)
})

test('outside the list a kind of channel that is for administrators is refused, and is not added to one that is limited', async () => {
  const config = { recipients: ['a@example.com'], from: 'hub@example.com', smtp: { host: '127.0.0.1', port: 2525 } }
  const mail = { name: 'mail', type: 'email', config }
  expect(told(await outside('POST', CHANNELS, mail))).toBe('403 admin_only')
  expect((await outside('POST', CHANNELS, { name: 'other', ...far })).status).toBe(201)
  const patched = await admin.request('PATCH', `${CHANNELS}/other`, { type: 'email', config: { ...config, url: null } })
  expect(told(patched)).toBe('409 review_required')
  expect((await admin.ok('PUT', `${CHANNELS}/other`, { ...mail, name: 'other' })).limited).toBeUndefined()
  expect(told(await outside('PATCH', `${CHANNELS}/other`, { enabled: false }))).toBe('403 admin_only')
})

/** True when a test of the endpoint opened a connection. */
async function dialled(by: Client, name: string): Promise<boolean> {
  const before = receiver.received.length
  const { ok } = await by.ok('POST', `${ENDPOINTS}/${name}/test`)
  expect(ok).toBe(false)
  return receiver.received.length > before
}

test('an endpoint from outside the list dials no private network until the whole of it is sent from a listed address', async () => {
  const body = { name: 'speaker', group: 'g', enabled: false, ...bridged }
  expect(told(await outside('POST', ENDPOINTS, body))).toBe('403 url_address_blocked')
  await admin.ok('POST', ENDPOINTS, body)
  expect((await outside('PATCH', `${ENDPOINTS}/speaker`, { enabled: false })).json.limited).toBe(true)
  expect(await dialled(admin, 'speaker')).toBe(false)
  expect((await admin.ok('PATCH', `${ENDPOINTS}/speaker`, { enabled: false })).limited).toBe(true)
  expect(await dialled(admin, 'speaker')).toBe(false)
  expect((await admin.ok('PUT', `${ENDPOINTS}/speaker`, body)).limited).toBeUndefined()
  expect(await dialled(admin, 'speaker')).toBe(true)
})

test('settings made by a user reach no more when the user becomes an administrator, also by a rollback', async () => {
  const eve = await hub.user('eve')
  await eve.ok('POST', '/api/groups', { name: 'g', members: [] })
  expect(told(await eve.request('POST', CHANNELS, { name: 'hook', ...webhook }))).toBe('403 url_address_blocked')
  await eve.ok('POST', CHANNELS, { name: 'hook', ...far })
  await eve.ok('POST', RULES, { ...RULE, channels: ['hook'] })
  await eve.ok('POST', ENDPOINTS, {
    name: 'speaker',
    group: 'g',
    enabled: false,
    direction: 'outbound',
    url: 'wss://one.example/',
  })
  await admin.ok('PATCH', '/api/admin/users/eve', { role: 'admin' })
  const now = await hub.signIn('eve')
  const limits = async () =>
    Promise.all(
      [`${CHANNELS}/hook`, `${RULES}/down`, `${ENDPOINTS}/speaker`].map(
        async path => (await now.ok('GET', path)).limited,
      ),
    )
  expect(await limits()).toEqual([true, true, true])
  const byEve = (method: string, path: string, body?: object) => now.request(method, path, body)
  expect(await tried(byEve, 'down')).toEqual({ arrived: false, deliveries: [['hook', false]], subjects: [] })
  expect(await dialled(now, 'speaker')).toBe(false)

  const document = {
    ...{ format: 'patchbay-export', version: 1, owner: 'eve', sha256: '' },
    channels: { hook: { name: 'hook', type: 'webhook', enabled: false, config: webhook.config } },
  }
  const choices = { '#/channels/hook': 'replace' }
  const { planHash } = await now.ok('POST', '/api/import?dryRun=true', { document, choices })
  const { id, items } = await now.ok('POST', '/api/import', { document, choices, planHash })
  expect(items).toMatchObject([{ verdict: 'replaced' }])
  expect((await now.ok('GET', `${CHANNELS}/hook`)).limited).toBeUndefined()
  expect((await now.ok('POST', `/api/import/${id}/rollback`)).restored).toEqual([{ kind: 'channel', name: 'hook' }])
  expect((await now.ok('GET', `${CHANNELS}/hook`)).limited).toBe(true)
  expect((await tried(byEve, 'down')).arrived).toBe(false)
})

test('a channel of somebody else’s export is off, and has the rights of an ordinary user when it is switched on', async () => {
  const document = {
    ...{ format: 'patchbay-export', version: 1, owner: 'ann', sha256: '' },
    channels: { hers: { name: 'hers', ...far } },
  }
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', { document })
  await admin.ok('POST', '/api/import', { document, planHash })
  expect(await admin.ok('GET', `${CHANNELS}/hers`)).toMatchObject({ enabled: false, limited: true })
  expect(await admin.ok('PATCH', `${CHANNELS}/hers`, { enabled: true })).toMatchObject({ enabled: true, limited: true })
})
