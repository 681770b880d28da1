/** The hub is killed after its issuer has rotated a refresh token, and before the new one is committed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { extent } from '../../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../../support/issuer.ts'
import { callText, online, statusOf } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'

const RUNS = extent(1, 50)

describe('kill -9 between the rotation and the commit', () => {
  let issuer: Issuer
  let servers: GuardedServer[]
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    issuer = await Issuer.start()
    servers = [await GuardedServer.start(issuer), await GuardedServer.start(issuer)]
    hub = await startHub({ env: LOOPBACK, ownProcess: true })
    await hub.setup()
    ada = await hub.user('ada')
    for (const [at, { url }] of servers.entries()) {
      await ada.ok('POST', '/api/servers', { name: `s${at}`, url, oauth: {} })
      await signIn(`s${at}`)
    }
  }, 120_000)
  afterAll(async () => {
    await hub?.stop()
    await Promise.all([...(servers ?? []).map(server => server.stop()), issuer?.stop()])
  }, 120_000)

  /** The hub refreshes no token that is younger than 5 s. */
  const later = () => new Promise(resolve => setTimeout(resolve, 5_050))

  async function signIn(name: string) {
    const { authorizeUrl } = await ada.ok('POST', `/api/servers/${name}/connect`, {})
    await ada.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'ada-there') })
    await online(ada, [name])
  }

  test(
    `that credential alone asks for sign-in, in ${RUNS} runs`,
    async () => {
      const [first] = servers
      const credential = await ada.mcpKey()
      for (let run = 0; run < RUNS; run += 1) {
        const mcp = await ada.mcp('/mcp/s0', { credential })
        expect(await callText(mcp, 'whoami')).toBe('ada-there')
        const token = first?.calls.at(-1)?.authorization?.slice(7) ?? ''
        const rotated = Promise.withResolvers<void>()
        issuer.beforeAnswer = async () => {
          issuer.beforeAnswer = undefined
          await hub.kill9()
          rotated.resolve()
        }
        await later()
        first?.refused.add(token)
        const call = mcp.callTool({ name: 'whoami' }).catch(() => undefined)
        await rotated.promise
        await call
        const { folder } = hub
        hub = await startHub({ env: LOOPBACK, folder, ownProcess: true })
        ada = await hub.signIn('ada')
        await online(ada, ['s1'])
        expect(await callText(await ada.mcp('/mcp/s1', { credential }), 'whoami')).toBe('ada-there')
        await until(async () => (await statusOf(ada, 's0')).reason?.code === 'sign_in_needed', { timeoutMs: 30_000 })
        const { items } = await ada.ok('GET', '/api/connections')
        const states = items.map(({ server, state }: { server: string; state: string }) => [server, state])
        expect(Object.fromEntries(states)).toEqual({ 'ada~s0': 'sign_in_needed', 'ada~s1': 'active' })
        await signIn('s0')
      }
    },
    extent(120_000, 3_600_000),
  )
})
