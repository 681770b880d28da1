/** A second factor that must be set, proofs that get old, a plugin that does not run, and the way out at the machine. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type Hub, PASSWORD, ROOT, send, startHub } from '../../support/hub.ts'
import { oldSession } from '../../support/old-session.ts'
import { App, type Guarded, PROXY, secondStep, sendAnew, setApp, ticketOf } from './app.ts'
import { Authenticator } from './authenticator.ts'

let hub: Hub
let admin: Client
/** A passkey of ada. */
let device: Authenticator
let ada: Guarded

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
  ada = await setApp(hub, await hub.user('ada'))
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

/** The hub by a name, as passkeys want it. */
const here = () => hub.url.replace('127.0.0.1', 'localhost')

async function refused(person: Client, method: string, path: string, body?: unknown): Promise<unknown[]> {
  const { status, json } = await person.request(method, path, body)
  return [status, json.code]
}

const later = (person: Client) => oldSession(hub, person)

test('after ten minutes factors and the password of their user change only with a new proof', async () => {
  const old = await later(ada.person)
  const [item] = (await old.ok('GET', '/api/auth/factors')).items
  const newPassword = 'another sentence of hers 9'
  const writes = [
    ['POST', '/api/auth/factors/totp', {}],
    ['POST', '/api/auth/factors/totp/confirm', { id: 'x', code: '123456' }],
    ['POST', '/api/auth/factors/recovery-codes'],
    ['DELETE', `/api/auth/factors/${item.id}`],
    ['POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword }],
  ] as const
  for (const [method, path, body] of writes)
    expect(await refused(old, method, path, body)).toEqual([403, 'reauth_required'])
  const { secondFactor } = await old.ok('POST', '/api/auth/reauth', { password: PASSWORD })
  expect(await refused(old, 'POST', '/api/auth/factors/recovery-codes')).toEqual([403, 'reauth_required'])
  const answer = { ticket: secondFactor.ticket, code: await ada.app.code() }
  await old.ok('POST', '/api/auth/reauth', answer)
  expect(await refused(old, 'POST', '/api/auth/reauth', answer)).toEqual([401, 'second_factor_ended'])
  // The proof is one of this sign-in alone.
  const other = await later(ada.person)
  expect(await refused(other, 'POST', '/api/auth/factors/recovery-codes')).toEqual([403, 'reauth_required'])
  ada.recoveryCodes.splice(0, 10, ...(await old.ok('POST', '/api/auth/factors/recovery-codes')).recoveryCodes)
  const changed = await old.ok('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword })
  ada = { ...ada, person: new Client(hub.url, 'ada', changed.token) }
  await ada.person.ok('POST', '/api/auth/password', { currentPassword: newPassword, newPassword: PASSWORD })
  ada = { ...ada, person: await again() }
  // Without a second factor the present password is the proof.
  const bob = await later(await hub.user('bob'))
  await bob.ok('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword })
})

/** Ada, signed in again. */
async function again(): Promise<Client> {
  const code = ada.recoveryCodes.shift() as string
  const answer = await sendAnew(hub, '/api/auth/second-factor', { ticket: await ticketOf(hub, 'ada'), code })
  return new Client(hub.url, 'ada', answer.json.token)
}

test('an old session of an administrator takes nobody’s factor away, nor replaces the own password', async () => {
  const eve = await setApp(hub, await hub.user('eve', 'admin'))
  const old = await later(eve.person)
  for (const name of ['eve', 'ada'])
    expect(await refused(old, 'DELETE', `/api/admin/users/${name}/factors`)).toEqual([403, 'reauth_required'])
  const password = 'another sentence of hers 9'
  expect(await refused(old, 'PATCH', '/api/admin/users/eve', { password })).toEqual([403, 'reauth_required'])
  const { secret } = await eve.person.ok('POST', '/api/keys', { label: 'k', scopes: ['api'] })
  const key = new Client(hub.url, 'eve', secret)
  expect(await refused(key, 'DELETE', '/api/admin/users/ada/factors')).toEqual([403, 'insufficient_scope'])
  await admin.ok('DELETE', '/api/admin/users/eve?cascade=true')
})

test('where a second factor is required, nothing but one’s own sign-in is open until it is set', async () => {
  const cy = await hub.user('cy')
  const { secret } = await cy.ok('POST', '/api/keys', { label: 'k', scopes: ['mcp', 'api'] })
  const key = new Client(hub.url, 'cy', secret)
  const setRequired = (requireSecondFactor: string) =>
    send(...([hub.url, 'PATCH', '/api/admin/plugins/sign-in', { config: { requireSecondFactor } }] as const), {
      authorization: `Bearer ${root.person.token}`,
    })
  const root = await setApp(hub, admin)
  admin = root.person
  expect((await setRequired('nobody')).status).toBe(400)
  expect((await setRequired('admins')).status).toBe(200)
  expect((await cy.request('GET', '/api/servers')).status).toBe(200)
  expect((await setRequired('all')).status).toBe(200)
  const closed = [403, 'second_factor_required']
  for (const who of [cy, key]) expect(await refused(who, 'GET', '/api/servers')).toEqual(closed)
  const mcp = await key.request('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })
  expect([mcp.status, mcp.json.error.data.code]).toEqual(closed)
  const fresh = await hub.signIn('cy')
  expect(await refused(fresh, 'GET', '/api/servers')).toEqual(closed)
  expect((await fresh.ok('GET', '/api/auth/factors')).required).toBe(true)
  expect((await fresh.ok('GET', '/api/auth/me')).name).toBe('cy')
  const { person } = await setApp(hub, fresh)
  await person.ok('GET', '/api/servers')
  await key.ok('GET', '/api/servers')
  expect((await setRequired('off')).status).toBe(200)
}, 60_000)

test('while the plugin is off or has failed, a user with a second factor is refused, and others sign in', async () => {
  const unavailable = [403, 'second_factor_unavailable']
  const login = async () => {
    const { status, json } = await sendAnew(hub, '/api/auth/login', { username: 'ada', password: PASSWORD })
    return [status, json.code]
  }
  const owner = new Client(here(), 'ada', ada.person.token)
  device = new Authenticator(here())
  const made = device.create((await owner.ok('POST', '/api/auth/factors/passkeys/options')).options)
  await owner.ok('POST', '/api/auth/factors/passkeys', { passkey: made })
  const ticket = await ticketOf(hub, 'ada')
  const { url } = await admin.ok('POST', '/api/admin/users/ada/reset-link')
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { enabled: false })
  expect(await login()).toEqual(unavailable)
  const code = ada.recoveryCodes.shift() as string
  expect(await secondStep(hub, ticket, code)).toEqual([401, 'unauthenticated'])
  const reset = { token: new URL(url).hash.slice(1), newPassword: 'another sentence of hers 9' }
  const byLink = await sendAnew(hub, '/api/auth/reset', reset)
  expect([byLink.status, byLink.json.code]).toEqual(unavailable)
  const answered = await sendAnew(hub, '/api/auth/reset', { ...reset, secondFactor: { ticket, code } })
  expect([answered.status, answered.json.code]).toEqual(unavailable)
  await admin.ok('POST', '/api/admin/users', { username: 'dot', password: PASSWORD })
  await hub.signIn('dot')
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { enabled: true })
  expect(await secondStep(hub, ticket, code)).toEqual([200, 'signed in'])

  const settings = { mcpServers: {}, plugins: [{ use: 'sign-in', config: { requireSecondFactor: 'nobody' } }] }
  await hub.stop({ keep: true })
  hub = await startHub({ env: PROXY, folder: hub.folder, settings })
  admin = new Client(hub.url, 'admin', admin.token)
  const { items } = await admin.ok('GET', '/api/admin/plugins')
  expect(items.find((one: { name: string }) => one.name === 'sign-in').state).toBe('failed')
  expect(await login()).toEqual(unavailable)
  await hub.signIn('dot')
}, 60_000)

test('the administrator of the machine takes a second factor away while the hub is stopped', async () => {
  const command = async (...words: string[]) => {
    const env = { PATH: process.env.PATH ?? '', HOME: hub.folder, DATA_DIR: hub.dataDir }
    const cmd = [process.execPath, join(ROOT, 'core/main.ts'), 'user', 'second-factor-off', ...words]
    const ran = Bun.spawn({ cmd, env, cwd: hub.folder, stdout: 'pipe', stderr: 'pipe' })
    const said = (await new Response(ran.stdout).text()) + (await new Response(ran.stderr).text())
    return [await ran.exited, said] as const
  }
  expect((await command('ada'))[0]).not.toBe(0)
  const before = ada.person.token
  await hub.stop({ keep: true })
  const [exit, said] = await command('ada')
  expect([exit, said]).toEqual([0, 'the password of ada is enough again; all its sessions have ended\n'])
  hub = await startHub({ env: PROXY, folder: hub.folder, settings: { mcpServers: {} } })
  expect(await refused(new Client(hub.url, 'ada', before), 'GET', '/api/auth/me')).toEqual([401, 'token_revoked'])
  // The row of the passkey is there still, and opens nothing.
  const moved = { origin: here() }
  const { options } = (await sendAnew({ url: here() }, '/api/auth/passkeys/options', {})).json
  const byPasskey = { passkey: device.get(options, moved) }
  const entered = await sendAnew({ url: here() }, '/api/auth/passkeys/sign-in', byPasskey)
  expect([entered.status, entered.json.code]).toEqual([401, 'passkey_refused'])
  const person = await hub.signIn('ada')
  expect((await person.ok('GET', '/api/auth/factors')).items).toEqual([])
  // A new app: what was left of the old one opens nothing.
  const { id, secret } = await person.ok('POST', '/api/auth/factors/totp', {})
  const code = await new App(secret).code()
  const { recoveryCodes } = await person.ok('POST', '/api/auth/factors/totp/confirm', { id, code })
  const ticket = await ticketOf(hub, 'ada')
  expect(await secondStep(hub, ticket, await ada.app.code())).toEqual([401, 'second_factor_failed'])
  expect(await secondStep(hub, ticket, recoveryCodes[0])).toEqual([200, 'signed in'])
  const files = await Promise.all(['patchbay.db', 'patchbay.db-wal'].map(file => readFile(join(hub.dataDir, file))))
  expect(files.some(bytes => bytes.includes(recoveryCodes[1].replaceAll('-', '')) || bytes.includes(secret))).toBe(
    false,
  )
}, 60_000)
