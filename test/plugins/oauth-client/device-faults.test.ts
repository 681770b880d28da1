/** Sign-in by a code at issuers that answer late, wrongly, or with too much, and users who ask for too many. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

let server: ScriptedIssuer
let issuer: ScriptedIssuer
let hub: Hub
let root: Client
let ada: Client
let bob: Client

beforeAll(async () => {
  server = new ScriptedIssuer()
  issuer = new ScriptedIssuer()
  server.raw = () => Response.json({ resource: `${server.url}/mcp`, authorization_servers: [issuer.url] })
  issuer.metadata = { device_authorization_endpoint: `${issuer.url}/device` }
  hub = await startHub({ env: LOOPBACK })
  root = await hub.setup()
  ada = await hub.user('ada')
  bob = await hub.user('bob')
  await add('notes')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await Promise.all([server?.stop(), issuer?.stop()])
}, 120_000)

const add = (name: string, oauth: object = { grant: 'device' }) =>
  ada.ok('POST', '/api/servers', { name, url: `${server.url}/mcp`, oauth, visibility: 'public' })
const request = (client: Client, name = 'notes') => client.request('POST', `/api/servers/ada~${name}/connect`, {})
const begin = async (client: Client, name = 'notes') => (await request(client, name)).json
const stateOf = async (client: Client, flow: string) => client.ok('GET', `/api/connections/flows/${flow}`)
const refuse = (error: string) => () => Response.json({ error }, { status: 400 })
const polls = () => issuer.bodies.filter(body => body.get('grant_type')?.endsWith(':device_code')).length

async function outcome(client: Client, flow: string) {
  const isOver = async () => {
    const found = await stateOf(client, flow)
    return found.state !== 'waiting' && found
  }
  return until(isOver, { timeoutMs: 20_000, what: 'the sign-in to end' })
}

/** A user of their own, so that no test uses up the starts of another. */
let people = 0
async function somebody(): Promise<Client> {
  people += 1
  return hub.user(`user-${people}`)
}

test('an issuer that is down, asks to wait, and still waits is asked again until it gives tokens', async () => {
  const answers = [
    () => new Response('down', { status: 503 }),
    refuse('authorization_pending'),
    () => Response.json({ access_token: 'scripted', token_type: 'Bearer', expires_in: 3_600 }),
  ]
  issuer.token = () => (answers.shift() ?? refuse('server_error'))()
  const { flow, interval } = await begin(ada)
  expect(interval).toBe(1)
  expect((await outcome(ada, flow)).state).toBe('done')
  expect(answers).toEqual([])
  const [last] = issuer.bodies.slice(-1)
  expect(last?.get('device_code')).toBe('device-code-51c2')
  const said = [
    JSON.stringify(await stateOf(ada, flow)),
    (await ada.request('GET', '/api/connections')).text,
    hub.log(),
  ]
  expect(said.filter(text => text.includes('device-code-51c2'))).toEqual([])
}, 30_000)

test('slow_down is obeyed from then on', async () => {
  const times: number[] = []
  issuer.token = () => {
    times.push(Date.now())
    return refuse(times.length === 1 ? 'slow_down' : 'access_denied')()
  }
  const client = await somebody()
  const { flow } = await begin(client)
  expect(await outcome(client, flow)).toMatchObject({ state: 'failed', code: 'sign_in_denied' })
  // One second and five more; a busy test may have noticed the first question late.
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(4_000)
}, 30_000)

test.each([
  ['the issuer says so', 600, 'expired_token', 'flow_expired'],
  ['its time is over', 2, 'authorization_pending', 'flow_expired'],
  ['the client is none', 600, 'invalid_client', 'client_refused'],
] as const)('a code ends when %s', async (_, expires_in, error, code) => {
  issuer.device = () => Response.json(issuer.deviceCode({ expires_in }))
  issuer.token = refuse(error)
  const client = await somebody()
  const { flow } = await begin(client)
  const failed = await outcome(client, flow)
  expect(failed).toMatchObject({ state: 'failed', code })
  expect(failed.userCode).toBeUndefined()
})

test.each([
  ['has control characters', { user_code: 'AB\u001b[2J\r\n' }, 'issuer_unusable'],
  ['turns the direction of the text', { user_code: '\u202eTHJM-BJDW' }, 'issuer_unusable'],
  ['is long', { user_code: 'x'.repeat(65) }, 'issuer_unusable'],
  ['is missing', { user_code: undefined }, 'issuer_unusable'],
  ['cannot be sent back', { device_code: 'x'.repeat(5_000) }, 'issuer_unusable'],
  ['is entered at a script', { verification_uri: 'javascript:alert(1)' }, 'issuer_unusable'],
  ['is entered without encryption', { verification_uri: 'http://evil.example/' }, 'issuer_unusable'],
  ['has no end', { expires_in: 0 }, 'issuer_unusable'],
  ['comes with megabytes', { padding: 'x'.repeat(3_000_000) }, 'issuer_unreachable'],
] as const)('a code that %s is not shown', async (_, members, code) => {
  issuer.device = () => Response.json(issuer.deviceCode(members))
  const client = await somebody()
  const { json, text } = await request(client)
  expect([json.code, text.length < 1_000]).toEqual([code, true])
})

