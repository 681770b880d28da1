/** Sign-in of users at a server that wants tokens of an issuer. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

describe('two users of one server', () => {
  let issuer: Issuer
  let server: GuardedServer
  let hub: Hub
  let ada: Client
  let bob: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    server = await GuardedServer.start(issuer)
    hub = await startHub({ env: LOOPBACK })
    await hub.setup()
    ada = await hub.user('ada')
    bob = await hub.user('bob')
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await server?.stop()
    await issuer?.stop()
  }, 120_000)

  test('a server that wants sign-in says so with the page, and is not tried again', async () => {
    await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, visibility: 'public' })
    const { reason, nextAttemptAt } = await until(
      async () => {
        const status = await statusOf(ada, 'notes')
        return status.state === 'offline' && status
      },
      { what: 'the server to be offline' },
    )
    const { id } = await ada.ok('GET', '/api/servers/notes')
    expect(reason?.code).toBe('sign_in_needed')
    expect(reason?.message).toContain(`${hub.url}/connect/${id}`)
    expect(nextAttemptAt).toBeUndefined()
  })

  test('parameters of an issuer are at its page, and those of the protocol stay the hub’s', async () => {
    const begun = async (parameters: object) => {
      await ada.ok('PATCH', '/api/servers/notes', { oauth: null })
      await ada.ok('PATCH', '/api/servers/notes', { oauth: { parameters } })
      return ada.request('POST', '/api/servers/notes/connect', {})
    }
    const { json } = await begun({ access_type: 'offline', prompt: 'consent' })
    const shown = new URL(json.authorizeUrl).searchParams
    expect([shown.get('access_type'), shown.get('prompt')]).toEqual(['offline', 'consent'])
    for (const name of ['state', 'Redirect_URI', 'request_uri', 'nonce', ' scope'])
      expect((await begun({ [name]: 'x' })).json).toMatchObject({ status: 400, code: 'issuer_unusable' })
    await ada.ok('PATCH', '/api/servers/notes', { oauth: null })
  })

  test('its owner signs in, and the server comes online without a restart', async () => {
    const begun = await ada.ok('POST', '/api/servers/notes/connect', {})
    expect(begun.issuer).toBe(issuer.url)
    const url = await signInAt(begun.authorizeUrl, 'ada-there')
    const connection = await ada.ok('POST', '/api/connections/finish', { url })
    expect(connection).toMatchObject({ server: 'ada~notes', issuer: issuer.url, state: 'active', for: 'self' })
    await online(ada, ['notes'])
    expect((await ada.ok('GET', '/api/servers/notes')).credentials).toBe('caller')
  })

  test('each call carries the token of its caller, and no other', async () => {
    const [asAda, asBob] = await Promise.all([ada.mcp('/mcp/notes'), bob.mcp('/mcp/@ada/notes')])
    expect(await callText(asAda, 'whoami')).toBe('ada-there')
    const refused = await asBob.callTool({ name: 'whoami' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: -32603, data: { code: 'authorization_required' } })
    const begun = await bob.ok('POST', '/api/servers/ada~notes/connect', {})
    await bob.ok('POST', '/api/connections/finish', { url: await signInAt(begun.authorizeUrl, 'bob-there') })
    server.calls.length = 0
    for (let round = 0; round < 3; round += 1) {
      const texts = await Promise.all([callText(asAda, 'whoami'), callText(asBob, 'whoami')])
      expect(texts).toEqual(['ada-there', 'bob-there'])
    }
    const tokens = server.calls
      .filter(({ method }) => method === 'tools/call')
      .map(({ authorization }) => authorization)
    expect(new Set(tokens).size).toBe(2)
  })

  test('a server that wants tokens bound to a key gets a fresh proof with each request, and a new nonce is taken up', async () => {
    const guarded = await GuardedServer.start(issuer)
    guarded.bound = { nonce: 'first', proofs: [] }
    await ada.ok('POST', '/api/servers', { name: 'bound', url: guarded.url, oauth: {} })
    const begun = await ada.ok('POST', '/api/servers/bound/connect', {})
    await ada.ok('POST', '/api/connections/finish', { url: await signInAt(begun.authorizeUrl, 'ada-bound') })
    await online(ada, ['bound'])
    const mcp = await ada.mcp('/mcp/bound')
    expect(await callText(mcp, 'whoami')).toBe('ada-bound')
    guarded.bound.nonce = 'second'
    expect(await callText(mcp, 'whoami')).toBe('ada-bound')
    const ids = guarded.bound.proofs.map(({ jti }) => jti)
    expect(new Set(ids).size).toBe(ids.length)
    expect(guarded.bound.proofs.at(-1)?.nonce).toBe('second')
    await guarded.stop()
  })
})
