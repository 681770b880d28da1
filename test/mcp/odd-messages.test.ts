/** Rare messages: odd arguments, names that are nearly right, clients and cursors that come before a list is complete. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { JsonObject } from '../../core/contract/json.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { type Answer, HEADERS, RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { failure, ModernHttp } from '../unit/connections/modern-http.ts'
import { META, RawModern } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(120_000)

const VERSION = '2026-07-28'
/** Keys that reach a prototype where they are assigned instead of defined, and a number that a double cannot hold. */
const ODD = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"in":[{"__proto__":null}]}'

let hub: Hub
let admin: Client
let key: string

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        varied: sharedFixture('varied'),
        shaped: { ...sharedFixture('varied'), tools: { raw: { arguments: { given: { pin: 1 } } } } },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['varied', 'shaped'])
  key = await admin.mcpKey()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** A call in each era, by its arguments as text; undefined: without the member. */
const ways: readonly [string, (args: string | undefined, tool?: string) => Promise<string>][] = [
  [
    'of an older client',
    async (args, tool = 'raw') => {
      const client = await new RawClient(hub, '/mcp/varied', key).open()
      const written = args === undefined ? '' : `,"arguments":${args}`
      const params = `{"name":"${tool}"${written}}`
      return (await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)).text()
    },
  ],
  [
    'of a modern client, more than once',
    async (args, tool = 'raw') => {
      const written = args === undefined ? '' : `,"arguments":${args}`
      const meta = `{"io.modelcontextprotocol/protocolVersion":"${VERSION}","io.modelcontextprotocol/clientCapabilities":{}}`
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}"${written},"_meta":${meta}}}`
      const headers = {
        ...HEADERS,
        authorization: `Bearer ${key}`,
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      }
      const ask = async () => (await fetch(`${hub.url}/mcp/varied`, { method: 'POST', headers, body })).text()
      const first = await ask()
      // The hub shortens its work on the second call by what it learnt from the first. The answer must not change.
      expect((await ask()).replace(/"requestId":"[^"]*"/, '')).toBe(first.replace(/"requestId":"[^"]*"/, ''))
      return first
    },
  ],
]

for (const [who, call] of ways) {
  test(`arguments ${who} are data, whatever their keys are`, async () => {
    expect(await call(ODD)).toContain(`"structuredContent":${ODD}`)
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
  })

  test(`null as the arguments ${who} is none`, async () => {
    expect(await call('null', 'name')).toBe(await call(undefined, 'name'))
    const seen = await admin.request('POST', '/api/servers/varied/tools/seen/call', {})
    expect(seen.text).toContain('\\"name\\":\\"name\\"')
    expect(seen.text).not.toContain('\\"arguments\\":null')
  })

  test(`a key twice in the arguments ${who} is refused`, async () => {
    expect(await call('{"a":{"b":1,"b":1}}')).toContain('json_duplicate_key')
  })
}

test('arguments over REST are data too, and elsewhere in the body such keys are refused', async () => {
  const path = '/api/servers/varied/tools/raw/call'
  const answer = await admin.request('POST', path, `{"arguments":${ODD}}`)
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining(`"structuredContent":${ODD}`)])
  for (const none of ['{}', '{"arguments":null}'])
    expect((await admin.request('POST', path, none)).json.result.structuredContent).toEqual({})
  for (const [body, code] of [
    ['{"__proto__":{}}', 'key_forbidden'],
    ['{"constructor":{}}', 'key_forbidden'],
    ['{"arguments":{"a":1,"a":2}}', 'json_duplicate_key'],
    [`{"arguments":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, 'json_too_deep'],
  ]) {
    const refused = await admin.request('POST', path, body)
    expect([refused.status, refused.json.code]).toEqual([400, code])
  }
})

test('arguments that a server shapes stay data as well', async () => {
  const client = await new RawClient(hub, '/mcp/shaped', key).open()
  const text = await client.post(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":${ODD}}}`,
  )
  expect(await text.text()).toContain(`"structuredContent":${ODD.slice(0, -1)},"given":1}`)
})

test.each<[string, Record<string, string>]>([
  ['an empty Accept', { accept: '' }],
  ['Accept: *', { accept: '*' }],
  ['an empty version', { 'mcp-protocol-version': '' }],
])('a header that says nothing is no reason to refuse: %s', async (_, headers) => {
  const client = await new RawClient(hub, '/mcp/varied', key).open()
  const answer = await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)
  expect([answer.status, await answer.json()]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }])
})

test.each(['logLevel', 'progressToken'])('null as an optional member of _meta is as absent: %s', async member => {
  const name = member === 'logLevel' ? `${META}logLevel` : member
  const answer = await new RawModern(hub, '/mcp/varied', key).call(
    'tools/call',
    { name: 'name' },
    { meta: { [name]: null } },
  )
  expect(answer.result?.content).toEqual([{ type: 'text', text: '{"server":"varied","tool":"name"}' }])
})

/** Time that the server takes to list its tools: a client can come before that. */
const LIST_MS = '1500'

type Peer = { call(method: string, params?: JsonObject): Promise<Answer> }

const ERAS: readonly [string, (key: string) => Promise<Peer>, string][] = [
  ['legacy', key => new RawClient(hub, '/mcp', key).open(), 'initialize'],
  ['modern', async key => new RawModern(hub, '/mcp', key), 'server/discover'],
]

test.each(ERAS)(
  'a %s client that comes before the first lists of a server are read is served by them',
  async (_, open, greeting) => {
    await admin.ok('POST', '/api/servers', { name: 'late', ...sharedFixture('slow', { LIST_MS }) })
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
      // A method that was promised before stays available when the list is known to be empty.
      expect((await client.call('prompts/list')).result.prompts).toEqual([])
    } finally {
      await admin.ok('DELETE', '/api/servers/late')
    }
  },
  120_000,
)

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

describe('a name that is nearly right', () => {
  beforeAll(async () => {
    const server = sharedFixture('varied', { PROMPTS: JSON.stringify(['greeting']) })
    await admin.ok('POST', '/api/servers', { name: 'spelt', ...server })
    await online(admin, ['spelt'])
  })

  const older = async (method: string, name: string) =>
    (await (await new RawClient(hub, '/mcp/spelt', key).open()).call(method, { name })).error
  const modern = async (method: string, name: string) => {
    const headers = {
      ...HEADERS,
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': name,
    }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name, _meta } })
    const answer = await fetch(`${hub.url}/mcp/spelt`, { method: 'POST', headers, body })
    return ((await answer.json()) as { error: { message: string } }).error
  }

  for (const [era, ask] of [
    ['older', older],
    ['modern', modern],
  ] as const) {
    test(`a client of the ${era} era that shows the message alone shows what was meant`, async () => {
      const tool = await ask('tools/call', 'emti')
      expect(tool?.message).toBe('There is no tool "emti" here. Did you mean "emit"?')
      const prompt = await ask('prompts/get', 'greting')
      expect(prompt?.message).toBe('There is no prompt "greting" here. Did you mean "greeting"?')
      // A hint that every such error has is only in its data.
      expect((await ask('tools/call', 'utterly-else'))?.message).toBe('There is no tool "utterly-else" here')
    })
  }

  test('REST says what was meant as the hint of its problem', async () => {
    const answer = await admin.request('POST', '/api/servers/spelt/tools/emti/call', {})
    expect([answer.status, answer.json.hint]).toEqual([404, 'Did you mean "emit"?'])
  })
})
