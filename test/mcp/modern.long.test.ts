import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ClientOptions, Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Client, type Hub, stdioFixture } from '../support/hub.ts'
import { type BesideReference, besideReference } from '../support/reference.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const NEWER = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const

let world: BesideReference
let hub: Hub
let admin: Client
const opened: McpClient[] = []

beforeAll(async () => {
  world = await besideReference('legacy', remote => ({
    settings: {
      mcpServers: {
        remote,
        local: { ...stdioFixture('asking'), session: 'per-session' },
        shared: sharedFixture('asking'),
        slow: sharedFixture('slow'),
      },
      groups: [{ name: 'g', servers: ['remote', 'local', 'slow'] }],
    },
  }))
  ;({ hub, admin } = world)
}, 120_000)

afterAll(async () => {
  await Promise.allSettled(opened.splice(0).map(client => client.close()))
  await world?.stop()
}, 120_000)

const content = { color: 'blue', context: 'of the test' }

/** A client of the official package that speaks 2026-07-28, at a path of the hub. */
async function connect(path: string, options: ClientOptions = {}, prepare?: (client: McpClient) => void) {
  const client = new McpClient({ name: 'patchbay-test', version: '1.0.0' }, { ...NEWER, ...options })
  prepare?.(client)
  const authorization = `Bearer ${await admin.mcpKey()}`
  await client.connect(
    new StreamableHTTPClientTransport(new URL(path, hub.url), { requestInit: { headers: { authorization } } }),
  )
  opened.push(client)
  return client
}

/** A client that answers all three kinds of requests with its own name in them, and counts the requests. */
async function able(path: string, name: string) {
  const asked: string[] = []
  const client = await connect(path, { capabilities: { sampling: {}, elicitation: {}, roots: {} } }, one => {
    one.setRequestHandler('sampling/createMessage', () => {
      asked.push('sampling')
      return {
        model: 'none',
        role: 'assistant' as const,
        content: { type: 'text' as const, text: `sampled by ${name}` },
      }
    })
    one.setRequestHandler('elicitation/create', () => {
      asked.push('elicitation')
      return { action: 'accept' as const, content: { ...content, name, username: name, email: `${name}@example.org` } }
    })
    one.setRequestHandler('roots/list', () => {
      asked.push('roots')
      return { roots: [{ uri: `file:///${name}`, name }] }
    })
  })
  return { client, asked }
}

async function callText(client: McpClient, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: args })
  const [block] = result.content as { readonly text?: string }[]
  if (result.isError) throw new Error(`${name} failed: ${block?.text}`)
  return block?.text ?? ''
}

