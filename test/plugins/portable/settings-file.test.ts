/** Shares and settings of plugins that entries of the settings file state: at a start, after an edit, and while a plugin is off. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { type Client, type Hub, PASSWORD, startHub, stdioFixture } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'

setDefaultTimeout(60_000)

const HASH = Bun.password.hashSync(PASSWORD, { algorithm: 'argon2id', memoryCost: 1024, timeCost: 1 })
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ASK = { when: { tools: ['send_*'] }, then: 'ask' }
const HOOK = { url: 'https://review.example/', secret: SECRET, timeoutMs: 2_000, onFailure: 'closed' }
const MASK = { id: 'no-keys', on: 'both', match: { secrets: true }, then: 'mask' }

interface Entry {
  shares?: object[]
  quota?: object
  approvals?: object
  guards?: object
}
type Settings = { mcpServers: Record<string, Entry>; groups: Record<string, Entry>; users: Record<string, Entry> }

let hub: Hub
let admin: Client
let bob: Client
let cleo: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: {
        notes: {
          ...stdioFixture('echo'),
          shares: [{ subject: 'user:bob', role: 'see' }],
          quota: { perDay: 100, tools: { echo: { perMinute: 5 } } },
          approvals: { rules: [ASK] },
          guards: [MASK, { id: 'review', on: 'arguments', then: 'refuse', webhook: HOOK }],
        },
      },
      groups: {
        work: {
          servers: ['notes'],
          shares: [{ subject: 'user:cleo', role: 'use' }],
          quota: { atOnce: 2 },
          approvals: [ASK],
        },
      },
      users: {
        art: { password: HASH, isAdmin: true },
        bob: { password: HASH, quota: { perDay: 7 } },
        cleo: { password: HASH },
      },
    },
  })
  ;[admin, bob, cleo] = await Promise.all([hub.signIn('art'), hub.signIn('bob'), hub.signIn('cleo')])
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

async function edit(change: (settings: Settings) => void): Promise<void> {
  const settings = JSON.parse(await readFile(hub.settingsFile, 'utf8')) as Settings
  change(settings)
  await writeFile(hub.settingsFile, JSON.stringify(settings, null, 2))
}

const shares = async (path: string) =>
  (await admin.ok('GET', `/api/${path}/shares`)).items.map(
    ({ subject, role, origin }: Record<string, string>) => `${subject} ${role} ${origin}`,
  )
const status = async (who: Client, path: string) => (await who.request('GET', path)).status

test('a start applies what entries of servers, groups and users state', async () => {
  expect(await shares('servers/notes')).toEqual(['user:bob see file'])
  expect([await status(bob, '/api/servers/art~notes'), await status(cleo, '/api/servers/art~notes')]).toEqual([
    200, 404,
  ])
  expect(await status(cleo, '/api/groups/art~work')).toBe(200)
  const { quota, tools } = await admin.ok('GET', '/api/servers/notes/quota')
  expect([quota, tools.echo.quota]).toEqual([{ perDay: 100 }, { perMinute: 5 }])
  expect((await admin.ok('GET', '/api/groups/work/quota')).quota).toEqual({ atOnce: 2 })
  expect((await admin.ok('GET', '/api/admin/users/bob/quota')).quota).toEqual({ perDay: 7 })
  expect((await admin.ok('GET', '/api/servers/notes/approvals')).rules).toEqual([ASK])
  expect((await admin.ok('GET', '/api/groups/work/approvals')).rules).toEqual([ASK])
  const { rules } = await admin.ok('GET', '/api/servers/notes/guards')
  expect(rules[0]).toEqual(MASK)
  expect(JSON.stringify(rules)).not.toContain(SECRET)
})

test('what the file states is changed there alone', async () => {
  const asks = [
    ['/api/servers/notes/quota', { quota: null }],
    ['/api/groups/work/quota', { quota: null }],
    ['/api/admin/users/bob/quota', { quota: null }],
    ['/api/servers/notes/approvals', { rules: [] }],
    ['/api/servers/notes/guards', { rules: [] }],
    ['/api/servers/notes/shares/user:bob', { role: 'change' }],
  ] as const
  const answers = await Promise.all(asks.map(([path, body]) => admin.request('PUT', path, body)))
  expect(answers.map(({ json }) => json.code)).toEqual(asks.map(() => 'settings_read_only'))
  // Other settings of the same thing are open.
  await admin.ok('PUT', '/api/groups/work/guards', { rules: [MASK] })
})

test('an import leaves what the file states, and takes nothing back that the file states since', async () => {
  const quota = { users: { bob: { perDay: 9 }, cleo: { perDay: 9 } } }
  const document = { format: 'patchbay-export', version: 1, owner: 'art', quota }
  const asked = { document, choices: { '#/quota/users/bob': 'replace', '#/quota/users/cleo': 'replace' } }
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', asked)
  const { id, items } = await admin.ok('POST', '/api/import', { ...asked, planHash })
  expect(items.map(({ name, verdict }: Record<string, string>) => [name, verdict])).toEqual([
    ['bob', 'exists'],
    ['cleo', 'new'],
  ])
  expect(items[0].warnings).toEqual(['It is not changed: the settings file states it'])
  await edit(({ users }) => Object.assign(users.cleo ?? {}, { quota: { perDay: 9 } }))
  const path = '/api/admin/users/cleo/quota'
  await until(
    async () => (await admin.request('PUT', path, { quota: { perDay: 9 } })).json.code === 'settings_read_only',
    { what: 'the edit' },
  )
  const { removed, kept } = await admin.ok('POST', `/api/import/${id}/rollback`)
  const why = '"quota" of this user is stated in the settings file'
  expect([removed, kept]).toEqual([[], [{ kind: 'quota', name: 'cleo', why }]])
  expect((await admin.ok('GET', path)).quota).toEqual({ perDay: 9 })
})

test('an edit changes what it states, leaves the last valid value of what is invalid, and removes what left it', async () => {
  await edit(({ mcpServers: { notes }, groups: { work } }) => {
    if (notes) {
      notes.quota = { perDay: 50 }
      notes.approvals = { rules: [{ when: {}, then: 'perhaps' }] }
      delete notes.guards
    }
    if (work) work.shares = []
  })
  await until(async () => (await status(cleo, '/api/groups/art~work')) === 404, { what: 'the end of the share' })
  const { quota, tools } = await admin.ok('GET', '/api/servers/notes/quota')
  expect([quota, tools]).toEqual([{ perDay: 50 }, {}])
  expect((await admin.ok('GET', '/api/servers/notes/approvals')).rules).toEqual([ASK])
  expect((await admin.ok('GET', '/api/servers/notes/guards')).rules).toEqual([])
  expect((await admin.ok('GET', '/api/groups/work/guards')).rules).toEqual([MASK])
  await hub.logged('#/approvals/rules/0/then')
  await edit(({ mcpServers: { notes } }) => {
    if (notes) delete notes.shares
  })
  await until(async () => (await status(bob, '/api/servers/art~notes')) === 404, { what: 'the end of the share' })
  // The API sets again what the file states no more.
  await admin.ok('PUT', '/api/servers/notes/guards', { rules: [MASK] })
  await admin.ok('PUT', '/api/servers/notes/shares/user:bob', { role: 'use' })
})

test('while the plugin is off its values stay with a warning, and an edit waits until it runs', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: false })
  const { warnings } = (await admin.ok('GET', '/api/servers/notes')).status
  expect(warnings).toContainEqual({
    code: 'plugin_off',
    message: expect.stringContaining('quota belong to the plugin quotas'),
  })
  await edit(({ mcpServers: { notes }, users: { bob: person } }) => {
    if (notes) notes.quota = { perDay: 9 }
    if (person) delete person.quota
  })
  await hub.logged('belongs to the plugin \\"quotas\\"')
  await admin.ok('PATCH', '/api/admin/plugins/quotas', { enabled: true })
  const quota = async (path: string) => (await admin.ok('GET', path)).quota
  await until(async () => (await quota('/api/servers/notes/quota'))?.perDay === 9, { what: 'the new quota' })
  expect(await quota('/api/admin/users/bob/quota')).toBe(null)
  expect((await admin.ok('GET', '/api/servers/notes')).status.warnings ?? []).toEqual([])
})
