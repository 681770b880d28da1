/** Sign-in with accounts at providers: a real issuer of OpenID Connect, and answers as GitHub gives them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { Client, type Hub, PASSWORD, startHub } from '../../support/hub.ts'
import { PROXY, secondStep, sendAnew, setApp } from './app.ts'
import { type Begun, begin, GitHubLike, OidcIssuer, signInAt } from './oidc.ts'

let hub: Hub
let admin: Client
let issuer: OidcIssuer
let github: GitHubLike

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
  issuer = await OidcIssuer.start(`${hub.url}/signin/callback`)
  github = await GitHubLike.start()
  await configure('link')
}, 60_000)

afterAll(async () => {
  await issuer?.stop()
  await github?.stop()
  await hub?.stop()
}, 60_000)

async function configure(
  provision: 'off' | 'link' | 'create',
  more: object = {},
  ofCompany: object = {},
): Promise<void> {
  const company = {
    ...{ id: 'company', kind: 'oidc', label: 'Company', issuer: issuer.url, clientId: 'hub' },
    ...{ clientSecret: 'secret-of-the-hub-1', provision, ...more, ...ofCompany },
  }
  const octo = { id: 'octo', kind: 'github', label: 'Octo', issuer: github.url, clientId: 'c', clientSecret: 'hush' }
  const providers = [company, { ...octo, provision, ...more }]
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers } })
}

/** The end of a sign-in: status, and code or what came. */
async function finish(provider: string, url: string, key: string, person?: Client) {
  const path = `/api/auth/providers/${provider}/finish`
  const answer = person ? await person.request('POST', path, { url, key }) : await sendAnew(hub, path, { url, key })
  return { status: answer.status, ...answer.json }
}

/** Signs in at the issuer. */
async function enter(person: string, more: object = {}) {
  const begun = await begin(hub, 'company', undefined, more)
  return finish('company', await signInAt(begun.url, person), begun.key)
}

const refusal = ({ status, code }: { status: number; code?: string }) => [status, code]

async function linked(person: Client, account: string): Promise<void> {
  const begun = await begin(hub, 'company', person)
  const done = await finish('company', await signInAt(begun.url, account), begun.key, person)
  expect(done).toMatchObject({ status: 200, linked: true })
}

test('a user links an account, and signs in with it', async () => {
  const listed = await sendAnew(hub, '/api/auth/providers', undefined)
  expect(listed.status).toBe(405)
  const { items } = await admin.ok('GET', '/api/auth/providers')
  expect(items).toEqual([
    { id: 'company', kind: 'oidc', label: 'Company', linkable: true },
    { id: 'octo', kind: 'github', label: 'Octo', linkable: true },
  ])
  expect((await admin.request('GET', '/api/admin/plugins')).text).not.toContain('secret-of-the-hub-1')
  const ada = await hub.user('ada')
  expect(refusal(await enter('ada-c'))).toEqual([403, 'identity_unknown'])
  await linked(ada, 'ada-c')
  const [identity] = (await ada.ok('GET', '/api/auth/identities')).items
  expect(identity).toMatchObject({ provider: 'company', email: 'ada-c@company.example', lastUsedAt: null })
  const done = await enter('ada-c', { returnTo: '/servers?x=1' })
  expect([done.user.name, done.returnTo]).toEqual(['ada', '/servers?x=1'])
  expect((await new Client(hub.url, 'ada', done.token).ok('GET', '/api/auth/me')).name).toBe('ada')
  const eve = await hub.user('eve')
  const begun = await begin(hub, 'company', eve)
  const taken = await finish('company', await signInAt(begun.url, 'ada-c'), begun.key, eve)
  expect(refusal(taken)).toEqual([409, 'identity_taken'])
})

test('an equal name or address links nothing', async () => {
  await hub.user('frank')
  expect(refusal(await enter('frank'))).toEqual([403, 'identity_unknown'])
})

