/** Tokens of an external issuer that are forged, stolen, for others, too old or too early; and an issuer that is down. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { exportSPKI, importJWK, SignJWT } from 'jose'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { online } from '../../support/servers.ts'
import { ForgingIssuer, type Pair } from './forging-issuer.ts'
import { INITIALIZE, sendMcp } from './site.ts'

const [MINUTE, HOUR] = [60_000, 3_600_000]

let hub: Hub
let admin: Client
let issuer: ForgingIssuer
let other: ForgingIssuer
let pair: Pair
/** A published key, for an algorithm that the hub is not to take. */
let unwanted: Pair
let laterMs = 0

beforeAll(async () => {
  issuer = await ForgingIssuer.start()
  other = await ForgingIssuer.start()
  pair = await ForgingIssuer.pair('one')
  unwanted = await ForgingIssuer.pair('unwanted', 'EdDSA')
  issuer.published = [pair.publicKey, unwanted.publicKey]
  other.published = [pair.publicKey]
  hub = await startHub({ shiftedClock: true })
  admin = await hub.setup()
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await online(admin, ['echo'])
  await configure({ provision: 'create' })
  // The first token makes the user, who gets groups.
  expect(await status('/mcp', {})).toBe(200)
  const { items } = await admin.ok('GET', '/api/admin/users')
  expect(items.map(({ name }: { name: string }) => name)).toContain('ada')
}, 60_000)

afterAll(async () => {
  await hub?.stop()
  await Promise.all([issuer, other].map(one => one?.stop()))
}, 60_000)

beforeEach(() => {
  issuer.down = false
  issuer.metadata = undefined
})

function configure(change: object): Promise<unknown> {
  const issuers = [{ issuer: issuer.url, algorithms: ['ES256', 'RS256'], ...change }]
  return admin.ok('PATCH', '/api/admin/plugins/oauth-server', { config: { issuers } })
}

/** Lets the clocks of hub and tokens go. */
async function wait(ms: number): Promise<void> {
  laterMs += ms
  await hub.moveClock(laterMs)
}

const seconds = (fromNow = 0) => Math.floor((Date.now() + laterMs) / 1_000) + fromNow

/** A token for a path that is right but for the change. */
function token(path: string, change: object = {}, header: object = {}, by = pair): Promise<string> {
  const claims = { aud: hub.url + path, iat: seconds(), exp: seconds(600), preferred_username: 'ada', ...change }
  return issuer.sign(by, claims, header)
}

async function send(path: string, text: string) {
  const answer = await sendMcp(hub, path, text, INITIALIZE)
  const body = await answer.text()
  const code = /"code":"(\w+)"/.exec(body)?.[1]
  return { status: answer.status, code, challenge: answer.headers.get('www-authenticate'), headers: answer.headers }
}

async function status(path: string, change: object): Promise<number> {
  return (await send(path, await token(path, change))).status
}

test('the metadata names the issuer, and the hub gives no tokens itself', async () => {
  const read = async (path: string) => (await fetch(hub.url + path)).json()
  const resource = (await read('/.well-known/oauth-protected-resource/mcp/work')) as Record<string, unknown>
  expect(resource).toMatchObject({ resource: `${hub.url}/mcp/work`, authorization_servers: [issuer.url] })
  for (const [method, path] of [
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/.well-known/openid-configuration'],
    ['POST', '/token'],
    ['POST', '/register'],
    ['POST', '/revoke'],
  ] as const)
    expect([path, (await fetch(hub.url + path, { method })).status]).toEqual([path, 404])
})

