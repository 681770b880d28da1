import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient, SseReader } from '../support/raw-mcp.ts'
import { online, toolNames } from '../support/servers.ts'
import { read } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

const ECHO_HTTP = join(import.meta.dir, '../support/mcp-servers/echo-http.ts')

let web: Program
let hub: Hub
let admin: Client
let key = ''

beforeAll(async () => {
  web = await startProgram(ECHO_HTTP)
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        varied: sharedFixture('varied', {
          RESOURCES: '["a://x"]',
          CAPABILITIES: '{"logging":{}}',
          SCHEMA: `{"type":"integer","maximum":${U64}}`,
        }),
        other: sharedFixture('varied', { NAME: 'other', RESOURCES: '["a://x","b://y"]' }),
        many: sharedFixture('varied', { NAME: 'many', TOOLS: '1500', PAGE: '100', DESCRIPTION: '900' }),
        web: { type: 'streamable-http', url: web.url, session: 'shared' },
      },
      groups: [
        { name: 'both', servers: ['varied', 'other'] },
        { name: 'large', servers: ['varied', 'many'] },
      ],
    },
  })
  admin = await hub.setup()
  key = await admin.mcpKey()
  await online(admin, ['varied', 'other', 'many', 'web'], 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await web?.stop()
}, 120_000)

const U64 = '18446744073709551615'

/** Arguments that lose something when they are parsed and written again without care. */
const EXACT = [
  '{"n":9007199254740993}',
  '{"n":-9223372036854775808,"m":18446744073709551616}',
  '{"n":0.1234567890123456789,"m":123456789.123456789}',
  '{"n":1e400,"m":-1e400,"k":1e-400}',
  '{"n":12345678901234567890e-5}',
  '{"list":[1,[9007199254740993],{"deep":[{"n":9007199254740995}]}]}',
  '{"9007199254740993":"a key of digits","text":"9007199254740993"}',
]

