import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { McpOptions } from '../support/client.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online } from '../support/servers.ts'

const REFERENCE = join(import.meta.dir, '../support/mcp-servers/reference.ts')

let reference: Program
let modern: Program
let hub: Hub
let admin: Client

beforeAll(async () => {
  reference = await startProgram(REFERENCE, { env: { ERA: 'legacy' } })
  modern = await startProgram(REFERENCE, { env: { ERA: 'modern' } })
  hub = await startHub({
    settings: {
      mcpServers: {
        remote: { type: 'streamable-http', url: reference.url },
        modern: { type: 'streamable-http', url: modern.url },
        local: { ...stdioFixture('asking'), session: 'per-session' },
        shared: { ...stdioFixture('asking'), session: 'shared' },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['remote', 'modern', 'local', 'shared'])
}, 60_000)

afterAll(async () => {
  await hub?.stop()
  await reference?.stop()
  await modern?.stop()
}, 40_000)

/** A client that answers all three kinds of requests with its own name in them, and counts what it was asked. */
function able(name: string): { readonly options: McpOptions; readonly asked: string[] } {
  const asked: string[] = []
  const prepare = (client: McpClient): void => {
    client.setRequestHandler(CreateMessageRequestSchema, () => {
      asked.push('sampling')
      return {
        model: 'none',
        role: 'assistant' as const,
        content: { type: 'text' as const, text: `sampled by ${name}` },
      }
    })
    client.setRequestHandler(ElicitRequestSchema, () => {
      asked.push('elicitation')
      return { action: 'accept' as const, content: { name, username: name, email: `${name}@example.org` } }
    })
    client.setRequestHandler(ListRootsRequestSchema, () => {
      asked.push('roots')
      return { roots: [{ uri: `file:///${name}`, name }] }
    })
  }
  return { options: { capabilities: { sampling: {}, elicitation: {}, roots: {} }, prepare }, asked }
}

describe('sampling, elicitation and roots', () => {
  const remote = [
    ['test_sampling', { prompt: 'hi' }, 'sampled by'],
    ['test_elicitation', { message: 'Who?' }, '@example.org'],
    ['test_input_required_result_list_roots', {}, 'file:///'],
  ] as const
  const tools = {
    remote,
    // Asks in its answers, of which the client sees nothing.
    modern: remote,
    local: [
      ['sample', {}, 'sampled by'],
      ['elicit', {}, 'accept'],
      ['roots', {}, 'file:///'],
    ],
  } as const

  for (const [server, calls] of Object.entries(tools)) {
    for (const [tool, args, expected] of calls) {
      test(`P-14 ${tool} of the ${server} server asks the session that called, and no other`, async () => {
        const anna = able('anna')
        const bert = able('bert')
        const first = await admin.mcp(`/mcp/${server}`, anna.options)
        const second = await admin.mcp(`/mcp/${server}`, bert.options)
        const [one, two] = await Promise.all([callText(first, tool, { ...args }), callText(second, tool, { ...args })])
        expect(one).toContain(expected)
        expect(one).toContain('anna')
        expect(two).toContain('bert')
        expect([anna.asked.length, bert.asked.length]).toEqual([1, 1])
      }, 20_000)
    }
  }

  test('P-14 the upstream hears at once that a client cannot sample', async () => {
    const client = await admin.mcp('/mcp/local')
    const start = performance.now()
    const answer = await callText(client, 'sample').catch((error: Error) => error.message)
    expect(answer).toMatch(/refused|not support|capabilit|Method not found/i)
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  test('P-19 a shared upstream is offered nothing because some client has it, and is refused when it asks all the same', async () => {
    const { options, asked } = able('anna')
    const client = await admin.mcp('/mcp/shared', options)
    expect(JSON.parse(await callText(client, 'capabilities'))).toEqual({})
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