test('a token opens the addresses of its audience and no others', async () => {
  for (const aud of [hub.url, `${hub.url}/`, [`${hub.url}/mcp`, 'https://other.example']])
    expect([aud, await status('/mcp', { aud })]).toEqual([aud, 200])
  expect(await status('/mcp/@admin/echo', { aud: hub.url })).toBe(200)
  const wrong = [
    '/mcp/none',
    'https://evil.example',
    `${hub.url}.evil.example`,
    `${hub.url}/mcp/@admin/echo`,
    'app',
    [],
  ]
  for (const aud of wrong) {
    const { status, code } = await send('/mcp', await token('/mcp', { aud }))
    expect([aud, status, code]).toEqual([aud, 401, 'token_wrong_audience'])
  }
  const text = await token('/mcp', { aud: hub.url })
  for (const path of ['/api/servers', '/api/auth/me', '/api/oauth/grants']) {
    const answer = await admin.request('GET', path, undefined, { authorization: `Bearer ${text}` })
    expect([path, answer.status, answer.json.code]).toEqual([path, 401, 'token_wrong_audience'])
  }
})

test('a session that one token opened is closed to a token for another address', async () => {
  const [here, elsewhere] = [await token('/mcp'), await token('/mcp', { aud: `${hub.url}/mcp/@admin/echo` })]
  const opened = await send('/mcp', here)
  const message = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
  const inSession = async (text: string) => {
    const headers = {
      ...{ authorization: `Bearer ${text}`, 'mcp-session-id': opened.headers.get('mcp-session-id') as string },
      ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    }
    const answer = await fetch(`${hub.url}/mcp`, { method: 'POST', headers, body: message })
    await answer.body?.cancel()
    return answer.status
  }
  expect([await inSession(here), await inSession(elsewhere)]).toEqual([200, 401])
})

test('forged tokens are refused', async () => {
  const good = await token('/mcp')
  const [head, body, signature] = good.split('.') as [string, string, string]
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const stranger = await ForgingIssuer.pair('one')
  const publicKey = (await importJWK(pair.publicKey, 'ES256')) as CryptoKey
  const spki = new TextEncoder().encode(await exportSPKI(publicKey))
  const jwk = new TextEncoder().encode(JSON.stringify(pair.publicKey))
  const byPublicKey = (key: Uint8Array) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one', typ: 'at+jwt' }).sign(key)
  const forged = {
    none: `${encode({ alg: 'none', typ: 'at+jwt' })}.${body}.`,
    'other claims': `${head}.${encode({ ...claims, sub: 'root' })}.${signature}`,
    'a key of its own': await token('/mcp', {}, {}, stranger),
    'a key in its header': await token('/mcp', {}, { jwk: stranger.publicKey }, stranger),
    'the address of a key in its header': await token('/mcp', {}, { jku: `${other.url}/keys` }, stranger),
    'the public key as a secret': await byPublicKey(spki),
    'the public key as a secret, as JSON': await byPublicKey(jwk),
    'an algorithm that is not configured': await token('/mcp', {}, {}, unwanted),
    'another issuer': await token('/mcp', { iss: other.url }),
    'an issuer with a slash more': await token('/mcp', { iss: `${issuer.url}/` }),
    'an ID token': await token('/mcp', { nonce: 'x' }, { typ: 'JWT' }),
    'a token bound to a key': await token('/mcp', { cnf: { jkt: 'x' } }),
    'a critical header': await token('/mcp', {}, { crit: ['x'], x: 1 }),
    'no audience': await token('/mcp', { aud: undefined }),
    'no end': await token('/mcp', { exp: undefined }),
    'no user': await token('/mcp', { sub: '' }),
    'a user that is a number': await token('/mcp', { sub: 7 }),
    'an opaque text': 'ya29.a0AfH6SMBx',
    'an opaque text of three parts': 'aaaa.bbbb.cccc',
  }
  for (const [what, text] of Object.entries(forged)) {
    const answer = await send('/mcp', text)
    expect([what, answer.status, answer.code]).toEqual([what, 401, 'token_invalid'])
    expect(answer.challenge).toContain(`resource_metadata="${hub.url}/.well-known/oauth-protected-resource/mcp"`)
  }
  expect((await send('/mcp', good)).status).toBe(200)
})

