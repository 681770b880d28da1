/** Results in forms that MCP does not have: their content reaches clients of both SDKs, which validate. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client as Newer, StreamableHTTPClientTransport as NewerHttp } from '@modelcontextprotocol/client'
import type { Client as Older } from '@modelcontextprotocol/sdk/client/index.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(120_000)

const SERVERS = {
  legacy: sharedFixture('odd-forms', { INFO: '{"name":"odd","title":null,"icons":null}' }),
  modern: sharedFixture('odd-forms', { ERA: 'modern' }),
}
const tools = (name: string, nextCursor?: unknown) => ({
  tools: [{ name, inputSchema: { type: 'object' } }],
  nextCursor,
})
const PAGES = { null: tools('a', ''), '""': tools('b', 3), 3: tools('c', { no: 'cursor' }) }
const PNG = 'iVBORw0KGgo='

let hub: Hub
let admin: Client
let older: Record<string, Older>
const newer: Record<string, Newer> = {}

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: SERVERS } })
  admin = await hub.setup()
  await online(admin, Object.keys(SERVERS))
  older = { legacy: await admin.mcp('/mcp/legacy'), modern: await admin.mcp('/mcp/modern') }
  const authorization = `Bearer ${await admin.mcpKey()}`
  for (const path of Object.keys(SERVERS)) {
    const one = new Newer({ name: 'newer', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await one.connect(new NewerHttp(new URL(`${hub.url}/mcp/${path}`), { requestInit: { headers: { authorization } } }))
    newer[path] = one
  }
}, 120_000)
afterAll(async () => {
  for (const one of Object.values(newer)) await one.close()
  await hub?.stop()
}, 120_000)

// biome-ignore lint/suspicious/noExplicitAny: clients of two packages whose types differ
type Any = any

const CLIENTS: readonly [string, () => Any][] = [
  ['a client of SDK 1 at a server of 2025-11-25', () => older.legacy],
  ['a client of SDK 1 at a server of 2026-07-28', () => older.modern],
  ['a client of SDK 2 at a server of 2025-11-25', () => newer.legacy],
  ['a client of SDK 2 at a server of 2026-07-28', () => newer.modern],
]

const text = (said: string) => ({ type: 'text', text: said })
/** Results of tools, and the content that clients get. */
const TOOL_RESULTS: readonly [object, object[]][] = [
  [{ content: [{ ...text('a'), annotations: null, _meta: null }], _meta: null, isError: null }, [text('a')]],
  [{ content: [text('a')], structuredContent: null }, [text('a')]],
  [
    { content: [{ ...text('a'), annotations: { audience: null, priority: 'high' } }] },
    [{ ...text('a'), annotations: {} }],
  ],
  [{ content: [{ type: 'text', text: 12 }] }, [text('12')]],
  [{ content: [{ type: 'text', text: { a: [1] } }] }, [text('{"a":[1]}')]],
  [{ content: [{ type: 'text', text: true }, null, { type: 'text', text: null }] }, [text('true'), text('')]],
  [{ content: text('a') }, [text('a')]],
  [{ content: 'a' }, [text('a')]],
  [{ content: ['a', 5, [text('b')]] }, [text('a'), text('5'), text('b')]],
  [{ content: null, structuredContent: { a: 1 } }, [text('{"a":1}')]],
  [{ structuredContent: { a: 1 } }, [text('{"a":1}')]],
  [{ result: 'a' }, [text('a')]],
  [{ toolResult: { a: 1 } }, [text('{"toolResult":{"a":1}}')]],
  [{ isError: false }, []],
  [{ content: [{ text: 'a' }] }, [text('a')]],
  [{ content: [{ type: 'json', json: { a: 1 } }] }, [text('{"type":"json","json":{"a":1}}')]],
  [{ content: [{ type: 'image', data: PNG, mimeType: null }] }, [{ type: 'image', data: PNG, mimeType: 'image/png' }]],
  [
    { content: [{ type: 'image', data: `data:image/gif;base64,${PNG}` }] },
    [{ type: 'image', data: PNG, mimeType: 'image/gif' }],
  ],
  [{ content: [{ type: 'image', data: null }] }, [text('{"type":"image","data":null}')]],
  [
    { content: [{ type: 'resource', resource: { uri: 'x://a', mimeType: null, text: 'a', blob: null } }] },
    [{ type: 'resource', resource: { uri: expect.any(String), text: 'a' } }],
  ],
  [
    { content: [{ type: 'resource_link', uri: 'x://a', description: null, mimeType: 5, size: null }] },
    [{ type: 'resource_link', uri: expect.any(String), name: 'x://a' }],
  ],
]

