import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { answering } from '../support/answering.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { type Reference, startReference } from '../support/reference.ts'
import { callText, online } from '../support/servers.ts'

let legacy: Reference
let modern: Reference
let hub: Hub
let admin: Client

beforeAll(async () => {
  legacy = await startReference('legacy')
  modern = await startReference('modern')
  hub = await startHub({
    settings: {
      mcpServers: {
        remote: legacy.entry,
        modern: modern.entry,
        local: { ...stdioFixture('asking'), session: 'per-session' },
        shared: { ...stdioFixture('asking'), session: 'shared' },
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
        const anna = answering('anna')
        const bert = answering('bert')
        const first = await admin.mcp(`/mcp/${server}`, anna.options)
        const second = await admin.mcp(`/mcp/${server}`, bert.options)
        const [one, two] = await Promise.all([callText(first, tool, { ...args }), callText(second, tool, { ...args })])
        expect(one).toContain(expected)
        expect(one).toContain('anna')
        expect(two).toContain('bert')
        expect([anna.asked.length, bert.asked.length]).toEqual([1, 1])
      }, 120_000)
    }
  }

  test('P-14 the upstream hears at once that a client cannot sample', async () => {
    const client = await admin.mcp('/mcp/local')
    const start = performance.now()
    const answer = await callText(client, 'sample').catch((error: Error) => error.message)
    expect(answer).toMatch(/refused|not support|capabilit|Method not found/i)
    expect(performance.now() - start).toBeLessThan(atMost(2_000))
  })

  test('P-19 a shared upstream is offered nothing because some client has it, and is refused when it asks all the same', async () => {
    const { options, asked } = answering('anna')
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
