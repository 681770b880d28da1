/** A hub whose users sign in without passwords: what becomes of passwords, links to set one, and the last way in. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client, type Hub, PASSWORD, startHub } from '../../support/hub.ts'
import { PROXY, sendAnew, setApp } from './app.ts'
import { begin, GitHubLike } from './oidc.ts'

let hub: Hub
let admin: Client
let github: GitHubLike
let ada: Client

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
  github = await GitHubLike.start()
  ada = await hub.user('ada')
  await configure('on')
}, 60_000)

afterAll(async () => {
  await github?.stop()
  await hub?.stop()
}, 60_000)

async function configure(passwords: 'on' | 'admins' | 'off'): Promise<void> {
  const common = { kind: 'github', clientId: 'c', clientSecret: 'hush', provision: 'link' }
  const providers = [{ ...common, id: 'octo', label: 'Octo', issuer: github.url }]
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers, passwords } })
}

const word = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code]
const login = (username: string, password = PASSWORD) => sendAnew(hub, '/api/auth/login', { username, password })
const OFF = [403, 'password_off']

async function finish(person?: Client) {
  const begun = await begin(hub, 'octo', person)
  const body = { url: github.agree(begun.url), key: begun.key }
  const path = '/api/auth/providers/octo/finish'
  return person ? person.request('POST', path, body) : sendAnew(hub, path, body)
}

test('only administrators sign in with a password, and others by an account', async () => {
  github.person = { id: 7, login: 'ada', emails: [] }
  expect(word(await finish(ada))).toEqual([200, undefined])
  const reset = new URL((await admin.ok('POST', '/api/admin/users/ada/reset-link')).url).hash.slice(1)
  for (const passwords of ['admins', 'off'] as const) {
    await configure(passwords)
    expect((await ada.ok('GET', '/api/auth/providers')).passwords).toBe(passwords)
    expect(word(await login('ada'))).toEqual(OFF)
    expect(word(await login('ada', `${PASSWORD} not`))).toEqual([401, 'login_failed'])
    expect((await login('admin')).status).toBe(200)
    const change = { currentPassword: PASSWORD, newPassword: 'another sentence of hers 9' }
    expect(word(await ada.request('POST', '/api/auth/password', change))).toEqual(OFF)
    expect(word(await ada.request('POST', '/api/auth/reauth', { password: PASSWORD }))).toEqual(OFF)
    expect(word(await admin.request('POST', '/api/admin/users/ada/reset-link'))).toEqual(OFF)
    const used = await sendAnew(hub, '/api/auth/reset', { token: reset, newPassword: 'another sentence of hers 9' })
    expect(word(used)).toEqual(OFF)
    expect((await finish()).json.user?.name).toBe('ada')
    // Open sign-ins go on.
    await ada.ok('GET', '/api/auth/me')
  }
})

test('the last way in is the account, since the password opens nothing', async () => {
  const [{ id }] = (await ada.ok('GET', '/api/auth/identities')).items
  expect(word(await ada.request('DELETE', `/api/auth/identities/${id}`))).toEqual([409, 'last_sign_in'])
  // A code of an app is no way in.
  const { person } = await setApp(hub, ada)
  ada = person
  expect(word(await ada.request('DELETE', `/api/auth/identities/${id}`))).toEqual([409, 'last_sign_in'])
})

test('a password that must be changed is no obstacle where passwords open nothing', async () => {
  await configure('on')
  await admin.ok('POST', '/api/admin/users', { username: 'bo', password: PASSWORD, mustChangePassword: false })
  const bo = await hub.signIn('bo')
  github.person = { id: 8, login: 'bo', emails: [] }
  expect(word(await finish(bo))).toEqual([200, undefined])
  await admin.ok('PATCH', '/api/admin/users/bo', { password: `${PASSWORD} 2`, mustChangePassword: true })
  const before = await finish()
  expect(before.json.user.mustChangePassword).toBe(true)
  await configure('off')
  const after = await finish()
  expect(after.json.user.mustChangePassword).toBe(false)
  await new Client(hub.url, 'bo', after.json.token).ok('GET', '/api/servers')
})

test('while the plugin is off, passwords count again', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { enabled: false })
  await admin.ok('POST', '/api/admin/users', { username: 'cy', password: PASSWORD, mustChangePassword: false })
  expect((await login('cy')).status).toBe(200)
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { enabled: true })
  expect(word(await login('cy'))).toEqual(OFF)
})
