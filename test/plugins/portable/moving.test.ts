/** Teams, shares, quotas and rules in exports and imports: from one hub to a fresh one, and what an import must not do. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../../support/hub.ts'
import { callText, online } from '../../support/servers.ts'

setDefaultTimeout(60_000)

const PASSPHRASE = 'a passphrase of some words'
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const MASK = { id: 'no-keys', on: 'both', match: { secrets: true }, then: 'mask' }
const HOOK = { url: 'https://review.example/', secret: SECRET, timeoutMs: 2_000, onFailure: 'open' }
const REVIEW = { id: 'review', on: 'arguments', webhook: HOOK, then: 'observe' }
const DENY = { when: { tools: ['env'] }, then: 'deny' }
const ASK = { when: { tools: ['send_*'] }, then: 'ask', who: 'owner' }
const SYSTEM = {
  plugins: [
    { use: 'quotas', config: { quota: { atOnce: 50 }, users: { perDay: 500 } } },
    { use: 'approvals', config: { rules: [{ when: { tools: ['drop_*'] }, then: 'deny' }] } },
  ],
  mcpServers: {},
}
const PEOPLE = ['bob', 'cleo', 'dan', 'eve'] as const

interface Item {
  kind: string
  of?: string
  pointer: string
  name: string
  verdict: string
  missing?: { name: string }[]
  warnings: string[]
  error?: { code: string }
  body?: Record<string, unknown>
}
type People = Record<(typeof PEOPLE)[number] | 'ada', Client>

let one: Hub
let two: Hub
let old: People
let fresh: People

async function peopleOf(hub: Hub): Promise<People> {
  await hub.setup()
  const ada = await hub.user('ada', 'admin')
  const [bob, cleo, dan, eve] = await Promise.all(PEOPLE.map(name => hub.user(name)))
  return { ada, bob, cleo, dan, eve } as People
}

beforeAll(async () => {
  ;[one, two] = await Promise.all([
    startHub({ env: LOOPBACK, settings: SYSTEM }),
    startHub({ env: LOOPBACK, settings: SYSTEM }),
  ])
  ;[old, fresh] = await Promise.all([peopleOf(one), peopleOf(two)])
  const { ada } = old
  await ada.ok('POST', '/api/admin/teams', { name: 'crew', members: ['dan', 'eve'] })
  await ada.ok('POST', '/api/admin/teams', { name: 'company', source: { provider: 'company', group: 'all' } })
  const echo = stdioFixture('echo', { REGION: 'eu' })
  for (const name of ['notes', 'crm-eu', 'crm-us', 'plain']) await ada.ok('POST', '/api/servers', { name, ...echo })
  await online(ada, ['notes', 'crm-eu', 'crm-us', 'plain'])
  await ada.ok('POST', '/api/groups', {
    name: 'crm',
    members: ['crm-eu', 'crm-us'],
    selector: { argument: 'region', members: { eu: 'crm-eu', us: 'crm-us' } },
  })
  const shares = [
    { subject: 'user:bob', role: 'use' },
    { subject: 'user:cleo', role: 'see' },
    { subject: 'team:crew', role: 'change' },
  ]
  await ada.ok('PUT', '/api/servers/notes/shares', { shares })
  await ada.ok('PUT', '/api/groups/crm/shares', { shares: shares.slice(0, 1) })
  await ada.ok('PUT', '/api/servers/notes/quota', { quota: { perDay: 100 }, tools: { echo: { perMinute: 2 } } })
  await ada.ok('PUT', '/api/groups/crm/quota', { quota: { atOnce: 3 } })
  await ada.ok('PUT', '/api/admin/users/bob/quota', { quota: { perDay: 40 } })
  const key = await ada.ok('POST', '/api/keys', { label: 'laptop', scopes: ['mcp'] })
  await ada.ok('PUT', `/api/keys/${key.id}/quota`, { quota: { perMinute: 9 } })
  await ada.ok('PUT', '/api/servers/notes/approvals', { rules: [DENY] })
  await ada.ok('PUT', '/api/groups/crm/approvals', { rules: [ASK], trustAnnotations: true })
  await ada.ok('PUT', '/api/servers/notes/guards', { rules: [MASK, REVIEW] })
  await ada.ok('PUT', '/api/groups/crm/guards', { rules: [MASK] })
}, 120_000)
afterAll(async () => {
  await one?.stop()
  await two?.stop()
}, 120_000)

const planned = (who: Client, body: object) => who.ok('POST', '/api/import?dryRun=true', body)
const applied = async (who: Client, body: object) =>
  who.ok('POST', '/api/import', { ...body, planHash: (await planned(who, body)).planHash })
const beside = ({ items }: { items: Item[] }) =>
  items
    .filter(({ kind, of }) => of !== undefined || kind === 'team')
    .map(({ kind, of, name, verdict }) => [kind, of, name, verdict].filter(Boolean).join(' '))
const item = ({ items }: { items: Item[] }, pointer: string) => items.find(one => one.pointer === pointer) as Item

/** Members of answers that are others in each hub. */
const OWN = new Set(['createdAt', 'updatedAt', 'id', 'since', 'used', 'status', 'endpoint', 'revision', 'tokens'])
const comparable = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (name, inner) => (OWN.has(name) ? undefined : inner)))

