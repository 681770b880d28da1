/** Requests that no honest client sends, and what an ordinary user may try with the sign-in of clients. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { decodeJwt, SignJWT } from 'jose'
import { SQLITE_FILE } from '../../../core/store/open.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { consent, RawOAuth, requestAt } from '../../support/oauth.ts'

let hub: Hub
let admin: Client
let ada: Client
let eve: Client
let app: RawOAuth

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  ada = await hub.user('ada')
  eve = await hub.user('eve')
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  for (const name of ['a', 'b']) await ada.ok('POST', '/api/groups', { name, members: [{ server: 'admin~echo' }] })
  app = await new RawOAuth(hub.url).register()
}, 60_000)
afterAll(() => hub?.stop(), 60_000)

function mcp(path: string, token: string | undefined, message: object = { method: 'tools/list' }): Promise<Response> {
  return fetch(hub.url + path, {
    method: 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...{ 'mcp-protocol-version': '2025-11-25' },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

describe('/authorize', () => {
  test.each([
    ['no challenge', { code_challenge: undefined }],
    ['the method plain', { code_challenge_method: 'plain' }],
    ['no method', { code_challenge_method: undefined }],
    ['a short challenge', { code_challenge: 'abc' }],
    ['another response type', { response_type: 'token' }],
    ['another response mode', { response_mode: 'form_post' }],
    ['a resource of somebody else', { resource: 'https://evil.example/mcp' }],
    ['a resource that is the API', { resource: 'HUB/api' }],
    ['a resource with a query', { resource: 'HUB/mcp?x=1' }],
    ['unknown scopes alone', { scope: 'admin' }],
    ['no client', { client_id: undefined }],
    ['no redirect URI', { redirect_uri: undefined }],
  ] as [string, Record<string, string | undefined>][])(
    'shows what is wrong with %s, and goes nowhere',
    async (_, change) => {
      const { resource } = change
      const url = app.url('/mcp/a', resource ? { resource: resource.replace('HUB', hub.url) } : change)
      for (const accept of ['*/*', 'text/html,*/*']) {
        const answer = await fetch(url, { redirect: 'manual', headers: { accept } })
        expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
        expect(await answer.text()).not.toContain('<script')
      }
    },
  )

  test('refuses a parameter that is there twice', async () => {
    const url = app.url('/mcp/a')
    url.searchParams.append('code_challenge', 'x'.repeat(43))
    const answer = await fetch(url, { redirect: 'manual' })
    expect([answer.status, (await answer.json()) as object]).toMatchObject([400, { code: 'authorization_invalid' }])
  })

  test('stores nothing and leads to the hub’s own page, whoever asks for whatever client', async () => {
    const answer = await fetch(
      app.url('/mcp/a', { client_id: 'https://evil.example/x', redirect_uri: 'https://evil.example/' }),
      {
        redirect: 'manual',
      },
    )
    expect(answer.status).toBe(302)
    expect(answer.headers.get('location')).toStartWith(`${hub.url}/consent?request=`)
    const db = new Database(join(hub.dataDir, SQLITE_FILE), { readonly: true })
    expect(db.query('select count(*) as n from plugin_oauth_server__clients').get()).toEqual({ n: 0 })
    db.close()
  })
})

describe('consent', () => {
  test.each([
    'https://claude.ai.evil.example/callback',
    'http://127.0.0.1:33418/other',
    'http://127.0.0.1.evil.example:33418/callback',
    'http://127.0.0.1:33418/callback#x',
    'http://u@127.0.0.1:33418/callback',
    'http://10.0.0.1/callback',
    'javascript://127.0.0.1/%0aalert(1)',
    'http://127.0.0.1:33418/callback/../callback',
  ])('never answers to %s, which the client has not registered', async redirect => {
    const request = await requestAt(app.url('/mcp/a', { redirect_uri: redirect }))
    for (const path of ['/api/oauth/requests', '/api/oauth/decisions']) {
      const body = path.endsWith('requests') ? { request } : { request, allow: false }
      const answer = await ada.request('POST', path, body)
      expect([answer.status, answer.json.code]).toEqual([400, 'redirect_mismatch'])
    }
  })

  test('takes any port on this device, and keeps state and issuer', async () => {
    const redirect = new URL(await consent(ada, app.url('/mcp/a', { redirect_uri: 'http://127.0.0.1:5/callback' })))
    expect(redirect.origin).toBe('http://127.0.0.1:5')
    expect(redirect.searchParams.get('state')).toBe('of-the-client')
    expect(redirect.searchParams.get('iss')).toBe(hub.url)
  })

  test('shows what is asked for', async () => {
    const request = await requestAt(app.url('/mcp/a', { scope: 'mcp:read offline_access' }))
    const { items } = await ada.ok('GET', '/api/groups?scope=mine')
    expect(await ada.ok('POST', '/api/oauth/requests', { request })).toEqual({
      client: { id: app.clientId, name: 'Raw', kind: 'registered' },
      redirectHost: '127.0.0.1:33418',
      anyProgram: true,
      resource: `${hub.url}/mcp/a`,
      scopes: ['mcp:read'],
      targets: [{ kind: 'group', id: items.find((one: { name: string }) => one.name === 'a').id, name: 'a' }],
      expiresAt: expect.any(String),
    })
  })

  test('is decided once, by one person', async () => {
    const request = await requestAt(app.url('/mcp/a'))
    await ada.ok('POST', '/api/oauth/decisions', { request, allow: false })
    for (const person of [ada, admin]) {
      const answer = await person.request('POST', '/api/oauth/decisions', { request, allow: true })
      // The administrator has no group of that name.
      expect(answer.json.code).toBe(person === ada ? 'request_decided' : 'group_not_found')
    }
  })

  test('needs a session token, and a request that this hub has sealed', async () => {
    const request = await requestAt(app.url('/mcp/a'))
    const key = await ada.ok('POST', '/api/keys', { label: 'api', scopes: ['api', 'mcp'] })
    for (const [method, path, body] of [
      ['POST', '/api/oauth/requests', { request }],
      ['POST', '/api/oauth/decisions', { request, allow: true }],
      ['GET', '/api/oauth/grants', undefined],
      ['DELETE', '/api/oauth/grants/x', undefined],
    ] as const) {
      const answer = await ada.request(method, path, body, { authorization: `Bearer ${key.secret}` })
      expect([path, answer.status, answer.json.code]).toEqual([path, 403, 'session_required'])
    }
    for (const wrong of [`${request.slice(0, -2)}AA`, 'x', 'A'.repeat(100)]) {
      const answer = await ada.request('POST', '/api/oauth/requests', { request: wrong })
      expect([answer.status, answer.json.code]).toEqual([400, 'flow_unknown'])
    }
  })

  test('opens no more than was asked for, or than the person may use', async () => {
    const request = await requestAt(app.url('/mcp/a', { scope: 'mcp:read' }))
    for (const wrong of [
      { scopes: ['mcp:tools'] },
      { target: { kind: 'all' } },
      { target: { kind: 'group', id: 'x' } },
    ]) {
      const answer = await ada.request('POST', '/api/oauth/decisions', { request, allow: true, ...wrong })
      expect([answer.status, answer.json.code]).toEqual([400, 'validation_failed'])
    }
    const foreign = await requestAt(app.url('/mcp/@ada/a'))
    expect((await eve.request('POST', '/api/oauth/requests', { request: foreign })).json.code).toBe('group_not_found')
  })

  test('of a person who refuses says so to the client', async () => {
    const redirect = new URL(await consent(ada, app.url('/mcp/a'), { allow: false }))
    expect(redirect.searchParams.get('error')).toBe('access_denied')
    expect(redirect.searchParams.get('code')).toBeNull()
  })
})

describe('clients', () => {
  test.each([
    'http://client.example/x',
    'https://client.example/',
    'https://client.example/a/../b',
    'https://client.example/x?y',
    'https://client.example/x#y',
    'https://u@client.example/x',
    'https://127.0.0.1/x',
    'https://10.0.0.1/x',
    'https://[::1]/x',
    'pbc_AAAA',
    'nobody',
  ])('refuses %s', async id => {
    const request = await requestAt(app.url('/mcp/a', { client_id: id }))
    const answer = await ada.request('POST', '/api/oauth/requests', { request })
    expect([answer.status, answer.json.code]).toEqual([400, 'client_refused'])
  })

  test('register for known redirects alone, and leave no row', async () => {
    for (const uri of [
      'https://claude.ai.evil.example/x',
      'https://evil.example/x',
      'http://10.0.0.1/x',
      'javascript:alert(1)',
      'https://claude.ai/x#y',
      'https://claude.ai:8443/x',
      'evil://x/y',
    ]) {
      const { status, body } = await app.registration({ redirect_uris: [uri] })
      expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri'])
    }
    const cursor = await app.registration({
      client_name: 'Cursor\u202e',
      token_endpoint_auth_method: 'none',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
    })
    expect([cursor.status, cursor.body.client_name]).toEqual([201, 'Cursor'])
    expect((cursor.body.client_id as string).length).toBeLessThan(320)
    const db = new Database(join(hub.dataDir, SQLITE_FILE), { readonly: true })
    expect(db.query('select count(*) as n from plugin_oauth_server__clients').get()).toEqual({ n: 0 })
    db.close()
  })

  test('prove themselves with the secret that they got', async () => {
    for (const method of ['client_secret_post', 'client_secret_basic']) {
      const own = await new RawOAuth(hub.url).register({ token_endpoint_auth_method: method })
      const { secret, clientId } = own
      const basic = `Basic ${btoa(`${clientId}:${secret}`)}`
      own.secret = undefined
      const without = await own.redeem(await own.code(ada, '/mcp/a'))
      expect([without.status, without.body.error]).toEqual([401, 'invalid_client'])
      const code = await own.code(ada, '/mcp/a')
      const fields = {
        ...{ grant_type: 'authorization_code', code, redirect_uri: own.redirectUri, code_verifier: own.verifier },
      }
      const wrong = await own.form('/token', { ...fields, client_id: clientId, client_secret: 'x'.repeat(43) })
      expect(wrong.body.error).toBe('invalid_client')
      const right =
        method === 'client_secret_post'
          ? await own.form('/token', { ...fields, client_id: clientId, client_secret: secret })
          : await own.form('/token', fields, { authorization: basic })
      expect(right.status).toBe(200)
    }
    const unknown = await app.redeem('x', { client_id: `${app.clientId.slice(0, -4)}AAAA` })
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client'])
  })

  test('are listed, and blocked with all that was agreed to, by administrators', async () => {
    const made = await admin.ok('POST', '/api/admin/oauth/clients', {
      ...{ name: 'Chat', method: 'client_secret_post', redirectUris: ['https://chat.example/callback'] },
    })
    expect([made.kind, made.secret]).toEqual(['listed', expect.stringMatching(/^pbs_/)])
    const own = new RawOAuth(hub.url, 'https://chat.example/callback')
    Object.assign(own, { clientId: made.clientId, secret: made.secret })
    const { access_token: access } = await own.tokens(ada, '/mcp/a')
    expect((await mcp('/mcp/a', access, INITIALIZE)).status).toBe(200)
    expect((await ada.request('GET', '/api/admin/oauth/clients')).json.code).toBe('admin_only')
    const changed = await admin.ok('PATCH', `/api/admin/oauth/clients/${made.id}`, { blocked: true })
    expect(changed).toMatchObject({ blocked: true, grants: 0 })
    expect((await mcp('/mcp/a', access, INITIALIZE)).status).toBe(401)
    const request = await requestAt(own.url('/mcp/a'))
    expect((await ada.request('POST', '/api/oauth/requests', { request })).json.code).toBe('client_blocked')
    await admin.ok('DELETE', `/api/admin/oauth/clients/${made.id}`)
    const none = await admin.request('PATCH', '/api/admin/oauth/clients/none', { blocked: true })
    expect(none.json.code).toBe('client_not_found')
    expect(
      (await admin.request('POST', '/api/admin/oauth/clients', { name: 'x', redirectUris: ['http://10.0.0.1/'] }))
        .status,
    ).toBe(400)
  })
})

describe('codes', () => {
  test('are for one client, redirect, verifier and resource', async () => {
    const other = await new RawOAuth(hub.url).register({ client_name: 'Other' })
    const code = await app.code(ada, '/mcp/a')
    for (const change of [
      { client_id: other.clientId },
      { redirect_uri: 'http://127.0.0.1:5/callback' },
      { code_verifier: 'x'.repeat(43) },
      { code: 'x' },
    ]) {
      const answer = await app.redeem(code, change)
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await app.redeem(code, { resource: 'https://evil.example/mcp' })).body.error).toBe('invalid_target')
    expect((await app.redeem(code, { code_verifier: undefined })).body.error).toBe('invalid_request')
    expect((await app.redeem(code)).status).toBe(200)
  })

  test('that are used twice end what was made from them', async () => {
    const code = await app.code(ada, '/mcp/a')
    const { body } = await app.redeem(code)
    expect((await mcp('/mcp/a', body.access_token, INITIALIZE)).status).toBe(200)
    expect((await app.redeem(code)).body.error).toBe('invalid_grant')
    expect((await mcp('/mcp/a', body.access_token, INITIALIZE)).status).toBe(401)
    expect((await app.refresh(body.refresh_token)).body.error).toBe('invalid_grant')
    const { items } = await admin.ok('GET', '/api/admin/audit?limit=50')
    expect(items.map((one: { action: string }) => one.action)).toContain('oauth-server.grant_replayed')
  })

  test('are not guessed for ever, and a stranger locks out nobody', async () => {
    const code = await app.code(ada, '/mcp/a')
    const wrong = () => app.redeem(code, { code_verifier: 'y'.repeat(43) })
    for (let at = 0; at < 20; at += 1) expect((await wrong()).status).toBe(400)
    const refused = await wrong()
    expect([refused.status, refused.body.error]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await app.redeem(await app.code(ada, '/mcp/a'))).status).toBe(200)
  })
})

describe('tokens', () => {
  test('open their own path alone', async () => {
    const { access_token: access } = await app.tokens(ada, '/mcp/a')
    expect((await mcp('/mcp/a', access, INITIALIZE)).status).toBe(200)
    expect((await mcp('/mcp/A/', access, INITIALIZE)).status).toBe(200)
    for (const path of ['/mcp/b', '/mcp', '/mcp/@ada/a', '/mcp/$smart/a', '/mcp/none']) {
      const answer = await mcp(path, access, INITIALIZE)
      expect([path, answer.status]).toEqual([path, 401])
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer realm="patchbay", error="invalid_token", scope="mcp:tools", resource_metadata="${hub.url}/.well-known/oauth-protected-resource${path}"`,
      )
    }
    for (const [method, path] of [
      ['GET', '/api/servers'],
      ['GET', '/api/auth/me'],
      ['GET', '/api/oauth/grants'],
      ['POST', '/api/servers/admin~echo/tools/echo/call'],
    ] as const) {
      const answer = await ada.request(method, path, method === 'POST' ? {} : undefined, {
        authorization: `Bearer ${access}`,
      })
      expect([path, answer.status, answer.json.code]).toEqual([path, 401, 'token_wrong_audience'])
    }
    const sse = await fetch(`${hub.url}/sse/a`, { headers: { authorization: `Bearer ${access}` } })
    expect(sse.status).toBe(401)
    await sse.body?.cancel()
  })

  test('at the address of all servers open what the person has chosen', async () => {
    const { items } = await ada.ok('GET', '/api/groups?scope=mine')
    const { id } = items.find((one: { name: string }) => one.name === 'a')
    const { access_token: chosen } = await app.tokens(ada, '/mcp', { target: { kind: 'group', id } })
    const { access_token: all } = await app.tokens(ada, '/mcp', { target: { kind: 'all' } })
    const tools = async (token: string) => {
      const opened = await mcp('/mcp', token, INITIALIZE)
      const session = opened.headers.get('mcp-session-id') as string
      await opened.text()
      const answer = await fetch(`${hub.url}/mcp`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${token}`, 'mcp-session-id': session, 'content-type': 'application/json' },
          ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }),
      })
      return answer.text()
    }
    expect(await tools(chosen)).toContain('"echo"')
    expect(await tools(all)).not.toContain('"echo"')
  })

  test('for reading call no tool, alone or in an array', async () => {
    const { access_token: access, scope } = await app.tokens(ada, '/mcp/a', { scopes: ['mcp:read'] })
    expect(scope).toBe('mcp:read')
    const call = { method: 'tools/call', params: { name: 'echo', arguments: {} } }
    const answer = await mcp('/mcp/a', access, call)
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer realm="patchbay", error="insufficient_scope", scope="mcp:tools", error_description="Calling tools was not granted", resource_metadata="${hub.url}/.well-known/oauth-protected-resource/mcp/a"`,
    ])
    expect((await answer.json()) as object).toMatchObject({ id: 1, error: { data: { code: 'insufficient_scope' } } })
  })

  test('of other makers, types and algorithms are none', async () => {
    const { access_token: access } = await app.tokens(ada, '/mcp/a')
    const claims = decodeJwt(access)
    const [head, body] = access.split('.')
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const header = JSON.parse(Buffer.from(head as string, 'base64url').toString())
    const forged = await new SignJWT(claims).setProtectedHeader(header).sign(new Uint8Array(32))
    const wrong = [
      `${encode({ ...header, alg: 'none' })}.${body}.`,
      `${encode({ ...header, alg: 'ES256' })}.${body}.${access.split('.')[2]}`,
      `${encode({ ...header, typ: 'JWT' })}.${body}.${access.split('.')[2]}`,
      `${head}.${encode({ ...claims, scope: 'mcp:tools', sub: eve.name })}.${access.split('.')[2]}`,
      forged,
    ]
    for (const token of wrong) expect((await mcp('/mcp/a', token, INITIALIZE)).status).toBe(401)
    // A session token opens /mcp as before, but not under the name of an access token.
    const [sessionHead, ...rest] = ada.token.split('.')
    const renamed = encode({ ...JSON.parse(Buffer.from(sessionHead as string, 'base64url').toString()), typ: 'at+jwt' })
    expect((await mcp('/mcp/a', [renamed, ...rest].join('.'), INITIALIZE)).status).toBe(401)
  })

  test('end with the user’s password, the group, and the user', async () => {
    const bob = await hub.user('bob')
    await bob.ok('POST', '/api/groups', { name: 'g', members: [{ server: 'admin~echo' }] })
    const one = await app.tokens(bob, '/mcp/g')
    expect((await mcp('/mcp/g', one.access_token, INITIALIZE)).status).toBe(200)
    await bob.ok('DELETE', '/api/groups/g')
    expect((await mcp('/mcp/g', one.access_token, INITIALIZE)).status).toBe(401)
    await bob.ok('POST', '/api/groups', { name: 'g', members: [{ server: 'admin~echo' }] })
    // A new group of the old name is another one.
    expect((await mcp('/mcp/g', one.access_token, INITIALIZE)).status).toBe(401)
    expect((await app.refresh(one.refresh_token)).body.error).toBe('invalid_grant')
    const two = await app.tokens(bob, '/mcp/g')
    await admin.ok('PATCH', '/api/admin/users/bob', { disabled: true })
    expect((await mcp('/mcp/g', two.access_token, INITIALIZE)).status).toBe(401)
    expect((await app.refresh(two.refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('refresh tokens', () => {
  test('are replaced, answered twice within a minute, and end everything when an old one comes back', async () => {
    const first = await app.tokens(ada, '/mcp/a')
    expect(first.refresh_token).toMatch(/^pbr_.{63}$/)
    const [second, again] = await Promise.all([app.refresh(first.refresh_token), app.refresh(first.refresh_token)])
    expect([second.status, again.status]).toEqual([200, 200])
    expect(second.body.refresh_token).toBe(again.body.refresh_token)
    const third = await app.refresh(second.body.refresh_token)
    expect(third.body.refresh_token).not.toBe(second.body.refresh_token)
    expect((await app.refresh(first.refresh_token)).body.error).toBe('invalid_grant')
    expect((await app.refresh(third.body.refresh_token)).body.error).toBe('invalid_grant')
    expect((await mcp('/mcp/a', third.body.access_token, INITIALIZE)).status).toBe(401)
  })

  test('are for their client, resource and scopes', async () => {
    const other = await new RawOAuth(hub.url).register({ client_name: 'Other' })
    const { refresh_token: token } = await app.tokens(ada, '/mcp/a', { scopes: ['mcp:read'] })
    expect((await other.refresh(token)).body.error).toBe('invalid_grant')
    expect((await app.refresh(token, { resource: `${hub.url}/mcp/b` })).body.error).toBe('invalid_target')
    expect((await app.refresh(token, { scope: 'mcp:tools' })).body.error).toBe('invalid_scope')
    expect((await app.refresh(token, { grant_type: 'password' })).body.error).toBe('unsupported_grant_type')
    expect((await app.refresh(token)).status).toBe(200)
  })

  test('are withdrawn by their client alone', async () => {
    const other = await new RawOAuth(hub.url).register({ client_name: 'Other' })
    const { refresh_token: token, access_token: access } = await app.tokens(ada, '/mcp/a')
    expect((await other.form('/revoke', { token, client_id: other.clientId })).status).toBe(200)
    expect((await mcp('/mcp/a', access, INITIALIZE)).status).toBe(200)
    expect((await app.form('/revoke', { token: access, client_id: app.clientId })).status).toBe(200)
    expect((await mcp('/mcp/a', access, INITIALIZE)).status).toBe(401)
    expect((await app.form('/revoke', { token: 'unknown', client_id: app.clientId })).status).toBe(200)
  })

  test('of one person are not seen or ended by another', async () => {
    await app.tokens(ada, '/mcp/a')
    const { items } = await ada.ok('GET', '/api/oauth/grants')
    expect((await eve.ok('GET', '/api/oauth/grants')).items).toEqual([])
    const answer = await eve.request('DELETE', `/api/oauth/grants/${items[0].id}`)
    expect([answer.status, answer.json.code]).toEqual([404, 'grant_not_found'])
  })
})
