/** A proxy before the hub signs users in and names them in a header: nginx with passwords of its own. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, send, startHub } from '../../support/hub.ts'
import { type Nginx, startNginx } from '../../support/nginx.ts'
import { setApp } from './app.ts'

const HEADER = 'X-Forwarded-User'
const GROUPS = 'X-Forwarded-Groups'
const NAMES = ['ada', 'admin', 'bo', 'cy', 'new person']

let hub: Hub
let admin: Client
let proxy: Nginx

beforeAll(async () => {
  hub = await startHub({ env: { TRUSTED_PROXIES: '127.0.0.2' } })
  admin = await hub.setup()
  const users = join(hub.folder, 'users')
  await writeFile(users, NAMES.map(name => `${name}:{PLAIN}pass\n`).join(''))
  proxy = await startNginx(`location / {
    auth_basic "people"; auth_basic_user_file ${users};
    proxy_bind 127.0.0.2; proxy_set_header ${HEADER} $remote_user; proxy_set_header Authorization "";
    proxy_set_header ${GROUPS} $http_x_said; proxy_set_header X-Forwarded-For $http_x_from; proxy_pass ${hub.url};
  }
  location = /by-number {
    proxy_bind 127.0.0.2; proxy_set_header ${HEADER} "#1"; proxy_set_header Authorization "";
    proxy_pass ${hub.url}/api/auth/forwarded;
  }`)
  await hub.user('ada')
  await configure({})
}, 60_000)

afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]()
  await hub?.stop()
}, 60_000)

async function configure(settings: object): Promise<void> {
  const forwarded = { user: HEADER, ...settings }
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { forwarded } })
}

let sent = 0
/** Each request comes from an address of its own: sign-ins are limited by address, and a fast machine reaches the limit. */
function through(name: string, method: string, path: string, headers: Record<string, string> = {}) {
  sent += 1
  const own = { authorization: `Basic ${btoa(`${name}:pass`)}`, 'x-from': `192.0.2.${sent}` }
  return send(proxy.url, method, path, undefined, { ...own, ...headers })
}
const signIn = (name: string) => through(name, 'POST', '/api/auth/forwarded')
const word = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code]
const nameOf = async (token: string): Promise<string> =>
  (await send(hub.url, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${token}` })).json.name

test('the user whom the proxy names is signed in, whatever header the client sends', async () => {
  const ways = await through('ada', 'GET', '/api/auth/providers', { [HEADER]: 'admin' })
  expect(ways.json.forwarded).toBe('ada')
  const { json } = await through('ada', 'POST', '/api/auth/forwarded', { [HEADER]: 'admin' })
  expect(await nameOf(json.token)).toBe('ada')
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=20')
  expect(JSON.stringify(items)).toContain('proxy')
})

test('the header of anybody else is ignored, and logged', async () => {
  const headers = { [HEADER]: 'ada', 'x-forwarded-for': '127.0.0.2' }
  expect((await send(hub.url, 'GET', '/api/auth/providers', undefined, headers)).json.forwarded).toBeUndefined()
  for (const _ of [1, 2, 3])
    expect(word(await send(hub.url, 'POST', '/api/auth/forwarded', undefined, headers))).toEqual([
      403,
      'identity_unknown',
    ])
  await hub.logged('no trusted proxy named a user')
  expect(hub.log().split('no trusted proxy named a user')).toHaveLength(2)
})

test('the groups that the proxy names set the teams of its users, whatever header the client sends', async () => {
  const bo = await hub.user('bo')
  for (const [name, group] of [
    ['crew', 'CN=hub,OU=crew'],
    ['bosses', 'bosses'],
  ])
    await admin.ok('POST', '/api/admin/teams', { name, source: { provider: 'proxy', group } })
  const members = async () => (await admin.ok('GET', '/api/teams/crew')).members
  const forged = { [GROUPS]: 'bosses;CN=hub,OU=crew' }
  /** Signs in; `said` is what the proxy says in the header, if anything. */
  const enter = (name: string, said?: string) =>
    through(name, 'POST', '/api/auth/forwarded', { ...forged, ...(said === undefined ? {} : { 'x-said': said }) })
  const crew = 'staff; CN=hub,OU=crew ;'
  await enter('ada', crew)
  expect(await members()).toEqual([])
  await configure({ groups: GROUPS, separator: ';' })
  await send(hub.url, 'POST', '/api/auth/forwarded', undefined, { [HEADER]: 'bo', ...forged })
  await bo.request('POST', '/api/auth/forwarded', undefined, { [HEADER]: 'bo', ...forged })
  expect(await members()).toEqual([])
  for (const [said, after] of [
    [crew, ['ada']],
    // nginx leaves out a header without a text.
    [undefined, ['ada']],
    ['cn=hub,ou=crew', []],
    [crew, ['ada']],
    [';', []],
    [crew, ['ada']],
  ] as const)
    expect([said, (await enter('ada', said)).status, await members()]).toEqual([said, 200, [...after]])
  await enter('bo')
  expect(await members()).toEqual(['ada'])
  expect((await admin.ok('GET', '/api/teams/bosses')).size).toBe(0)
  const providers = [{ id: 'proxy', kind: 'github', label: 'P', clientId: 'c' }]
  const forwarded = { user: HEADER, groups: GROUPS }
  // No provider of the settings is taken for the proxy: the plugin does not start.
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { forwarded, providers } })
  expect([word(await enter('ada')), await members()]).toEqual([[401, 'unauthenticated'], ['ada']])
  await configure({})
  expect(await members()).toEqual([])
})

test('unknown users are refused, or made once where the settings say so', async () => {
  expect(word(await signIn('new person'))).toEqual([403, 'identity_unknown'])
  expect(word(await through('ada', 'POST', '/by-number'))).toEqual([403, 'identity_unknown'])
  await configure({ provision: 'create' })
  const made = await Promise.all(['new person', 'new person', 'new person'].map(signIn))
  const names = await Promise.all(made.map(({ json }) => nameOf(json.token)))
  expect(new Set(names).size).toBe(1)
  const { items } = await admin.ok('GET', '/api/admin/users')
  expect(items.filter(({ name }: { name: string }) => name === names[0])).toMatchObject([{ role: 'user' }])
  await configure({})
  expect(await nameOf((await signIn('new person')).json.token)).toBe(names[0] as string)
})

test('an administrator signs in at the hub, unless the settings say otherwise', async () => {
  expect(word(await signIn('admin'))).toEqual([403, 'identity_unknown'])
  await configure({ administrators: true })
  expect(await nameOf((await signIn('admin')).json.token)).toBe('admin')
  await configure({})
})

test('a disabled user is refused, and one with a second factor gives it', async () => {
  await admin.ok('PATCH', '/api/admin/users/bo', { disabled: true })
  expect(word(await signIn('bo'))).toEqual([403, 'identity_unknown'])
  await setApp(hub, await hub.user('cy'))
  const { status, json } = await signIn('cy')
  expect([status, json.token, json.secondFactor.methods]).toEqual([200, undefined, ['totp', 'recovery']])
})

test('without the setting nobody is signed in so, and a header of requests themselves cannot be it', async () => {
  for (const user of ['Authorization', 'cookie', 'X-Forwarded-For', 'a b', ''])
    expect(
      (await admin.request('PATCH', '/api/admin/plugins/sign-in', { config: { forwarded: { user } } })).status,
    ).toBe(400)
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: {} })
  expect(word(await signIn('ada'))).toEqual([403, 'identity_unknown'])
  expect((await through('ada', 'GET', '/api/auth/providers')).json.forwarded).toBeUndefined()
})
