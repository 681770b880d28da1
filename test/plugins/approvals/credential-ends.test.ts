/** A request ends when the credential of its caller ends: a connected app's grant, a sign-in or a key. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
import { online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { type Payments, startPayments } from './payments.ts'

setDefaultTimeout(120_000)

const THEN = 'then'
const PATH = '/mcp/@bob/bank'
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
let hub: Hub
let bob: Client
let una: Client
let app: RawOAuth
let payments: Payments
let amount = 0
let laterMs = 0

beforeAll(async () => {
  payments = startPayments()
  const plugins = [{ use: 'approvals', config: { holdSeconds: 1 } }]
  hub = await startHub({ shiftedClock: true, env: LOOPBACK, settings: { plugins, mcpServers: {} } })
  await hub.setup()
  bob = await hub.user('bob')
  una = await hub.user('una')
  await bob.ok('POST', '/api/servers', { name: 'bank', url: payments.url })
  await bob.ok('PUT', '/api/servers/bank/approvals', { rules: [{ [THEN]: 'ask', timeout: '24h' }] })
  await bob.ok('PUT', '/api/servers/bank/shares/user:una', { role: 'use' })
  await online(bob, ['bank'])
  app = await new RawOAuth(hub.url).register()
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await payments?.stop()
}, 120_000)

async function wait(ms: number): Promise<void> {
  laterMs += ms
  await hub.moveClock(laterMs)
  bob = await hub.signIn('bob')
}

const idIn = (answer: unknown) => {
  const text = JSON.stringify(answer)
  expect(text).toContain('approval_pending')
  return /\/approvals\/([\w-]+)/.exec(text)?.[1] ?? ''
}
/** A call by MCP that waits, and the id of its request. */
async function waits(token: string, sum = ++amount): Promise<string> {
  const { result, error } = await new RawModern(hub, PATH, token).call('tools/call', {
    ...{ name: 'pay_owner', arguments: { amount: sum } },
  })
  return idIn(error ?? result)
}
/** The same over REST. */
const waitsOverRest = async (who: Client, sum = ++amount) =>
  idIn((await who.request('POST', '/api/servers/bob~bank/tools/pay_owner/call', { arguments: { amount: sum } })).json)
const one = (id: string) => bob.ok('GET', `/api/approvals/${id}`)
const stateOf = async (id: string) => {
  const { state, reason } = await one(id)
  return [state, reason]
}
const ENDED = ['expired', 'access_ended']
const PENDING = ['pending', undefined]
const ended = async (id: string) =>
  expect(
    await until(async () => ((await one(id)).state === 'pending' ? undefined : stateOf(id)), { what: 'the end' }),
  ).toEqual(ENDED)
const grants = async (who: Client): Promise<{ id: string }[]> => (await who.ok('GET', '/api/oauth/grants')).items

test('of a connected app whose grant is taken back, and not of another one of the same user', async () => {
  const first = await waits((await app.tokens(una, PATH)).access_token)
  const [{ id: grant } = { id: '' }] = await grants(una)
  const other = await waits((await app.tokens(una, PATH)).access_token)
  await una.ok('DELETE', `/api/oauth/grants/${grant}`)
  await ended(first)
  expect(await stateOf(other)).toEqual(PENDING)
  const [{ id: rest } = { id: '' }] = await grants(una)
  await una.ok('DELETE', `/api/oauth/grants/${rest}`)
  await ended(other)
  expect(payments.paid(amount)).toBe(0)
})

test('of a sign-in that is signed out, by itself or from another one', async () => {
  const [own, foreign] = [await hub.signIn('una'), await hub.signIn('una')]
  const ids = [await waitsOverRest(own), await waitsOverRest(foreign)] as const
  const { items } = await foreign.ok('GET', '/api/auth/sign-ins')
  await own.ok('POST', '/api/auth/logout')
  await ended(ids[0])
  expect(await stateOf(ids[1])).toEqual(PENDING)
  const { id } = items.find(({ current }: { current: boolean }) => current)
  await una.ok('DELETE', `/api/auth/sign-ins/${id}`)
  await ended(ids[1])
})

test('not while another credential of the user waits for the same call', async () => {
  const sum = ++amount
  const mine = await hub.signIn('una')
  const { id: keyId, secret } = await una.ok('POST', '/api/keys', { label: 'one of two', scopes: ['mcp', 'api'] })
  const key = new Client(hub.url, 'una', secret)
  const id = await waitsOverRest(key, sum)
  expect(await waitsOverRest(mine, sum)).toBe(id)
  const alone = await waitsOverRest(key)
  await una.ok('DELETE', `/api/keys/${keyId}`)
  await ended(alone)
  expect(await stateOf(id)).toEqual(PENDING)
  await mine.ok('POST', '/api/auth/logout')
  await ended(id)
})

test('with the end of a key, a sign-in and a grant, and not with that of an access token', async () => {
  const soon = new Date(Date.now() + laterMs + 30 * MINUTE).toISOString()
  const { secret } = await una.ok('POST', '/api/keys', { label: 'short', scopes: ['mcp'], expiresAt: soon })
  const ofKey = await waits(secret)
  const ofGrant = await waits((await app.tokens(una, PATH)).access_token)
  const ofSignIn = await waitsOverRest(await hub.signIn('una'))
  await wait(2 * HOUR)
  await ended(ofKey)
  expect([await stateOf(ofGrant), await stateOf(ofSignIn)]).toEqual([PENDING, PENDING])
  await wait(11 * HOUR)
  await ended(ofSignIn)
  expect(await stateOf(ofGrant)).toEqual(PENDING)
})

test('with a grant that is over, within the time of the request', async () => {
  let { refresh_token: refresh } = await app.tokens(await hub.signIn('una'), PATH)
  let token = ''
  for (const days of [29, 29, 29, 29, 29, 29, 6]) {
    await wait(days * DAY - (days === 6 ? HOUR : 0))
    const { body } = await app.refresh(refresh)
    ;({ refresh_token: refresh, access_token: token } = body)
  }
  const id = await waits(token)
  expect(await stateOf(id)).toEqual(PENDING)
  await wait(HOUR + MINUTE)
  await ended(id)
})