test('no interval, a life of years and a page with the code at another host are not taken as they are', async () => {
  const others = {
    interval: 0,
    expires_in: 1e9,
    verification_uri_complete: 'https://evil.example/?user_code=WDJB-MJHT',
  }
  issuer.device = () => Response.json(issuer.deviceCode(others))
  const begun = await begin(await somebody())
  expect([begun.interval, begun.verificationUriComplete]).toEqual([5, undefined])
  expect(Date.parse(begun.expiresAt) - Date.now()).toBeLessThanOrEqual(1_800_000)
})

test('a page that is not the issuer’s is for servers of the user and of administrators alone', async () => {
  issuer.device = () => Response.json(issuer.deviceCode({ verification_uri: 'https://github.com/login/device' }))
  const refused = await request(await somebody())
  expect([refused.status, refused.json.code]).toEqual([400, 'issuer_unusable'])
  expect(refused.json.detail).toContain('https://github.com')
  const own = await begin(ada)
  expect([own.verificationUri, own.issuer]).toEqual(['https://github.com/login/device', issuer.url])
  const place = { name: 'common', url: `${server.url}/mcp`, oauth: { grant: 'device' }, visibility: 'public' }
  await root.ok('POST', '/api/servers', place)
  const client = await somebody()
  expect((await client.request('POST', '/api/servers/admin~common/connect', {})).status).toBe(201)
})

test('an issuer that refuses, and one that gives no codes', async () => {
  issuer.device = refuse('unauthorized_client')
  expect((await request(await somebody())).json.code).toBe('client_refused')
  issuer.device = refuse('invalid_scope')
  expect((await request(await somebody())).json.code).toBe('sign_in_denied')
  issuer.metadata = {}
  expect((await request(await somebody())).json.code).toBe('issuer_unusable')
  issuer.metadata = { device_authorization_endpoint: 'http://evil.example/device' }
  expect((await request(await somebody())).json.code).toBe('issuer_unusable')
  issuer.metadata = { device_authorization_endpoint: `${issuer.url}/device`, registration_endpoint: undefined }
  const fresh = await somebody()
  await ada.ok('POST', '/api/servers', {
    ...{ name: 'alone', url: `${server.url}/mcp`, visibility: 'public' },
    oauth: { grant: 'device', clientId: 'mine', issuer: issuer.url },
  })
  issuer.device = () => Response.json(issuer.deviceCode())
  issuer.token = refuse('authorization_pending')
  expect((await request(fresh, 'alone')).status).toBe(201)
  issuer.metadata = { device_authorization_endpoint: `${issuer.url}/device` }
})

test('a user who asks for codes without end gets no more, and others do', async () => {
  issuer.device = () => Response.json(issuer.deviceCode())
  issuer.token = refuse('authorization_pending')
  const flooder = await somebody()
  const answers = await Promise.all(Array.from({ length: 40 }, () => request(flooder)))
  const taken = answers.filter(({ status }) => status === 201)
  expect(taken.length).toBeLessThanOrEqual(30)
  const refused = answers.find(({ json }) => json.code === 'rate_limited' && String(json.detail).includes('by code'))
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await request(bob)).status).toBe(201)
  // One start alone is followed.
  const states = await Promise.all(
    taken.map(({ json }) => flooder.request('GET', `/api/connections/flows/${json.flow}`)),
  )
  expect(states.filter(({ status }) => status === 200)).toHaveLength(1)
}, 60_000)

test('ten codes of a user wait at once, and the oldest gives way', async () => {
  for (let at = 0; at < 11; at += 1) await add(`many-${at}`)
  const client = await somebody()
  const flows: string[] = []
  for (let at = 0; at < 11; at += 1) flows.push((await begin(client, `many-${at}`)).flow)
  const found = await Promise.all(flows.map(flow => client.request('GET', `/api/connections/flows/${flow}`)))
  expect(found.map(({ status }) => status)).toEqual([400, ...Array.from({ length: 10 }, () => 200)])
}, 60_000)

test('a user who is disabled or may not use the server any more gets no tokens, and nobody is asked for them', async () => {
  issuer.token = refuse('authorization_pending')
  const [gone, hidden] = [await somebody(), await somebody()]
  const name = `user-${people - 1}`
  await add('shown')
  const first = await begin(gone)
  await root.ok('PATCH', `/api/admin/users/${name}`, { disabled: true })
  const second = await begin(hidden, 'shown')
  await ada.ok('PATCH', '/api/servers/shown', { visibility: 'private' })
  expect(await outcome(hidden, second.flow)).toMatchObject({ state: 'failed', code: 'flow_unknown' })
  // Both are looked at every second, and the one that was begun earlier is so first.
  await root.ok('PATCH', `/api/admin/users/${name}`, { disabled: false })
  expect(await outcome(await hub.signIn(name), first.flow)).toMatchObject({ state: 'failed', code: 'flow_unknown' })
})

test('without the plugin no issuer is asked any more', async () => {
  issuer.token = refuse('authorization_pending')
  await begin(await somebody())
  const before = polls()
  await until(() => polls() > before, { timeoutMs: 10_000, what: 'a question to the issuer' })
  await root.ok('PATCH', '/api/admin/plugins/oauth-client', { enabled: false })
  const after = polls()
  await Bun.sleep(2_500)
  expect(polls()).toBe(after)
})
