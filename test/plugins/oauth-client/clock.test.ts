/** An issuer that is down for an hour, and a hub whose clock differs from the issuer's. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { beyondCore } from '../../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const MINUTE = 60_000
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
/** A client that proves who it is by its key. */
const KEYED = {
  ...{ client_id: 'keyed', redirect_uris: [], response_types: [], grant_types: ['client_credentials'] },
  ...{ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey.export({ format: 'jwk' })] } },
}

describe('the dates of the hub', () => {
  let issuer: Issuer
  let server: GuardedServer
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    issuer = await Issuer.start({ clients: [KEYED] })
    server = await GuardedServer.start(issuer)
    hub = await startHub({ env: LOOPBACK, shiftedClock: true })
    await hub.setup()
    ada = await hub.user('ada')
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await server?.stop()
    await issuer?.stop()
  }, 120_000)

  const refreshes = () => issuer.grants.filter(grant => grant === 'refresh_token').length
  const connections = async () => (await ada.ok('GET', '/api/connections')).items
  const stateOf = async (name: string) =>
    (await connections()).find((one: { server: string }) => one.server === `ada~${name}`)?.state

  async function signIn(name: string) {
    await ada.ok('POST', '/api/servers', { name, url: server.url, oauth: {} })
    const { authorizeUrl } = await ada.ok('POST', `/api/servers/${name}/connect`, {})
    await ada.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'ada-there') })
    await online(ada, [name])
  }

  beyondCore(() => {
    test('an issuer is down for an hour: the token is used to its end, and then it heals without a person', async () => {
      await signIn('notes')
      const mcp = await ada.mcp('/mcp/notes')
      issuer.down = true
      // The time of the renewal has come, and the token is still valid.
      const asked = issuer.refused
      await hub.moveClock(58 * MINUTE)
      await until(() => issuer.refused > asked, { timeoutMs: 20_000, what: 'an attempt to renew it' })
      expect(await callText(mcp, 'whoami')).toBe('ada-there')
      // It ends: the server takes it no more.
      await hub.moveClock(75 * MINUTE)
      server.refused.add(server.calls.at(-1)?.authorization?.slice(7) ?? '')
      const refused = await mcp.callTool({ name: 'whoami' }).catch((error: unknown) => error)
      expect(refused).toMatchObject({ data: { code: 'issuer_unreachable' } })
      expect(await stateOf('notes')).toBe('active')
      const before = issuer.refused
      await hub.moveClock(118 * MINUTE)
      await until(() => issuer.refused > before, { timeoutMs: 20_000, what: 'another attempt' })
      expect(await stateOf('notes')).toBe('active')
      issuer.down = false
      // At most five minutes after the last attempt the hub asks by itself.
      await hub.moveClock(124 * MINUTE)
      await until(() => refreshes() > 0, { timeoutMs: 20_000, what: 'the renewal' })
      expect(await until(() => callText(mcp, 'whoami').catch(() => ''), { timeoutMs: 20_000 })).toBe('ada-there')
      await online(ada, ['notes'])
      expect(await stateOf('notes')).toBe('active')
    }, 120_000)

    test.each([
      ['ahead', 10, false],
      ['behind', -10, false],
      ['ahead', 10, true],
      ['behind', -10, true],
    ])(
      'ten minutes %s of the issuer: people sign in, and tokens are renewed',
      async (word, minutes, isBound) => {
        const name = isBound ? `${word}-bound` : word
        server.bound = isBound ? { nonce: 'first', proofs: [] } : undefined
        await hub.moveClock(minutes * MINUTE)
        ada = await hub.signIn('ada')
        await signIn(name)
        const mcp = await ada.mcp(`/mcp/${name}`)
        expect(await callText(mcp, 'whoami')).toBe('ada-there')
        const before = refreshes()
        await hub.moveClock((minutes + 58) * MINUTE)
        await until(() => refreshes() > before, { timeoutMs: 20_000, what: 'the renewal' })
        expect(await callText(mcp, 'whoami')).toBe('ada-there')
        expect(await stateOf(name)).toBe('active')
        await hub.moveClock(0)
      },
      120_000,
    )
  })

  test('with a clock ten minutes off a person signs in where tokens are bound to a key', async () => {
    server.bound = { nonce: 'first', proofs: [] }
    await hub.moveClock(-10 * MINUTE)
    ada = await hub.signIn('ada')
    await signIn('bound')
    expect(await callText(await ada.mcp('/mcp/bound'), 'whoami')).toBe('ada-there')
    await hub.moveClock(0)
  }, 60_000)

  test.each([10, -10])(
    'a client that signs with a key gets its token with a clock that is %i minutes off',
    async minutes => {
      server.bound = undefined
      await hub.moveClock(minutes * MINUTE)
      ada = await hub.signIn('ada')
      const name = `client${minutes}`
      const before = issuer.given.length
      const oauth = { grant: 'client_credentials', clientId: 'keyed', key: PEM, issuer: issuer.url }
      await ada.ok('POST', '/api/servers', { name, url: server.url, oauth })
      // The server wants the token of a person, so that it stays offline; the issuer has given one.
      await until(() => issuer.given.length > before, { what: 'a token for the client' })
      const { reason } = await statusOf(ada, name)
      expect(reason?.code).not.toBe('client_refused')
      await hub.moveClock(0)
    },
    60_000,
  )
})
