/** An import changes things that exist already, and a rollback restores them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'weather', version: '1' },
  servers: [{ url: 'https://never.example' }],
  paths: { '/now': { get: { operationId: 'now', responses: { 200: { description: 'now' } } } } },
}
const MAIL = {
  smtp: { host: 'mail.never.example', port: 587 },
  recipients: ['a@never.example'],
  from: 'a@never.example',
}
const OWN = 'own-secret-before-1'
const NEXT = 'next-secret-after-2'

let hub: Hub
let ada: Client
let bob: Client

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  ;[ada, bob] = await Promise.all([hub.user('ada', 'admin'), hub.user('bob')])
  await ada.ok('POST', '/api/servers', {
    ...{ name: 'far', url: 'https://never.example/mcp', headers: { Authorization: OWN }, enabled: false },
    description: 'before',
  })
  await ada.ok('POST', '/api/servers', { name: 'weather', openapi: { schema: DOCUMENT }, enabled: false })
  await ada.ok('POST', '/api/groups', { name: 'work', description: 'before', members: ['far', 'weather'] })
  await ada.ok('PATCH', '/api/settings', { theme: 'dark', hostedKeys: { modelscope: 'ms-before-1' } })
  await ada.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'hook', type: 'webhook', config: { url: `https://hooks.never.example/${OWN}` } },
  })
  await ada.ok('POST', '/api/monitoring/rules', {
    name: 'errors',
    condition: 'error_rate[5m] > 5%',
    severity: 'critical',
  })
  await ada.ok('POST', '/api/monitoring/dashboards', { name: 'Mine', widgets: [] })
  await ada.ok('POST', '/api/assistant/endpoints', {
    ...{
      name: 'desk',
      direction: 'outbound',
      url: `wss://never.example/mcp?token=${OWN}`,
      group: 'work',
      enabled: false,
    },
  })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

interface Item {
  kind: string
  name: string
  pointer: string
  verdict: string
  warnings: string[]
}
const exported = async () => {
  const { sha256, createdAt, ...content } = await ada.ok('POST', '/api/export', {})
  return content
}
const verdicts = (items: readonly Item[]) => Object.fromEntries(items.map(item => [item.pointer, item.verdict]))

/** The export of before, with each thing changed. */
async function changed() {
  const document = await ada.ok('POST', '/api/export', {})
  document.servers.far.description = 'after'
  document.servers.far.headers.Authorization = NEXT
  document.servers.weather.openapi = { schema: { ...DOCUMENT, info: { title: 'another', version: '2' } } }
  Object.assign(document.groups.work, { description: 'after', members: ['far'] })
  document.settings.theme = 'light'
  document.channels.hook.config.url = `https://hooks.never.example/${NEXT}`
  document.channels.hook.enabled = false
  document.rules.errors.condition = 'error_rate[5m] > 9%'
  document.dashboards.Mine.widgets = [{ type: 'metric', title: 'Calls', query: 'request_count over 1h' }]
  Object.assign(document.endpoints.desk, { url: `wss://never.example/mcp?token=${NEXT}`, limits: { tools: 3 } })
  return document
}

const POINTERS = [
  ...['#/servers/far', '#/servers/weather', '#/groups/work', '#/settings/theme', '#/channels/hook', '#/rules/errors'],
  ...['#/dashboards/Mine', '#/endpoints/desk', '#/hostedKeys/modelscope'],
]

