/** Plays the recorded requests of Claude, ChatGPT, VS Code and Cursor from the first refusal to a call and a refresh. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Authority } from '../../support/certificates.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../../support/hub.ts'
import { consent, RawOAuth, requestAt } from '../../support/oauth.ts'
import { online } from '../../support/servers.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { RECORDED, type RecordedClient } from './recorded-clients.ts'
import { INITIALIZE, sendMcp } from './site.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const PATH = '/mcp/work'

let hub: Hub
let ada: Client
let folder: string
let site: Bun.Server<undefined>
let signing: CryptoKey
const bodies = new Map<string, object>()

beforeAll(async () => {
  folder = await makeTemp('recorded')
  const authority = new Authority(folder)
  site = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: authority.issue('site', 'IP:127.0.0.1') },
    fetch(request) {
      const body = bodies.get(new URL(request.url).pathname)
      return body ? Response.json(body) : new Response(null, { status: 404 })
    },
  })
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  signing = privateKey
  bodies.set('/oauth/jwks.json', { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }] })
  for (const { document } of RECORDED) {
    if (!document) continue
    const { jwks_uri: keys, ...rest } = document
    const own = { ...rest, client_id: here(document.client_id), ...(keys ? { jwks_uri: here(String(keys)) } : {}) }
    bodies.set(new URL(document.client_id).pathname, own)
  }
  hub = await startHub({ env: { ...LOOPBACK, NODE_EXTRA_CA_CERTS: authority.file } })
  const admin = await hub.setup()
  ada = await hub.user('ada')
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await online(admin, ['echo'])
  await ada.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'admin~echo' }] })
}, 60_000)

afterAll(async () => {
  site?.stop(true)
  await hub?.stop()
  await removeTemp(folder)
}, 60_000)

/** An address of a client's maker, at the test's own host. */
function here(address: string): string {
  return `https://127.0.0.1:${site.port}${new URL(address).pathname}`
}

async function json(url: string) {
  const answer = await fetch(url)
  expect([url, answer.status]).toEqual([url, 200])
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  return (await answer.json()) as any
}

/** The resource and the authorization server, as a client finds them from the refusal on. */
async function discovered() {
  const refused = await sendMcp(hub, PATH, undefined, INITIALIZE)
  expect(refused.status).toBe(401)
  const named = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] as string
  const resource = await json(named)
  // VS Code and Claude compare these as text.
  expect(resource.resource).toBe(hub.url + PATH)
  const server = await json(`${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`)
  expect(server.issuer).toBe(resource.authorization_servers[0])
  return { resource: resource.resource as string, server }
}

async function registered({ registration, document }: RecordedClient, endpoint: string) {
  if (document) return { id: here(document.client_id), secret: undefined }
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(registration) })
  const body = (await answer.json()) as { client_id: string; client_secret?: string }
  expect([answer.status, body]).toEqual([201, expect.objectContaining({ client_id: expect.any(String) })])
  return { id: body.client_id, secret: body.client_secret }
}

test.each(RECORDED.map(client => [client.name, client] as const))('%s', async (_, client) => {
  const { resource, server } = await discovered()
  expect(server.client_id_metadata_document_supported).toBe(true)
  const { id, secret } = await registered(client, server.registration_endpoint)
  const verifier = randomBytes(48).toString('base64url')
  const state = randomBytes(16).toString('base64')
  const values: Record<string, string | undefined> = {
    ...{ response_type: 'code', client_id: id, client_secret: secret, redirect_uri: client.redirectUri, state },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
    ...{ scope: client.scope, resource, code_verifier: verifier, client_assertion_type: ASSERTION_TYPE },
  }
  const chosen = (names: readonly string[], more: object = {}): URLSearchParams => {
    const all = { ...values, ...more } as Record<string, string>
    return new URLSearchParams(names.map(name => [name, all[name] as string]))
  }
  const url = new URL(server.authorization_endpoint)
  url.search = chosen(client.authorize).toString()
  const back = new URL(await consent(ada, url))
  expect(back.href.startsWith(client.redirectUri)).toBe(true)
  expect([back.searchParams.get('state'), back.searchParams.get('iss')]).toEqual([state, server.issuer])

  const token = async (names: readonly string[], more: object) => {
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(server.token_endpoint)
      .setExpirationTime('1 min')
      .sign(signing)
    const answer = await fetch(server.token_endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: chosen(names, { ...more, client_assertion: assertion }).toString(),
    })
    const body = (await answer.json()) as { access_token: string; refresh_token: string }
    expect([answer.status, body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })])
    return body
  }
  const code = back.searchParams.get('code') ?? ''
  const first = await token(client.token, { grant_type: 'authorization_code', code })
  const { access_token: access } = await token(client.refresh, {
    ...{ grant_type: 'refresh_token', refresh_token: first.refresh_token },
  })
  const opened = await sendMcp(hub, PATH, access, INITIALIZE)
  await opened.text()
  const called = await fetch(hub.url + PATH, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${access}`, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' },
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
      params: { name: 'echo', arguments: { text: `hello from ${client.name}` } },
    }),
  })
  expect([called.status, await called.text()]).toEqual([200, expect.stringContaining(`hello from ${client.name}`)])
})

test('Claude by its real id, whose document most data centres cannot read', async () => {
  const app = Object.assign(new RawOAuth(hub.url, 'https://claude.ai/api/mcp/auth_callback'), {
    clientId: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
  })
  const { access_token: access } = await app.tokens(ada, PATH)
  expect((await sendMcp(hub, PATH, access, INITIALIZE)).status).toBe(200)
  const request = await requestAt(
    app.url(PATH, { redirect_uri: 'https://claude.ai.evil.example/api/mcp/auth_callback' }),
  )
  const answer = await ada.request('POST', '/api/oauth/requests', { request })
  expect([answer.status, answer.json.code]).toEqual([400, 'redirect_mismatch'])
})
