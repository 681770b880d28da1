import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { JsonObject } from 'patchbay/contract'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { failure, ModernHttp } from '../unit/connections/modern-http.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

const FAILS = 'fails'

// The pages after the first, which is asked for without a cursor. Each entry: its tools, and the cursor it names.
test.each<[string, [string[], string?][] | typeof FAILS, string[], number, string | undefined]>([
  ['one more page', [[['b']]], ['a', 'b'], 2, undefined],
  ['a page that names another one', [[['b'], 'x'], [['c']]], ['a', 'b', 'c'], 3, undefined],
  ['an error', FAILS, ['a'], 2, 'may be incomplete'],
  ['nothing new', [[['a'], '']], ['a'], 2, undefined],
  ['an empty page', [[[], '']], ['a'], 2, undefined],
  ['the same cursor', [[['b'], '']], ['a', 'b'], 2, 'the same next page'],
])(
  'behind an empty cursor of 2026-07-28: %s',
  async (_, pages, names, requests, warning) => {
    await using server = new ModernHttp()
    const page = (tools: readonly string[], nextCursor?: string): JsonObject => ({
      tools: tools.map(name => ({ name, inputSchema: { type: 'object' } })),
      ...{ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' },
      ...(nextCursor === undefined ? {} : { nextCursor }),
    })
    let asked = 0
    server.answers['tools/list'] = ({ id, params }) => {
      if (params.cursor === undefined) {
        asked = 0
        return page(['a'], '')
      }
      if (pages === FAILS) return failure(id, -32602, 'no such cursor', 400)
      const [tools, next] = pages[asked++] ?? [[], undefined]
      return page(tools, next)
    }
    await admin.ok('POST', '/api/servers', { name: 'paged', type: 'streamable-http', url: server.url })
    try {
      const { items, warnings } = await until(
        async () => {
          const tools = await admin.ok('GET', '/api/servers/paged/tools')
          return tools.readAt === null ? undefined : tools
        },
        { what: 'the list to be read' },
      )
      expect(items.map((tool: { name: string }) => tool.name)).toEqual(names)
      const asking = server.of('tools/list').slice(0, requests)
      expect(asking.map(({ params }) => params.cursor)).toEqual([undefined, '', ...(requests > 2 ? ['x'] : [])])
      if (warning === undefined) expect(warnings).toEqual([])
      else expect(warnings.join()).toContain(warning)
    } finally {
      await admin.ok('DELETE', '/api/servers/paged')
    }
  },
  120_000,
)
