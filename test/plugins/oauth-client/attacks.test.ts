/** Hostile servers and issuers, as an ordinary user meets them: nothing inside is reached, and no token leaves its place. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

describe('an ordinary user and hostile metadata', () => {
  let issuer: Issuer
  let server: GuardedServer
  let evil: ScriptedIssuer
  /** At an address that the user may not reach. */
  let inside: ScriptedIssuer
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    server = await GuardedServer.start(issuer)
    evil = new ScriptedIssuer()
    inside = new ScriptedIssuer('127.0.0.2')
    hub = await startHub({ env: { OUTBOUND_ALLOW: '127.0.0.1/32', LOG_LEVEL: 'debug' } })
    await hub.setup()
    ada = await hub.user('ada')
    await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, oauth: {} })
  }, 120_000)
  afterEach(() => {
    server.metadata = undefined
    evil.metadata = {}
    evil.raw = undefined
    evil.seen.length = 0
    evil.bodies.length = 0
  })
  afterAll(async () => {
    await hub?.stop()
    await Promise.all([server?.stop(), issuer?.stop(), evil?.stop(), inside?.stop()])
  }, 120_000)

  const begin = (name = 'notes') => ada.request('POST', `/api/servers/${name}/connect`, {})
  /** Begins at the scripted issuer, and brings back what its authorization endpoint says. */
  async function finishAtEvil() {
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    const { authorizeUrl } = (await begin()).json
    const back = await fetch(authorizeUrl, { redirect: 'manual' })
    return ada.request('POST', '/api/connections/finish', { url: back.headers.get('location') })
  }

  test.each([
    ['on another address of this machine', () => inside.url],
    ['there by https', () => inside.url.replace('http:', 'https:')],
    ['in a private network', () => 'https://10.0.0.1'],
    ['at the metadata of a cloud', () => 'https://169.254.169.254/latest'],
    ['of another scheme', () => 'file:///etc/passwd'],
  ])('an issuer %s is not asked', async (_, address) => {
    server.metadata = { resource: server.url, authorization_servers: [address()] }
    const { status, json } = await begin()
    expect([400, 502]).toContain(status)
    expect(['issuer_unusable', 'issuer_unreachable']).toContain(json.code)
    expect(inside.seen).toEqual([])
  })

  test.each([
    ['authorization_endpoint', () => 'javascript:alert(1)', 'issuer_unusable'],
    ['authorization_endpoint', () => 'data:text/html,x', 'issuer_unusable'],
    ['authorization_endpoint', () => 'https://user:pass@issuer.example/authorize', 'issuer_unusable'],
    ['token_endpoint', () => 'http://issuer.example/token', 'issuer_unusable'],
    ['registration_endpoint', () => `${inside.url}/register`, 'issuer_unreachable'],
  ])('%s elsewhere is refused at the start', async (member, address, code) => {
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    evil.metadata = { [member]: address() }
    const { status, json } = await begin()
    expect([status, json.code]).toEqual([code === 'issuer_unreachable' ? 502 : 400, code])
    expect(inside.seen).toEqual([])
  })

  test('a token endpoint on a host that the user may not reach gets no code', async () => {
    evil.metadata = { token_endpoint: `${inside.url}/token` }
    const { json } = await finishAtEvil()
    expect(json.code).toBe('issuer_unreachable')
    expect(inside.seen).toEqual([])
  })

  test('a redirect of the token endpoint is not followed: the code goes nowhere else', async () => {
    for (const status of [302, 307, 308]) {
      const other = new ScriptedIssuer()
      evil.token = () => new Response(null, { status, headers: { location: `${other.url}/token` } })
      const { json } = await finishAtEvil()
      expect(json.code).toBe('issuer_unreachable')
      expect(other.seen).toEqual([])
      await other.stop()
    }
    evil.token = () => Response.json({ access_token: 'scripted', token_type: 'Bearer' })
  })

  test('metadata of a megabyte, and metadata that redirect, are no metadata', async () => {
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    evil.raw = () => Response.json({ issuer: evil.url, filler: 'x'.repeat(1_000_000) })
    expect((await begin()).json.code).toBe('issuer_unreachable')
    evil.raw = () =>
      new Response(null, { status: 302, headers: { location: `${inside.url}/.well-known/openid-configuration` } })
    expect((await begin()).json.code).toBe('issuer_unusable')
    expect(inside.seen).toEqual([])
  })

  test('mix-up: an answer of one issuer to the sign-in at another redeems nothing', async () => {
    const { authorizeUrl } = (await begin()).json
    const honest = new URL(await signInAt(authorizeUrl, 'ada-there'))
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    const { authorizeUrl: atEvil } = (await begin()).json
    // The browser is led with the state of the evil sign-in, and the code of the honest issuer.
    const mixed = new URL(honest)
    mixed.searchParams.set('state', new URL(atEvil).searchParams.get('state') ?? '')
    expect((await ada.request('POST', '/api/connections/finish', { url: mixed.href })).json.code).toBe(
      'issuer_mismatch',
    )
    expect(evil.bodies).toEqual([])
    expect((await ada.request('POST', '/api/connections/finish', { url: honest.href })).json.code).toBe('flow_unknown')
  })

  test('a given client and its secret stay with the issuer at which they were first used', async () => {
    const oauth = { clientId: 'mine', clientSecret: 'the-secret-of-mine' }
    const first = new ScriptedIssuer()
    await ada.ok('POST', '/api/servers', { name: 'given', url: server.url, oauth })
    server.metadata = { resource: server.url, authorization_servers: [first.url] }
    const { authorizeUrl } = (await begin('given')).json
    const back = await fetch(authorizeUrl, { redirect: 'manual' })
    expect((await ada.request('POST', '/api/connections/finish', { url: back.headers.get('location') })).status).toBe(
      200,
    )
    expect(first.bodies[0]?.get('client_secret')).toBe('the-secret-of-mine')
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    const { json } = await begin('given')
    expect([json.code, String(json.detail).includes(first.url)]).toEqual(['client_needed', true])
    expect(evil.bodies).toEqual([])
    await first.stop()
  })

  test('a server that names another issuer: the sign-in ends as issuer_changed, and its tokens stay behind', async () => {
    const { authorizeUrl } = (await begin()).json
    await ada.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'ada-there') })
    await online(ada, ['notes'])
    const mcp = await ada.mcp('/mcp/notes')
    expect(await callText(mcp, 'whoami')).toBe('ada-there')
    const token = server.calls.at(-1)?.authorization?.slice(7) ?? ''
    server.metadata = { resource: server.url, authorization_servers: [evil.url] }
    server.refused.add(token)
    const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: -32603, data: { code: 'authorization_required' } })
    expect((await ada.ok('GET', '/api/connections')).items.at(-1).state).toBe('sign_in_needed')
    await ada.ok('POST', '/api/servers/notes/restart', {})
    await until(async () => (await statusOf(ada, 'notes')).reason?.code === 'issuer_changed')
    expect(evil.bodies).toEqual([])
    expect(issuer.grants.filter(grant => grant === 'refresh_token')).toEqual([])
    const { authorizeUrl: next } = (await begin()).json
    expect(new URL(next).searchParams.get('client_id')).toBe(`client-of-${evil.url}`)
  })

  test('no token, code or secret is in the log, in the files of the hub or in its answers', async () => {
    const texts = [...issuer.given, 'the-secret-of-mine', 'its-secret', 'scripted-code-7f3a']
    expect(issuer.given.length).toBeGreaterThan(1)
    const answers = await Promise.all(
      ['/api/connections', '/api/servers/notes', '/api/admin/audit', '/api/logs'].map(
        async path => (await ada.request('GET', path)).text,
      ),
    )
    await ada.ok('DELETE', `/api/connections/${(await ada.ok('GET', '/api/connections')).items[0].id}`)
    await hub.stop({ keep: true })
    const files = [...new Bun.Glob('**/*').scanSync({ cwd: hub.folder, dot: true })].filter(
      file => !file.includes('/runtime/'),
    )
    expect(files.some(file => file.endsWith('.db') || file.endsWith('.sqlite'))).toBe(true)
    const places = new Map([
      ['log', hub.log()],
      ['answers', answers.join('\n')],
    ])
    for (const file of files) places.set(file, await readFile(join(hub.folder, file), 'latin1'))
    const found = texts.flatMap(text =>
      [...places].filter(([, place]) => place.includes(text)).map(([name]) => [name, text]),
    )
    expect(found).toEqual([])
  })
})
