/** Official clients of both generations sign in to a hub with nothing but its address and the consent of a person. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client } from '../../support/hub.ts'
import { MemoryProvider } from '../../support/oauth.ts'
import { type Place, startPlace } from './behind-nginx.ts'
import { GENERATIONS } from './generations.ts'

describe.each([
  ['at the root', '', false],
  ['below a base path', '/below/here', false],
  ['below a base path behind nginx', '/hub', true],
] as const)('%s', (_, basePath, nginx) => {
  let place: Place
  let ada: Client
  let url: string

  beforeAll(async () => {
    place = await startPlace(basePath, nginx)
    ;({ ada, url } = place)
  }, 60_000)
  afterAll(() => place?.[Symbol.asyncDispose](), 60_000)

  test.each(['1', '2'])(
    'generation %s signs in to a group and to all servers, calls, refreshes, and is revoked',
    async generation => {
      const connect = GENERATIONS[generation] as (typeof GENERATIONS)[string]
      for (const path of ['/mcp/work', '/mcp']) {
        const provider = new MemoryProvider(ada)
        const client = await connect(`${url}${path}`, provider)
        expect(provider.visited).toHaveLength(1)
        const name = path === '/mcp' ? 'one_echo' : 'echo'
        expect(await client.callTool({ name, arguments: { text: 'hello' } })).toMatchObject({ content: [{}] })
        await client.close()
        // A client whose access token has expired refreshes it by itself.
        const before = provider.kept.tokens
        provider.kept.tokens = { ...before, access_token: `${before.access_token.slice(0, -6)}AAAAAA` }
        const again = await connect(`${url}${path}`, provider)
        expect(provider.kept.tokens.refresh_token).not.toBe(before.refresh_token)
        expect(provider.visited).toHaveLength(1)
        await again.close()
        const { items } = await ada.ok('GET', '/api/oauth/grants')
        expect(items[0]).toMatchObject({
          client: { name: 'Test client', kind: 'registered' },
          resource: `${url}${path}`,
        })
        await ada.ok('DELETE', `/api/oauth/grants/${items[0].id}`)
        const refused = await fetch(`${url}${path}`, {
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
