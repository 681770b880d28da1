import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { JsonObject } from '../../core/contract/json.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { type Answer, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

/** How long the server takes to tell its tools: time for a client to come before that. */
const LIST_MS = '1500'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { varied: stdioFixture('varied') } } })
  admin = await hub.setup()
  await online(admin, ['varied'])
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

type Peer = { call(method: string, params?: JsonObject): Promise<Answer> }

const ERAS: readonly [string, (key: string) => Promise<Peer>, string][] = [
  ['legacy', key => new RawClient(hub, '/mcp', key).open(), 'initialize'],
  ['modern', async key => new RawModern(hub, '/mcp', key), 'server/discover'],
]

test.each(ERAS)(
  'a %s client that comes before the first lists of a server are read is served by them',
  async (_, open, greeting) => {
    await admin.ok('POST', '/api/servers', { name: 'late', ...stdioFixture('slow', { LIST_MS }) })
    try {
      const key = await admin.mcpKey()
      const client = await open(key)
      if (greeting === 'server/discover') await client.call(greeting)
      await online(admin, ['late'])
      const call = client.call('tools/call', { name: 'quick', arguments: {} })
      const unknown = client.call('tools/call', { name: 'nothing', arguments: {} })
      const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map(method =>
        client.call(method),
      )
      expect((await call).result?.content[0].text).toBe('quick')
      expect((await unknown).error).toMatchObject({ code: -32602, data: { code: 'tool_not_found' } })
      const [tools, ...others] = await Promise.all(lists)
      expect(tools?.result.tools.map(({ name }: { name: string }) => name)).toContain('quick')
      for (const { error } of others) expect(error).toBeUndefined()
      // What was promised before stays a method now that it is known that the list is empty.
      expect((await client.call('prompts/list')).result.prompts).toEqual([])
    } finally {
      await admin.ok('DELETE', '/api/servers/late')
    }
  },
  120_000,
)
