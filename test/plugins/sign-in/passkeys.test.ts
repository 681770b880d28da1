/** Passkeys: how they are set and used, and what does not count as one. */

import { afterAll, beforeAll, expect, setSystemTime, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { HubError } from '../../../core/contract/mod.ts'
import type { PluginSealing } from '../../../core/features/services/sealing.ts'
import { Challenges } from '../../../plugins/sign-in/passkeys/challenges.ts'
import { Client, type Hub, PASSWORD, send, startHub } from '../../support/hub.ts'
import { App, PROXY, secondStep, sendAnew, ticketOf } from './app.ts'
import { Authenticator, type Wrong } from './authenticator.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

/** The hub as a browser on its machine reaches it by name. */
const here = () => hub.url.replace('127.0.0.1', 'localhost')
const at = (person: Client) => new Client(here(), person.name, person.token)
const anew = (path: string, body: unknown) => sendAnew({ url: here() }, path, body)
const code = ({ status, json }: { status: number; json: { code?: string } }) => [status, json.code]

/** Sets a passkey for somebody who is signed in. */
async function setPasskey(before: Client) {
  const person = at(before)
  const device = new Authenticator(here())
  const { options } = await person.ok('POST', '/api/auth/factors/passkeys/options')
  const passkey = device.create(options)
  const { recoveryCodes, session } = await person.ok('POST', '/api/auth/factors/passkeys', { passkey, label: 'Laptop' })
  return { device, recoveryCodes, person: session ? new Client(here(), person.name, session.token) : person }
}

async function ask(body: object = {}): Promise<{ challenge: string; allowCredentials?: { id: string }[] }> {
  return (await anew('/api/auth/passkeys/options', body)).json.options
}

/** A sign-in without a password. */
async function enter(device: Authenticator, wrong: Wrong = {}) {
  const passkey = device.get(await ask(), wrong)
  return anew('/api/auth/passkeys/sign-in', { passkey })
}

const REFUSED = [401, 'passkey_refused']
const ENDED = [401, 'second_factor_ended']

test('a person sets a passkey, and signs in with it alone, and after the password', async () => {
  const ada = await hub.user('ada')
  const { device, person, recoveryCodes } = await setPasskey(ada)
  expect(recoveryCodes).toHaveLength(10)
  expect(code(await ada.request('GET', '/api/auth/me'))).toEqual([401, 'token_revoked'])
  const listed = await person.ok('GET', '/api/auth/factors')
  expect(listed).toMatchObject({ recoveryCodes: 10, required: false, passkeys: true })
  const [item] = listed.items
  expect([item.kind, item.label, item.lastUsedAt]).toEqual(['passkey', 'Laptop', null])

  const alone = await enter(device)
  expect([alone.status, alone.json.user?.name]).toEqual([200, 'ada'])
  expect((await new Client(hub.url, 'ada', alone.json.token).ok('GET', '/api/auth/me')).name).toBe('ada')

  const login = await anew('/api/auth/login', { username: 'ada', password: PASSWORD })
  expect(login.json.token).toBeUndefined()
  expect(login.json.secondFactor.methods).toEqual(['passkey', 'recovery'])
  const { ticket } = login.json.secondFactor
  const options = await ask({ ticket })
  expect(options.allowCredentials?.map(({ id }) => id)).toEqual([device.id])
  const second = await anew('/api/auth/passkeys/sign-in', { ticket, passkey: device.get(options) })
  expect([second.status, second.json.user?.name]).toEqual([200, 'ada'])
  const again = await anew('/api/auth/passkeys/sign-in', { ticket, passkey: device.get(options) })
  expect(code(again)).toEqual(ENDED)

  expect((await person.ok('GET', '/api/auth/factors')).items[0].lastUsedAt).toEqual(expect.any(String))
  expect(await person.ok('PATCH', `/api/auth/factors/${item.id}`, { label: 'Key' })).toBeUndefined()
  expect((await person.ok('GET', '/api/auth/factors')).items[0].label).toBe('Key')
  await person.ok('DELETE', `/api/auth/factors/${item.id}`)
  expect(code(await enter(device))).toEqual(REFUSED)
  await hub.signIn('ada')
})

test('what does not come from the passkey, here and now, does not count', async () => {
  const { device } = await setPasskey(await hub.user('bo'))
  device.counter = 5
  expect((await enter(device)).status).toBe(200)
  const wrongs: Record<string, Wrong> = {
    'another origin': { origin: 'https://hub.evil.example' },
    'another port': { origin: 'http://localhost:1' },
    'another rpID': { rpId: 'evil.example' },
    'a frame of another site': { crossOrigin: true },
    'a counter that stays': { counter: device.counter },
    'a counter that falls': { counter: 2 },
    'a person who is not recognised': { isVerified: false },
    'another user’s handle': { userHandle: Buffer.from('somebody').toString('base64url') },
    'no passkey of the hub': { id: randomBytes(32).toString('base64url') },
  }
  for (const [name, wrong] of Object.entries(wrongs)) {
    device.counter += 1
    const given = name === 'a counter that stays' ? { counter: device.counter - 1 } : wrong
    expect([name, ...code(await enter(device, given))]).toEqual([name, ...REFUSED])
    // The same device is right in the next moment, which forgets the failure.
    expect([name, (await enter(device)).status]).toEqual([name, 200])
  }
})

test('a challenge is answered once, by whom it was given to, for what it was given for', async () => {
  const { device, person } = await setPasskey(await hub.user('cy'))
  const passkey = device.get(await ask())
  const twice = await Promise.all([1, 2].map(() => anew('/api/auth/passkeys/sign-in', { passkey })))
  expect(twice.map(code).sort()).toEqual([[200, undefined], ENDED] as never)
  expect(code(await anew('/api/auth/passkeys/sign-in', { passkey }))).toEqual(ENDED)
  const ticket = (await anew('/api/auth/login', { username: 'cy', password: PASSWORD })).json.secondFactor.ticket
  const withTicket = device.get(await ask({ ticket }))
  expect(code(await anew('/api/auth/passkeys/sign-in', { passkey: withTicket }))).toEqual(ENDED)
  const without = device.get(await ask())
  expect(code(await anew('/api/auth/passkeys/sign-in', { ticket, passkey: without }))).toEqual(ENDED)
  const made = (await person.ok('POST', '/api/auth/factors/passkeys/options')).options
  expect(code(await anew('/api/auth/passkeys/sign-in', { passkey: device.get(made) }))).toEqual(ENDED)
  const own = device.get({ challenge: randomBytes(64).toString('base64url') })
  expect(code(await anew('/api/auth/passkeys/sign-in', { passkey: own }))).toEqual(ENDED)
  const elsewhere = device.get((await send(hub.url, 'POST', '/api/auth/passkeys/options', {})).json.options ?? own)
  expect(code(await anew('/api/auth/passkeys/sign-in', { passkey: elsewhere }))).not.toContain(200)
})

test('a challenge ends after five minutes and with the hub', () => {
  const sealed = new Map<string, Uint8Array>()
  const sealing = {
    token(_: string, value: Uint8Array) {
      const text = String(sealed.size)
      sealed.set(text, value)
      return text
    },
    openToken: (_: string, text: string) => sealed.get(text),
  } as PluginSealing
  const fail = (word: string) => new HubError('internal', word)
  const place = { host: 'hub.example', origin: 'https://hub.example' }
  const challenges = new Challenges(sealing, fail)
  const text = challenges.make('reauth', place, 'ada')
  expect(challenges.open(text, 'reauth', 'ada').host).toBe('hub.example')
  expect(() => challenges.open(text, 'reauth', 'eve')).toThrow('second_factor_ended')
  expect(() => new Challenges(sealing, fail).open(text, 'reauth', 'ada')).toThrow('second_factor_ended')
  const begunMs = Date.now()
  try {
    setSystemTime(begunMs + 299_000)
    challenges.open(text, 'reauth', 'ada')
    setSystemTime(begunMs + 301_000)
    expect(() => challenges.open(text, 'reauth', 'ada')).toThrow('second_factor_ended')
  } finally {
    setSystemTime()
  }
})

test('somebody who has the password gets no further with a passkey of their own', async () => {
  const victim = await setPasskey(await hub.user('dot'))
  const mallory = await setPasskey(await hub.user('mallory'))
  const login = () => anew('/api/auth/login', { username: 'dot', password: PASSWORD })
  const { ticket } = (await login()).json.secondFactor
  const own = mallory.device.get(await ask({ ticket }))
  expect(code(await anew('/api/auth/passkeys/sign-in', { ticket, passkey: own }))).toEqual(REFUSED)
  const asVictim = { id: victim.device.id, userHandle: victim.device.get({ challenge: 'x' }).response.userHandle }
  for (let tries = 0; tries < 4; tries += 1) {
    const passkey = mallory.device.get(await ask({ ticket }), asVictim)
    expect(code(await anew('/api/auth/passkeys/sign-in', { ticket, passkey }))).toEqual(REFUSED)
  }
  // Five tries, the first one among them.
  expect(code(await anew('/api/auth/passkeys/options', { ticket }))).toEqual(ENDED)
  const next = (await login()).json.secondFactor.ticket
  const more = []
  for (let tries = 0; tries < 3; tries += 1) {
    const passkey = mallory.device.get(await ask({ ticket: next }), asVictim)
    more.push(code(await anew('/api/auth/passkeys/sign-in', { ticket: next, passkey })))
  }
  expect(more).toContainEqual([429, 'login_throttled'])
  const audit = await admin.ok('GET', '/api/admin/audit?limit=50')
  const failures = audit.items.filter((one: { action: string }) => one.action === 'sign-in.second_factor_failed')
  expect(failures.length).toBeGreaterThanOrEqual(4)
})

test('a new passkey must be made here, for this user, by a person who was recognised', async () => {
  const eve = at(await hub.user('eve'))
  const other = await setPasskey(await hub.user('flo'))
  const options = async (person = eve) => (await person.ok('POST', '/api/auth/factors/passkeys/options')).options
  const set = async (passkey: object, person = eve) =>
    code(await person.request('POST', '/api/auth/factors/passkeys', { passkey }))
  const device = new Authenticator(here())
  const wrongs: Wrong[] = [
    { origin: 'https://hub.evil.example' },
    { rpId: 'evil.example' },
    { isVerified: false },
    { crossOrigin: true },
    { format: 'packed' },
    { format: 'fido-u2f' },
  ]
  for (const wrong of wrongs)
    expect([wrong, await set(device.create(await options(), wrong))]).toEqual([wrong, REFUSED])
  const asked = await options()
  expect(await set({ ...device.create(asked), id: 'AAAA' })).toEqual(REFUSED)
  expect(await set(device.create(asked))).toEqual(ENDED)
  expect(await set(device.create(await options(other.person)))).toEqual(ENDED)
  expect(await set(device.create({ ...asked, ...(await ask()) }))).toEqual(ENDED)
  expect(await set(device.create(await options(), { id: other.device.id }))).toEqual([409, 'passkey_taken'])
  expect(await set({ ...device.create(await options()), more: 1 })).toEqual([400, 'validation_failed'])
  const large = device.create(await options())
  large.response.attestationObject = 'A'.repeat(40_000)
  expect((await set(large))[0]).toBe(413)
  expect((await anew('/api/auth/passkeys/sign-in', { passkey: large }))?.status).toBe(413)
  expect((await eve.ok('GET', '/api/auth/factors')).items).toEqual([])
  const { secret } = await eve.ok('POST', '/api/keys', { label: 'api', scopes: ['api'] })
  const byKey = new Client(here(), 'eve', secret)
  expect(code(await byKey.request('POST', '/api/auth/factors/passkeys/options'))).toEqual([403, 'insufficient_scope'])
  const byAddress = await eve.request('GET', '/api/auth/factors')
  expect(byAddress.json.passkeys).toBe(true)
  const plain = new Client(hub.url, 'eve', eve.token)
  expect((await plain.ok('GET', '/api/auth/factors')).passkeys).toBe(false)
  const refused = await plain.request('POST', '/api/auth/factors/passkeys/options')
  expect(code(refused)).toEqual([409, 'passkeys_unavailable'])
  expect(refused.json.hint).toContain('authenticator app')
})

test('a passkey is a new proof of who one is, and answers a reset link', async () => {
  const { device, person } = await setPasskey(await hub.user('gus'))
  const options = async (who: Client) => {
    const answer = await who.request('POST', '/api/auth/passkeys/options', { reauth: true })
    return answer.json.options ?? code(answer)
  }
  const { provenUntil } = await person.ok('POST', '/api/auth/reauth', { passkey: device.get(await options(person)) })
  expect(Date.parse(provenUntil) - Date.now()).toBeGreaterThan(9 * 60_000)
  const stranger = await send(here(), 'POST', '/api/auth/passkeys/options', { reauth: true })
  expect(code(stranger)).toEqual([403, 'insufficient_scope'])
  const mallory = await setPasskey(await hub.user('mallory-2'))
  const foreign = { passkey: mallory.device.get(await options(person)) }
  expect(code(await person.request('POST', '/api/auth/reauth', foreign))).toEqual(REFUSED)

  const { url } = await admin.ok('POST', '/api/admin/users/gus/reset-link')
  const reset = { token: new URL(url).hash.slice(1), newPassword: 'another sentence of his 9' }
  const { ticket } = (await anew('/api/auth/reset', reset)).json.secondFactor
  const passkey = device.get(await ask({ ticket }))
  const { secondFactor, token } = (await anew('/api/auth/passkeys/sign-in', { ticket, passkey })).json
  expect(token).toBeUndefined()
  const elsewhere = await ticketOf(hub, 'gus')
  expect(await secondStep(hub, elsewhere, secondFactor.code)).toEqual([401, 'second_factor_failed'])
  const done = await anew('/api/auth/reset', { ...reset, secondFactor })
  expect([done.status, done.json.user?.name]).toEqual([200, 'gus'])
})

test('passkeys and apps count together, and an administrator takes both away', async () => {
  const { device, person } = await setPasskey(await hub.user('hal'))
  const app = await person.ok('POST', '/api/auth/factors/totp', {})
  const confirmed = { id: app.id, code: await new App(app.secret).code() }
  expect(await person.ok('POST', '/api/auth/factors/totp/confirm', confirmed)).toEqual({})
  const items = (await person.ok('GET', '/api/auth/factors')).items
  expect(items.map(({ kind }: { kind: string }) => kind)).toEqual(['passkey', 'totp'])
  for (let more = 0; more < 8; more += 1) {
    const passkey = new Authenticator(here()).create(
      (await person.ok('POST', '/api/auth/factors/passkeys/options')).options,
    )
    await person.ok('POST', '/api/auth/factors/passkeys', { passkey })
  }
  const full = await person.request('POST', '/api/auth/factors/passkeys/options')
  expect(code(full)).toEqual([409, 'quota_factors'])
  expect(await admin.ok('DELETE', '/api/admin/users/hal/factors')).toEqual({ removed: 10 })
  expect(code(await enter(device))).toEqual(REFUSED)
  const again = await setPasskey(await hub.signIn('hal'))
  expect(again.recoveryCodes).toHaveLength(10)
  await admin.ok('PATCH', '/api/admin/users/hal', { disabled: true })
  expect(code(await enter(again.device))).toEqual(REFUSED)
})

test('one address asks for no more than for other sign-ins', async () => {
  const from = { 'x-forwarded-for': '198.51.100.7' }
  const ask = () => send(here(), 'POST', '/api/auth/passkeys/options', {}, from)
  const statuses = new Set<number>()
  for (let sent = 0; sent < 400 && !statuses.has(429); sent += 20)
    for (const { status } of await Promise.all(Array.from({ length: 20 }, ask))) statuses.add(status)
  expect([...statuses].sort()).toEqual([200, 429])
})
