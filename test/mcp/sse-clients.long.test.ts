import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { answering } from '../support/answering.ts'
import { type Client, type Hub, LOOPBACK, send, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { type BesideReference, besideReference } from '../support/reference.ts'
import { callText, failureOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

let world: BesideReference
let hub: Hub
let admin: Client

beforeAll(async () => {
  world = await besideReference('legacy', remote => ({
    env: { ...LOOPBACK, BASE_PATH: '/hub' },
    settings: {
      mcpServers: {
        remote,
        local: { ...stdioFixture('asking'), session: 'per-session' },
        echo: sharedFixture('echo'),
      },
      groups: [{ name: 'g', servers: ['remote', 'local', 'echo'] }],
    },
  }))
  ;({ hub, admin } = world)
}, 120_000)

afterAll(() => world?.stop(), 120_000)

const old = { sse: true }

describe('the SDK’s client of the older pair, below a base path', () => {
  test('sees and calls what a client of streamable HTTP sees', async () => {
    const one = await admin.mcp('/sse/g', old)
    const two = await admin.mcp('/mcp/g')
    expect(await toolNames(one)).toEqual(await toolNames(two))
    expect(one.getServerCapabilities()).toEqual(two.getServerCapabilities())
    expect(await callText(one, 'echo', { text: 'hello' })).toBe('hello')
    const { resources } = await one.listResources()
    expect((await one.readResource({ uri: resources[0]?.uri ?? '' })).contents[0]?.uri).toBe(resources[0]?.uri ?? '')
    expect((await one.getPrompt({ name: 'test_simple_prompt' })).messages.length).toBeGreaterThan(0)
    const large = 'ü'.repeat(700_000)
    expect(await callText(one, 'echo', { text: large })).toBe(large)
  })

  test('receives progress, list changes and resource updates', async () => {
    const client = await admin.mcp('/sse/g', old)
    const progress: number[] = []
    const onprogress = (params: { progress: number }) => progress.push(params.progress)
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, { onprogress })
    // The SDK's client forgets a call's progress handler in the tick in which the answer comes, the last progress with it.
    expect(progress.slice(0, 2)).toEqual([0, 50])
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1
    })
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} })
    await until(() => changes > 0, { what: 'the list change' })
    const updated: string[] = []
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      updated.push(params.uri)
    })
    await client.subscribeResource({ uri: 'test://watched-resource' })
    await world.reference.update('test://watched-resource')
    await until(() => updated.length > 0, { what: 'the update' })
    expect(updated[0]).toBe('test://watched-resource')
  })

  test('answers sampling, elicitation and roots of the call that caused them', async () => {
    const able = (name: string) => admin.mcp('/sse/g', { ...old, ...answering(name).options })
    const [anna, bert] = await Promise.all([able('anna'), able('bert')])
    for (const [tool, args] of [
      ['sample', {}],
      ['roots', {}],
      ['test_sampling', { prompt: 'hi' }],
    ] as const) {
      const [one, two] = await Promise.all([callText(anna, tool, args), callText(bert, tool, args)])
      expect(one).toContain('anna')
      expect(two).toContain('bert')
    }
    expect(await callText(anna, 'elicit')).toContain('accept')
  })

  test('gets the errors of the hub', async () => {
    const client = await admin.mcp('/sse/g', old)
    const failure = await failureOf(client.callTool({ name: 'nothing', arguments: {} }))
    expect(failure).toMatchObject({ code: -32602, data: { code: 'tool_not_found' } })
  })

  test('loses its stream within five seconds of its key', async () => {
    const key = await admin.ok('POST', '/api/keys', { label: 'short', scopes: ['mcp'] })
    const headers = { authorization: `Bearer ${key.secret}`, accept: 'text/event-stream' }
    const response = await fetch(`${hub.url}/sse/g`, { headers })
    expect(response.status).toBe(200)
    const start = performance.now()
    await admin.ok('DELETE', `/api/keys/${key.id}`)
    await response.text()
    expect(performance.now() - start).toBeLessThan(atMost(5_000))
    expect((await send(hub.url, 'GET', '/sse/g', undefined, headers)).status).toBe(401)
  }, 120_000)
})

describe('the older pair stands behind the same guard', () => {
  const paths = ['/sse/g', '/messages?sessionId=x'] as const

  test.each(paths)('%s refuses a foreign Origin and Host before it asks for a credential', async path => {
    const method = path.includes('messages') ? 'POST' : 'GET'
    const foreign = await send(hub.url, method, path, undefined, { origin: 'http://evil.example' })
    expect(foreign.status).toBe(403)
    expect(foreign.json).toMatchObject({ jsonrpc: '2.0', error: { data: { code: 'origin_not_allowed' } } })
    const host = await send(hub.url, method, path, undefined, { host: 'evil.example' })
    expect(host.json.error.data.code).toBe('host_not_allowed')
    expect((await send(hub.url, method, path)).status).toBe(401)
  })

  test('a credential in the URL is refused, and the session id in it is none', async () => {
    const key = await admin.mcpKey()
    for (const path of [`/sse/g?access_token=${key}`, `/messages?sessionId=x&token=${key}`]) {
      const answer = await send(hub.url, 'GET', path, undefined, { authorization: `Bearer ${key}` })
      expect(answer.json.error.data.code).toBe('token_in_url')
    }
    const alone = await send(hub.url, 'POST', '/messages?sessionId=x', { jsonrpc: '2.0', id: 1, method: 'ping' })
    expect(alone.status).toBe(401)
  })

  test('somebody else’s group is a missing one', async () => {
    const bob = await hub.user('bob')
    const headers = { authorization: `Bearer ${bob.token}`, accept: 'text/event-stream' }
    const foreign = await send(hub.url, 'GET', '/sse/@admin/g', undefined, headers)
    const missing = await send(hub.url, 'GET', '/sse/@admin/h', undefined, headers)
    expect([foreign.status, missing.status]).toEqual([404, 404])
  })
})