describe.each(CLIENTS)('%s', (_, client) => {
  test('gets the content of results in odd forms', async () => {
    for (const [result, content] of TOOL_RESULTS) {
      const got = await client().callTool({ name: 'say', arguments: { result } })
      expect([result, got.content]).toEqual([result, content])
      expect(got.structuredContent ?? undefined).toEqual((result as Any).structuredContent ?? undefined)
    }
  })

  test('gets errors as errors, and numbers as they were written', async () => {
    const failed = await client().callTool({ name: 'say', arguments: { result: { content: 'no', isError: true } } })
    expect(failed).toMatchObject({ content: [text('no')], isError: true })
    const word = await client().callTool({ name: 'say', arguments: { result: { content: 'no', isError: 'true' } } })
    expect(word.isError).toBe(true)
    const number = '{"content":[{"type":"text","text":12345678901234567890}]}'
    const exact = await client().callTool({ name: 'say', arguments: { result: number } })
    expect(exact.content).toEqual([text('12345678901234567890')])
  })

  test('gets prompts in odd forms', async () => {
    for (const [messages, expected] of [
      [[{ role: 'user', content: 'a' }], [['user', 'a']]],
      [[{ role: 'system', content: text('a') }], [['user', 'a']]],
      [
        [{ role: 'assistant', content: [text('a'), text('b')] }],
        [
          ['assistant', 'a'],
          ['assistant', 'b'],
        ],
      ],
      [{ role: 'user', content: { type: 'text', text: 5 } }, [['user', '5']]],
      ['a', [['user', 'a']]],
      [null, []],
    ]) {
      const result = JSON.stringify({ messages, description: null, _meta: null })
      const got = await client().getPrompt({ name: 'say', arguments: { result } })
      expect(got.messages.map((one: Any) => [one.role, one.content.text])).toEqual(expected)
    }
  })

  test('gets resources in odd forms', async () => {
    for (const [contents, expected] of [
      [[{ uri: 'odd://x', mimeType: null, text: 'a', blob: null, _meta: null }], ['a']],
      [[{ uri: 'odd://x', text: null, blob: PNG }], [PNG]],
      [[{ text: { a: 1 } }], ['{"a":1}']],
      [{ uri: null, text: 7 }, ['7']],
      [['a', null], ['a']],
      [null, []],
    ]) {
      const uri = `odd://${encodeURIComponent(JSON.stringify({ contents, _meta: null }))}`
      const got = await client().readResource({ uri })
      expect(got.contents.map((one: Any) => one.text ?? one.blob)).toEqual(expected)
      for (const one of got.contents) expect(one.uri).toStartWith('odd://')
    }
  })

  test('gets completions in odd forms', async () => {
    const ref = { type: 'ref/prompt' as const, name: 'say' }
    for (const [completion, values] of [
      [{ values: ['a'], total: null, hasMore: null }, ['a']],
      [{ values: [1, null, 'a'] }, ['1', 'a']],
      [['a'], ['a']],
      [null, []],
    ]) {
      const value = JSON.stringify({ completion })
      const got = await client().complete({ ref, argument: { name: 'result', value } })
      expect(got.completion.values).toEqual(values)
    }
  })
})

test('a server without a version, and with members that are null, is presented in a valid form', async () => {
  expect(older.legacy?.getServerVersion()).toEqual({ name: 'odd', version: '' })
  expect(newer.legacy?.getServerVersion()).toMatchObject({ name: 'odd', version: '' })
})

test('a next cursor that is empty or a number is used, and of any other the rest is said to be missing', async () => {
  await admin.ok('POST', '/api/servers', {
    name: 'paged',
    ...sharedFixture('odd-forms', { PAGES: JSON.stringify(PAGES) }),
  })
  await online(admin, ['paged'])
  const { items, warnings } = await admin.ok('GET', '/api/servers/paged/tools')
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c'])
  expect(warnings.join()).toContain('may be incomplete')
  await admin.ok('DELETE', '/api/servers/paged')
})

test('a list that is null or comes alone is read; an answer without one is named as a fault of the server', async () => {
  const list = [{ name: 'a', inputSchema: { type: 'object' } }]
  const forms: Readonly<Record<string, readonly [answer: unknown, tools: number, says: RegExp | undefined]>> = {
    nulls: [{ tools: null }, 0, undefined],
    alone: [list, 1, undefined],
    nothing: [{}, 0, /has no list "tools"/],
    map: [{ tools: { a: {} } }, 0, /has no list "tools"/],
  }
  for (const [name, [answer, tools, says]] of Object.entries(forms)) {
    const env = { PAGES: JSON.stringify({ null: answer }) }
    await admin.ok('POST', '/api/servers', { name, ...sharedFixture('odd-forms', env) })
    await online(admin, [name])
    const { items, warnings = [] } = await admin.ok('GET', `/api/servers/${name}/tools`)
    expect([name, items.length, warnings.join()]).toEqual([
      name,
      tools,
      says ? expect.stringMatching(says) : expect.not.stringContaining('list'),
    ])
    expect(warnings.join()).not.toContain('The hub failed')
    await admin.ok('DELETE', `/api/servers/${name}`)
  }
})

