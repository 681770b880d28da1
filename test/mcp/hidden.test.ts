/** Tools hidden in a group or off at their server, over every way to it. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { callText, failureOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { methodsOf, seenBy, useGroups } from './group-members.ts'
import { sharedFixture } from './shared-fixture.ts'

const SERVER = '/api/servers/admin~limited'
const ON = ['raw', 'renamed', 'say', 'seen']
const limited = {
  ...sharedFixture('varied', { NAMES: '["__proto__","constructor"]' }),
  ...{ visibility: 'public', toolsDefault: 'off' },
  tools: {
    ...{ raw: { enabled: true }, say: { enabled: true }, seen: { enabled: true } },
    link: { enabled: true, name: 'renamed' },
    // A new name does not switch a tool on.
    big: { name: 'bigger' },
  },
}

const groups = useGroups({ limited })

describe('P-24 what is hidden', () => {
  const member = { tools: ['name', 'raw', 'say'], prompts: ['hello'], resources: ['one://a'] }

  test('P-24 is not callable, readable, completable or subscribable by name, and nothing of it goes upstream', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'part', members: [{ server: 'one', ...member }] })
    const client = await groups.admin.mcp('/mcp/part')
    expect(await toolNames(client)).toEqual(['raw', 'say', 'name'])
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['hello'])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['one://a'])
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    const before = (await seenBy(groups.admin, 'one')).length
    const argument = { name: 'x', value: '' }
    const refused = [
      client.callTool({ name: 'secret', arguments: {} }),
      client.callTool({ name: 'one_secret', arguments: {} }),
      client.getPrompt({ name: 'only_one' }),
      client.readResource({ uri: 'one://hidden' }),
      client.readResource({ uri: 'patchbay://one/one://hidden' }),
      client.readResource({ uri: 'one://item/1' }),
      client.subscribeResource({ uri: 'one://hidden' }),
      client.complete({ ref: { type: 'ref/prompt', name: 'only_one' }, argument }),
      client.complete({ ref: { type: 'ref/resource', uri: 'one://item/{id}' }, argument }),
    ]
    // They are awaited together: one that is refused while another is awaited would count as an unhandled rejection.
    for (const { code } of await Promise.all(refused.map(failureOf))) expect([-32602, -32002]).toContain(code)
    expect((await client.readResource({ uri: 'one://a' })).contents).toMatchObject([{ text: 'one one://a' }])
    expect((await seenBy(groups.admin, 'one')).length - before).toBeLessThanOrEqual(3)
  })

  test('P-24 while a session is open is out of reach at once: tools, prompts, resources and subscriptions', async () => {
    await groups.admin.ok('POST', '/api/groups', { name: 'narrowed', members: ['one'] })
    const updated: string[] = []
    const client = await groups.admin.mcp('/mcp/narrowed', {
      prepare: one =>
        one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri)),
    })
    await client.subscribeResource({ uri: 'one://hidden' })
    await client.subscribeResource({ uri: 'one://a' })
    expect(await callText(client, 'secret')).toContain('secret')
    await groups.admin.ok('PATCH', '/api/groups/narrowed', { members: [{ server: 'one', ...member }] })
    expect((await failureOf(callText(client, 'secret'))).code).toBe(-32602)
    expect((await failureOf(client.getPrompt({ name: 'only_one' }))).code).toBe(-32602)
    expect((await failureOf(client.readResource({ uri: 'one://hidden' }))).code).toBe(-32002)
    const say = (uri: string) => callText(client, 'say', { method: 'notifications/resources/updated', params: { uri } })
    await until(
      async () =>
        (await methodsOf(groups.admin, 'one')).filter(method => method === 'resources/unsubscribe').length > 0,
      {
        what: 'the upstream to hear that nobody is subscribed to what is hidden',
      },
    )
    await say('one://hidden')
    await say('one://a')
    await until(() => updated.length > 0, { what: 'the update' })
    expect(updated).toEqual(['one://a'])
  })

  test('P-24 a tool that is switched off at its server is gone everywhere, over REST too', async () => {
    const client = await groups.admin.mcp('/mcp/pair')
    const own = await groups.admin.mcp('/mcp/one')
    await groups.admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: false })
    for (const each of [client, own]) {
      expect(await toolNames(each)).not.toContain('secret')
      expect((await failureOf(callText(each, 'secret'))).code).toBe(-32602)
    }
    const answer = await groups.admin.request('POST', '/api/servers/one/tools/secret/call', {})
    expect([answer.status, answer.json.code]).toEqual([404, 'tool_not_found'])
    await groups.admin.ok('PATCH', '/api/servers/one/tools/secret', { enabled: true })
    expect(await callText(own, 'secret')).toContain('secret')
  })
})

/** Tools that are on by name, before and after the server adds some. */
describe('a server with `toolsDefault: off`', () => {
  beforeAll(async () => {
    const members = [{ server: 'limited', tools: ['raw', 'big', 'bigger', 'name'] }]
    await groups.admin.ok('POST', '/api/groups', { name: 'all', members: ['limited'] })
    await groups.admin.ok('POST', '/api/groups', { name: 'wider', members })
  })

  const names = (items: readonly { name: string }[]) => items.map(({ name }) => name).sort()

  test('only tools that are on by name are listed, over every way', async () => {
    const bob = await groups.hub.user('bob')
    for (const path of ['/mcp/limited', '/mcp/all']) {
      expect((await toolNames(await groups.admin.mcp(path))).sort()).toEqual(ON)
    }
    expect(await toolNames(await groups.admin.mcp('/mcp/wider'))).toEqual(['raw'])
    const sse = new McpClient({ name: 'sse', version: '1' })
    const headers = { authorization: `Bearer ${groups.admin.token}` }
    await sse.connect(new SSEClientTransport(new URL('/sse/limited', groups.hub.url), { requestInit: { headers } }))
    expect(names((await sse.listTools()).tools)).toEqual(ON)
    await sse.close()
    expect(names((await groups.admin.ok('GET', '/api/groups/all/tools')).items)).toEqual(ON)
    const { paths } = await groups.admin.ok('GET', '/api/groups/all/openapi.json')
    expect(Object.keys(paths).sort()).toEqual(ON.map(name => `/${name}`))
    expect(names((await bob.ok('GET', `${SERVER}/tools`)).items)).toEqual(ON)
    const smart = await groups.admin.mcp('/mcp/$smart/limited')
    const { hits } = JSON.parse(await callText(smart, 'search_tools', { query: 'varied', limit: 20 }))
    expect(hits.map(({ tool }: { tool: string }) => tool).sort()).toEqual(ON)
    await groups.admin.ok('POST', '/api/assistant/endpoints', { name: 'desk', direction: 'inbound', group: 'all' })
    expect(names((await groups.admin.ok('GET', '/api/assistant/endpoints/desk/tools')).items)).toEqual(ON)
    // Its owner sees the others, switched off.
    const { items } = await groups.admin.ok('GET', `${SERVER}/tools`)
    expect(items.find((tool: { name: string }) => tool.name === 'emit')).toMatchObject({
      enabled: false,
      overridden: false,
    })
    expect(names(items.filter((tool: { enabled: boolean }) => tool.enabled))).toEqual(ON)
  })

  test('others cannot be called by their names either, over every way', async () => {
    for (const [path, name] of [
      ['/mcp/limited', 'name'],
      ['/mcp/limited', 'bigger'],
      ['/mcp/limited', 'big'],
      ['/mcp/limited', 'constructor'],
      ['/mcp/limited', '__proto__'],
      ['/mcp/all', 'name'],
      ['/mcp/wider', 'big'],
    ] as const) {
      expect((await failureOf(callText(await groups.admin.mcp(path), name))).code).toBe(-32_602)
    }
    const smart = await groups.admin.mcp('/mcp/$smart/limited')
    const called = failureOf(callText(smart, 'call_tool', { tool: 'name', arguments: {} }))
    expect((await called).data?.code).toBe('tool_not_found')
    for (const path of [`${SERVER}/tools/name/call`, '/api/groups/all/tools/name']) {
      expect((await groups.admin.request('POST', path, {})).json.code).toBe('tool_not_found')
    }
    expect(JSON.parse(await callText(await groups.admin.mcp('/mcp/all'), 'seen'))).not.toContainEqual(
      expect.objectContaining({ method: 'tools/call', params: expect.objectContaining({ name: 'name' }) }),
    )
  })

  test('a tool that the server adds later stays off until it is switched on by name', async () => {
    const client = await groups.admin.mcp('/mcp/limited')
    const definition = (name: string) => ({ name, description: `${name} of varied`, inputSchema: { type: 'object' } })
    await callText(client, 'say', {
      method: 'notifications/tools/list_changed',
      replace: { tools: ['raw', 'say', 'added'].map(definition) },
    })
    const listed = async () => (await groups.admin.ok('GET', `${SERVER}/tools`)).items
    await until(async () => names(await listed()).includes('added'), { what: 'the new tool' })
    expect(names((await client.listTools()).tools)).toEqual(['raw', 'say'])
    expect((await failureOf(callText(client, 'added'))).code).toBe(-32_602)
    expect(await groups.admin.ok('PATCH', `${SERVER}/tools/added`, { enabled: true })).toMatchObject({ enabled: true })
    await until(async () => (await toolNames(client)).includes('added'), { what: 'the tool that is on' })
    expect(JSON.parse(await callText(client, 'added'))).toEqual({ server: 'varied', tool: 'added' })
    // Without the change, the tool follows the server's default again.
    expect(await groups.admin.ok('PATCH', `${SERVER}/tools/added`, { enabled: null })).toMatchObject({ enabled: false })
    await until(async () => !(await toolNames(client)).includes('added'), { what: 'the tool that is off again' })
    await groups.admin.ok('PATCH', SERVER, { toolsDefault: 'on' })
    await until(async () => (await toolNames(client)).includes('added'), { what: 'all tools' })
  })

  test('a call of a server that was never seen goes to it only by a name that is on', async () => {
    await groups.admin.ok('POST', '/api/servers', {
      ...{ name: 'unseen', url: 'http://127.0.0.1:9/mcp', enabled: false },
      ...{ toolsDefault: 'off', tools: { known: { enabled: true } } },
    })
    const client = await groups.admin.mcp('/mcp/unseen')
    expect((await failureOf(callText(client, 'other'))).data?.code).toBe('tool_not_found')
    expect((await failureOf(callText(client, 'known'))).data?.code).toBe('server_offline')
    const refused = await groups.admin.request('PATCH', '/api/servers/unseen', { toolsDefault: 'maybe' })
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/toolsDefault'])
  })
})