test('scopes are those of the claim; without one of the hub nothing is opened', async () => {
  const call = { method: 'tools/call', params: { name: 'echo', arguments: {} } }
  const reading = await token('/mcp', { scope: 'openid mcp:read' })
  expect((await send('/mcp', reading)).status).toBe(200)
  expect((await sendMcp(hub, '/mcp', reading, call)).status).toBe(403)
  for (const scope of ['openid', '', undefined, ['mcp'], 7]) {
    const { status, code, challenge } = await send('/mcp', await token('/mcp', { scope }))
    expect([scope, status, code]).toEqual([scope, 403, 'insufficient_scope'])
    expect(challenge).toContain('error="insufficient_scope", scope="mcp:tools"')
  }
})

test('clocks: a minute of difference is allowed, ten are not', async () => {
  for (const [change, expected, code] of [
    [{ exp: seconds(-30) }, 200, undefined],
    [{ exp: seconds(-600) }, 401, 'token_expired'],
    [{ nbf: seconds(30) }, 200, undefined],
    [{ nbf: seconds(600) }, 401, 'token_invalid'],
    [{ iat: seconds(30) }, 200, undefined],
    [{ iat: seconds(600), exp: seconds(4_200) }, 401, 'token_invalid'],
  ] as const) {
    const answer = await send('/mcp', await token('/mcp', change))
    expect([change, answer.status, answer.code]).toEqual([change, expected, code])
  }
})

test('new keys are read at the first token that has one, and at most once a minute', async () => {
  await wait(2 * MINUTE)
  const [second, third] = [await ForgingIssuer.pair('two'), await ForgingIssuer.pair('three')]
  issuer.published = [pair.publicKey, second.publicKey]
  const before = issuer.readings
  expect((await send('/mcp', await token('/mcp', {}, {}, second))).status).toBe(200)
  expect(issuer.readings - before).toBe(1)
  for (let at = 0; at < 5; at += 1)
    expect((await send('/mcp', await token('/mcp', { jti: `${at}` }, {}, third))).code).toBe('token_invalid')
  issuer.published = [second.publicKey, third.publicKey]
  expect((await send('/mcp', await token('/mcp', { jti: 'x' }, {}, third))).code).toBe('token_invalid')
  expect(issuer.readings - before).toBe(1)
  await wait(MINUTE + 1_000)
  expect((await send('/mcp', await token('/mcp', { jti: 'x' }, {}, third))).status).toBe(200)
  expect(issuer.readings - before).toBe(2)
  // A withdrawn key ends.
  expect((await send('/mcp', await token('/mcp', { jti: 'y' }))).code).toBe('token_invalid')
  issuer.published = [pair.publicKey]
  await wait(11 * MINUTE)
  expect(await status('/mcp', {})).toBe(200)
})

test('while the issuer is down for an hour its tokens are taken; metadata of another issuer replaces nothing', async () => {
  issuer.down = true
  await wait(HOUR)
  expect(await status('/mcp', {})).toBe(200)
  issuer.down = false
  issuer.metadata = { issuer: other.url, jwks_uri: `${other.url}/keys` }
  await wait(11 * MINUTE)
  expect(await status('/mcp', {})).toBe(200)
  expect(other.readings).toBe(0)
  issuer.metadata = undefined
  // Without any keys the hub cannot say whether a token is good.
  issuer.down = true
  await configure({ provision: 'create', algorithms: ['ES256'] })
  const answer = await send('/mcp', await token('/mcp'))
  expect([answer.status, answer.code]).toEqual([502, 'issuer_unreachable'])
  issuer.down = false
  await wait(MINUTE)
  expect(await status('/mcp', {})).toBe(200)
})