test('what another browser, provider or user began is not finished', async () => {
  const one: Begun = await begin(hub, 'company')
  const back = await signInAt(one.url, 'ada-c')
  const foreign = [400, 'sign_in_foreign']
  expect(refusal(await finish('company', back, randomBytes(32).toString('base64url')))).toEqual(foreign)
  expect(refusal(await finish('octo', back, one.key))).toEqual(foreign)
  for (const change of ['state=x', 'x=1']) {
    const url = back.replace(/state=[^&]+/, change)
    expect(refusal(await finish('company', url, one.key))).toEqual(foreign)
  }
  expect(refusal(await finish('company', `${back}&state=x`, one.key))).toEqual(foreign)
  expect(refusal(await finish('nobody', back, one.key))).toEqual([404, 'provider_not_found'])
  const [gus, hal] = [await hub.user('gus'), await hub.user('hal')]
  const linking = await begin(hub, 'company', gus)
  const arrived = await signInAt(linking.url, 'gus-c')
  for (const person of [undefined, hal])
    expect(refusal(await finish('company', arrived, linking.key, person))).toEqual(foreign)
  expect((await hal.ok('GET', '/api/auth/identities')).items).toEqual([])
  expect((await finish('company', back, one.key)).user.name).toBe('ada')
  expect(refusal(await finish('company', back, one.key))).toEqual([400, 'provider_refused'])
})

test('answers that do not hold sign nobody in', async () => {
  const refused = [400, 'provider_refused']
  const one = await begin(hub, 'company')
  const back = await signInAt(one.url, 'ada-c')
  const with_ = (change: (url: URL) => void): string => {
    const url = new URL(back)
    change(url)
    return url.href
  }
  const wrong = [
    with_(url => url.searchParams.set('iss', 'https://other.example')),
    with_(url => url.searchParams.delete('iss')),
    with_(url => url.searchParams.set('error', 'access_denied')),
    with_(url => url.searchParams.delete('code')),
    with_(url => url.searchParams.append('code', 'x')),
  ]
  for (const url of wrong) expect(refusal(await finish('company', url, one.key))).toEqual(refused)
  // The code of one sign-in with the state, verifier and nonce of another.
  const two = await begin(hub, 'company')
  const mixed = new URL(await signInAt(two.url, 'ada-c'))
  mixed.searchParams.set('code', new URL(back).searchParams.get('code') as string)
  expect(refusal(await finish('company', mixed.href, two.key))).toEqual(refused)
})

test('a path to come back to is one of the console', async () => {
  for (const returnTo of ['//evil.example/', '/\\evil.example', 'https://evil.example/', '/a b', 'javascript:0'])
    expect((await enter('ada-c', { returnTo })).returnTo).toBeUndefined()
})

test('the second factor is asked for after an account, too', async () => {
  const kim = await setApp(hub, await hub.user('kim'))
  await linked(kim.person, 'kim-c')
  const done = await enter('kim-c', { returnTo: '/logs' })
  expect([Object.keys(done).sort(), done.returnTo]).toEqual([['returnTo', 'secondFactor', 'status'], '/logs'])
  expect(await secondStep(hub, done.secondFactor.ticket, kim.recoveryCodes[0] as string)).toEqual([200, 'signed in'])
})

test('where accounts make users, the last way to sign in stays, and domains count', async () => {
  await configure('create', { domains: ['company.example'] })
  expect(refusal(await enter('mallory'))).toEqual([403, 'identity_unknown'])
  const first = await enter('ivy')
  expect(first.user).toMatchObject({ name: 'ivy-of-company', role: 'user' })
  expect((await enter('ivy')).user.id).toBe(first.user.id)
  const ivy = new Client(hub.url, 'ivy', first.token)
  const [identity] = (await ivy.ok('GET', '/api/auth/identities')).items
  const path = `/api/auth/identities/${identity.id}`
  expect(refusal({ ...(await ivy.request('DELETE', path)).json })).toEqual([409, 'last_sign_in'])
  const login = await sendAnew(hub, '/api/auth/login', { username: first.user.name, password: PASSWORD })
  expect(login.json.code).toBe('login_failed')
  const ada = await hub.signIn('ada')
  expect(refusal((await ada.request('DELETE', path)).json)).toEqual([404, 'identity_not_found'])
  const [own] = (await ada.ok('GET', '/api/auth/identities')).items
  await ada.ok('DELETE', `/api/auth/identities/${own.id}`)
  await admin.ok('PATCH', `/api/admin/users/${first.user.name}`, { disabled: true })
  expect(refusal(await enter('ivy'))).toEqual([403, 'identity_unknown'])
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=200')
  const actions = new Set(items.map((one: { action: string }) => one.action))
  for (const word of ['sign-in.identity_linked', 'sign-in.identity_unlinked']) expect(actions).toContain(word)
})