/** All that a person sees and may do, by REST. */
async function seenBy(who: Client): Promise<unknown> {
  const asks = [
    ...['/api/servers?scope=visible&sort=name', '/api/groups?scope=visible', '/api/teams'],
    ...['quota', 'approvals', 'guards', 'shares'].flatMap(part => [
      `/api/servers/ada~notes/${part}`,
      `/api/groups/ada~crm/${part}`,
    ]),
    ...['bob', 'cleo'].map(name => `/api/admin/users/${name}/quota`),
    ...['/api/admin/guards', '/api/admin/plugins/approvals', '/api/groups/ada~crm/tools'],
  ]
  return Promise.all(
    asks.map(async path => {
      const { status, json } = await who.request('GET', path)
      return [path, status, status === 200 ? comparable(json) : json.code]
    }),
  )
}

test('an export has teams, shares, quotas and rules without their secrets; a fresh hub gives the same to each person', async () => {
  const document = await old.ada.ok('POST', '/api/export', { passphrase: PASSPHRASE })
  expect(JSON.stringify(document)).not.toContain(SECRET)
  expect(document.teams).toEqual({
    company: { source: { provider: 'company', group: 'all' } },
    crew: { members: ['dan', 'eve'] },
  })
  expect(document.quota).toEqual({
    servers: { notes: { perDay: 100, tools: { echo: { perMinute: 2 } } } },
    groups: { crm: { atOnce: 3 } },
    users: { bob: { perDay: 40 } },
    keys: { laptop: { perMinute: 9 } },
  })
  expect(document.guards.servers.notes.rules[1].webhook.secret).toBe(
    '<secret:/guards/servers/notes/rules/1/webhook/secret>',
  )
  await fresh.ada.ok('POST', '/api/keys', { label: 'laptop', scopes: ['mcp'] })
  const wish = { document, passphrase: PASSPHRASE }
  const plan = await planned(fresh.ada, wish)
  expect([plan.warnings, plan.notCarried]).toEqual([[], []])
  expect(beside(plan)).toEqual([
    ...['team company new', 'team crew new', 'shares server notes new', 'shares group crm new'],
    ...['approvals server notes new', 'quota server notes new', 'guards server notes new'],
    ...[
      'approvals group crm new',
      'quota group crm new',
      'guards group crm new',
      'quota user bob new',
      'quota key laptop new',
    ],
  ])
  expect(JSON.stringify(plan)).not.toContain(SECRET)
  // A plan changes nothing.
  expect([(await fresh.ada.ok('GET', '/api/teams')).items, (await fresh.ada.ok('GET', '/api/guards')).items]).toEqual([
    [],
    [],
  ])
  const made = await applied(fresh.ada, wish)
  await online(fresh.ada, ['notes', 'crm-eu', 'crm-us', 'plain'])
  for (const name of ['ada', ...PEOPLE] as const)
    expect([name, await seenBy(fresh[name])]).toEqual([name, await seenBy(old[name])])
  const own = ({ sha256, createdAt, secrets, ...content }: Record<string, unknown>) => content
  expect(own(await fresh.ada.ok('POST', '/api/export', {}))).toEqual(own(await old.ada.ok('POST', '/api/export', {})))
  // Real calls: the role, the rule and the quota hold.
  const client = await fresh.bob.mcp('/mcp/@ada/notes')
  expect(await callText(client, 'echo', { text: 'hello' })).toContain('hello')
  expect(JSON.stringify(await client.callTool({ name: 'env', arguments: { name: 'REGION' } }))).toContain(
    'approval_denied',
  )
  await client.callTool({ name: 'echo', arguments: { text: 'again' } })
  expect((await client.callTool({ name: 'echo', arguments: { text: 'third' } }).catch(String)).toString()).toContain(
    'quota',
  )
  await client.close()
  expect((await fresh.cleo.request('PATCH', '/api/servers/ada~notes', { description: 'x' })).json.code).toBe(
    'not_owner',
  )
  await fresh.dan.ok('PATCH', '/api/servers/ada~notes', { description: 'by a member of crew' })
  await fresh.dan.ok('PATCH', '/api/servers/ada~notes', { description: null })

  const again = await planned(fresh.ada, wish)
  expect(new Set(again.items.map(({ verdict }: Item) => verdict))).toEqual(new Set(['same']))
  // Later changes stay; the rest is taken back.
  await fresh.ada.ok('PUT', '/api/servers/plain/quota', { quota: { perDay: 1 } })
  await fresh.ada.ok('PUT', '/api/servers/notes/approvals', { rules: [ASK] })
  await fresh.ada.ok('PUT', '/api/servers/notes/shares/user:bob', { role: 'see' })
  const back = await fresh.ada.ok('POST', `/api/import/${made.id}/rollback`)
  expect(back.kept.map(({ kind, name }: Item) => `${kind} ${name}`)).toEqual([
    'approvals notes',
    'shares notes',
    'server notes',
  ])
}, 120_000)