test('lists of a server whose capabilities are missing or in another form are read, with a warning', async () => {
  const counts = (tools: number, prompts: number, resources: number) => ({ tools, prompts, resources })
  const forms: Readonly<Record<string, [capabilities: string, counts: object, isWarned: boolean]>> = {
    absent: ['absent', counts(2, 1, 1), true],
    null: ['null', counts(2, 1, 1), true],
    empty: ['[]', counts(2, 1, 1), true],
    word: ['true', counts(2, 1, 1), true],
    names: ['["tools"]', counts(2, 0, 0), false],
    others: ['{"prompts":{}}', counts(2, 1, 0), true],
    off: ['{"tools":null,"resources":[]}', counts(2, 0, 0), true],
  }
  for (const ERA of ['legacy', 'modern'])
    for (const [name, [CAPABILITIES, expected, isWarned]] of Object.entries(forms)) {
      if (ERA === 'modern' && name !== 'null') continue
      await admin.ok('POST', '/api/servers', { name, ...sharedFixture('odd-forms', { CAPABILITIES, ERA }), era: ERA })
      await online(admin, [name])
      const status = await admin.ok('GET', `/api/servers/${name}`)
      expect([name, status.status.counts]).toEqual([name, expect.objectContaining(expected)])
      expect(status.status.reason).toBeUndefined()
      const { warnings } = await admin.ok('GET', `/api/servers/${name}/tools`)
      expect([name, warnings.join().includes('declares no capability "tools"')]).toEqual([name, isWarned])
      const client = await admin.mcp(`/mcp/${name}`)
      expect(client.getServerCapabilities()?.tools).toBeDefined()
      expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['say', 'seen'])
      await admin.ok('DELETE', `/api/servers/${name}`)
    }
}, 60_000)

test('an output schema that clients cannot compile costs no list', async () => {
  const listed = (a: unknown, at: number) => ({
    ...{ name: `t${at}`, inputSchema: { type: 'object' } },
    outputSchema: { type: 'object', properties: { a } },
  })
  const wrong = [{ type: 'strng' }, { $ref: '#/none' }, { pattern: '(' }, { $ref: 'https://elsewhere.example/a' }]
  const LISTED = JSON.stringify([...wrong, { required: true }, { type: 'string' }].map(listed))
  await admin.ok('POST', '/api/servers', { name: 'schemas', ...sharedFixture('odd-forms', { LISTED }) })
  await online(admin, ['schemas'])
  const client = await admin.mcp('/mcp/schemas')
  const { tools } = await client.listTools()
  expect(tools.map(({ outputSchema }) => outputSchema !== undefined)).toEqual([...Array(5).fill(false), true])
  const { warnings } = await admin.ok('GET', '/api/servers/schemas/tools')
  expect(warnings.join()).toContain('"t0" in outputSchema')
  await admin.ok('DELETE', '/api/servers/schemas')
})

test('over REST a result is what the server wrote', async () => {
  const result = {
    content: [
      { ...text('a'), annotations: null },
      { type: 'text', text: 5 },
    ],
    isError: null,
    _meta: null,
  }
  for (const server of Object.keys(SERVERS)) {
    const answer = await admin.ok('POST', `/api/servers/${server}/tools/say/call`, { arguments: { result } })
    expect(answer.result).toEqual(result)
  }
})

test('arguments in the forms of other protocols reach clients as schemas', async () => {
  const schema = { type: 'object' as const, properties: { city: { type: 'string' } } }
  const forms = [
    { name: 'text', inputSchema: JSON.stringify(schema) },
    { name: 'capitals', inputSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } } } },
    { name: 'anthropic', input_schema: schema },
    { name: 'openai', parameters: schema },
  ]
  const LISTED = JSON.stringify([...forms, { name: 'php', inputSchema: [] }, { name: 'names', inputSchema: ['city'] }])
  await admin.ok('POST', '/api/servers', { name: 'forms', ...sharedFixture('odd-forms', { LISTED }) })
  await online(admin, ['forms'])
  const client = await admin.mcp('/mcp/forms')
  const { tools } = await client.listTools()
  expect(tools.map(({ name, inputSchema }) => [name, inputSchema])).toEqual([
    ...forms.map(({ name }) => [name, schema]),
    ['php', { type: 'object' }],
  ])
  const { warnings } = await admin.ok('GET', '/api/servers/forms/tools')
  expect(warnings.join('\n')).toMatch(/"names" is left out.*describes no object[\s\S]*5 items .*"text" in inputSchema/)
})