test('the number of a person at GitHub counts, not the name', async () => {
  await configure('create')
  const sign = async () => {
    const begun = await begin(hub, 'octo')
    return finish('octo', github.agree(begun.url), begun.key)
  }
  const first = await sign()
  expect(first.user).toMatchObject({ name: 'octo', role: 'user' })
  github.person = { ...github.person, login: 'renamed' }
  expect((await sign()).user.id).toBe(first.user.id)
  github.person = { id: 8, login: 'octo', emails: [] }
  expect((await sign()).user.name).toBe('octo-2')
  const begun = await begin(hub, 'octo')
  const denied = github.agree(begun.url).replace(/code=\w+/, 'code=wrong')
  expect(refusal(await finish('octo', denied, begun.key))).toEqual([400, 'provider_refused'])
})

test('a domain is compared whole, of the verified main address alone', async () => {
  await configure('create', { domains: ['hub.example'] })
  let id = 20
  const sign = async (email: string, more: object = {}) => {
    id += 1
    github.person = { id, login: `person-${id}`, emails: [{ email, primary: true, verified: true, ...more }] }
    const begun = await begin(hub, 'octo')
    return (await finish('octo', github.agree(begun.url), begun.key)).status
  }
  const near = ['a@evil-hub.example', 'a@hub.example.evil.example', 'a@sub.hub.example', 'a@hub.example@evil.example']
  const other = ['hub.example', 'a@hub.example.', 'a@hüb.example', 'a@ｈub.example', 'a@hub.example ']
  for (const email of [...near, ...other]) expect([email, await sign(email)]).toEqual([email, 403])
  for (const more of [{ verified: false }, { verified: 'true' }, { primary: false }])
    expect(await sign('a@hub.example', more)).toBe(403)
  expect(await sign('A@Hub.Example')).toBe(200)
})

test('a provider that does not answer says so, and works again', async () => {
  const key = 'A'.repeat(43)
  const begun = await begin(hub, 'company')
  const back = await signInAt(begun.url, 'ada-c')
  issuer.down = true
  expect(refusal(await finish('company', back, begun.key))).toEqual([502, 'provider_unreachable'])
  issuer.down = false
  // A plugin that starts again knows no metadata.
  await configure('link')
  issuer.down = true
  const down = await sendAnew(hub, '/api/auth/providers/company/start', { keyHash: key })
  expect([down.status, down.json.code]).toEqual([502, 'provider_unreachable'])
  issuer.down = false
  expect((await sendAnew(hub, '/api/auth/providers/company/start', { keyHash: key })).status).toBe(200)
})