describe('an import', () => {
  const far = (name: string) => ({
    [name]: { transport: 'streamable-http', url: 'https://far.never.example/mcp', enabled: false },
  })
  const exported = (owner: string, content: object) => ({ format: 'patchbay-export', version: 1, owner, ...content })

  test('asks for subjects that are not here, and gives nothing to somebody of a similar name', async () => {
    const { ada, bob } = old
    const subjects = ['team:CREW', 'team:ｃｒｅｗ', 'team:сrew', 'user:Cleo', 'user:gone', 'user:bob', 'friends']
    const shares = { servers: { mine: subjects.map(subject => ({ subject, role: 'see' })) } }
    const document = exported('bob', { servers: far('mine'), shares })
    const plan = await planned(bob, { document })
    const asked = item(plan, '#/shares/servers/mine')
    expect(asked.missing?.map(({ name }) => name)).toEqual(subjects.filter(subject => subject !== 'user:bob'))
    expect(asked.warnings.join('\n')).toContain(
      'There is no "user:Cleo" here (there is "user:cleo", which is written otherwise)',
    )
    expect([asked.verdict, asked.body]).toEqual(['skipped', { shares: [] }])
    const answers = { 'team:CREW': 'crew', 'user:gone': 'dan', 'user:Cleo': '', 'team:сrew': 'nobody' }
    const { items } = await applied(bob, { document, answers })
    expect(item({ items }, '#/shares/servers/mine')).toMatchObject({
      verdict: 'new',
      body: {
        shares: [
          { subject: 'team:crew', role: 'see' },
          { subject: 'user:dan', role: 'see' },
        ],
      },
    })
    expect((await bob.ok('GET', '/api/servers/mine/shares')).items).toMatchObject([
      { subject: 'team:crew', role: 'see', grantedBy: 'bob', origin: 'store' },
      { subject: 'user:dan', role: 'see', grantedBy: 'bob', origin: 'store' },
    ])
    // A role that somebody has stays, up and down, until the user replaces it.
    const raised = exported('bob', {
      servers: far('mine'),
      shares: { servers: { mine: [{ subject: 'user:dan', role: 'change' }] } },
    })
    const kept = item(await applied(bob, { document: raised }), '#/shares/servers/mine')
    expect([kept.verdict, kept.warnings]).toEqual(['exists', ['"user:dan" has the role "see" here, and keeps it']])
    const replaced = await applied(bob, { document: raised, choices: { '#/shares/servers/mine': 'replace' } })
    expect((await bob.ok('GET', '/api/servers/mine/shares')).items).toMatchObject([
      { subject: 'user:dan', role: 'change' },
    ])
    await bob.ok('POST', `/api/import/${replaced.id}/rollback`)
    expect((await bob.ok('GET', '/api/servers/mine/shares')).items.length).toBe(2)
    // Somebody who is gone between plan and import is not replaced by another one, nor left out unseen.
    const finn = await one.user('finn')
    await finn.ok('PATCH', '/api/settings', { theme: 'dark' })
    const late = exported('bob', {
      servers: far('mine'),
      shares: { servers: { mine: ['user:eve', 'user:finn'].map(subject => ({ subject, role: 'use' })) } },
    })
    const { planHash, items: before } = await planned(bob, { document: late })
    await ada.ok('DELETE', '/api/admin/users/finn')
    expect((await bob.request('POST', '/api/import', { document: late, planHash })).json.code).toBe('plan_changed')
    const after = item(await planned(bob, { document: late }), '#/shares/servers/mine')
    expect(after.verdict).toBe(item({ items: before }, '#/shares/servers/mine').verdict)
  })

  test('of an ordinary user reaches no thing of others, no team, and no quota of users', async () => {
    const { bob } = old
    const shares = {
      servers: {
        'ada~notes': [{ subject: 'user:bob', role: 'change' }],
        notes: [{ subject: 'user:bob', role: 'change' }],
      },
    }
    const quota = { servers: { 'ada~notes': { perDay: 1 } }, users: { bob: { perDay: 9_999 } }, keys: { laptop: {} } }
    const document = exported('bob', {
      servers: far('ada~notes'),
      ...{ shares, quota, teams: { crew: { members: ['bob'] }, gang: { members: ['bob'] } } },
      approvals: { servers: { notes: [] } },
    })
    const plan = await planned(bob, { document })
    const verdicts = plan.items.map(({ kind, name, verdict }: Item) => `${kind} ${name} ${verdict}`)
    expect(verdicts.filter((text: string) => !text.endsWith('skipped'))).toEqual(['server ada~notes invalid'])
    await applied(bob, { document })
    expect((await old.ada.ok('GET', '/api/servers/notes/shares')).items.length).toBe(3)
    expect((await old.ada.ok('GET', '/api/admin/users/bob/quota')).quota).toEqual({ perDay: 40 })
    expect((await bob.ok('GET', '/api/teams')).items.map(({ name }: Item) => name)).toEqual(['company', 'crew'])
  })

  test('of a document of somebody else takes shares, quotas and rules when the user accepts each', async () => {
    const { cleo } = old
    const document = exported('mallory', {
      servers: far('tool'),
      shares: { servers: { tool: [{ subject: 'user:bob', role: 'change' }] } },
      guards: { servers: { tool: { rules: [{ ...REVIEW, webhook: { ...HOOK, url: 'https://mallory.example/' } }] } } },
      quota: { servers: { tool: { perDay: 3 } } },
    })
    const plan = await planned(cleo, { document })
    expect(beside(plan)).toEqual([
      'shares server tool skipped',
      'quota server tool skipped',
      'guards server tool skipped',
    ])
    const made = await applied(cleo, { document, choices: { '#/quota/servers/tool': 'accept' } })
    expect(beside(made)).toEqual(['shares server tool skipped', 'quota server tool new', 'guards server tool skipped'])
    expect((await cleo.ok('GET', '/api/servers/tool/quota')).quota).toEqual({ perDay: 3 })
  })

  test('leaves a server of the same name that is another one alone', async () => {
    const { dan } = old
    await dan.ok('POST', '/api/servers', { name: 'same', url: 'https://other.never.example/mcp', enabled: false })
    const document = exported('dan', {
      servers: far('same'),
      shares: { servers: { same: [{ subject: 'user:bob', role: 'use' }] } },
      quota: { servers: { same: { perDay: 1 } } },
    })
    expect(beside(await applied(dan, { document }))).toEqual([
      'shares server same skipped',
      'quota server same skipped',
    ])
  })

  test('by an access key sets no rules and no quotas, as by REST, and takes none back', async () => {
    const { eve } = old
    const { secret } = await eve.ok('POST', '/api/keys', { label: 'agent', scopes: ['api'] })
    const byKey = new Client(one.url, 'eve', secret)
    const document = exported('eve', {
      servers: far('own'),
      approvals: { servers: { own: { rules: [DENY] } } },
      quota: { servers: { own: { perDay: 2 } }, keys: { agent: { perDay: 1_000_000 } } },
    })
    expect(beside(await planned(byKey, { document }))).toEqual([
      'approvals server own invalid',
      'quota server own invalid',
      'quota key agent invalid',
    ])
    const { id } = await applied(eve, { document })
    const back = await byKey.ok('POST', `/api/import/${id}/rollback`)
    expect(back.kept.map(({ kind }: Item) => kind).sort()).toEqual(['approvals', 'quota', 'quota'])
  })

  test('asks for the secret of a webhook, and takes no rules without it; a wrong rule is named with its place', async () => {
    const { dan } = old
    const at = '/guards/servers/hooked/rules/0/webhook/secret'
    const rules = [{ ...REVIEW, webhook: { ...HOOK, secret: `<secret:${at}>` } }]
    const document = exported('dan', { servers: far('hooked'), guards: { servers: { hooked: { rules } } } })
    const plan = await planned(dan, { document })
    const asked = item(plan, '#/guards/servers/hooked')
    expect([asked.verdict, asked.missing]).toMatchObject(['skipped', [{ name: at, secret: true }]])
    const made = await applied(dan, { document, answers: { [at]: SECRET } })
    expect(item(made, '#/guards/servers/hooked').verdict).toBe('new')
    expect(JSON.stringify(made)).not.toContain(SECRET)
    // No plan says whether a secret is the one that is stored.
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    for (const guess of [SECRET, other])
      expect(item(await planned(dan, { document, answers: { [at]: guess } }), '#/guards/servers/hooked').verdict).toBe(
        'same',
      )
    await dan.ok('POST', `/api/import/${made.id}/rollback`)
    const wrong = exported('dan', { servers: far('hooked'), quota: { servers: { hooked: { perDay: -1 } } } })
    expect(item(await planned(dan, { document: wrong }), '#/quota/servers/hooked')).toMatchObject({
      verdict: 'invalid',
      error: { errors: [{ pointer: '#/quota/servers/hooked/perDay' }] },
    })
  })

  test('of quotas of users is taken back by administrators alone', async () => {
    const gil = await one.user('gil', 'admin')
    const document = exported('gil', { quota: { users: { eve: { perDay: 3 } } } })
    const { id } = await applied(gil, { document })
    await old.ada.ok('PATCH', '/api/admin/users/gil', { role: 'user' })
    const former = await one.signIn('gil')
    const { removed, kept } = await former.ok('POST', `/api/import/${id}/rollback`)
    expect([removed, kept]).toEqual([[], [{ kind: 'quota', name: 'eve', why: 'only administrators change it' }]])
    expect((await old.ada.ok('GET', '/api/admin/users/eve/quota')).quota).toEqual({ perDay: 3 })
  })

  test('takes a limited number of shares, which costs its sender alone', async () => {
    const list = (count: number) => Array.from({ length: count }, (_, at) => ({ subject: `user:u${at}`, role: 'use' }))
    const document = exported('cleo', { servers: far('many'), shares: { servers: { many: list(100_000) } } })
    expect((await old.cleo.request('POST', '/api/import?dryRun=true', { document })).status).toBe(400)
    const fewer = exported('cleo', { servers: far('many'), shares: { servers: { many: list(3_000) } } })
    const answer = await old.cleo.request('POST', '/api/import?dryRun=true', { document: fewer })
    expect([answer.status, answer.json.errors[0].detail]).toEqual([400, expect.stringContaining('3000 shares')])
    const refused = exported('cleo', { servers: far('many'), shares: { servers: { many: list(300) } } })
    expect(item(await planned(old.cleo, { document: refused }), '#/shares/servers/many').missing?.length).toBe(300)
  })

  test('of another hub’s settings file by an administrator brings its users’ shares, quotas and rules', async () => {
    const { ada } = old
    const document = {
      users: [
        { username: 'gina', isAdmin: false, quota: { perDay: 5 } },
        { username: 'bob', isAdmin: false },
      ],
      mcpServers: {
        'gina::lamp': {
          ...{ url: 'https://far.never.example/mcp', disabled: true, quota: { perDay: 6 }, approvals: [DENY] },
          shares: [
            { subject: 'user:bob', role: 'see' },
            { subject: 'user:gina', role: 'change' },
          ],
        },
      },
      groups: [{ name: 'lamps', owner: 'gina', servers: ['lamp'], shares: [{ subject: 'team:crew', role: 'use' }] }],
    }
    const made = await applied(ada, { document })
    expect(beside(made)).toEqual([
      'quota user gina new',
      ...['shares server lamp new', 'approvals server lamp new', 'quota server lamp new', 'shares group lamps new'],
    ])
    expect((await ada.ok('GET', '/api/servers/gina~lamp/shares')).items).toMatchObject([
      { subject: 'user:bob', role: 'see' },
    ])
    expect((await ada.ok('GET', '/api/servers/gina~lamp/quota')).quota).toEqual({ perDay: 6 })
    expect((await ada.ok('GET', '/api/admin/users/gina/quota')).quota).toEqual({ perDay: 5 })
    expect(new Set(beside(await planned(ada, { document })).map(text => text.split(' ').at(-1)))).toEqual(
      new Set(['same']),
    )
    const back = await ada.ok('POST', `/api/import/${made.id}/rollback`)
    expect([back.kept, back.gone]).toEqual([[], []])
  })

  test('while a plugin is off leaves its settings out, with a warning', async () => {
    const { ada, dan } = old
    await ada.ok('PATCH', '/api/admin/plugins/quotas', { enabled: false })
    const document = exported('dan', { servers: far('off'), quota: { servers: { off: { perDay: 1 } } } })
    const left = item(await planned(dan, { document }), '#/quota/servers/off')
    expect([left.verdict, left.warnings]).toEqual(['skipped', ['The plugin "quotas" does not run']])
    await ada.ok('PATCH', '/api/admin/plugins/quotas', { enabled: true })
  })
})
