/** An issuer that is down for an hour, and a hub whose clock differs from the issuer's. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const MINUTE = 60_000

describe('the dates of the hub', () => {
  let issuer: Issuer
  let server: GuardedServer
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
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
    ['ahead', 10],
    ['behind', -10],
  ])(
    'ten minutes %s of the issuer: people sign in, and tokens are renewed',
    async (name, minutes) => {
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