test('users are those who have linked the account; a disabled one, and one whose credentials were withdrawn, is refused', async () => {
  const text = await token('/mcp')
  expect((await send('/mcp', text)).status).toBe(200)
  const { items } = await admin.ok('GET', '/api/admin/users')
  const { name } = items.find((one: { name: string }) => one.name.startsWith('ada'))
  await admin.ok('PATCH', `/api/admin/users/${name}`, { disabled: true })
  expect((await send('/mcp', text)).status).toBe(401)
  await admin.ok('PATCH', `/api/admin/users/${name}`, { disabled: false })
  expect((await send('/mcp', text)).code).toBe('token_revoked')
  expect((await send('/mcp', await token('/mcp', { jti: 'new' }))).status).toBe(200)
  await configure({})
  const unknown = await send('/mcp', await token('/mcp', { sub: 'eve-at-work' }))
  expect([unknown.status, unknown.code]).toEqual([403, 'identity_unknown'])
  await configure({ provision: 'create' })
  const machine = await send('/mcp', await token('/mcp', { sub: 'app' }))
  expect([machine.status, machine.code]).toEqual([403, 'identity_unknown'])
  const all = (await admin.ok('GET', '/api/admin/users')).items
  // Two tokens at once make one user.
  const twins = await Promise.all(['a', 'b'].map(async jti => send('/mcp', await token('/mcp', { sub: 'zoe', jti }))))
  expect(twins.map(one => one.status)).toEqual([200, 200])
  expect((await admin.ok('GET', '/api/admin/users')).items).toHaveLength(all.length + 1)
})

test('the newest token says which teams its user is in', async () => {
  await configure({ provision: 'create', claims: { user: 'sub', scope: 'scope', teams: '/realm/roles' } })
  const crew = { name: 'crew', source: { provider: issuer.url, group: 'hub-crew' } }
  expect(await admin.ok('POST', '/api/admin/teams', crew)).not.toHaveProperty('warnings')
  const other = { provider: new URL(issuer.url).host, group: 'hub-crew' }
  const { warnings } = await admin.ok('POST', '/api/admin/teams', { name: 'other', source: other })
  expect(warnings).toMatchObject([{ code: 'source_unknown' }])
  const sizes = async () =>
    Promise.all(['crew', 'other'].map(async name => (await admin.ok('GET', `/api/teams/${name}`)).size))
  const at = seconds()
  const roles = (ago: number, ...all: unknown[]) =>
    status('/mcp', { sub: 'team-mate', iat: at - ago, realm: { roles: all } })
  expect([await roles(40, 'hub-crew'), await sizes()]).toEqual([200, [1, 0]])
  expect([await roles(30), await sizes()]).toEqual([200, [0, 0]])
  // The token from before is still good, but newer ones have said something else.
  for (const ago of [40, 30]) expect([await roles(ago, 'hub-crew'), await sizes()]).toEqual([200, [0, 0]])
  expect([await roles(20, 'hub-crew'), await sizes()]).toEqual([200, [1, 0]])
  expect([await status('/mcp', { sub: 'team-mate', iat: at - 10 }), await sizes()]).toEqual([200, [1, 0]])
  await configure({ provision: 'create' })
  expect(await sizes()).toEqual([1, 0])
  await admin.ok('PATCH', '/api/admin/plugins/oauth-server', {
    config: { issuers: [{ issuer: 'https://idp.example' }] },
  })
  expect(await sizes()).toEqual([0, 0])
})

test('an audience of the issuer’s own choice, claims of other names, and settings that are refused', async () => {
  await configure({ provision: 'create', audience: 'api://hub', claims: { user: 'oid', scope: 'scp' } })
  const entra = { aud: 'api://hub', oid: 'oid-1', scp: ['mcp:tools'], scope: undefined, sub: 'pairwise' }
  expect(await status('/mcp', entra)).toBe(200)
  expect(await status('/mcp/@admin/echo', entra)).toBe(200)
  for (const change of [{ aud: hub.url }, { oid: undefined }])
    expect((await send('/mcp', await token('/mcp', { ...entra, ...change }))).status).toBe(401)
  for (const issuers of [
    [{ issuer: 'http://idp.example' }],
    [{ issuer: 'https://a:b@idp.example' }],
    [{ issuer: issuer.url, algorithms: ['HS256'] }],
    [{ issuer: issuer.url, algorithms: ['none'] }],
    [{ issuer: issuer.url, algorithms: [] }],
    [{ issuer: issuer.url }, { issuer: issuer.url }],
  ]) {
    const answer = await admin.request('PATCH', '/api/admin/plugins/oauth-server', { config: { issuers } })
    expect([issuers, answer.status]).toEqual([issuers, 400])
  }
})
