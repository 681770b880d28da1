/** Refusals that keep a user from signing in, and from finishing a sign-in of somebody else. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

describe('a sign-in', () => {
  let issuer: Issuer
  let closed: Issuer
  let server: GuardedServer
  let hub: Hub
  let ada: Client
  let bob: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    closed = await Issuer.start({ registers: false })
    server = await GuardedServer.start(issuer)
    hub = await startHub({ env: LOOPBACK })
    await hub.setup()
    ada = await hub.user('ada')
    bob = await hub.user('bob')
    await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, oauth: {}, visibility: 'public' })
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await server?.stop()
    await issuer?.stop()
    await closed?.stop()
  }, 120_000)

  const begin = (client: Client, ref = 'ada~notes', body: object = {}) =>
    client.request('POST', `/api/servers/${ref}/connect`, body)
  const finish = (client: Client, url: string) => client.request('POST', '/api/connections/finish', { url })

  test('that somebody else began is refused, and stays with its owner', async () => {
    const { flow, authorizeUrl } = await ada.ok('POST', '/api/servers/notes/connect', {})
    const url = await signInAt(authorizeUrl, 'ada-there')
    const foreign = await finish(bob, url)
    expect([foreign.status, foreign.json.code]).toEqual([400, 'flow_foreign'])
    expect((await bob.ok('GET', '/api/connections')).items).toEqual([])
    expect((await bob.request('GET', `/api/connections/flows/${flow}`)).json.code).toBe('flow_unknown')
    expect((await ada.ok('GET', `/api/connections/flows/${flow}`)).state).toBe('waiting')
    expect((await finish(ada, url)).status).toBe(200)
    expect((await ada.ok('GET', `/api/connections/flows/${flow}`)).state).toBe('done')
    const again = await finish(ada, url)
    expect([again.status, again.json.code]).toEqual([400, 'flow_unknown'])
    await online(ada, ['notes'])
  })

  test.each([
    ['of another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example'), 'issuer_mismatch'],
    ['of an issuer a slash longer', (url: URL) => url.searchParams.set('iss', `${issuer.url}/`), 'issuer_mismatch'],
    ['without the issuer, which is advertised', (url: URL) => url.searchParams.delete('iss'), 'issuer_mismatch'],
    ['with another state', (url: URL) => url.searchParams.set('state', 'x'), 'flow_unknown'],
    ['with two codes', (url: URL) => url.searchParams.append('code', 'x'), 'sign_in_denied'],
  ])('an answer %s is refused', async (_, change, code) => {
    const { authorizeUrl } = await ada.ok('POST', '/api/servers/notes/connect', {})
    const url = new URL(await signInAt(authorizeUrl, 'ada-there'))
    change(url)
    const { status, json } = await finish(ada, url.href)
    expect([status, json.code]).toEqual([400, code])
    expect(JSON.stringify(json)).not.toContain('evil.example')
  })

  test('that the user does not grant is sign_in_denied', async () => {
    const { flow, authorizeUrl } = await ada.ok('POST', '/api/servers/notes/connect', {})
    const state = new URL(authorizeUrl).searchParams.get('state')
    const url = `${hub.url}/oauth/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(issuer.url)}`
    expect((await finish(ada, url)).json.code).toBe('sign_in_denied')
    expect(await ada.ok('GET', `/api/connections/flows/${flow}`)).toMatchObject({
      state: 'failed',
      code: 'sign_in_denied',
    })
  })

  test.each([
    ['another resource', () => ({ resource: 'https://other.example/mcp' }), 'resource_mismatch'],
    ['a resource beside its path', () => ({ resource: `${server.url}-2` }), 'resource_mismatch'],
    ['an issuer over http', () => ({ authorization_servers: ['http://issuer.example'] }), 'issuer_unusable'],
    ['an issuer that is none', () => ({ authorization_servers: [new URL(server.url).origin] }), 'issuer_unusable'],
    ['an issuer that is gone', () => ({ authorization_servers: ['http://127.0.0.1:1'] }), 'issuer_unreachable'],
  ])('at a server that names %s is refused', async (_, change, code) => {
    server.metadata = { resource: server.url, authorization_servers: [issuer.url], ...change() }
    const { status, json } = await begin(ada, 'notes')
    server.metadata = undefined
    expect([status, json.code]).toEqual([code === 'issuer_unreachable' ? 502 : 400, code])
  })

  test('by metadata is what the person sees at the server, until the next attempt', async () => {
    const reason = async () => (await bob.ok('GET', '/api/servers/ada~notes')).mine.reason.code
    server.metadata = { resource: 'https://other.example/mcp', authorization_servers: [issuer.url] }
    expect((await begin(bob)).json.code).toBe('resource_mismatch')
    server.metadata = undefined
    expect(await reason()).toBe('resource_mismatch')
    expect((await begin(bob)).status).toBe(201)
    expect(await reason()).toBe('sign_in_needed')
  })

  test.each([
    ['does not list S256', { code_challenge_methods_supported: ['plain'] }, 'pkce_unsupported'],
    ['says it is another', { issuer: 'https://other.example' }, 'issuer_mismatch'],
    ['has its tokens over http', { token_endpoint: 'http://10.0.0.1/token' }, 'issuer_unusable'],
  ])('at an issuer that %s is refused', async (_, change, code) => {
    const fake: ReturnType<typeof Bun.serve> = Bun.serve({
      ...{ port: 0, hostname: '127.0.0.1' },
      fetch: () => Response.json({ ...metadataOf(fake.url.origin), ...change }),
    })
    server.metadata = { resource: server.url, authorization_servers: [fake.url.origin] }
    const { status, json } = await begin(ada, 'notes')
    server.metadata = undefined
    await fake.stop(true)
    expect([status, json.code]).toEqual([400, code])
  })

  test('where no client is registered by itself names the redirect URI, and works with a given one', async () => {
    const guarded = await GuardedServer.start(closed)
    await ada.ok('POST', '/api/servers', { name: 'given', url: guarded.url })
    const refused = await begin(ada, 'given')
    const redirectUri = `${hub.url}/oauth/callback`
    expect(refused.json).toMatchObject({ code: 'client_needed', redirectUri })
    const client = { client_id: 'mine', client_secret: 'a-secret-of-mine', redirect_uris: [redirectUri] }
    const known = await Issuer.start({
      registers: false,
      clients: [{ ...client, grant_types: ['authorization_code'] }],
    })
    guarded.metadata = { resource: guarded.url, authorization_servers: [known.url] }
    const other = await GuardedServer.start(known)
    const oauth = { clientId: 'mine', clientSecret: 'a-secret-of-mine' }
    const made = await ada.ok('POST', '/api/servers', { name: 'mine', url: other.url, oauth })
    expect(JSON.stringify(made)).not.toContain('a-secret-of-mine')
    const { authorizeUrl } = await ada.ok('POST', '/api/servers/mine/connect', {})
    expect(new URL(authorizeUrl).searchParams.get('client_id')).toBe('mine')
    await ada.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'ada-given') })
    await online(ada, ['mine'])
    expect(await callText(await ada.mcp('/mcp/mine'), 'whoami')).toBe('ada-given')
    await Promise.all([guarded.stop(), other.stop(), known.stop()])
  })

  test('at a server of somebody else that its owner did not open for sign-in is not_owner, and unseen is not found', async () => {
    await ada.ok('POST', '/api/servers', { name: 'plain', url: `${server.url}?plain`, visibility: 'public' })
    await ada.ok('POST', '/api/servers', { name: 'hidden', url: server.url, oauth: {} })
    expect((await begin(bob, 'ada~plain')).json.code).toBe('not_owner')
    expect((await begin(bob, 'ada~notes', { for: 'all' })).json.code).toBe('not_owner')
    expect((await begin(bob, 'ada~hidden')).status).toBe(404)
    const { items } = await ada.ok('GET', '/api/connections')
    expect((await bob.request('DELETE', `/api/connections/${items[0].id}`)).json.code).toBe('connection_not_found')
  })

  test('where the owner signs in for all, nobody else begins one, whatever their role', async () => {
    const own = { oauth: {}, credentials: 'owner', visibility: 'public' }
    await ada.ok('POST', '/api/servers', { name: 'ours', url: `${server.url}?ours`, ...own })
    const [user, changer] = [await hub.user('cleo'), await hub.user('dora')]
    await ada.ok('PUT', '/api/servers/ours/shares/user:cleo', { role: 'use' })
    await ada.ok('PUT', '/api/servers/ours/shares/user:dora', { role: 'change' })
    for (const client of [bob, user, changer]) {
      for (const body of [{}, { for: 'self' }, { for: 'all' }]) {
        const { status, json } = await begin(client, 'ada~ours', body)
        expect([client.name, status, json.code]).toEqual([client.name, 403, 'not_owner'])
      }
      expect((await client.ok('GET', '/api/connections')).items).toEqual([])
    }
    expect((await begin(ada, 'ours')).status).toBe(201)
  })

  test('a wider permission: the call says which and where, and after two grants without effect that it does not help', async () => {
    const mcp = await ada.mcp('/mcp/notes')
    server.wants = 'write'
    const call = () => mcp.callTool({ name: 'whoami' }).catch(error => error)
    const { data, message } = await call()
    expect([data.code, message.includes('(write)')]).toEqual(['scope_needed', true])
    for (let round = 0; round < 2; round += 1) {
      const { authorizeUrl, scopes } = await ada.ok('POST', '/api/servers/notes/connect', {})
      expect(scopes).toContain('write')
      await ada.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'ada-there') })
    }
    expect((await call()).data.code).toBe('scope_denied')
    server.wants = undefined
  })

  test('a server that moves away from what the user signed in for gets no token', async () => {
    const moved = await GuardedServer.start(issuer)
    await ada.ok('PATCH', '/api/servers/notes', { url: moved.url })
    const reason = await until(async () => (await statusOf(ada, 'notes')).reason, { what: 'a reason' })
    expect(reason.code).toBe('resource_changed')
    expect(moved.calls).toEqual([])
    await moved.stop()
  })
})

function metadataOf(issuer: string) {
  return {
    ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
    ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
  }
}