describe('a client of 2026-07-28 with servers of the older era', () => {
  test('discovers, lists, calls, reads and completes without a session', async () => {
    const client = await connect('/mcp/g')
    expect((await client.listTools()).tools.length).toBeGreaterThan(20)
    expect(await callText(client, 'test_simple_text')).toContain('simple text')
    expect((await client.readResource({ uri: 'test://static-text' })).contents).toHaveLength(1)
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } })
    expect(JSON.stringify(prompt.messages)).toContain("arg1='a'")
    const ref = { type: 'ref/prompt' as const, name: 'test_prompt_with_arguments' }
    const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } })
    expect(completion.values).toEqual(['paris', 'park', 'party'])
  })

  const asking = [
    ['test_sampling', { prompt: 'hi' }, 'sampled by'],
    ['test_elicitation', { message: 'Who?' }, '@example.org'],
    ['test_input_required_result_list_roots', {}, 'file:///'],
    ['test_input_required_result_multiple_inputs', {}, 'with 1 roots'],
    ['test_input_required_result_multi_round', {}, 'likes blue'],
    ['sample', {}, 'sampled by'],
    ['elicit', {}, 'accept'],
    ['roots', {}, 'file:///'],
  ] as const
  describe('of two clients asks the one that called, and no other', () => {
    let anna: Awaited<ReturnType<typeof able>>
    let bert: Awaited<ReturnType<typeof able>>
    beforeAll(async () => {
      anna = await able('/mcp/g', 'anna')
      bert = await able('/mcp/g', 'bert')
    }, 120_000)

    test.each([...asking])(
      '%s',
      async (tool, args, expected) => {
        for (const { asked } of [anna, bert]) asked.length = 0
        const texts = await Promise.all([
          callText(anna.client, tool, { ...args }),
          callText(bert.client, tool, { ...args }),
        ])
        expect(texts[0]).toContain(expected)
        expect(texts[1]).toContain(expected)
        if (!tool.includes('mult')) {
          expect(texts[0]).toContain('anna')
          expect(texts[1]).toContain('bert')
        }
        expect(anna.asked.length).toBe(bert.asked.length)
        expect(anna.asked.length).toBeGreaterThan(0)
      },
      120_000,
    )
  })

  test('prompts may ask too', async () => {
    const { client } = await able('/mcp/g', 'anna')
    const { messages } = await client.getPrompt({ name: 'test_input_required_result_prompt' })
    expect(JSON.stringify(messages)).toContain('Use this context: of the test')
  })

  test('an upstream of its own is offered exactly what the client can, a shared one nothing', async () => {
    const { client } = await able('/mcp/local', 'anna')
    expect(Object.keys(JSON.parse(await callText(client, 'capabilities'))).sort()).toEqual([
      'elicitation',
      'roots',
      'sampling',
    ])
    const some = await connect('/mcp/local', { capabilities: { roots: {} } })
    expect(Object.keys(JSON.parse(await callText(some, 'capabilities')))).toEqual(['roots'])
    const shared = await able('/mcp/shared', 'anna')
    expect(Object.keys(JSON.parse(await callText(shared.client, 'capabilities')))).toEqual(['extensions'])
    expect(await callText(shared.client, 'sample')).toContain('refused')
    expect(shared.asked).toEqual([])
  })

  test('progress and log messages come while the call runs', async () => {
    const client = await connect('/mcp/g')
    const progress: number[] = []
    const logged: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.level))
    await client.callTool(
      { name: 'test_tool_with_progress', arguments: {}, _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } },
      { onprogress: ({ progress: value }) => void progress.push(value) },
    )
    expect(progress).toEqual([0, 50, 100])
    await client.callTool({ name: 'log', arguments: {} })
    expect(logged).toEqual([])
    const _meta = { 'io.modelcontextprotocol/logLevel': 'warning' }
    await client.callTool({ name: 'log', arguments: {}, _meta })
    expect(logged).toEqual(['warning', 'error'])
  })

  test('a call that the client cancels is cancelled at the server', async () => {
    const client = await connect('/mcp/g')
    const cancelled = async () => Number(await callText(client, 'cancelled'))
    const before = await cancelled()
    const abort = new AbortController()
    const onprogress = () => abort.abort()
    const call = client.callTool({ name: 'wait', arguments: { ms: 60_000 } }, { signal: abort.signal, onprogress })
    expect(await call.catch(() => 'aborted')).toBe('aborted')
    await until(async () => (await cancelled()) === before + 1, { timeoutMs: 1_000, what: 'the server to hear of it' })
  })

  test('a listen stream receives changes and updates, and the client closes it', async () => {
    const client = await connect('/mcp/g')
    const heard: string[] = []
    client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => void heard.push(method))
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
    const filter = { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] }
    const subscription = await client.listen(filter)
    expect(subscription.honoredFilter).toEqual(filter)
    expect(await world.reference.update('test://watched-resource')).toBe(1)
    await callText(client, 'grow')
    await until(() => heard.length === 2, { what: 'both notices' })
    expect(heard.sort()).toEqual(['notifications/tools/list_changed', 'test://watched-resource'])
    await subscription.close()
    expect(await subscription.closed).toBe('local')
    await until(async () => (await world.reference.update('test://watched-resource')) === 0, {
      what: 'unsubscribed',
    })
  })

  test('a client that may speak either era finds the newer one', async () => {
    const client = await connect('/mcp/g', { versionNegotiation: { mode: 'auto' } })
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    const older = await connect('/mcp/g', { versionNegotiation: { mode: 'legacy' } })
    expect(older.getNegotiatedProtocolVersion()).toBe('2025-11-25')
  })
})
