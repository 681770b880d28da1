import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '../support/hub.ts'
import { type BesideReference, besideReference } from '../support/reference.ts'
import { callText, failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const WATCHED = 'test://watched-resource'

let world: BesideReference
let admin: Client

beforeAll(async () => {
  world = await besideReference('modern', entry => ({ settings: { mcpServers: { new: entry } } }))
  admin = world.admin
}, 120_000)

afterAll(() => world?.stop(), 120_000)

describe('a client with a handshake, and a server that has none', () => {
  test('the server is shown with its era and version', async () => {
    const { status } = await admin.ok('GET', '/api/servers/new')
    expect([status.era, status.protocolVersion]).toEqual(['modern', '2026-07-28'])
  })

  test('lists, results, resources and prompts have nothing of the era that the client does not know', async () => {
    const client = await admin.mcp('/mcp/new')
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
    const client = await admin.mcp('/mcp/new', {
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

  test('changed lists are told to every session', async () => {
    const heard = { tools: 0, prompts: 0 }
    const other = await admin.mcp('/mcp/new')
    await admin.mcp('/mcp/new', {
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
      // Again and again: a notice that comes before the hub's listen stream or the client's own stream is open goes to nobody.
      if (heard.tools === 0) await callText(other, 'test_trigger_tool_change')
      if (heard.prompts === 0) await callText(other, 'test_trigger_prompt_change')
      return heard.tools > 0 && heard.prompts > 0
    }
    await until(heardBoth, { intervalMs: 300, timeoutMs: 60_000, what: 'both notices' })
  })

  test('a resource that changes is told to whoever subscribed, until it is left', async () => {
    const updated: string[] = []
    const client = await admin.mcp('/mcp/new', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
          updated.push(params.uri)
        }),
    })
    await client.subscribeResource({ uri: WATCHED })
    await world.reference.update(WATCHED)
    await until(() => updated.length === 1, { what: 'the update' })
    await client.subscribeResource({ uri: 'test://static-text' })
    await client.unsubscribeResource({ uri: WATCHED })
    await until(
      async () => {
        await world.reference.update('test://static-text')
        return updated.includes('test://static-text')
      },
      { what: 'the update of the other resource' },
    )
    expect(new Set(updated)).toEqual(new Set([WATCHED, 'test://static-text']))
  })

  test('a server that needs more of the client than it offers: an error that says so', async () => {
    const failure = await failureOf(callText(await admin.mcp('/mcp/new'), 'test_sampling', { prompt: 'hi' }))
    expect([failure.code, failure.data?.code]).toEqual([-32603, 'client_capability_missing'])
  })

  test('several rounds of questions belong to one call', async () => {
    const messages: string[] = []
    const client = await admin.mcp('/mcp/new', {
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
      admin.request('POST', `/api/servers/new/tools/${tool}/call`, { arguments: given })
    expect((await call('test_simple_text', {})).json.result.content[0].text).toContain('simple text')
    const asking = await call('test_sampling', { prompt: 'hi' })
    expect(asking.json.code).toBe('client_capability_missing')
  })
})
