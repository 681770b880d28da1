/** Arguments as agents send them: unknown ones are dropped and recorded, texts become values where one reading is left. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { JsonObject } from 'patchbay/contract'
import { type Api, document, startApi } from '../plugins/transport-openapi/harness.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(60_000)

const param = (name: string, schema: JsonObject): JsonObject => ({ name, in: 'query', schema })
const API = document(
  {
    '/find': {
      post: {
        operationId: 'find',
        parameters: [
          param('limit', { type: 'integer', maximum: 100 }),
          param('ratio', { type: 'number' }),
          param('open', { type: 'boolean' }),
          param('tags', { type: 'array', items: { type: 'integer' } }),
          param('code', { type: 'string' }),
          param('level', { enum: [1, 2, 3] }),
          param('either', { oneOf: [{ type: 'integer' }, { type: 'boolean' }] }),
          param('mixed', { anyOf: [{ type: 'integer' }, { type: 'string' }] }),
          param('maybe', { type: 'integer', nullable: true }),
          param('at', { type: 'string', format: 'date-time' }),
          param('size', { type: 'Int' }),
        ],
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  filter: { $ref: '#/components/schemas/Filter' },
                  list: { type: 'array', items: { $ref: '#/components/schemas/Filter' } },
                },
              },
            },
          },
        },
        responses: {},
      },
    },
    '/none': { get: { operationId: 'none', responses: {} } },
  },
  {
    components: {
      schemas: {
        Filter: {
          type: 'object',
          additionalProperties: false,
          properties: { size: { type: 'integer' }, word: { type: 'string' } },
        },
      },
    },
  },
)

let api: Api
let hub: Hub
let ann: Client
// biome-ignore lint/suspicious/noExplicitAny: results of the SDK's client
let call: (args: JsonObject, tool?: string) => Promise<any>

beforeAll(async () => {
  api = await startApi()
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ann = await hub.user('ann')
  const openapi = { schema: API, baseUrl: api.url }
  await ann.ok('POST', '/api/servers', { name: 'api', openapi })
  await ann.ok('POST', '/api/servers', { name: 'exact', openapi, extraArguments: 'refuse' })
  await online(ann, ['api', 'exact'])
  const client = await ann.mcp('/mcp/@ann/api')
  call = (args, tool = 'find') => client.callTool({ name: tool, arguments: args })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await api?.[Symbol.asyncDispose]()
}, 120_000)

test.each<[JsonObject, string]>([
  [{ limit: '5' }, '?limit=5'],
  [{ limit: ' 5 ' }, '?limit=5'],
  [{ limit: '5.0' }, '?limit=5.0'],
  [{ limit: '-12' }, '?limit=-12'],
  [{ ratio: '1.50' }, '?ratio=1.50'],
  [{ ratio: '12345678901234567890.123' }, '?ratio=12345678901234567890.123'],
  [{ open: 'true' }, '?open=true'],
  [{ open: 'False' }, '?open=false'],
  [{ tags: '[1, 2]' }, '?tags=1&tags=2'],
  [{ tags: ['1', '2'] }, '?tags=1&tags=2'],
  [{ tags: '["1", 2]' }, '?tags=1&tags=2'],
  [{ level: '2' }, '?level=2'],
  [{ either: 'true' }, '?either=true'],
  [{ either: '7' }, '?either=7'],
  [{ maybe: '3' }, '?maybe=3'],
  [{ maybe: 'null' }, ''],
  [{ maybe: null }, ''],
  [{ size: '3' }, '?size=3'],
  ...['2026-01-02T03:04:05', '2026-01-02 03:04', '2026-01-02T03:04:05+0100', '2026-01-02'].map(
    (at): [JsonObject, string] => [{ at }, `?at=${encodeURIComponent(at)}`],
  ),
  [{ code: '007' }, '?code=007'],
  [{ mixed: '007' }, '?mixed=007'],
])('%j is sent as %s', async (args, query) => {
  const result = await call(args)
  expect(result.isError).toBeUndefined()
  expect(api.last().target).toBe(`/find${query}`)
})

test.each<[JsonObject, string]>([
  [{ body: '{"filter":{"size":1}}' }, '{"filter":{"size":1}}'],
  [{ body: { filter: '{"size":"1","word":"5"}' } }, '{"filter":{"size":1,"word":"5"}}'],
  [{ body: { list: '[{"size":"1"},{"word":"true"}]' } }, '{"list":[{"size":1},{"word":"true"}]}'],
  [{ body: { filter: { size: '12345678901234567890' } } }, '{"filter":{"size":12345678901234567890}}'],
])('%j is sent with the body %s', async (args, body) => {
  expect((await call(args)).isError).toBeUndefined()
  expect(api.last().body.toString()).toBe(body)
})

test.each<[JsonObject, string]>([
  [{ limit: 'five' }, '"limit" must be an integer and is a string, "five"'],
  [{ limit: '' }, '"limit" must be an integer'],
  [{ limit: '05' }, '"limit" must be an integer'],
  [{ limit: '0x10' }, '"limit" must be an integer'],
  [{ limit: '1.5' }, '"limit" must be an integer'],
  [{ limit: 'true' }, '"limit" must be an integer'],
  [{ limit: '101' }, '"limit" must be at most 100'],
  [{ limit: 'Infinity' }, '"limit" must be an integer'],
  [{ at: 'tomorrow' }, '"at" must have the format "date-time"'],
  [{ at: '2026-02-30T00:00:00Z' }, '"at" must have the format "date-time"'],
  [{ open: 'yes' }, '"open" must be a boolean and is a string, "yes"'],
  [{ open: '1' }, '"open" must be a boolean'],
  [{ tags: 'a, b' }, '"tags" must be a list'],
  [{ tags: '1' }, '"tags" must be a list'],
  [{ level: '4' }, '"level" must be one of 1, 2, 3'],
  [{ code: 7 }, '"code" must be a string and is a number, 7'],
  [{ body: '{"filter":{"more":1}}' }, '"body.filter.more" is not known'],
  [{ body: 'text' }, '"body" must be an object'],
])('%j is refused: %s', async (args, said) => {
  const before = api.seen.length
  const result = await call(args)
  expect(result.isError).toBe(true)
  expect(result.content[0].text).toContain(said)
  expect(api.seen.length).toBe(before)
})

// biome-ignore lint/suspicious/noExplicitAny: records as the API has them
async function recordsOf(server: string, wanted: (record: any) => boolean): Promise<any> {
  return until(
    async () => (await ann.ok('GET', `/api/monitoring/activity?server=${server}&limit=200`)).items.find(wanted),
    { what: 'the record of the call' },
  )
}

test('unknown arguments are dropped, and the record of the call names them', async () => {
  expect((await call({ limit: 1, thought: 'I need one', reason: null })).isError).toBeUndefined()
  expect(api.last().target).toBe('/find?limit=1')
  const dropped = await recordsOf('api', ({ note }) => /thought/.test(note ?? ''))
  expect(dropped).toMatchObject({
    ...{ tool: 'find', status: 'success', outcome: 'ok' },
    note: 'Arguments that the tool does not have were dropped: "thought", "reason"',
  })
  const { items } = await ann.ok('GET', `/api/logs/search?q=thought`)
  expect(items.map(({ note }: { note?: string }) => note)).toContain(dropped.note)
  expect((await call({ _meta: 'x', '': 1 }, 'none')).isError).toBeUndefined()
  expect((await call({ limit: 2 })).isError).toBeUndefined()
  const plain = await recordsOf('api', ({ tool, note }) => tool === 'find' && note === undefined)
  expect(plain.outcome).toBe('ok')
})

test('over REST they are dropped as well', async () => {
  const answer = await ann.ok('POST', '/api/servers/api/tools/none/call', { arguments: { thought: 'rest' } })
  expect(JSON.stringify(answer)).not.toContain('isError')
  await recordsOf('api', ({ tool, note }) => tool === 'none' && /thought/.test(note ?? ''))
})

test('a call that is refused for other arguments names the unknown ones too', async () => {
  const result = await call({ limit: 'many', lmit: 5 })
  expect(result.content[0].text).toContain('"limit" must be an integer')
  expect(result.content[0].text).toContain('"lmit" is not known')
})

test('a server with extraArguments "refuse" refuses them', async () => {
  const client = await ann.mcp('/mcp/@ann/exact')
  const result = await client.callTool({ name: 'find', arguments: { limit: '1', thought: 'x' } })
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"thought" has no place') }],
  })
  expect((await ann.ok('GET', '/api/servers/exact')).extraArguments).toBe('refuse')
  const refused = await ann.request('PATCH', '/api/servers/exact', { extraArguments: 'maybe' })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/extraArguments'])
})