test('replace is planned, done in one transaction, and taken back with its secrets', async () => {
  const before = await exported()
  const wish = {
    document: await changed(),
    answers: { '/hostedKeys/modelscope': 'ms-after-2' },
    choices: Object.fromEntries(POINTERS.map(pointer => [pointer, 'replace'])),
  }
  const left = await ada.ok('POST', '/api/import?dryRun=true', { ...wish, choices: {} })
  expect(verdicts(left.items)).toEqual({
    ...Object.fromEntries(POINTERS.map(pointer => [pointer, 'exists'])),
    '#/hostedKeys/modelscope': 'same',
  })
  const plan = await ada.ok('POST', '/api/import?dryRun=true', wish)
  expect(verdicts(plan.items)).toEqual(Object.fromEntries(POINTERS.map(pointer => [pointer, 'replaced'])))
  expect(plan.planHash).not.toBe(left.planHash)
  expect(await exported()).toEqual(before)
  const stale = await ada.request('POST', '/api/import', { ...wish, planHash: left.planHash })
  expect([stale.status, stale.json.code]).toEqual([409, 'plan_changed'])

  const done = await ada.ok('POST', '/api/import', { ...wish, planHash: plan.planHash })
  const after = await exported()
  expect(after).toMatchObject({
    servers: { far: { description: 'after' } },
    groups: { work: { description: 'after', members: [{ server: 'far' }] } },
    settings: { theme: 'light' },
    channels: { hook: { enabled: false } },
    rules: { errors: { condition: 'error_rate[5m] > 9%' } },
    endpoints: { desk: { limits: { tools: 3 } } },
  })
  expect(JSON.stringify(after.servers.weather)).toContain('another')
  expect(after.dashboards.Mine.widgets).toHaveLength(1)
  const url = async () => (await ada.ok('GET', '/api/monitoring/channels/hook')).config.url
  const header = async () => (await ada.ok('GET', '/api/servers/far')).headers.Authorization
  const key = async () => (await ada.ok('GET', '/api/plugins/hosted-keys/platforms')).items[0].key
  const [newUrl, newHeader, newKey] = [await url(), await header(), await key()]
  expect(newHeader).toEndWith(NEXT.slice(-4))
  expect(await ada.ok('GET', '/api/import')).toMatchObject({ items: [{ id: done.id, made: 9 }] })

  const back = await ada.ok('POST', `/api/import/${done.id}/rollback`)
  expect([back.removed, back.restored.length, back.kept]).toEqual([[], 9, []])
  expect(await exported()).toEqual(before)
  expect([await url(), await header(), await key()]).not.toContainEqual(newUrl)
  expect(await header()).toEndWith(OWN.slice(-4))
  expect(await header()).not.toBe(newHeader)
  expect(await key()).not.toEqual(newKey)
}, 120_000)

test('later edits are kept, and nothing of them is lost', async () => {
  const wish = { document: await changed(), choices: { '#/servers/far': 'replace', '#/rules/errors': 'replace' } }
  const { planHash } = await ada.ok('POST', '/api/import?dryRun=true', wish)
  const { id } = await ada.ok('POST', '/api/import', { ...wish, planHash })
  await ada.ok('PATCH', '/api/servers/far', { description: 'edited since' })
  const back = await ada.ok('POST', `/api/import/${id}/rollback`)
  expect(back).toMatchObject({ removed: [], restored: [{ kind: 'rule', name: 'errors' }], kept: [{ name: 'far' }] })
  expect((await ada.ok('GET', '/api/servers/far')).description).toBe('edited since')
  expect((await ada.ok('GET', '/api/monitoring/rules/errors')).condition).toBe('error_rate[5m] > 5%')
}, 120_000)

test('never what belongs to another owner, came from somebody else, or lacks a secret', async () => {
  await bob.ok('POST', '/api/servers', { name: 'theirs', url: 'https://never.example/bob', enabled: false })
  const hubFile = {
    users: [{ username: 'bob', password: '' }],
    mcpServers: { theirs: { url: 'https://never.example/other', owner: 'bob' } },
    groups: [],
  }
  const choices = { '#/mcpServers/theirs': 'replace' }
  const theirs = await ada.ok('POST', '/api/import?dryRun=true', { document: hubFile, choices })
  expect(theirs.items.find((item: Item) => item.kind === 'server')).toMatchObject({
    verdict: 'exists',
    warnings: ['It is not replaced: it belongs to somebody else'],
  })
  const document = { ...(await changed()), owner: 'mallory' }
  const all = Object.fromEntries(POINTERS.map(pointer => [pointer, 'replace']))
  const foreign = await ada.ok('POST', '/api/import?dryRun=true', { document, choices: all })
  for (const pointer of ['#/servers/far', '#/channels/hook', '#/endpoints/desk'])
    expect(foreign.items.find((item: Item) => item.pointer === pointer)).toMatchObject({
      verdict: 'exists',
      warnings: expect.arrayContaining([expect.stringContaining('came from somebody else')]),
    })
  const marked = await changed()
  marked.servers.far.headers.Authorization = '<secret:/servers/far/headers/Authorization>'
  marked.servers.far.description = 'third'
  const asking = await ada.ok('POST', '/api/import?dryRun=true', { document: marked, choices: all })
  expect(asking.items.find((item: Item) => item.pointer === '#/servers/far')).toMatchObject({
    verdict: 'exists',
    missing: [{ name: '/servers/far/headers/Authorization' }],
    warnings: ['It is not replaced: answer what it asks first (/servers/far/headers/Authorization)'],
  })
})

