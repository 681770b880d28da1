/** A server with `toolsDefault: off`: what is on by name, over every way to its tools, before and after it adds some. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { type Client, type Hub, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { callText, failureOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SERVER = '/api/servers/admin~limited'
const ON = ['raw', 'renamed', 'say', 'seen']

let hub: Hub
let admin: Client

beforeAll(async () => {
  const settings = {
    mcpServers: {
      limited: {
        ...stdioFixture('varied', { NAMES: '["__proto__","constructor"]' }),
        ...{ visibility: 'public', toolsDefault: 'off' },
        tools: {
          ...{ raw: { enabled: true }, say: { enabled: true }, seen: { enabled: true } },
          link: { enabled: true, name: 'renamed' },
          // A new name alone switches nothing on.
          big: { name: 'bigger' },
        },
      },
    },
    groups: [
      { name: 'all', servers: ['limited'] },
      { name: 'wider', members: [{ server: 'limited', tools: ['raw', 'big', 'bigger', 'name'] }] },
    ],
  }
  ;({ hub, admin } = await startOnline({ settings }))
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const names = (items: readonly { name: string }[]) => items.map(({ name }) => name).sort()

test('only tools that are on by name are listed, over every way', async () => {
  const bob = await hub.user('bob')
  for (const path of ['/mcp/limited', '/mcp/all']) {
    expect((await toolNames(await admin.mcp(path))).sort()).toEqual(ON)
  }
  expect(await toolNames(await admin.mcp('/mcp/wider'))).toEqual(['raw'])
  const sse = new McpClient({ name: 'sse', version: '1' })
  const headers = { authorization: `Bearer ${admin.token}` }
  await sse.connect(new SSEClientTransport(new URL('/sse/limited', hub.url), { requestInit: { headers } }))
  expect(names((await sse.listTools()).tools)).toEqual(ON)
  await sse.close()
  expect(names((await admin.ok('GET', '/api/groups/all/tools')).items)).toEqual(ON)
  const { paths } = await admin.ok('GET', '/api/groups/all/openapi.json')
  expect(Object.keys(paths).sort()).toEqual(ON.map(name => `/${name}`))
  expect(names((await bob.ok('GET', `${SERVER}/tools`)).items)).toEqual(ON)
  const smart = await admin.mcp('/mcp/$smart/limited')
  const { hits } = JSON.parse(await callText(smart, 'search_tools', { query: 'varied', limit: 20 }))
  expect(hits.map(({ tool }: { tool: string }) => tool).sort()).toEqual(ON)
  await admin.ok('POST', '/api/assistant/endpoints', { name: 'desk', direction: 'inbound', group: 'all' })
  expect(names((await admin.ok('GET', '/api/assistant/endpoints/desk/tools')).items)).toEqual(ON)
  // Its owner sees the others, switched off.
  const { items } = await admin.ok('GET', `${SERVER}/tools`)
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
    expect((await failureOf(callText(await admin.mcp(path), name))).code).toBe(-32_602)
  }
  const smart = await admin.mcp('/mcp/$smart/limited')
  const called = failureOf(callText(smart, 'call_tool', { tool: 'name', arguments: {} }))
  expect((await called).data?.code).toBe('tool_not_found')
  for (const path of [`${SERVER}/tools/name/call`, '/api/groups/all/tools/name']) {
    expect((await admin.request('POST', path, {})).json.code).toBe('tool_not_found')
  }
  expect(JSON.parse(await callText(await admin.mcp('/mcp/all'), 'seen'))).not.toContainEqual(
    expect.objectContaining({ method: 'tools/call', params: expect.objectContaining({ name: 'name' }) }),
  )
})

test('a tool that the server adds later stays off until it is switched on by name', async () => {
  const client = await admin.mcp('/mcp/limited')
  const definition = (name: string) => ({ name, description: `${name} of varied`, inputSchema: { type: 'object' } })
  await callText(client, 'say', {
    method: 'notifications/tools/list_changed',
    replace: { tools: ['raw', 'say', 'added'].map(definition) },
  })
  const listed = async () => (await admin.ok('GET', `${SERVER}/tools`)).items
  await until(async () => names(await listed()).includes('added'), { what: 'the new tool' })
  expect(names((await client.listTools()).tools)).toEqual(['raw', 'say'])
  expect((await failureOf(callText(client, 'added'))).code).toBe(-32_602)
  expect(await admin.ok('PATCH', `${SERVER}/tools/added`, { enabled: true })).toMatchObject({ enabled: true })
  await until(async () => (await toolNames(client)).includes('added'), { what: 'the tool that is on' })
  expect(JSON.parse(await callText(client, 'added'))).toEqual({ server: 'varied', tool: 'added' })
  // Taking the change back leaves the tool to the server's default.
  expect(await admin.ok('PATCH', `${SERVER}/tools/added`, { enabled: null })).toMatchObject({ enabled: false })
  await until(async () => !(await toolNames(client)).includes('added'), { what: 'the tool that is off again' })
  await admin.ok('PATCH', SERVER, { toolsDefault: 'on' })
  await until(async () => (await toolNames(client)).includes('added'), { what: 'all tools' })
})

test('a call of a server that was never seen goes to it only by a name that is on', async () => {
  await admin.ok('POST', '/api/servers', {
    ...{ name: 'unseen', url: 'http://127.0.0.1:9/mcp', enabled: false },
    ...{ toolsDefault: 'off', tools: { known: { enabled: true } } },
  })
  const client = await admin.mcp('/mcp/unseen')
  expect((await failureOf(callText(client, 'other'))).data?.code).toBe('tool_not_found')
  expect((await failureOf(callText(client, 'known'))).data?.code).toBe('server_offline')
  const refused = await admin.request('PATCH', '/api/servers/unseen', { toolsDefault: 'maybe' })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/toolsDefault'])
})
