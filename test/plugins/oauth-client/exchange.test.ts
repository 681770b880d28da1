/** Servers at which users have no sign-in of their own: the identity that a plugin has of them is exchanged. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { UnsecuredJWT } from 'jose'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

const IDENTITIES = join(import.meta.dir, '../../conformance/fixtures/identities.ts')

describe('the identity of a user', () => {
  let issuer: Issuer
  let server: GuardedServer
  let provider: ScriptedIssuer
  let authorization: ScriptedIssuer
  let stranger: ScriptedIssuer
  let hub: Hub
  let admin: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    server = await GuardedServer.start(issuer)
    provider = new ScriptedIssuer()
    authorization = new ScriptedIssuer()
    stranger = new ScriptedIssuer()
    provider.token = () => Response.json({ access_token: 'the-assertion', token_type: 'N_A' })
    server.metadata = { resource: server.url, authorization_servers: [authorization.url], scopes_supported: ['read'] }
    server.known.set('scripted', 'by-identity')
    const config = { issuer: provider.url, token: 'identity-of-the-user' }
    hub = await startHub({ env: LOOPBACK, settings: { plugins: [{ use: IDENTITIES, isolate: false, config }] } })
    admin = await hub.setup()
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await Promise.all([server, issuer, provider, authorization, stranger].map(one => one?.stop()))
  }, 120_000)

  const add = (name: string, oauth: object) =>
    admin.ok('POST', '/api/servers', {
      name,
      url: server.url,
      oauth: { clientId: 'mine', clientSecret: 's', ...oauth },
    })

  test('is exchanged at its provider for an assertion, and that at the issuer of the server (ID-JAG)', async () => {
    await add('managed', { grant: 'id_jag', identity: { issuer: provider.url, clientId: 'hub' } })
    await online(admin, ['managed'])
    expect(await callText(await admin.mcp('/mcp/managed'), 'whoami')).toBe('by-identity')
    expect(Object.fromEntries(provider.bodies[0] ?? [])).toEqual({
      client_id: 'hub',
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'identity-of-the-user',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: authorization.url,
      resource: server.url,
      scope: 'read',
    })
    expect(Object.fromEntries(authorization.bodies[0] ?? [])).toEqual({
      client_id: 'mine',
      client_secret: 's',
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'the-assertion',
      scope: 'read',
    })
  })

  test('a server that refuses new tokens leads nobody to a page, since nobody can sign in there', async () => {
    server.refused.add('scripted')
    await add('machine', { grant: 'client_credentials' })
    await until(async () => (await statusOf(admin, 'machine')).state === 'offline')
    const { reason } = (await admin.ok('GET', '/api/servers/machine')).status
    expect([reason.code, reason.data?.connectUrl]).toEqual(['authorization_required', undefined])
    server.refused.delete('scripted')
    await admin.ok('POST', '/api/servers/machine/restart', {})
    await online(admin, ['machine'])
    expect(await callText(await admin.mcp('/mcp/machine'), 'whoami')).toBe('by-identity')
  })

  test.each([
    [
      'a provider that a server names',
      () => ({ grant: 'id_jag', identity: { issuer: stranger.url, clientId: 'hub' } }),
    ],
    ['the issuer of a server', () => ({ grant: 'token_exchange', issuer: stranger.url })],
  ])('is not sent to %s, where it is not of that issuer', async (what, oauth) => {
    const name = what.includes('provider') ? 'foreign' : 'exchanged'
    await add(name, oauth())
    await until(async () => (await statusOf(admin, name)).reason?.code === 'sign_in_needed')
    expect(stranger.bodies).toEqual([])
  })

  test('is not exchanged for a server of another ordinary user, who could collect identities so', async () => {
    const bob = await hub.user('bob')
    const oauth = { clientId: 'mine', grant: 'id_jag', identity: { issuer: provider.url, clientId: 'of-bob' } }
    await bob.ok('POST', '/api/servers', { name: 'trap', url: server.url, visibility: 'public', oauth })
    await until(() => provider.bodies.some(body => body.get('client_id') === 'of-bob'))
    await online(bob, ['trap'])
    const before = provider.bodies.length
    const mcp = await admin.mcp('/mcp/@bob/trap')
    const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ data: { code: 'authorization_required' } })
    expect(provider.bodies.length).toBe(before)
  })

  test('is exchanged at the issuer of the server itself, where the plugin has one of that (RFC 8693)', async () => {
    provider.token = () => Response.json({ access_token: 'scripted', token_type: 'Bearer' })
    provider.bodies.length = 0
    await add('direct', { grant: 'token_exchange', issuer: provider.url })
    await until(() => provider.bodies.length > 0)
    const { subject_token, requested_token_type, resource } = Object.fromEntries(provider.bodies[0] ?? [])
    expect([subject_token, requested_token_type, resource]).toEqual([
      'identity-of-the-user',
      'urn:ietf:params:oauth:token-type:access_token',
      server.url,
    ])
  })

  test('is sent as it is to the issuer that it is for, and to no other (RFC 7523)', async () => {
    const identity = (aud: string) => new UnsecuredJWT({ aud, sub: 'workload' }).encode()
    const give = (token: string) =>
      admin.ok('PATCH', '/api/admin/plugins/identities', { config: { issuer: provider.url, token } })
    const asked = { grant: 'jwt_bearer', identity: { issuer: provider.url } }
    await give(identity('https://other.example'))
    authorization.bodies.length = 0
    await add('stolen', asked)
    await until(async () => (await statusOf(admin, 'stolen')).reason?.code === 'issuer_unusable')
    expect(authorization.bodies).toEqual([])
    await give(identity(authorization.url))
    await add('workload', asked)
    await online(admin, ['workload'])
    expect(Object.fromEntries(authorization.bodies[0] ?? [])).toEqual({
      ...{ client_id: 'mine', client_secret: 's', assertion: identity(authorization.url), scope: 'read' },
      ...{ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', resource: server.url },
    })
    expect(await callText(await admin.mcp('/mcp/workload'), 'whoami')).toBe('by-identity')
  })

  test('of a plugin that starts later than the hub brings its servers online', async () => {
    await admin.ok('PATCH', '/api/admin/plugins/identities', { enabled: false })
    await add('early', { grant: 'id_jag', identity: { issuer: provider.url, clientId: 'hub' } })
    await until(async () => (await statusOf(admin, 'early')).reason?.code === 'sign_in_needed')
    provider.token = () => Response.json({ access_token: 'the-assertion', token_type: 'N_A' })
    const config = { issuer: provider.url, token: 'identity-of-the-user' }
    await admin.ok('PATCH', '/api/admin/plugins/identities', { enabled: true, config })
    await online(admin, ['early'])
    expect(await callText(await admin.mcp('/mcp/early'), 'whoami')).toBe('by-identity')
  })
})