test('a server that waits for a review does so after it was replaced, and after that was taken back', async () => {
  const { sha256, ...document } = await ada.ok('POST', '/api/export', {})
  const tool = { transport: 'stdio', command: 'node', args: ['from-mallory.js'] }
  const theirs = { ...document, owner: 'mallory', servers: { waiting: tool } }
  const foreign = { document: { ...theirs, groups: {}, channels: {}, rules: {}, dashboards: {}, endpoints: {} } }
  const first = await ada.ok('POST', '/api/import?dryRun=true', foreign)
  await ada.ok('POST', '/api/import', { ...foreign, planHash: first.planHash })
  const waits = async () => {
    const { enabled, review, args } = await ada.ok('GET', '/api/servers/waiting')
    return { enabled, required: review?.required, args }
  }
  const before = { enabled: false, required: true, args: ['from-mallory.js'] }
  expect(await waits()).toEqual(before)
  const replace = async (body: object) => {
    const own = { ...tool, args: ['own.js'], ...body }
    const wish = {
      document: { ...foreign.document, owner: 'ada', servers: { waiting: own } },
      choices: { '#/servers/waiting': 'replace' },
    }
    const plan = await ada.ok('POST', '/api/import?dryRun=true', wish)
    const { id } = await ada.ok('POST', '/api/import', { ...wish, planHash: plan.planHash })
    return { id, item: plan.items.find((item: Item) => item.pointer === '#/servers/waiting') }
  }
  const { id, item } = await replace({ enabled: false })
  expect(item.verdict).toBe('replaced')
  expect(await waits()).toEqual({ ...before, args: ['own.js'] })
  expect((await ada.request('POST', '/api/servers/waiting/start')).json.code).toBe('review_required')
  // A document neither switches it on nor reviews it.
  const { hash } = (await ada.ok('GET', '/api/servers/waiting')).review
  expect((await replace({ reviewed: hash })).item).toMatchObject({
    verdict: 'invalid',
    error: { code: 'review_required' },
  })
  expect(await waits()).toEqual({ ...before, args: ['own.js'] })
  await ada.ok('POST', `/api/import/${id}/rollback`)
  expect(await waits()).toEqual(before)
}, 120_000)

test('rights do not rise: what somebody else wrote is off, and a channel of an ordinary user stays one', async () => {
  const { sha256, ...document } = await ada.ok('POST', '/api/export', {})
  const answers = {
    '/channels/hook/config/url': 'https://hooks.never.example/x',
    '/endpoints/desk/url': 'wss://never.example/mcp?token=x',
  }
  document.endpoints.desk.enabled = true
  document.channels.mail = { type: 'email', enabled: true, config: MAIL }
  const plan = await bob.ok('POST', '/api/import?dryRun=true', { document: { ...document, rules: {} }, answers })
  const found = Object.fromEntries(plan.items.map((item: Item & { error?: { code: string } }) => [item.pointer, item]))
  expect(found['#/channels/mail']).toMatchObject({ verdict: 'invalid', error: { code: 'admin_only' } })
  for (const pointer of ['#/channels/hook', '#/endpoints/desk'])
    expect(found[pointer]).toMatchObject({
      verdict: 'new',
      warnings: expect.arrayContaining(['It came from somebody else, and is off until you switch it on']),
    })
  const choices = { '#/channels/mail': 'skip', '#/channels/hook': { rename: 'bell' } }
  const wish = {
    document: { ...document, rules: { own: { ...document.rules.errors, channels: ['hook'] } } },
    answers,
    choices,
  }
  const { planHash } = await bob.ok('POST', '/api/import?dryRun=true', wish)
  await bob.ok('POST', '/api/import', { ...wish, planHash })
  expect(await bob.ok('GET', '/api/monitoring/channels/bell')).toMatchObject({ enabled: false, type: 'webhook' })
  expect(await bob.ok('GET', '/api/monitoring/rules/own')).toMatchObject({ channels: ['bell'] })
  expect(await bob.ok('GET', '/api/assistant/endpoints/desk')).toMatchObject({ enabled: false, group: 'bob~work' })
})
