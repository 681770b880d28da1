/** Clients of the older era: requests from servers of either era, and the use of servers of the newer era. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { answering } from '../support/answering.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { type Reference, startReference } from '../support/reference.ts'
import { callText, failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const WATCHED = 'test://watched-resource'

let legacy: Reference
let modern: Reference
let hub: Hub
let admin: Client

beforeAll(async () => {
  ;[legacy, modern] = await Promise.all([startReference('legacy'), startReference('modern')])
  hub = await startHub({
    settings: {
      mcpServers: {
        remote: legacy.entry,
        modern: modern.entry,
        local: { ...stdioFixture('asking'), session: 'per-session' },
        shared: sharedFixture('asking'),
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['remote', 'modern', 'local', 'shared'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await legacy?.stop()
  await modern?.stop()
}, 120_000)

describe('sampling, elicitation and roots', () => {
  const remote = [
    ['test_sampling', { prompt: 'hi' }, 'sampled by'],
    ['test_elicitation', { message: 'Who?' }, '@example.org'],
    ['test_input_required_result_list_roots', {}, 'file:///'],
  ] as const
  const tools = {
    remote,
    // It asks in its answers, which the client does not see.
    modern: remote,
    local: [
      ['sample', {}, 'sampled by'],
      ['elicit', {}, 'accept'],
      ['roots', {}, 'file:///'],
    ],
  } as const

  describe.each(Object.entries(tools))('P-14 the %s server', (server, calls) => {
    const [anna, bert] = [answering('anna'), answering('bert')]
    let first: McpClient
    let second: McpClient
    beforeAll(async () => {
      first = await admin.mcp(`/mcp/${server}`, anna.options)
      second = await admin.mcp(`/mcp/${server}`, bert.options)
    }, 120_000)

    test.each([...calls])(
      'asks the session that called, and no other: %s',
      async (tool, args, expected) => {
        for (const { asked } of [anna, bert]) asked.length = 0
        const [one, two] = await Promise.all([callText(first, tool, { ...args }), callText(second, tool, { ...args })])
        expect(one).toContain(expected)
        expect(one).toContain('anna')
        expect(two).toContain('bert')
        expect([anna.asked.length, bert.asked.length]).toEqual([1, 1])
      },
      120_000,
    )
  })

  test('P-14 the upstream learns at once that a client cannot sample', async () => {
    const client = await admin.mcp('/mcp/local')
    const start = performance.now()
    const answer = await callText(client, 'sample').catch((error: Error) => error.message)
    expect(answer).toMatch(/refused|not support|capabilit|Method not found/i)
    expect(performance.now() - start).toBeLessThan(atMost(2_000))
  })

  test('P-19 a shared upstream is offered nothing because some client has it, and is refused when it asks all the same', async () => {
    const { options, asked } = answering('anna')
    const client = await admin.mcp('/mcp/shared', options)
    expect(Object.keys(JSON.parse(await callText(client, 'capabilities')))).toEqual(['extensions'])
    expect(await callText(client, 'sample')).toContain('refused')
    expect(asked).toEqual([])
  })

  test('P-19 a per-session upstream is offered exactly what its client has', async () => {
    const client = await admin.mcp('/mcp/local', { capabilities: { roots: {} } })
    expect(Object.keys(JSON.parse(await callText(client, 'capabilities')))).toEqual(['roots'])
  })

  test.each(['remote', 'modern'])('declining and cancelling are answers for the %s server', async server => {
    for (const action of ['decline', 'cancel'] as const) {
      const client = await admin.mcp(`/mcp/${server}`, {
        capabilities: { elicitation: {} },
        prepare: one => one.setRequestHandler(ElicitRequestSchema, () => ({ action })),
      })
      expect(await callText(client, 'test_elicitation', { message: 'Who?' })).toContain(`action: ${action}`)
    }
  })
})

describe('a client with a handshake, and a server that has none', () => {
  test('the server is shown with its era and version', async () => {
    const { status } = await admin.ok('GET', '/api/servers/modern')
    expect([status.era, status.protocolVersion]).toEqual(['modern', '2026-07-28'])
  })

  test('lists, results, resources and prompts have nothing of the era that the client does not know', async () => {
    const client = await admin.mcp('/mcp/modern')
    const answers = [
      await client.listTools(),
      await client.callTool({ name: 'test_simple_text', arguments: {} }),
      await client.readResource({ uri: 'test://static-text' }),
      await client.getPrompt({ name: 'test_simple_prompt' }),
      await client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'a' },
      }),
    ]
    for (const answer of answers) {
      for (const member of ['resultType', 'ttlMs', 'cacheScope']) expect(answer).not.toHaveProperty(member)
    }
  })

  test('progress comes one by one, and log messages from the level of the session up', async () => {
    const levels: string[] = []
    const client = await admin.mcp('/mcp/modern', {
      prepare: one =>
        one.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
          levels.push(params.level)
        }),
    })
    const seen: number[] = []
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, {
      onprogress: ({ progress }) => seen.push(progress),
    })
    expect(seen).toEqual([0, 50, 100])
    await callText(client, 'test_tool_with_logging')
    expect(levels).toEqual(['info', 'info', 'info'])
    await client.setLoggingLevel('error')
    await callText(client, 'test_tool_with_logging')
    expect(levels).toHaveLength(3)
  })

  test('changed lists are announced to every session', async () => {
    const heard = { tools: 0, prompts: 0 }
    const other = await admin.mcp('/mcp/modern')
    await admin.mcp('/mcp/modern', {
      prepare: one => {
        one.setNotificationHandler(ToolListChangedNotificationSchema, () => {
          heard.tools += 1
        })
        one.setNotificationHandler(PromptListChangedNotificationSchema, () => {
          heard.prompts += 1
        })
      },
    })
    const heardBoth = async () => {
      // Repeated: a notice that comes before the hub's listen stream or the client's own stream is open is lost.
      if (heard.tools === 0) await callText(other, 'test_trigger_tool_change')
      if (heard.prompts === 0) await callText(other, 'test_trigger_prompt_change')
      return heard.tools > 0 && heard.prompts > 0
    }
    await until(heardBoth, { intervalMs: 300, timeoutMs: 60_000, what: 'both notices' })
  })

  test('a change of a resource is announced to every subscriber, until it unsubscribes', async () => {
    const updated: string[] = []
    const client = await admin.mcp('/mcp/modern', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
          updated.push(params.uri)
        }),
    })
    await client.subscribeResource({ uri: WATCHED })
    await modern.update(WATCHED)
    await until(() => updated.length === 1, { what: 'the update' })
    await client.subscribeResource({ uri: 'test://static-text' })
    await client.unsubscribeResource({ uri: WATCHED })
    await until(
      async () => {
        await modern.update('test://static-text')
        return updated.includes('test://static-text')
      },
      { what: 'the update of the other resource' },
    )
    expect(new Set(updated)).toEqual(new Set([WATCHED, 'test://static-text']))
  })

  test('a server that needs more of the client than it offers: an error that says so', async () => {
    const failure = await failureOf(callText(await admin.mcp('/mcp/modern'), 'test_sampling', { prompt: 'hi' }))
    expect([failure.code, failure.data?.code]).toEqual([-32603, 'client_capability_missing'])
  })

  test('several rounds of questions belong to one call', async () => {
    const messages: string[] = []
    const client = await admin.mcp('/mcp/modern', {
      capabilities: { elicitation: {} },
      prepare: one =>
        one.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          messages.push(params.message)
          return { action: 'accept' as const, content: { name: 'Ann', color: 'red' } }
        }),
    })
    expect(await callText(client, 'test_input_required_result_multi_round')).toBe('Ann likes red')
    expect(messages).toHaveLength(2)
  })

  test('a call over REST works; one that must ask fails, since there is nobody to ask', async () => {
    const call = (tool: string, given: object) =>
      admin.request('POST', `/api/servers/modern/tools/${tool}/call`, { arguments: given })
    expect((await call('test_simple_text', {})).json.result.content[0].text).toContain('simple text')
    const asking = await call('test_sampling', { prompt: 'hi' })
    expect(asking.json.code).toBe('client_capability_missing')
  })
})
