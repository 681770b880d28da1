/** Requests for access that no honest client sends, and decisions that are not for their sender. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SQLITE_FILE } from '../../../core/store/open.ts'
import type { Client, Hub } from '../../support/hub.ts'
import { consent, RawOAuth, requestAt } from '../../support/oauth.ts'
import { INITIALIZE, sendMcp, startSite } from './site.ts'

let hub: Hub
let admin: Client
let ada: Client
let eve: Client
let app: RawOAuth

beforeAll(async () => {
  ;({ hub, admin, ada, eve, app } = await startSite())
}, 60_000)
afterAll(() => hub?.stop(), 60_000)

const mcp = (path: string, token: string | undefined, message?: object) => sendMcp(hub, path, token, message)

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

  test('stores nothing and leads to the hub’s own page, for any client', async () => {
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
