/** Addresses that a server of an administrator names: they are reached as an ordinary user may, unless the owner chose an inner network. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../../support/hub.ts'
import { until } from '../../support/wait.ts'
import { ScriptedIssuer } from './scripted-issuer.ts'

describe('a server of an administrator', () => {
  /** A server, by its metadata alone, where everybody may reach it; and its issuer. */
  let server: ScriptedIssuer
  let issuer: ScriptedIssuer
  /** At addresses that only administrators may reach. */
  let inside: ScriptedIssuer
  let innerServer: ScriptedIssuer
  let hub: Hub
  let root: Client

  beforeAll(async () => {
    server = new ScriptedIssuer()
    issuer = new ScriptedIssuer()
    inside = new ScriptedIssuer('127.0.0.2')
    innerServer = new ScriptedIssuer('127.0.0.3')
    hub = await startHub({ env: { OUTBOUND_ALLOW: '127.0.0.1/32' } })
    root = await hub.setup()
    await root.ok('POST', '/api/servers', { name: 'outside', url: `${server.url}/mcp`, oauth: {} })
  }, 120_000)
  afterEach(() => {
    issuer.metadata = {}
    inside.seen.length = 0
  })
  afterAll(async () => {
    await hub?.stop()
    await Promise.all([server, issuer, inside, innerServer].map(one => one?.stop()))
  }, 120_000)

  const names = (at: ScriptedIssuer, issuers: readonly string[]) => {
    at.raw = () => Response.json({ resource: `${at.url}/mcp`, authorization_servers: issuers })
  }
  const begin = (name: string, client = root) => client.request('POST', `/api/servers/${name}/connect`, {})
  async function finish(name: string, client = root) {
    const { authorizeUrl } = (await begin(name, client)).json
    const back = await fetch(authorizeUrl, { redirect: 'manual' })
    return client.request('POST', '/api/connections/finish', { url: back.headers.get('location') })
  }
  /** Waits until the hub has taken back a token that was given later than others. */
  async function takenBack(name: string) {
    names(server, [issuer.url])
    issuer.metadata = { revocation_endpoint: `${issuer.url}/taken` }
    const { json } = await finish(name)
    issuer.seen.length = 0
    await root.ok('DELETE', `/api/connections/${json.id}`)
    await until(() => issuer.seen.includes('POST /taken'), { what: 'the last token to be taken back' })
  }

  test('whose metadata name an issuer inside leads nobody there', async () => {
    names(server, [inside.url])
    const { status, json } = await begin('outside')
    expect([status, json.code, inside.seen]).toEqual([502, 'issuer_unreachable', []])
  })

  test('whose issuer registers clients, gives tokens or takes them back inside sends nothing there', async () => {
    names(server, [issuer.url])
    issuer.metadata = { registration_endpoint: `${inside.url}/register` }
    expect((await begin('outside')).json.code).toBe('issuer_unreachable')
    issuer.metadata = { token_endpoint: `${inside.url}/token` }
    expect((await finish('outside')).json.code).toBe('issuer_unreachable')
    issuer.metadata = { revocation_endpoint: `${inside.url}/token` }
    const { json: connection } = await finish('outside')
    expect(connection.state).toBe('active')
    await root.ok('DELETE', `/api/connections/${connection.id}`)
    await takenBack('outside')
    expect(inside.seen).toEqual([])
  })

  test('inside whose owner is deleted: nothing is sent there with the rights that the owner had', async () => {
    const boss = await hub.user('boss', 'admin')
    names(innerServer, [inside.url])
    inside.metadata = { revocation_endpoint: `${inside.url}/taken` }
    await boss.ok('POST', '/api/servers', { name: 'inner', url: `${innerServer.url}/mcp`, oauth: {} })
    expect((await finish('inner', boss)).json.state).toBe('active')
    await root.ok('DELETE', '/api/admin/users/boss?cascade=true')
    await takenBack('outside')
    expect(inside.seen).not.toContain('POST /taken')
    inside.metadata = {}
  })

  test('inside finds its issuer inside', async () => {
    names(innerServer, [inside.url])
    await root.ok('POST', '/api/servers', { name: 'inside', url: `${innerServer.url}/mcp`, oauth: {} })
    expect((await finish('inside')).json.state).toBe('active')
    expect(inside.seen).toContain('POST /token')
  })

  test('outside with a configured issuer inside uses that one', async () => {
    names(server, [issuer.url])
    const oauth = { issuer: inside.url }
    await root.ok('POST', '/api/servers', { name: 'chosen', url: `${server.url}/mcp`, oauth })
    expect((await finish('chosen')).json.state).toBe('active')
    expect(inside.seen).toContain('POST /token')
  })
})
