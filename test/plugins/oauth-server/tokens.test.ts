/** Codes and tokens that are stolen, used twice, expired, forged or sent elsewhere. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decodeJwt, SignJWT } from 'jose'
import type { Client, Hub } from '../../support/hub.ts'
import { RawOAuth } from '../../support/oauth.ts'
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
