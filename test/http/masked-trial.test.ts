import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { expectWell } from './rows.ts'

const SECRET = 'Bearer of-the-owner-1f3c'
/** As the API shows it. */
const MASK = '••••1f3c'
let hub: Hub
let admin: Client
let alice: Client
let bob: Client
/** An upstream that notes what credential each request had. */
let upstream: Bun.Server<undefined>
let elsewhere: Bun.Server<undefined>
const seen: (string | null)[] = []

beforeAll(async () => {
  const notes = (request: Request): Response => {
    seen.push(request.headers.get('authorization'))
    return new Response('no MCP here', { status: 404 })
  }
  upstream = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: notes })
  elsewhere = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: notes })
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  await alice.ok('POST', '/api/servers', {
    ...{ name: 's', url: `${upstream.url}`, enabled: false, visibility: 'public' },
    headers: { Authorization: SECRET, 'x-plain': 'v' },
  })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await Promise.all([upstream?.stop(true), elsewhere?.stop(true)])
}, 120_000)

const trial = (who: Client, more: object = {}) =>
  who.request('POST', '/api/servers/test', {
    ...{ name: 's', url: `${upstream.url}`, headers: { Authorization: MASK }, ...more },
  })

describe('a trial with the mask of a stored secret', () => {
  test('connects with the secret for the owner, also where the address is another one', async () => {
    for (const url of [`${upstream.url}`, `${elsewhere.url}x`]) {
      seen.length = 0
      const answer = await trial(alice, { url })
      expect([answer.status, answer.json.ok]).toEqual([200, false])
      expect(seen.length).toBeGreaterThan(0)
      expect(new Set(seen)).toEqual(new Set([SECRET]))
      expect(answer.text).not.toContain('of-the-owner')
    }
  })

  test('and for an administrator at the same address alone', async () => {
    seen.length = 0
    expect((await trial(admin, { owner: 'alice' })).status).toBe(200)
    expect(new Set(seen)).toEqual(new Set([SECRET]))
    seen.length = 0
    const moved = await trial(admin, { owner: 'alice', url: `${elsewhere.url}` })
    expect([moved.status, moved.json.errors]).toMatchObject([
      400,
      [{ code: 'secret_required', pointer: '#/headers/Authorization' }],
    ])
    const own = await trial(admin, { owner: 'admin' })
    expect([own.status, own.json.errors]).toMatchObject([400, [{ code: 'secret_mask' }]])
    expect(seen).toEqual([])
  })

  test.each([
    ['by somebody who only sees the server', () => trial(bob)],
    ['by its full name too', () => trial(bob, { name: 'alice~s' })],
    ['under another name', () => trial(alice, { name: 'other' })],
    ['under no name', () => trial(alice, { name: undefined })],
    ['in another field', () => trial(alice, { headers: { 'x-plain': MASK } })],
    ['that is another one', () => trial(alice, { headers: { Authorization: '••••ffff' } })],
  ])('%s is secret_mask, and nothing is sent', async (_what, ask) => {
    seen.length = 0
    const answer = await ask()
    expect([answer.status, answer.json.code]).toEqual([400, 'validation_failed'])
    expect(answer.json.errors.map((error: { code: string }) => error.code)).toContain('secret_mask')
    expect(answer.text).not.toContain('of-the-owner')
    expect(seen).toEqual([])
    await expectWell(hub)
  })

  test('saves nothing', async () => {
    const { items } = await alice.ok('GET', '/api/servers?scope=mine')
    expect(items.map((item: { name: string }) => item.name)).toEqual(['s'])
    expect(await alice.ok('GET', '/api/servers/s')).toMatchObject({ revision: 1, headers: { Authorization: MASK } })
  })
})
