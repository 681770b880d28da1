/** Official clients of both generations sign in to a hub with nothing but its address and the consent of a person. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../../support/hub.ts'
import { MemoryProvider } from '../../support/oauth.ts'
import { online } from '../../support/servers.ts'
import { GENERATIONS } from './generations.ts'

describe.each(['', '/below/here'])('below the base path "%s"', basePath => {
  let hub: Hub
  let ada: Client

  beforeAll(async () => {
    hub = await startHub({ env: basePath === '' ? {} : { BASE_PATH: basePath } })
    const admin = await hub.setup()
    ada = new (admin.constructor as typeof Client)(`${hub.url}`, 'admin', admin.token)
    for (const name of ['one', 'two']) await admin.ok('POST', '/api/servers', { name, ...stdioFixture('echo') })
    await online(admin, ['one', 'two'])
    await admin.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'one' }] })
  }, 60_000)
  afterAll(() => hub?.stop(), 60_000)

  test.each(['1', '2'])(
    'generation %s signs in to a group and to all servers, calls, refreshes, and is revoked',
    async generation => {
      const connect = GENERATIONS[generation] as (typeof GENERATIONS)[string]
      for (const path of ['/mcp/work', '/mcp']) {
        const provider = new MemoryProvider(ada)
        const client = await connect(`${hub.url}${path}`, provider)
        expect(provider.visited).toHaveLength(1)
        const name = path === '/mcp' ? 'one_echo' : 'echo'
        expect(await client.callTool({ name, arguments: { text: 'hello' } })).toMatchObject({ content: [{}] })
        await client.close()
        // A client whose access token has expired refreshes it by itself.
        const before = provider.kept.tokens
        provider.kept.tokens = { ...before, access_token: `${before.access_token.slice(0, -6)}AAAAAA` }
        const again = await connect(`${hub.url}${path}`, provider)
        expect(provider.kept.tokens.refresh_token).not.toBe(before.refresh_token)
        expect(provider.visited).toHaveLength(1)
        await again.close()
        const { items } = await ada.ok('GET', '/api/oauth/grants')
        expect(items[0]).toMatchObject({
          client: { name: 'Test client', kind: 'registered' },
          resource: `${hub.url}${path}`,
        })
        await ada.ok('DELETE', `/api/oauth/grants/${items[0].id}`)
        const refused = await fetch(`${hub.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${provider.kept.tokens.access_token}`, 'content-type': 'application/json' },
          body: '{}',
        })
        expect(refused.status).toBe(401)
        await refused.body?.cancel()
      }
    },
    60_000,
  )
})
