/** Requests at the same moment, providers that have gone, and names that are taken: nobody is left without a way in. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client, type Hub, PASSWORD, startHub } from '../../support/hub.ts'
import { App, PROXY, secondStep, sendAnew, setApp, ticketOf } from './app.ts'
import { begin, GitHubLike } from './oidc.ts'

let hub: Hub
let admin: Client
let [one, two]: GitHubLike[] = []

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
  ;[one, two] = [await GitHubLike.start(), await GitHubLike.start()]
  await configure('one', 'two')
}, 60_000)

afterAll(async () => {
  await one?.stop()
  await two?.stop()
  await hub?.stop()
}, 60_000)

async function configure(...ids: ('one' | 'two')[]): Promise<void> {
  const common = { kind: 'github', clientId: 'c', clientSecret: 'hush', provision: 'create' }
  const providers = ids.map(id => ({ ...common, id, label: id, issuer: (id === 'one' ? one : two)?.url }))
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers } })
}

const github = (provider: 'one' | 'two') => (provider === 'one' ? one : two) as GitHubLike

/** The end of a sign-in at a provider. */
async function enter(provider: 'one' | 'two', person?: Client) {
  const begun = await begin(hub, provider, person)
  const body = { url: github(provider).agree(begun.url), key: begun.key }
  const path = `/api/auth/providers/${provider}/finish`
  return person ? person.request('POST', path, body) : sendAnew(hub, path, body)
}

const emails = (login: string) => [{ email: `${login}@hub.example`, primary: true, verified: true }]

test('of sign-ins at once with an account that nobody has linked, all get the same new user', async () => {
  github('one').person = { id: 100, login: 'rae', emails: emails('rae') }
  github('one').together = 6
  const answers = await Promise.all(Array.from({ length: 6 }, () => enter('one')))
  github('one').together = 1
  expect(answers.map(({ status, json }) => [status, json.user?.name])).toEqual(Array(6).fill([200, 'rae']))
  const { items } = await admin.ok('GET', '/api/admin/users?q=rae')
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['rae'])
  const audit = await admin.ok('GET', '/api/admin/audit?limit=50')
  const linked = audit.items.filter(({ action }: { action: string }) => action === 'sign-in.identity_linked')
  expect(linked.map(({ target }: { target: string }) => target)).toEqual(['rae (one)'])
})

test('an account at a provider that the hub has no more is no way to sign in', async () => {
  github('one').person = { id: 200, login: 'sal', emails: [] }
  github('two').person = { id: 201, login: 'sal', emails: [] }
  const sal = new Client(hub.url, 'sal', (await enter('one')).json.token)
  expect((await enter('two', sal)).json).toEqual({ linked: true })
  await configure('one')
  const { items } = await sal.ok('GET', '/api/auth/identities')
  const idOf = (provider: string) => items.find((each: { provider: string }) => each.provider === provider).id
  const last = await sal.request('DELETE', `/api/auth/identities/${idOf('one')}`)
  expect([last.status, last.text]).toEqual([409, expect.stringContaining('last_sign_in')])
  // The one that is useless goes.
  await sal.ok('DELETE', `/api/auth/identities/${idOf('two')}`)
  await configure('one', 'two')
})

test('of the last two factors that are removed at once, none leaves a user who is asked for a code', async () => {
  const tom = await setApp(hub, await hub.user('tom'))
  const { id, secret } = await tom.person.ok('POST', '/api/auth/factors/totp', {})
  await tom.person.ok('POST', '/api/auth/factors/totp/confirm', { id, code: await new App(secret).code() })
  const { items } = await tom.person.ok('GET', '/api/auth/factors')
  const removed = await Promise.all(
    items.map((each: { id: string }) => tom.person.request('DELETE', `/api/auth/factors/${each.id}`)),
  )
  expect(removed.map(({ status }) => status)).toEqual([204, 204])
  await hub.signIn('tom')
})

test('a new password of an administrator ends the wait after wrong codes', async () => {
  const uma = await setApp(hub, await hub.user('uma'))
  const ticket = await ticketOf(hub, 'uma')
  for (let tries = 0; tries < 5; tries += 1) await secondStep(hub, ticket, uma.app.wrong())
  const code = await uma.app.code()
  expect(await secondStep(hub, await ticketOf(hub, 'uma'), code)).toEqual([429, 'login_throttled'])
  await admin.ok('PATCH', '/api/admin/users/uma', { password: `${PASSWORD} 2`, mustChangePassword: false })
  const next = await ticketOf(hub, 'uma', `${PASSWORD} 2`)
  for (let tries = 0; tries < 4; tries += 1)
    expect(await secondStep(hub, next, uma.app.wrong())).toEqual([401, 'second_factor_failed'])
  expect(await secondStep(hub, next, code)).toEqual([200, 'signed in'])
})

test('a name that is taken many times still makes a user', async () => {
  const names: string[] = []
  for (let id = 300; id < 311; id += 1) {
    github('one').person = { id, login: 'vic', emails: [] }
    names.push((await enter('one')).json.user?.name)
  }
  expect(names.slice(7)).toEqual(['vic-8', 'vic-9', ...Array(2).fill(expect.stringMatching(/^vic-[0-9a-f]{8}$/))])
})
