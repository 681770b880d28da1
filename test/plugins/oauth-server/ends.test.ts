/** Codes, requests, tokens and grants end when they should: the dates of the hub are moved. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { RawOAuth, requestAt } from '../../support/oauth.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { inFlight, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { INITIALIZE, sendMcp } from './site.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

let hub: Hub
let ada: Client
let app: RawOAuth
let laterMs = 0

beforeAll(async () => {
  hub = await startHub({ shiftedClock: true })
  const admin = await hub.setup()
  ada = await hub.user('ada')
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/servers', { name: 'slow', visibility: 'public', ...stdioFixture('slow') })
  await online(admin, ['echo', 'slow'])
  await ada.ok('POST', '/api/groups', { name: 'a', members: [{ server: 'admin~echo' }] })
  await ada.ok('POST', '/api/groups', { name: 's', members: [{ server: 'admin~slow' }] })
  app = await new RawOAuth(hub.url).register()
}, 60_000)
afterAll(() => hub?.stop(), 60_000)

async function wait(ms: number): Promise<void> {
  laterMs += ms
  await hub.moveClock(laterMs)
}

/** Tokens of a new sign-in; the person's own session may have ended meanwhile. */
async function tokens(path = '/mcp/a') {
  ada = await hub.signIn('ada')
  return app.tokens(ada, path)
}

/** The tokens of a grant that ends after this time. */
async function nearlyOver(path: string, leftMs: number) {
  let last = await tokens(path)
  for (const days of [29, 29, 29, 29, 29, 29, 6]) {
    await wait(days * DAY - (days === 6 ? leftMs : 0))
    last = (await app.refresh(last.refresh_token)).body
  }
  return last
}

const opens = async (token: string) => (await sendMcp(hub, '/mcp/a', token, INITIALIZE)).status

test('a code lives 60 seconds', async () => {
  const [early, late] = [await app.code(ada, '/mcp/a'), await app.code(ada, '/mcp/a')]
  await wait(58 * SECOND)
  expect((await app.redeem(early)).status).toBe(200)
  await wait(3 * SECOND)
  const { status, body } = await app.redeem(late)
  expect([status, body.error, body.error_description]).toEqual([400, 'invalid_grant', 'The code has expired'])
})

test('a code that was used is known for ten minutes more, in which its second use ends the grant', async () => {
  const code = await app.code(ada, '/mcp/a')
  const { body } = await app.redeem(code)
  await wait(9 * MINUTE)
  expect((await app.redeem(code)).body.error_description).toContain('has ended')
  expect((await app.refresh(body.refresh_token)).body.error).toBe('invalid_grant')
})

test('a request waits ten minutes for its user', async () => {
  const [early, late] = [await requestAt(app.url('/mcp/a')), await requestAt(app.url('/mcp/a'))]
  await wait(10 * MINUTE - 5 * SECOND)
  const decide = (request: string) => ada.request('POST', '/api/oauth/decisions', { request, allow: true })
  expect((await decide(early)).status).toBe(200)
  await wait(6 * SECOND)
  for (const answer of [await decide(late), await ada.request('POST', '/api/oauth/requests', { request: late })])
    expect([answer.status, answer.json.code]).toEqual([400, 'flow_unknown'])
})

test('the refresh token before the present one is answered for 60 seconds, and ends the grant after them', async () => {
  const first = await tokens()
  const second = await app.refresh(first.refresh_token)
  await wait(58 * SECOND)
  const again = await app.refresh(first.refresh_token)
  expect([again.status, again.body.refresh_token]).toEqual([200, second.body.refresh_token])
  await wait(3 * SECOND)
  expect((await app.refresh(first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await app.refresh(second.body.refresh_token)).body.error).toBe('invalid_grant')
  expect(await opens(second.body.access_token)).toBe(401)
})

test('an access token lives an hour, and a refresh gives the next one', async () => {
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = await tokens()
  expect(seconds).toBe(3_600)
  await wait(HOUR - 5 * SECOND)
  expect(await opens(access)).toBe(200)
  await wait(12 * SECOND)
  const refused = await sendMcp(hub, '/mcp/a', access, INITIALIZE)
  expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('token_expired')])
  const next = await app.refresh(refresh)
  expect([next.status, await opens(next.body.access_token)]).toEqual([200, 200])
})

test('a grant ends after 30 days without use', async () => {
  const first = await tokens()
  await wait(30 * DAY - MINUTE)
  const second = await app.refresh(first.refresh_token)
  expect(second.status).toBe(200)
  // A use of the access token counts too.
  await wait(30 * MINUTE)
  expect(await opens(second.body.access_token)).toBe(200)
  await wait(30 * DAY - MINUTE)
  const third = await app.refresh(second.body.refresh_token)
  expect(third.status).toBe(200)
  await wait(30 * DAY + MINUTE)
  expect((await app.refresh(third.body.refresh_token)).body.error).toBe('invalid_grant')
  ada = await hub.signIn('ada')
  expect((await ada.ok('GET', '/api/oauth/grants')).items).toEqual([])
})

test('a grant ends after 180 days in any case', async () => {
  const last = await nearlyOver('/mcp/a', HOUR)
  expect(await opens(last.access_token)).toBe(200)
  await wait(HOUR + MINUTE)
  expect((await app.refresh(last.refresh_token)).body.error).toBe('invalid_grant')
  expect(await opens(last.access_token)).toBe(401)
})

test('streams and calls in flight end with a grant that is over, though the access token is valid for longer', async () => {
  const { access_token: access, expires_in: seconds } = await nearlyOver('/mcp/s', HOUR / 2)
  expect(seconds).toBe(3_600)
  const legacy = await new RawClient(hub, '/mcp/s', access).open()
  const modern = new RawModern(hub, '/mcp/s', access)
  const long = { name: 'wait', arguments: { ms: 600_000 } }
  const streams = [
    new SseReader(await legacy.get()),
    new SseReader(await modern.send('subscriptions/listen', { notifications: { toolsListChanged: true } })),
  ]
  const calls = [legacy.send('tools/call', long), modern.send('tools/call', long)]
  ada = await hub.signIn('ada')
  await inFlight(ada, 2)
  const ended = new Set<number>()
  const ends = [
    ...streams.map(async reader => {
      while (await reader.event());
    }),
    ...calls.map(async call => void (await (await call).text())),
  ].map((end, at) => end.then(() => ended.add(at)))
  await wait(HOUR / 2 + MINUTE)
  await until(() => ended.size === ends.length, { what: 'the ends of streams and calls' })
  expect((await modern.call('tools/list')).status).toBe(401)
})
