/** Tokens that end: refreshed once however many ask, over restarts and faults of the issuer. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

/** Signs a user in at a server, as a person at the issuer. */
async function signIn(client: Client, ref: string, person: string) {
  const { authorizeUrl } = await client.ok('POST', `/api/servers/${encodeURIComponent(ref)}/connect`, {})
  return client.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, person) })
}

describe('a token that the server refuses', () => {
  let issuer: Issuer
  let server: GuardedServer
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    server = await GuardedServer.start(issuer)
    hub = await startHub({ env: LOOPBACK })
    await hub.setup()
    ada = await hub.user('ada')
    await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, oauth: {} })
    await signIn(ada, 'notes', 'ada-there')
    await online(ada, ['notes'])
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await server?.stop()
    await issuer?.stop()
  }, 120_000)

  const refreshes = () => issuer.grants.filter(grant => grant === 'refresh_token').length
  const tokenNow = () => server.calls.findLast(({ method }) => method === 'tools/call')?.authorization?.slice(7) ?? ''
  /** The hub refreshes no token that is younger than 5 s. */
  const later = () => new Promise(resolve => setTimeout(resolve, 5_050))

  test('five calls at once: one refresh at the issuer, and each call is answered', async () => {
    const mcp = await ada.mcp('/mcp/notes')
    expect(await callText(mcp, 'whoami')).toBe('ada-there')
    await later()
    server.refused.add(tokenNow())
    const texts = await Promise.all(Array.from({ length: 5 }, () => callText(mcp, 'whoami')))
    expect(texts).toEqual(Array.from({ length: 5 }, () => 'ada-there'))
    expect(refreshes()).toBe(1)
    expect(server.refused.has(tokenNow())).toBe(false)
  })

  test('after a restart of the hub the sign-in still stands', async () => {
    const { folder } = hub
    await hub.stop({ keep: true })
    hub = await startHub({ env: LOOPBACK, folder })
    ada = await hub.signIn('ada')
    await online(ada, ['notes'])
    expect(await callText(await ada.mcp('/mcp/notes'), 'whoami')).toBe('ada-there')
    expect(refreshes()).toBe(1)
  })

  test('while the issuer is down calls fail as issuer_unreachable, and heal without a person', async () => {
    const mcp = await ada.mcp('/mcp/notes')
    await callText(mcp, 'whoami')
    issuer.down = true
    server.refused.add(tokenNow())
    const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ data: { code: 'issuer_unreachable', retryAfter: 5 } })
    const { items } = await ada.ok('GET', '/api/connections')
    expect(items[0].state).toBe('active')
    issuer.down = false
    expect(await until(() => callText(mcp, 'whoami').catch(() => ''), { timeoutMs: 15_000, intervalMs: 500 })).toBe(
      'ada-there',
    )
  })

  test('a sign-in that the issuer has withdrawn: the user is asked, and nothing is deleted', async () => {
    const mcp = await ada.mcp('/mcp/notes')
    const { Grant } = issuer.provider
    const token = await issuer.provider.AccessToken.find(tokenNow())
    await (await Grant.find(token?.grantId ?? ''))?.destroy()
    await issuer.provider.RefreshToken.revokeByGrantId(token?.grantId ?? '')
    await later()
    server.refused.add(tokenNow())
    const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: -32603, data: { code: 'authorization_required' } })
    expect(String(refused)).toContain(`${hub.url}/connect/`)
    const { items } = await ada.ok('GET', '/api/connections')
    expect(items[0].state).toBe('sign_in_needed')
    await signIn(ada, 'notes', 'ada-again')
    await online(ada, ['notes'])
    expect(await callText(mcp, 'whoami')).toBe('ada-again')
  })

  test('a refresh token that somebody else has used again: the issuer ends its family, and that sign-in alone asks for its user', async () => {
    await ada.ok('POST', '/api/servers', { name: 'other', url: server.url, oauth: {} })
    await signIn(ada, 'other', 'ada-other')
    await online(ada, ['other'])
    const { items } = await ada.ok('GET', '/api/connections')
    const { clientId } = items.find((one: { server: string }) => one.server === 'ada~notes')
    const mcp = await ada.mcp('/mcp/notes')
    await callText(mcp, 'whoami')
    const rotated = issuer.given[issuer.given.indexOf(tokenNow()) + 1] ?? ''
    await later()
    server.refused.add(tokenNow())
    expect(await callText(mcp, 'whoami')).toBe('ada-again')
    const replay = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: rotated, client_id: clientId })
    const replayed = await fetch(`${issuer.url}/token`, { method: 'POST', body: replay })
    expect(await replayed.json()).toMatchObject({ error: 'invalid_grant' })
    await later()
    server.refused.add(tokenNow())
    const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ data: { code: 'authorization_required' } })
    const states = (await ada.ok('GET', '/api/connections')).items.map(
      (one: { server: string; state: string }) => [one.server, one.state] as const,
    )
    expect(Object.fromEntries(states)).toEqual({ 'ada~notes': 'sign_in_needed', 'ada~other': 'active' })
    expect(await callText(await ada.mcp('/mcp/other'), 'whoami')).toBe('ada-other')
    await ada.ok('DELETE', '/api/servers/other')
    await signIn(ada, 'notes', 'ada-again')
    await online(ada, ['notes'])
    await callText(mcp, 'whoami')
  })

  test('signed out: the issuer is told, and the server asks again', async () => {
    const { items } = await ada.ok('GET', '/api/connections')
    const token = tokenNow()
    expect((await ada.request('DELETE', `/api/connections/${items[0].id}`)).status).toBe(204)
    await until(async () => (await statusOf(ada, 'notes')).reason?.code === 'sign_in_needed')
    expect(await until(async () => (await issuer.accountOf(token)) === undefined)).toBe(true)
    expect((await ada.ok('GET', '/api/connections')).wanting).toHaveLength(1)
  })
})
