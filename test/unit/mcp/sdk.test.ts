import { expect, test } from 'bun:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, tool, until } from './support.ts'

const asker = serverRecord('asker')

function askingHub(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(asker)
    world.groups.push(groupRecord('g', [member(asker)]))
    const lists = catalog({
      tools: [tool('ask')],
      prompts: [{ name: 'p' }],
      resources: [{ uri: 'a://1', name: '1' }],
      resourceTemplates: [{ uriTemplate: 'a://{id}', name: 't' }],
    })
    upstreams.add(asker.id, lists, async (request, signal) => {
      if (request.method === 'prompts/get') return { kind: 'result', text: '{"messages":[]}', isError: false }
      if (request.method === 'resources/read')
        return { kind: 'result', text: '{"contents":[{"uri":"a://1","text":"x"}]}', isError: false }
      if (request.method !== 'tools/call') return { kind: 'result', text: '{}', isError: false }
      request.progress?.({ progress: 1, total: 3 })
      const answers = [
        await request.ask?.('sampling/createMessage', { messages: [], maxTokens: 5 }, signal),
        await request.ask?.(
          'elicitation/create',
          { message: 'm', requestedSchema: { type: 'object', properties: {} } },
          signal,
        ),
        await request.ask?.('roots/list', undefined, signal),
      ]
      const text = JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(answers) }] })
      return { kind: 'result', text, isError: false }
    })
  })
}

const auth = { requestInit: { headers: { authorization: 'Bearer alice' } } }

test('the SDK 1.32 client is asked for sampling, elicitation and roots, and receives progress and changes', async () => {
  await using hub = askingHub()
  const capabilities = { sampling: {}, elicitation: {}, roots: {} }
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'sampled' },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///r' }] }))
  const notices: string[] = []
  client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => void notices.push(method))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void notices.push(params.uri))
  await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/g`), auth))
  const progress: number[] = []
  const result = await client.callTool({ name: 'ask' }, undefined, { onprogress: each => progress.push(each.progress) })
  const [{ text }] = result.content as [{ text: string }]
  expect(JSON.parse(text)).toMatchObject([
    { result: { model: 'm' } },
    { result: { action: 'accept' } },
    { result: { roots: [{ uri: 'file:///r' }] } },
  ])
  expect(progress).toEqual([1])
  expect((await client.listPrompts()).prompts).toHaveLength(1)
  expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1)
  expect((await client.readResource({ uri: 'a://1' })).contents).toHaveLength(1)
  expect((await client.getPrompt({ name: 'p' })).messages).toEqual([])
  await client.subscribeResource({ uri: 'a://1' })
  await until(() => hub.mcp.sessions()[0]?.streams === 1)
  const params = { uri: 'a://1' }
  const method = 'notifications/resources/updated'
  hub.bus.emit('upstream.notification', 'u-alice', { serverId: asker.id, method, params }, 'internal')
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: asker.id, name: 'asker', kinds: ['tools'] })
  await until(() => notices.length === 2)
  expect(notices).toEqual(['a://1', 'notifications/tools/list_changed'])
  await client.close()
})

test('the client 2.4 works in the older era, which is its default', async () => {
  await using hub = askingHub()
  const client = new ModernClient({ name: 'test', version: '1' })
  await client.connect(new ModernTransport(new URL(`${hub.url}/mcp/g`), auth))
  expect((await client.listTools()).tools.map(each => each.name)).toEqual(['ask'])
  const result = await client.callTool({ name: 'ask' })
  expect(JSON.stringify(result)).toContain('-32601')
  await client.close()
})

test('a call that the SDK client cancels is cancelled upstream', async () => {
  await using hub = askingHub()
  const server = hub.upstreams.servers.get(asker.id)
  if (!server) throw new Error('no server')
  server.handler = () => new Promise(() => {})
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/g`), auth))
  const abort = new AbortController()
  const call = client.callTool({ name: 'ask' }, undefined, { signal: abort.signal }).catch(() => 'aborted')
  await until(() => hub.upstreams.seen.length === 1)
  abort.abort()
  expect(await call).toBe('aborted')
  await until(() => hub.upstreams.cancelled.length === 1)
  await client.close()
})