describe('numbers', () => {
  // `both` maps resource URIs, so that results are looked into there.
  for (const [path, name] of [
    ['/mcp/varied', 'raw'],
    ['/mcp/both', 'varied_raw'],
  ] as const) {
    test(`beyond 2^53, beyond a double’s range and of many digits reach the upstream and come back as written, at ${path}`, async () => {
      const client = await new RawClient(hub, path, key).open()
      for (const args of EXACT) {
        const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`
        expect(await (await client.post(text)).text()).toContain(`"structuredContent":${args}`)
      }
    })
  }

  test('of log messages, errors and tool schemas come as the upstream wrote them, over REST too', async () => {
    const client = await new RawClient(hub, '/mcp/both', key).open()
    const call = (how: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"varied_raw","arguments":{"n":${U64},"how":"${how}"}}}`
    const data = (how: string) => `"data":{"n":${U64},"how":"${how}"}`
    const stream = await (await client.post(call('log'))).text()
    expect(stream.split('\n').filter(line => line.includes(data('log')))).toHaveLength(1)
    expect(await (await client.post(call('error'))).text()).toContain(`"message":"as wanted",${data('error')}`)
    const list = await (await client.send('tools/list')).text()
    expect(list).toContain(`"it":{"type":"integer","maximum":${U64}}`)
    expect((await admin.request('GET', '/api/servers/varied/tools')).text).toContain(`"maximum":${U64}`)
  })

  test('of ids come back as they were written; what is no integer is refused', async () => {
    const client = await new RawClient(hub, '/mcp/varied', key).open()
    for (const id of ['9007199254740993', '-5', '"\\u00e9"', '0']) {
      const answer = await (await client.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).text()
      expect(answer).toContain(`"id":${id === '"\\u00e9"' ? '"é"' : id},"result":{}`)
    }
    for (const id of ['1e400', '123456789.123456789', '1.5']) {
      const answer = await client.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
      expect(((await answer.json()) as { error: { code: number } }).error.code).toBe(-32600)
    }
  })
})

describe('text', () => {
  const TEXTS = [
    'Grüße, 世界, 🙂, 👩‍👩‍👧‍👦, ‮rtl‬',
    '\u2028 and \u2029, \u0000, \u0007, \u001b[31m',
    '\ud800 a lone surrogate',
    '"\\/\b\f\n\r\t',
    'data: x\n\nevent: forged\ndata: y\r\n\r\n',
    '</script><!--',
    '__proto__',
  ]

  for (const path of ['/mcp/varied', '/mcp/web']) {
    test(`of every kind passes unchanged both ways, as JSON and in a stream, at ${path}`, async () => {
      const client = await new RawClient(hub, path, key).open()
      for (const text of TEXTS) {
        const name = path === '/mcp/web' ? 'echo' : 'raw'
        const { result } = await client.call('tools/call', { name, arguments: { text } })
        expect(path === '/mcp/web' ? result.content[0].text : result.structuredContent.text).toBe(text)
      }
      if (path === '/mcp/web') return
      for (const text of TEXTS) {
        const params = { name: 'emit', arguments: { count: 1, text }, _meta: { progressToken: text } }
        const reader = new SseReader(await client.send('tools/call', params))
        const notice = await reader.message()
        expect(notice?.params?.progressToken).toBe(text)
        expect(JSON.parse(String(notice?.params?.message)).text).toBe(text)
        expect((await reader.message())?.result.content[0].text).toBe(text)
        expect(await reader.message()).toBeUndefined()
      }
    })
  }
})

describe('size', () => {
  beyondCore(() => {
    test('a result of 5 MB arrives whole, as JSON and at the end of a stream', async () => {
      const client = await new RawClient(hub, '/mcp/both', key).open()
      const bytes = 5_000_000
      // On a slow machine, the answer comes at the end of a stream.
      const { result } = await read(await client.send('tools/call', { name: 'varied_big', arguments: { bytes } }))
      expect(Buffer.byteLength(result.content[0].text)).toBe(bytes)
      const args = { method: 'notifications/message', params: { level: 'error', data: 'first' } }
      const reader = new SseReader(await client.send('tools/call', { name: 'varied_say', arguments: args }))
      expect((await reader.message())?.method).toBe('notifications/message')
      const sdk = await admin.mcp('/mcp/varied')
      const whole = await sdk.callTool({ name: 'big', arguments: { bytes } }, undefined, {
        onprogress: () => undefined,
      })
      expect(Buffer.byteLength((whole.content as { text: string }[])[0]?.text ?? '')).toBe(bytes)
    }, 120_000)
  })

  test('arguments of almost 4 MiB pass both ways, and one byte over 4 MiB is 413', async () => {
    const client = await new RawClient(hub, '/mcp/varied', key).open()
    const head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":{"text":"'
    const tail = '"}}}'
    const fill = 'x'.repeat(4 * 1024 * 1024 - head.length - tail.length)
    const answer = await read(await client.post(head + fill + tail))
    expect(answer.result.structuredContent.text === fill).toBe(true)
    expect((await client.post(`${head}x${fill}${tail}`)).status).toBe(413)
  }, 120_000)

  test('1,500 tools from 15 pages upstream are listed over pages, each once, in order, and each can be called', async () => {
    const client = await new RawClient(hub, '/mcp/large', key).open()
    const names: string[] = []
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const response = await client.send('tools/list', cursor === undefined ? {} : { cursor })
      const text = await response.text()
      sizes.push(Buffer.byteLength(text))
      const { result } = JSON.parse(text)
      names.push(...result.tools.map((each: { name: string }) => each.name))
      cursor = result.nextCursor
    } while (cursor !== undefined)
    const expected = Array.from({ length: 1_500 }, (_, index) => `tool_${String(index + 1).padStart(4, '0')}`)
    expect(names.slice(-1_500)).toEqual(expected)
    expect(new Set(names).size).toBe(names.length)
    expect(sizes.length).toBeGreaterThan(1)
    expect(Math.max(...sizes)).toBeLessThan(1_100_000)
    for (const name of ['tool_0001', 'tool_1000', 'tool_1500']) {
      const { result } = await client.call('tools/call', { name })
      expect(JSON.parse(result.content[0].text)).toEqual({ server: 'many', tool: name })
    }
  })

  beyondCore(() => {
    test('a list that is read page by page continues behind a member that has left meanwhile', async () => {
      const first = sharedFixture('varied', { NAME: 'first', TOOLS: '1200' })
      await admin.ok('POST', '/api/servers', { name: 'first', ...first })
      await online(admin, ['first'])
      await admin.ok('POST', '/api/groups', { name: 'leaving', members: ['first', 'other', 'web'] })
      const client = await new RawClient(hub, '/mcp/leaving', key).open()
      const page = (await client.call('tools/list')).result
      expect(page.tools.at(-1).name).toBe('tool_1000')
      const rest = async () =>
        (await client.call('tools/list', { cursor: page.nextCursor })).result.tools.map(
          (tool: { name: string }) => tool.name,
        )
      const before = await rest()
      expect(before.slice(0, 2)).toEqual(['tool_1001', 'tool_1002'])
      await admin.ok('DELETE', '/api/groups/leaving/members/first')
      expect(await rest()).toEqual(before.slice(200))
      await admin.ok('DELETE', '/api/servers/first')
    })
  })

  beyondCore(() => {
    test('the SDK 1.32 and the client 2.4 read the same long list', async () => {
      const names = await toolNames(await admin.mcp('/mcp/large'))
      const modern = new ModernClient({ name: 'modern', version: '1.0.0' })
      await modern.connect(
        new ModernTransport(new URL('/mcp/large', hub.url), {
          requestInit: { headers: { authorization: `Bearer ${key}` } },
        }),
      )
      try {
        const listed: string[] = []
        let cursor: string | undefined
        do {
          const page = await modern.listTools(cursor === undefined ? {} : { cursor })
          for (const { name } of page.tools) if (!listed.includes(name)) listed.push(name)
          cursor = page.nextCursor
        } while (cursor !== undefined)
        expect(listed).toEqual(names)
        const result = await modern.callTool({ name: 'tool_0777', arguments: {} })
        expect(JSON.stringify(result.content)).toContain('tool_0777')
      } finally {
        await modern.close()
      }
    }, 120_000)
  })
})
