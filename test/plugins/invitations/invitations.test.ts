/** Invitation links: accepted, expired, used, raced, forwarded, guessed, and of owners who can share no more. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { atLeast } from '../../support/pace.ts'
import { until } from '../../support/wait.ts'

setDefaultTimeout(60_000)

let hub: Hub
let admin: Client
let ada: Client
let bob: Client
let cleo: Client

beforeAll(async () => {
  hub = await startHub({ settings: { plugins: [{ use: 'invitations', limits: { invitationsPerUser: 20 } }] } })
  admin = await hub.setup()
  ;[ada, bob, cleo] = [await hub.user('ada'), await hub.user('bob'), await hub.user('cleo')]
  for (const name of ['notes', 'files', 'moved'])
    await ada.ok('POST', '/api/servers', { name, ...stdioFixture('echo'), enabled: false })
  await ada.ok('POST', '/api/groups', { name: 'daily', members: ['notes'] })
}, 120_000)
afterAll(() => hub?.stop(), 60_000)

const server = (ref: string) => ({ kind: 'server', ref })
const invite = async (by: Client, body: object): Promise<{ id: string; token: string }> => {
  const { id, url } = await by.ok('POST', '/api/invitations', { role: 'use', ...body })
  return { id, token: new URL(url).hash.slice(1) }
}
const accept = (guest: Client, token: string) => guest.request('POST', '/api/invitations/accept', { token })
const preview = (guest: Client, token: string) => guest.request('POST', '/api/invitations/preview', { token })
const roleOf = async (guest: Client, path: string) => (await guest.request('GET', path)).json.role

test('it shows what is given and by whom, gives it at a click, and only once to each user', async () => {
  const { id, token } = await invite(ada, {
    things: [server('notes'), { kind: 'group', ref: 'daily' }],
    role: 'see',
    uses: 2,
  })
  expect(token).toMatch(/^pbi_[\w-]{32}$/)
  const offer = await preview(cleo, token)
  expect(offer.json).toMatchObject({ by: 'ada', role: 'see' })
  expect(offer.json.things.map(({ ref }: { ref: string }) => ref)).toEqual(['ada~notes', 'ada~daily'])
  expect((await cleo.request('GET', '/api/servers/ada~notes')).status).toBe(404)
  expect((await accept(cleo, token)).status).toBe(200)
  expect([await roleOf(cleo, '/api/servers/ada~notes'), await roleOf(cleo, '/api/groups/ada~daily')]).toEqual([
    'see',
    'see',
  ])
  const [mine] = (await ada.ok('GET', '/api/invitations')).items
  expect(mine).toMatchObject({ id, uses: 2, used: 1, acceptedBy: ['cleo'] })
  expect(JSON.stringify(mine)).not.toContain(token)
  // Taken away: the same link does not give it again.
  await ada.ok('DELETE', '/api/servers/notes/shares/user:cleo')
  const again = await accept(cleo, token)
  expect([again.status, again.json.code]).toEqual([410, 'invitation_used'])
  expect((await cleo.request('GET', '/api/servers/ada~notes')).status).toBe(404)
  await ada.ok('DELETE', `/api/invitations/${id}`)
  expect((await accept(bob, token)).json.code).toBe('invitation_unknown')
})

test('a greater role stays, a smaller one is raised, and the owner gets nothing but the answer', async () => {
  await ada.ok('PUT', '/api/servers/files/shares/user:cleo', { role: 'change' })
  const { token } = await invite(ada, { things: [server('files')] })
  expect((await accept(ada, token)).status).toBe(200)
  expect((await accept(cleo, token)).status).toBe(200)
  expect(await roleOf(cleo, '/api/servers/ada~files')).toBe('change')
  await ada.ok('PUT', '/api/servers/files/shares/user:bob', { role: 'use' })
  const greater = await invite(ada, { things: [server('files'), server('files')], role: 'see' })
  expect((await preview(bob, greater.token)).json.things.map(({ ref }: { ref: string }) => ref)).toEqual(['ada~files'])
  expect((await accept(bob, greater.token)).status).toBe(200)
  expect(await roleOf(bob, '/api/servers/ada~files')).toBe('see')
  await ada.ok('DELETE', '/api/servers/files/shares/user:bob')
})

test('beside shares that the settings file states, it gives the rest, and only once', async () => {
  const stated = {
    shares: ['cleo', 'bob'].map(name => ({ subject: `user:${name}`, role: name === 'bob' ? 'use' : 'change' })),
  }
  await writeFile(
    hub.settingsFile,
    JSON.stringify({
      plugins: [{ use: 'invitations', limits: { invitationsPerUser: 20 } }],
      mcpServers: { filed: { ...stdioFixture('echo'), ...stated, enabled: false } },
    }),
  )
  await until(async () => (await roleOf(cleo, '/api/servers/admin~filed')) === 'change', { what: 'the stated shares' })
  await admin.ok('POST', '/api/servers', { name: 'beside', ...stdioFixture('echo'), enabled: false })
  const { id, token } = await invite(admin, { things: [server('beside'), server('filed')], role: 'see', uses: 2 })
  // The greater role is stated.
  expect((await accept(cleo, token)).status).toBe(200)
  expect(await roleOf(cleo, '/api/servers/admin~filed')).toBe('change')
  expect(await roleOf(cleo, '/api/servers/admin~beside')).toBe('see')
  // A smaller one is stated, and only the file changes it.
  expect((await accept(bob, token)).json.code).toBe('settings_read_only')
  expect(await roleOf(bob, '/api/servers/admin~filed')).toBe('use')
  expect(await roleOf(bob, '/api/servers/admin~beside')).toBe('see')
  await admin.ok('DELETE', '/api/servers/beside/shares/user:bob')
  expect((await accept(bob, token)).json.code).toBe('invitation_used')
  expect((await bob.request('GET', '/api/servers/admin~beside')).status).toBe(404)
  await admin.ok('DELETE', `/api/invitations/${id}`)
})

test('of two people who accept a forwarded invitation for one at once, one gets it', async () => {
  const store = new Database(join(hub.dataDir, 'patchbay.db'))
  for (let rounds = 0; rounds < 3; ) {
    const { id, token } = await invite(ada, { things: [server('moved')] })
    // While another writer holds the store, both find the invitation unused, and both wait to take it.
    store.run('BEGIN IMMEDIATE')
    const both = Promise.all([accept(bob, token), accept(cleo, token)])
    for (let look = 0; look < 5; look += 1) expect((await preview(admin, token)).status).toBe(200)
    store.run('COMMIT')
    const answers = await both
    // One that waits for the store for more than 250 ms is refused, and has got nothing.
    const isLate = answers.some(({ status }) => status === 503)
    if (!isLate) expect(answers.map(({ status }) => status).sort()).toEqual([200, 410])
    const { items } = await ada.ok('GET', '/api/servers/moved/shares')
    expect(items).toHaveLength(answers.filter(({ status }) => status === 200).length)
    if (!isLate) rounds += 1
    await ada.ok('PUT', '/api/servers/moved/shares', { shares: [] })
    await ada.ok('DELETE', `/api/invitations/${id}`)
  }
  store.close()
})

test('an expired one gives nothing', async () => {
  const past = await ada.request('POST', '/api/invitations', {
    ...{ things: [server('notes')], role: 'use', expires: '2020-01-01T00:00:00Z' },
  })
  expect([past.status, past.json.code]).toEqual([400, 'validation_failed'])
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const beyond = await ada.request('POST', '/api/invitations', {
    ...{ things: [server('notes')], role: 'use', expires: inDays(91) },
  })
  expect([beyond.status, beyond.json.errors?.[0].code]).toEqual([400, 'range'])
  await ada.ok(
    'DELETE',
    `/api/invitations/${(await invite(ada, { things: [server('notes')], expires: inDays(89) })).id}`,
  )
  const expires = new Date(Date.now() + atLeast(1_500)).toISOString()
  const { token } = await invite(ada, { things: [server('notes')], expires })
  await until(async () => (await preview(bob, token)).status === 410, { what: 'the end of the invitation' })
  for (const answer of [await preview(bob, token), await accept(bob, token)])
    expect([answer.status, answer.json.code]).toEqual([410, 'invitation_expired'])
  expect((await bob.request('GET', '/api/servers/ada~notes')).status).toBe(404)
})

test('one of an owner who is disabled, no longer owns it or is deleted gives nothing', async () => {
  const { token } = await invite(ada, { things: [server('moved')] })
  const state = (disabled: boolean) => admin.ok('PATCH', '/api/admin/users/ada', { disabled })
  await state(true)
  expect((await accept(bob, token)).json.code).toBe('invitation_expired')
  await state(false)
  ada = await hub.signIn('ada')
  await admin.ok('PATCH', '/api/servers/ada~moved', { owner: 'admin' })
  expect((await accept(bob, token)).json.code).toBe('invitation_expired')
  expect((await bob.request('GET', '/api/servers/admin~moved')).status).toBe(404)
  const dan = await hub.user('dan')
  await dan.ok('POST', '/api/servers', { name: 'his', ...stdioFixture('echo'), enabled: false })
  const his = await invite(dan, { things: [server('his')] })
  await admin.ok('DELETE', '/api/admin/users/dan?transferTo=admin')
  expect((await accept(bob, his.token)).json.code).toBe('invitation_unknown')
})

test('only the owner invites: not a colleague with the role change, not an administrator, not a stranger', async () => {
  const refused = async (by: Client, ref: string) =>
    (await by.request('POST', '/api/invitations', { things: [server(ref)], role: 'use' })).json.code
  await ada.ok('PUT', '/api/servers/files/shares/user:cleo', { role: 'change' })
  expect(await refused(cleo, 'ada~files')).toBe('not_owner')
  expect(await refused(bob, 'ada~files')).toBe('server_not_found')
  expect(await refused(admin, 'ada~files')).toBe('server_not_found')
  const { id } = await invite(ada, { things: [server('files')] })
  expect((await bob.request('DELETE', `/api/invitations/${id}`)).json.code).toBe('invitation_unknown')
  for (const other of [bob, admin]) expect((await other.ok('GET', '/api/invitations')).items).toEqual([])
})

test('a guest whose acceptance ended in the middle finishes it, though the use is taken', async () => {
  const { id, token } = await invite(ada, { things: [server('notes')], role: 'see' })
  const store = new Database(join(hub.dataDir, 'patchbay.db'))
  store.run('UPDATE plugin_invitations__invitation SET used = 1 WHERE id = ?', [id])
  store.run(
    `INSERT INTO plugin_invitations__acceptance (invitation_id, user_id, done, created_at)
     SELECT ?, id, 0, '2026-11-29T00:00:00.000Z' FROM user WHERE name = 'bob'`,
    [id],
  )
  store.close()
  expect((await accept(cleo, token)).json.code).toBe('invitation_used')
  expect((await accept(bob, token)).status).toBe(200)
  expect(await roleOf(bob, '/api/servers/ada~notes')).toBe('see')
  expect((await preview(bob, token)).json.code).toBe('invitation_used')
  await ada.ok('DELETE', '/api/servers/notes/shares/user:bob')
  expect((await ada.ok('GET', '/api/invitations')).items.find((one: { id: string }) => one.id === id).used).toBe(1)
})

test('guesses are slowed down, tokens are stored as hashes, and the number of invitations is limited', async () => {
  const eve = await hub.user('eve')
  const codes = []
  for (let n = 0; n < 12; n += 1) codes.push((await preview(eve, `pbi_${'x'.repeat(31)}${n % 10}`)).json.code)
  expect(new Set(codes.slice(0, 10))).toEqual(new Set(['invitation_unknown']))
  expect(codes.slice(10)).toEqual(['rate_limited', 'rate_limited'])
  const { token } = await invite(ada, { things: [server('files')] })
  const db = new Database(join(hub.dataDir, 'patchbay.db'), { readonly: true })
  const rows = JSON.stringify(db.query('select * from plugin_invitations__invitation').all())
  db.close()
  expect(rows.includes(token)).toBe(false)
  for (let n = 0; n < 20; n += 1)
    await ada.request('POST', '/api/invitations', { things: [server('files')], role: 'use' })
  expect((await ada.ok('GET', '/api/invitations')).items).toHaveLength(20)
  const full = await ada.request('POST', '/api/invitations', { things: [server('files')], role: 'use' })
  expect([full.status, full.json.code]).toEqual([409, 'invitation_limit'])
})
