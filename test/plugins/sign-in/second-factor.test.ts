/** Codes of an app at sign-in: how they are set and used, and what somebody who has only a part of them cannot do. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { base32, codeAt, keyUri, stepOf } from '../../../plugins/sign-in/totp.ts'
import { Tries } from '../../../plugins/sign-in/tries.ts'
import { Client, type Hub, PASSWORD, send, startHub } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
import { App, type Guarded, PROXY, secondStep, sendAnew, setApp, ticketOf } from './app.ts'

let hub: Hub
let admin: Client
let ada: Guarded

beforeAll(async () => {
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
  ada = await setApp(hub, await hub.user('ada'))
}, 60_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

const SIGNED_IN = [200, 'signed in'] as [number, string]
const FAILED = [401, 'second_factor_failed'] as [number, string]
const ENDED = [401, 'second_factor_ended'] as [number, string]

async function refused(person: Client, method: string, path: string, body?: unknown): Promise<unknown[]> {
  const { status, json } = await person.request(method, path, body)
  return [status, json.code]
}

test('codes are those of RFC 6238, one step early or late', () => {
  const secret = base32(new TextEncoder().encode('12345678901234567890'))
  const vector = { 1111111109: '081804', 1234567890: '005924', 20000000000: '353130' }
  for (const [seconds, code] of Object.entries(vector)) {
    const step = Math.floor(Number(seconds) / 30)
    expect(codeAt(secret, step)).toBe(code)
    const taken = [-31, -30, 0, 30, 60].map(off => stepOf(secret, code, 1_000 * (30 * step + off)))
    expect(taken).toEqual([undefined, step, step, step, undefined])
  }
  expect(keyUri(secret, 'hub.example', 'ada b')).toStartWith('otpauth://totp/hub.example:ada%20b?secret=GEZDGNBV')
})

test('the password opens no session, and the code does, once', async () => {
  const answer = await sendAnew(hub, '/api/auth/login', { username: 'ada', password: PASSWORD })
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.json)).toEqual(['secondFactor'])
  expect(answer.json.secondFactor.methods).toEqual(['totp', 'recovery'])
  const { ticket } = answer.json.secondFactor
  expect(await refused(new Client(hub.url, 'ada', ticket), 'GET', '/api/auth/me')).toEqual([401, 'token_invalid'])
  expect(await secondStep(hub, ticket, ada.app.wrong())).toEqual(FAILED)
  const code = await ada.app.code()
  const { status, json } = await sendAnew(hub, '/api/auth/second-factor', { ticket, code })
  expect([status, json.user.name]).toEqual([200, 'ada'])
  expect((await new Client(hub.url, 'ada', json.token).ok('GET', '/api/auth/me')).name).toBe('ada')
  expect(await secondStep(hub, ticket, await ada.app.code())).toEqual(ENDED)
  expect(await secondStep(hub, await ticketOf(hub, 'ada'), code)).toEqual(FAILED)
}, 60_000)

test('an app whose setting was not finished gives no codes for sign-ins', async () => {
  const { secret } = await ada.person.ok('POST', '/api/auth/factors/totp', {})
  expect(await secondStep(hub, await ticketOf(hub, 'ada'), await new App(secret).code())).toEqual(FAILED)
  expect((await ada.person.ok('GET', '/api/auth/factors')).items).toHaveLength(1)
})

test('a ticket ends with the sign-ins of its user', async () => {
  const rex = await setApp(hub, await hub.user('rex'))
  await admin.ok('PATCH', '/api/admin/users/rex', { role: 'admin' })
  const ticket = await ticketOf(hub, 'rex')
  // Fewer rights end what was signed in before.
  await admin.ok('PATCH', '/api/admin/users/rex', { role: 'user' })
  expect(await secondStep(hub, ticket, await rex.app.code())).toEqual(ENDED)
})

test('a recovery code is for one sign-in, however it is written', async () => {
  const [code] = ada.recoveryCodes.splice(0, 1) as [string]
  expect(code).toMatch(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/)
  expect(await secondStep(hub, await ticketOf(hub, 'ada'), ` ${code.toUpperCase().replaceAll('-', ' ')} `)).toEqual(
    SIGNED_IN,
  )
  expect(await secondStep(hub, await ticketOf(hub, 'ada'), code)).toEqual(FAILED)
  expect((await ada.person.ok('GET', '/api/auth/factors')).recoveryCodes).toBe(9)
  const files = ['patchbay.db', 'patchbay.db-wal'].map(name => Bun.file(`${hub.dataDir}/${name}`).bytes())
  for (const bytes of await Promise.all(files))
    for (const secret of [code, code.replaceAll('-', ''), ada.app.secret])
      expect(Buffer.from(bytes).includes(secret)).toBe(false)
})

test('tokens from before the factor end, and the answer of setting it holds a new one', async () => {
  const before = await hub.user('bo')
  const key = await before.mcpKey()
  const { id } = await before.ok('POST', '/api/auth/factors/totp', {})
  expect(await refused(before, 'POST', '/api/auth/factors/totp/confirm', { id, code: '12345a' })).toEqual(FAILED)
  expect((await before.ok('GET', '/api/auth/factors')).items).toEqual([])
  const bo = await setApp(hub, before)
  expect(await refused(before, 'GET', '/api/auth/me')).toEqual([401, 'token_revoked'])
  expect(await refused(before, 'POST', '/api/auth/refresh')).toEqual([401, 'token_revoked'])
  const { items, recoveryCodes, required } = await bo.person.ok('GET', '/api/auth/factors')
  expect([items.length, recoveryCodes, required]).toEqual([1, 10, false])
  expect((await send(hub.url, 'GET', '/api/auth/me', undefined, { authorization: `Bearer ${key}` })).status).toBe(403)
})

test('a ticket has five tries, and parallel ones count', async () => {
  const cy = await setApp(hub, await hub.user('cy'))
  const ticket = await ticketOf(hub, 'cy')
  const [right] = cy.recoveryCodes as [string]
  const wrong = right.replaceAll(/[a-z]/g, letter => (letter === 'a' ? 'b' : 'a'))
  const answers = await Promise.all(Array.from({ length: 12 }, () => secondStep(hub, ticket, wrong)))
  expect(answers.filter(([, code]) => code === 'second_factor_failed')).toHaveLength(5)
  expect(answers.filter(([status]) => status === 200)).toEqual([])
  expect(await secondStep(hub, ticket, right)).toEqual(ENDED)
  // The user's failures count whatever the ticket.
  const next = await ticketOf(hub, 'cy')
  const more = await Promise.all(Array.from({ length: 4 }, () => secondStep(hub, next, wrong)))
  expect(more).toContainEqual([429, 'login_throttled'])
  expect(more.filter(([, code]) => code === 'second_factor_failed').length).toBeLessThan(3)
  expect(await secondStep(hub, next, await cy.app.code())).toEqual(SIGNED_IN)
})

test('of equal answers at once one signs in', async () => {
  const dot = await setApp(hub, await hub.user('dot'))
  const tickets = await Promise.all([1, 2, 3, 4].map(() => ticketOf(hub, 'dot')))
  const code = await dot.app.code()
  const answers = await Promise.all(tickets.map(ticket => secondStep(hub, ticket, code)))
  expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
  const [ticket] = [await ticketOf(hub, 'dot')]
  const [one, two] = dot.recoveryCodes as [string, string]
  const twice = await Promise.all([one, two].map(each => secondStep(hub, ticket, each)))
  expect(twice.filter(([status]) => status === 200)).toHaveLength(1)
})

test('the wait after failures doubles to an hour, and a success forgets it', () => {
  let now = 0
  const tries = new Tries(() => now)
  const waits: number[] = []
  for (let failures = 0; failures < 20; failures += 1) {
    const begunMs = now
    for (;;) {
      try {
        tries.begin('x')
        break
      } catch {
        now += 1_000
      }
    }
    waits.push((now - begunMs) / 1_000)
  }
  expect(waits.slice(0, 9)).toEqual([0, 0, 0, 0, 0, 1, 2, 4, 8])
  expect(waits.at(-1)).toBe(3_600)
  now += 3_600_000
  tries.begin('x')()
  tries.begin('x')
})

test('a ticket of one user or purpose is no use for another', async () => {
  const eve = await setApp(hub, await hub.user('eve'))
  const { secondFactor } = await eve.person.ok('POST', '/api/auth/reauth', { password: PASSWORD })
  const [one, two] = eve.recoveryCodes as [string, string]
  expect(await secondStep(hub, secondFactor.ticket, one)).toEqual(ENDED)
  const body = { ticket: secondFactor.ticket, code: one }
  expect(await refused(ada.person, 'POST', '/api/auth/reauth', body)).toEqual(ENDED)
  expect(await secondStep(hub, await ticketOf(hub, 'ada'), one)).toEqual(FAILED)
  const signIn = { ticket: await ticketOf(hub, 'eve'), code: two }
  expect(await refused(eve.person, 'POST', '/api/auth/reauth', signIn)).toEqual(ENDED)
  for (const ticket of ['x', secondFactor.ticket.slice(0, -4)])
    expect(await secondStep(hub, ticket, one)).toEqual(ENDED)
  expect(await refused(eve.person, 'POST', '/api/auth/reauth', {})).toEqual([400, 'validation_failed'])
  const wrong = await refused(eve.person, 'POST', '/api/auth/reauth', { password: `${PASSWORD} not` })
  expect(wrong).toEqual([403, 'password_mismatch'])
  const { provenUntil } = await eve.person.ok('POST', '/api/auth/reauth', body)
  expect(Date.parse(provenUntil) - Date.now()).toBeGreaterThan(9 * 60_000)
})

test('an access key and an OAuth grant change no factor', async () => {
  const { secret } = await ada.person.ok('POST', '/api/keys', { label: 'api', scopes: ['api'] })
  const [item] = (await ada.person.ok('GET', '/api/auth/factors')).items
  const app = await new RawOAuth(hub.url).register()
  const { access_token } = (await app.tokens(ada.person, '/mcp')) as { access_token: string }
  const writes = [
    ['POST', '/api/auth/factors/totp', {}],
    ['POST', '/api/auth/factors/totp/confirm', { id: 'x', code: '123456' }],
    ['POST', '/api/auth/factors/recovery-codes'],
    ['DELETE', `/api/auth/factors/${item.id}`],
    ['POST', '/api/auth/reauth', { password: PASSWORD }],
  ] as const
  for (const [method, path, body] of writes) {
    expect(await refused(new Client(hub.url, 'ada', secret), method, path, body)).toEqual([403, 'insufficient_scope'])
    const byGrant = await refused(new Client(hub.url, 'ada', access_token), method, path, body)
    expect(byGrant).toEqual([401, 'token_wrong_audience'])
  }
})

test('others have no part in it', async () => {
  const flo = await hub.user('flo')
  const [item] = (await ada.person.ok('GET', '/api/auth/factors')).items
  expect(await refused(flo, 'DELETE', `/api/auth/factors/${item.id}`)).toEqual([404, 'factor_not_found'])
  expect(await refused(flo, 'POST', '/api/auth/factors/recovery-codes')).toEqual([404, 'factor_not_found'])
  expect(await refused(flo, 'DELETE', '/api/admin/users/ada/factors')).toEqual([403, 'admin_only'])
  const { id } = await ada.person.ok('POST', '/api/auth/factors/totp', {})
  expect(await refused(flo, 'POST', '/api/auth/factors/totp/confirm', { id, code: '123456' })).toEqual([
    ...[404, 'factor_not_found'],
  ])
})

test('a reset link asks for the code, and changes nothing before', async () => {
  const gus = await setApp(hub, await hub.user('gus'))
  const { url } = await admin.ok('POST', '/api/admin/users/gus/reset-link')
  const [token, newPassword] = [new URL(url).hash.slice(1), 'another sentence of his 9']
  const reset = (body: object = {}) => sendAnew(hub, '/api/auth/reset', { token, newPassword, ...body })
  const first = await reset()
  expect([first.status, Object.keys(first.json)]).toEqual([200, ['secondFactor']])
  const { ticket } = first.json.secondFactor
  const wrong = await reset({ secondFactor: { ticket, code: gus.app.wrong() } })
  expect([wrong.status, wrong.json.code]).toEqual(FAILED)
  expect(await secondStep(hub, ticket, await gus.app.code())).toEqual(ENDED)
  expect((await gus.person.ok('GET', '/api/auth/me')).name).toBe('gus')
  await ticketOf(hub, 'gus')
  const [code] = gus.recoveryCodes as [string]
  const foreign = await reset({ secondFactor: { ticket: await ticketOf(hub, 'gus'), code } })
  expect([foreign.status, foreign.json.code]).toEqual(ENDED)
  const done = await reset({ secondFactor: { ticket, code } })
  expect([done.status, done.json.user?.name]).toEqual([200, 'gus'])
  expect(await refused(gus.person, 'GET', '/api/auth/me')).toEqual([401, 'token_revoked'])
  await ticketOf(hub, 'gus', newPassword)
  const again = await reset()
  expect([again.status, again.json.code]).toEqual([403, 'reset_link_invalid'])
})

test('one removes a factor, and an administrator those of somebody who has lost the app', async () => {
  const hal = await setApp(hub, await hub.user('hal'))
  const second = await hal.person.ok('POST', '/api/auth/factors/totp', { label: 'Tablet' })
  const code = await new App(second.secret).code()
  expect(await hal.person.ok('POST', '/api/auth/factors/totp/confirm', { id: second.id, code })).toEqual({})
  const { recoveryCodes } = await hal.person.ok('POST', '/api/auth/factors/recovery-codes')
  expect(await secondStep(hub, await ticketOf(hub, 'hal'), hal.recoveryCodes[0] as string)).toEqual(FAILED)
  expect(await secondStep(hub, await ticketOf(hub, 'hal'), recoveryCodes[0])).toEqual(SIGNED_IN)
  for (const { id } of (await hal.person.ok('GET', '/api/auth/factors')).items)
    await hal.person.ok('DELETE', `/api/auth/factors/${id}`)
  const again = await setApp(hub, await hub.signIn('hal'))
  expect((await again.person.ok('GET', '/api/auth/factors')).items).toHaveLength(1)
  const ticket = await ticketOf(hub, 'hal')
  expect(await admin.ok('DELETE', '/api/admin/users/hal/factors')).toEqual({ removed: 1 })
  expect(await refused(again.person, 'GET', '/api/auth/me')).toEqual([401, 'token_revoked'])
  expect(await secondStep(hub, ticket, again.recoveryCodes[0] as string)).toEqual(ENDED)
  await hub.signIn('hal')
  const { items } = await admin.ok('GET', '/api/admin/audit?limit=200')
  const actions = items
    .filter((one: { target: string }) => one.target === 'hal')
    .map((one: { action: string }) => one.action)
  for (const word of [
    'factor_added',
    'factor_removed',
    'recovery_codes_made',
    'second_factor_failed',
    'factors_removed',
  ])
    expect(actions).toContain(`sign-in.${word}`)
  expect(await refused(admin, 'DELETE', '/api/admin/users/nobody/factors')).toEqual([404, 'user_not_found'])
})

test('a user has as many factors as the limit says', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { limits: { factorsPerUser: 1 } })
  expect(await refused(ada.person, 'POST', '/api/auth/factors/totp', {})).toEqual([409, 'quota_factors'])
})