test('the groups of a claim set the teams of this provider, and no others', async () => {
  const source = (provider: string, group: string) => ({ source: { provider, group } })
  const groupsIn = (groups: string) => configure('create', {}, { claims: { groups } })
  await admin.ok('POST', '/api/admin/teams', { name: 'by-hand', members: ['admin'] })
  const warned = ({ warnings }: { readonly warnings?: readonly { readonly code: string }[] }) =>
    (warnings ?? []).map(({ code }) => code)
  const crew = await admin.ok('POST', '/api/admin/teams', { name: 'crew', ...source('company', 'hub-crew') })
  const away = await admin.ok('POST', '/api/admin/teams', { name: 'away', ...source('elsewhere', 'hub-crew') })
  // The provider `company` says no groups yet.
  expect([warned(crew), warned(away)]).toEqual([['source_unknown'], ['source_unknown']])
  await admin.ok('POST', '/api/servers', { name: 'shared', url: 'https://never.example/mcp', enabled: false })
  await admin.ok('PUT', '/api/servers/shared/shares/team:crew', { role: 'see' })
  await groupsIn('groups')
  const listed = (await admin.ok('GET', '/api/teams')).items
  expect(listed.map((one: { name: string; warnings?: { code: string }[] }) => [one.name, warned(one)])).toEqual([
    ['away', ['source_unknown']],
    ['by-hand', []],
    ['crew', []],
  ])
  const as = async (idToken: object, userinfo: object = {}): Promise<string[]> => {
    Object.assign(issuer.more, { id_token: idToken, userinfo })
    const signed = await enter('nora')
    const nora = new Client(hub.url, 'nora', signed.token)
    const seen = (await nora.request('GET', '/api/servers/admin~shared')).status === 200
    const teams = (await nora.ok('GET', '/api/teams')).items.filter((one: { members?: unknown }) => one.members)
    return [...teams.map(({ name }: { name: string }) => name), ...(seen ? ['sees'] : [])]
  }
  const inside = ['crew', 'sees']
  expect(await as({ groups: ['other', 'hub-crew'] })).toEqual(inside)
  expect((await admin.ok('GET', '/api/teams/crew')).source).toEqual(source('company', 'hub-crew').source)
  for (const near of [
    ['HUB-CREW'],
    ['ｈub-crew'],
    ['hub-crew '],
    ['crew', 'by-hand', 'away'],
    [],
    [7, null, ['hub-crew']],
  ])
    expect([near, await as({ groups: near })]).toEqual([near, []])
  expect(
    await as({ groups: ['x'.repeat(257), ...Array.from({ length: 199 }, (_, at) => `g${at}`), 'hub-crew'] }),
  ).toEqual([])
  expect(await as({ groups: 'hub-crew' })).toEqual(inside)
  for (const absent of [{}, { groups: { 'hub-crew': true } }, { _claim_names: { groups: 'src1' } }])
    expect([absent, await as(absent)]).toEqual([absent, inside])
  for (const said of [
    'no claim \\"groups\\" of groups',
    'no list of groups',
    '_claim_names',
    'the first 200',
    'no texts',
  ]) {
    await hub.logged(said)
    expect([said, hub.log().split(said).length]).toEqual([said, 2])
  }
  expect(await as({}, { groups: [] })).toEqual([])
  expect(await as({}, { groups: ['hub-crew'] })).toEqual(inside)
  const { items } = await admin.ok('GET', '/api/admin/audit?action=user.teams')
  expect(items[0].detail).toEqual({ provider: 'company', joined: ['crew'], left: [] })

  await groupsIn('/realm/roles')
  expect(await as({ realm: { roles: ['none'] } })).toEqual([])
  expect(await as({ realm: { roles: ['hub-crew'] } })).toEqual(inside)
  const size = async () => (await admin.ok('GET', '/api/teams/crew')).size
  const name = (await enter('nora')).user.name
  await admin.ok('PATCH', `/api/admin/users/${name}`, { disabled: true })
  expect([await size(), refusal(await enter('nora')), await size()]).toEqual([0, [403, 'identity_unknown'], 0])
  await admin.ok('PATCH', `/api/admin/users/${name}`, { disabled: false })
  expect(await as({ realm: { roles: ['hub-crew'] } })).toEqual(inside)
  const zed = await hub.user('zed')
  await linked(zed, 'zed-c')
  expect(await size()).toBe(2)
  const [identity] = (await zed.ok('GET', '/api/auth/identities')).items
  await zed.ok('DELETE', `/api/auth/identities/${identity.id}`)
  expect(await size()).toBe(1)
  // The provider goes from the settings.
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers: [] } })
  expect([await size(), (await admin.ok('GET', '/api/teams/by-hand')).members]).toEqual([0, ['admin']])
})

test('a provider at an address that others can read does not start the plugin', async () => {
  const wrong = { id: 'x', kind: 'oidc', label: 'X', issuer: 'http://login.example', clientId: 'c' }
  const answer = await admin.request('PATCH', '/api/admin/plugins/sign-in', { config: { providers: [wrong] } })
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  const state = items.find((one: { name: string }) => one.name === 'sign-in').state
  expect(answer.status >= 400 || state === 'failed').toBe(true)
})
