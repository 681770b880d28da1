/** Sign-in by a code that a person enters at the issuer, on any device (RFC 8628). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore } from '../../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { enterCode, GuardedServer, Issuer } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

describe('at oidc-provider', () => {
  let issuer: Issuer
  let server: GuardedServer
  let hub: Hub
  let root: Client
  let ada: Client
  let bob: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    server = await GuardedServer.start(issuer)
    hub = await startHub({ env: LOOPBACK })
    root = await hub.setup()
    ada = await hub.user('ada')
    bob = await hub.user('bob')
    const place = { name: 'notes', url: server.url, oauth: { grant: 'device' }, visibility: 'public' }
    await ada.ok('POST', '/api/servers', place)
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await server?.stop()
    await issuer?.stop()
  }, 120_000)

  const begin = (client: Client) => client.ok('POST', '/api/servers/ada~notes/connect', {})
  const ended = (client: Client, flow: string) =>
    until(
      async () => {
        const found = await client.ok('GET', `/api/connections/flows/${flow}`)
        return found.state !== 'waiting' && found
      },
      { timeoutMs: 30_000, what: 'the sign-in to end' },
    )

  test('the code is shown to its user alone, and the server comes online when it was entered', async () => {
    await until(async () => (await statusOf(ada, 'notes')).reason?.code === 'sign_in_needed')
    const begun = await begin(ada)
    expect(begun).toMatchObject({ issuer: issuer.url, interval: 5, verificationUri: `${issuer.url}/device` })
    expect(begun.userCode).toMatch(/^[A-Z]{4}-[A-Z]{4}$/)
    expect(begun.verificationUriComplete).toContain(begun.userCode)
    expect(begun.authorizeUrl).toBeUndefined()
    const waiting = await ada.ok('GET', `/api/connections/flows/${begun.flow}`)
    expect(waiting).toMatchObject({ state: 'waiting', userCode: begun.userCode, expiresAt: begun.expiresAt })
    const foreign = await bob.request('GET', `/api/connections/flows/${begun.flow}`)
    expect([foreign.status, foreign.json.code]).toEqual([400, 'flow_unknown'])
    expect(await enterCode(begun.verificationUri, begun.userCode, 'ada-there')).toContain('Sign-in Success')
    const done = await ended(ada, begun.flow)
    expect(done).toMatchObject({ state: 'done', server: 'ada~notes' })
    expect(done.userCode).toBeUndefined()
    await online(ada, ['notes'])
    expect(await callText(await ada.mcp('/mcp/notes'), 'whoami')).toBe('ada-there')
    const { items } = await ada.ok('GET', '/api/connections')
    expect(items[0]).toMatchObject({ server: 'ada~notes', state: 'active' })
    expect((await bob.ok('GET', '/api/connections')).items).toEqual([])
    const { items: audit } = await root.ok('GET', '/api/admin/audit')
    expect(audit.map(({ action }: { action: string }) => action)).toContain('oauth-client.finish')
  }, 60_000)

  test('each user signs in for themselves, a refusal at the issuer is the outcome, and a new start replaces the old one', async () => {
    const first = await begin(bob)
    const second = await begin(bob)
    expect((await bob.request('GET', `/api/connections/flows/${first.flow}`)).json.code).toBe('flow_unknown')
    await enterCode(second.verificationUri, second.userCode, 'bob-there', true)
    const denied = await ended(bob, second.flow)
    expect(denied).toMatchObject({ state: 'failed', code: 'sign_in_denied' })
    expect(denied.message).toContain('access_denied')
    const third = await begin(bob)
    // The code of a start that was replaced is entered: nobody gets its tokens.
    await enterCode(first.verificationUri, first.userCode, 'bob-elsewhere')
    await enterCode(third.verificationUri, third.userCode, 'bob-there')
    expect(await ended(bob, third.flow)).toMatchObject({ state: 'done' })
    const [asAda, asBob] = await Promise.all([ada.mcp('/mcp/notes'), bob.mcp('/mcp/@ada/notes')])
    expect([await callText(asAda, 'whoami'), await callText(asBob, 'whoami')]).toEqual(['ada-there', 'bob-there'])
  }, 60_000)

  test('the tokens are renewed as those of other sign-ins are', async () => {
    const mcp = await ada.mcp('/mcp/notes')
    await callText(mcp, 'whoami')
    const token = server.calls.findLast(({ method }) => method === 'tools/call')?.authorization?.slice(7) ?? ''
    const before = issuer.grants.length
    server.refused.add(token)
    expect(await until(() => callText(mcp, 'whoami').catch(() => ''), { timeoutMs: 15_000 })).toBe('ada-there')
    expect(issuer.grants.slice(before)).toContain('refresh_token')
  })

  beyondCore(() => {
    test('a server that wants tokens bound to a key gets such by a code too', async () => {
      const bound = await GuardedServer.start(issuer)
      bound.bound = { nonce: 'first', proofs: [] }
      await ada.ok('POST', '/api/servers', { name: 'bound', url: bound.url, oauth: { grant: 'device' } })
      const begun = await ada.ok('POST', '/api/servers/bound/connect', {})
      await enterCode(begun.verificationUri, begun.userCode, 'ada-bound')
      expect(await ended(ada, begun.flow)).toMatchObject({ state: 'done' })
      await online(ada, ['bound'])
      expect(await callText(await ada.mcp('/mcp/bound'), 'whoami')).toBe('ada-bound')
      expect(bound.bound.proofs.length).toBeGreaterThan(0)
      await bound.stop()
    }, 60_000)
  })
})
