/** Clients whose id is the address of a document about them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Authority } from '../../support/certificates.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { RawOAuth, requestAt } from '../../support/oauth.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const REDIRECT = 'http://127.0.0.1:33418/callback'
const { privateKey, publicKey } = await generateKeyPair('ES256')
let hub: Hub
let ada: Client
let folder: string
let site: Bun.Server<undefined>
const asked: string[] = []

function documentOf(id: string, more: object = {}): object {
  return { client_id: id, client_name: 'Documented', redirect_uris: [REDIRECT], ...more }
}

/** Answers by path. */
const ANSWERS: Readonly<Record<string, (id: string) => Response | Promise<Response>>> = {
  '/client.json': id => Response.json(documentOf(id, { grant_types: ['authorization_code', 'device_code'] })),
  '/keys.json': async id =>
    Response.json(
      documentOf(id, {
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] },
      }),
    ),
  '/redirecting': () => new Response(null, { status: 302, headers: { location: '/client.json' } }),
  '/long': id => Response.json(documentOf(id, { padding: 'x'.repeat(11 * 1_024) })),
  '/html': () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
  '/other-id': id => Response.json(documentOf(`${id}/`)),
  '/secret': id => Response.json(documentOf(id, { client_secret: 'x' })),
  '/nameless': id => Response.json({ client_id: id, redirect_uris: [REDIRECT] }),
  '/nowhere': id => Response.json(documentOf(id, { redirect_uris: [] })),
  '/failing': () => new Response('no', { status: 500 }),
}

beforeAll(async () => {
  folder = await makeTemp('documents')
  const authority = new Authority(folder)
  site = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: authority.issue('site', 'IP:127.0.0.1') },
    fetch(request) {
      const { pathname } = new URL(request.url)
      asked.push(pathname)
      return ANSWERS[pathname]?.(idOf(pathname)) ?? new Response(null, { status: 404 })
    },
  })
  hub = await startHub({ env: { ...LOOPBACK, NODE_EXTRA_CA_CERTS: authority.file } })
  await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/groups', { name: 'work' })
}, 60_000)

afterAll(async () => {
  site?.stop(true)
  await hub?.stop()
  await removeTemp(folder)
}, 60_000)

function idOf(path: string): string {
  return `https://127.0.0.1:${site.port}${path}`
}

function clientOf(path: string): RawOAuth {
  return Object.assign(new RawOAuth(hub.url, REDIRECT), { clientId: idOf(path) })
}

test('are read once, after the sign-in, and shown with the host of the id', async () => {
  const client = clientOf('/client.json')
  const request = await requestAt(client.url('/mcp/work'))
  expect(asked).toEqual([])
  const shown = await ada.ok('POST', '/api/oauth/requests', { request })
  expect(shown.client).toEqual({
    ...{ id: idOf('/client.json'), name: 'Documented', host: `127.0.0.1:${site.port}`, kind: 'document' },
  })
  const tokens = await client.tokens(ada, '/mcp/work')
  expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
  expect(asked).toEqual(['/client.json'])
})

test('with keys prove themselves by an assertion, once each', async () => {
  const client = clientOf('/keys.json')
  const code = await client.code(ada, '/mcp/work')
  expect((await client.redeem(code)).body.error).toBe('invalid_client')
  const assertion = (audience: string, jti: string) =>
    new SignJWT({ jti })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(client.clientId)
      .setSubject(client.clientId)
      .setAudience(audience)
      .setExpirationTime('1 m')
      .sign(privateKey)
  const proof = async (audience: string, jti: string) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await assertion(audience, jti),
  })
  expect((await client.redeem(code, await proof('https://evil.example', 'a'))).body.error).toBe('invalid_client')
  const right = await client.redeem(code, await proof(hub.url, 'b'))
  expect(right.status).toBe(200)
  const again = await client.refresh(right.body.refresh_token, await proof(hub.url, 'b'))
  expect(again.body.error).toBe('invalid_client')
  expect((await client.refresh(right.body.refresh_token, await proof(`${hub.url}/token`, 'c'))).status).toBe(200)
})

test('that are not as they must be are refused', async () => {
  // One user has ten documents fetched in a minute, and two are used up.
  const eve = await hub.user('eve')
  await eve.ok('POST', '/api/groups', { name: 'work' })
  const before = asked.length
  for (const path of Object.keys(ANSWERS).slice(2)) {
    const request = await requestAt(clientOf(path).url('/mcp/work'))
    const answer = await eve.request('POST', '/api/oauth/requests', { request })
    expect([path, answer.status, answer.json.code]).toEqual([path, 400, 'client_refused'])
  }
  expect(asked.slice(before)).toEqual(Object.keys(ANSWERS).slice(2))
  const more = async (path: string) =>
    eve.request('POST', '/api/oauth/requests', { request: await requestAt(clientOf(path).url('/mcp/work')) })
  await more('/missing')
  await more('/missing')
  expect((await more('/missing')).json.code).toBe('rate_limited')
})
