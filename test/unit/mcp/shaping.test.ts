import { expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, tool } from './support.ts'

const search: JsonObject = {
  name: 'search',
  description: 'Searches',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' }, index: { type: 'string' }, limit: { type: 'number' } },
    required: ['query', 'index', 'limit'],
  },
}

function hubWith(
  change: Partial<ServerRecord>,
  more: Parameters<typeof member>[1] = {},
): { hub: Hub; server: ServerRecord } {
  const server = serverRecord('docs', change)
  const hub = startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(groupRecord('work', [member(server, more)]))
    upstreams.add(
      server.id,
      catalog({
        tools: [search, tool('constructor')],
        prompts: [{ name: 'one' }, { name: 'two' }],
        resources: [
          { uri: 'doc://a', name: 'a' },
          { uri: 'doc://b', name: 'b' },
        ],
        resourceTemplates: [
          { uriTemplate: 'note://{id}', name: 'n' },
          { uriTemplate: 'mail://{id}', name: 'm' },
        ],
        capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} },
      }),
    )
  })
  return { hub, server }
}

const sent = (hub: Hub) => hub.upstreams.seen.at(-1)?.request.params

test('pinned, preset and hidden arguments hold for list and call, by the server and by the member', async () => {
  const { hub } = hubWith(
    { tools: { search: { arguments: { index: { pin: 'public' }, limit: { default: 5, description: 'At most' } } } } },
    {
      tools: [{ name: 'search', as: 'find', arguments: { index: { pin: 'secret' }, query: { description: 'What' } } }],
    },
  )
  await using _ = hub
  const group = await new RawClient(hub, '/mcp/work').open()
  const { result } = await group.call('tools/list')
  expect(result.tools).toEqual([
    {
      name: 'find',
      description: 'Searches',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What' },
          limit: { type: 'number', default: 5, description: 'At most' },
        },
        required: ['query'],
      },
    },
  ])
  await group.call('tools/call', { name: 'find', arguments: { query: 'x', index: 'mine' }, _meta: { kept: 1 } })
  expect(sent(hub)).toEqual({
    name: 'search',
    arguments: { query: 'x', index: 'public', limit: 5 },
    _meta: { kept: 1 },
  })
  await group.call('tools/call', { name: 'find' })
  expect(sent(hub)).toEqual({ name: 'search', arguments: { index: 'public', limit: 5 } })
  const alone = await new RawClient(hub, '/mcp/docs').open()
  const own = (await alone.call('tools/list')).result.tools[0]
  expect([own.name, Object.keys(own.inputSchema.properties)]).toEqual(['search', ['query', 'limit']])
  await alone.call('tools/call', { name: 'search', arguments: { index: 'mine', limit: 9 } })
  expect(sent(hub)).toEqual({ name: 'search', arguments: { index: 'public', limit: 9 } })
})

test('without rules the arguments are passed on as the same object', async () => {
  const { hub } = hubWith({})
  await using _ = hub
  const client = await new RawClient(hub, '/mcp/docs').open()
  expect((await client.call('tools/list')).result.tools[1]).toMatchObject({ name: 'constructor' })
  await client.call('tools/call', { name: 'constructor', arguments: { n: 1 } })
  expect(sent(hub)).toEqual({ name: 'constructor', arguments: { n: 1 } })
})

test('prompts and resources of a server and of its member are offered where both let them through (P-24)', async () => {
  const { hub } = hubWith({ prompts: ['one'], resources: ['doc://a', 'note://{id}'] }, { resources: ['doc://a'] })
  await using _ = hub
  const alone = await new RawClient(hub, '/mcp/docs').open()
  const names = async (client: RawClient) => {
    const lists = await Promise.all(
      ['prompts/list', 'resources/list', 'resources/templates/list'].map(method => client.call(method)),
    )
    return lists.flatMap(({ result }) =>
      [...(result.prompts ?? []), ...(result.resources ?? []), ...(result.resourceTemplates ?? [])].map(
        (item: JsonObject) => item.uri ?? item.uriTemplate ?? item.name,
      ),
    )
  }
  expect(await names(alone)).toEqual(['one', 'doc://a', 'note://{id}'])
  const group = await new RawClient(hub, '/mcp/work').open()
  expect(await names(group)).toEqual(['one', 'doc://a'])
  const before = hub.upstreams.seen.length
  const refused: [string, JsonObject][] = [
    ['prompts/get', { name: 'two' }],
    ['resources/read', { uri: 'doc://b' }],
    ['resources/read', { uri: 'mail://1' }],
    ['resources/read', { uri: 'unlisted://x' }],
    ['resources/subscribe', { uri: 'doc://b' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'two' }, argument: { name: 'a', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'mail://{id}' }, argument: { name: 'id', value: '' } }],
  ]
  for (const [method, params] of refused) {
    expect([method, (await alone.call(method, params)).error?.code]).not.toContain(undefined)
  }
  expect((await group.call('resources/read', { uri: 'note://1' })).error).toBeDefined()
  expect(hub.upstreams.seen).toHaveLength(before)
  await alone.call('resources/read', { uri: 'note://1' })
  await alone.call('prompts/get', { name: 'one' })
  expect(hub.upstreams.seen).toHaveLength(before + 2)
})

test('a changed tool waits for its owner where definitions are pinned, and is only reported elsewhere', async () => {
  for (const definitionPolicy of ['pin', undefined] as const) {
    const { hub, server } = hubWith(definitionPolicy ? { definitionPolicy } : {})
    await using _ = hub
    hub.upstreams.changed.set(server.id, ['search'])
    const client = await new RawClient(hub, '/mcp/work').open()
    const listed = (await client.call('tools/list')).result.tools.map(({ name }: { name: string }) => name)
    const { error } = await client.call('tools/call', { name: 'search' })
    if (definitionPolicy === undefined) {
      expect(listed).toContain('search')
      expect(error).toBeUndefined()
      continue
    }
    expect(listed).toEqual(['constructor'])
    expect(error).toMatchObject({ code: -32603, data: { code: 'approval_required' } })
    expect(hub.upstreams.seen).toEqual([])
    hub.upstreams.changed.clear()
    hub.bus.emit('catalog.changed', server.ownerId, { serverId: server.id, name: 'docs', kinds: ['tools'] })
    expect((await client.call('tools/call', { name: 'search' })).error).toBeUndefined()
  }
})

test('a server that was never seen is sent pinned and preset arguments all the same', async () => {
  const server = serverRecord('docs', {
    tools: { search: { name: 'find', arguments: { index: { pin: 'public' }, debug: { hidden: true } } } },
  })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    upstreams.add(server.id, undefined)
  })
  const client = await new RawClient(hub, '/mcp/docs').open()
  await client.call('tools/call', { name: 'find', arguments: { index: 'mine', debug: true, query: 'x' } })
  expect(sent(hub)).toEqual({ name: 'search', arguments: { query: 'x', index: 'public' } })
})

test('a tool that waits for its owner’s approval is not called because its server was never seen since', async () => {
  const server = serverRecord('docs', { definitionPolicy: 'pin' })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    upstreams.add(server.id, undefined)
    upstreams.changed.set(server.id, ['search'])
  })
  const client = await new RawClient(hub, '/mcp/docs').open()
  const { error } = await client.call('tools/call', { name: 'search', arguments: {} })
  expect(error?.data?.code).toBe('approval_required')
  expect(hub.upstreams.seen).toEqual([])
})

test('variables are filled into what the owner of the server pinned, and into nothing of anybody else', async () => {
  const text = `Bearer ${'$'}{TOKEN}`
  const pinned = { tools: { search: { arguments: { index: { pin: text }, limit: { default: text } } } } }
  const bobs = [{ name: 'search', arguments: { query: { pin: text } } }]
  const server = serverRecord('docs', { ...pinned, visibility: 'public' })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(
      groupRecord('own', [member(server, { tools: bobs })]),
      groupRecord('theirs', [member(server, { tools: bobs })], { ownerName: 'bob', visibility: 'public' }),
    )
    upstreams.add(server.id, catalog({ tools: [search] }))
  })
  const filled = async (path: string) => {
    const client = await new RawClient(hub, path).open()
    await client.call('tools/call', { name: 'search', arguments: { other: text } })
    return hub.upstreams.seen.at(-1)?.request.variablesIn
  }
  expect(await filled('/mcp/docs')).toEqual(['index'])
  expect(await filled('/mcp/own')).toEqual(['index', 'query'])
  expect(await filled('/mcp/@bob/theirs')).toEqual(['index'])
  expect(sent(hub)).toMatchObject({ arguments: { index: text, query: text, other: text } })
})

test('a group chooses a tool by the name that its owner can see, and the server’s owner by the original too', async () => {
  const tools = { search: { name: 'find' }, other: { name: 'search' } }
  const server = serverRecord('docs', { tools, visibility: 'public' })
  const choose = (...names: string[]) => [member(server, { tools: names.map(name => ({ name, as: `my_${name}` })) })]
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(
      groupRecord('theirs', choose('find', 'search'), { ownerName: 'bob', visibility: 'public' }),
      groupRecord('own', choose('search', 'find')),
      groupRecord('one', choose('find')),
    )
    upstreams.add(server.id, catalog({ tools: [tool('search'), tool('other')] }))
  })
  const called = async (path: string) => {
    const client = await new RawClient(hub, path).open()
    const { result } = await client.call('tools/list')
    const found: [string, unknown][] = []
    for (const { name } of result.tools) {
      await client.call('tools/call', { name })
      found.push([name, sent(hub)?.name])
    }
    return Object.fromEntries(found)
  }
  // For bob, `search` is the tool that he sees under that name; for alice, it is the original name first.
  expect(await called('/mcp/@bob/theirs')).toEqual({ my_find: 'search', my_search: 'other' })
  expect(await called('/mcp/own')).toEqual({ my_search: 'search' })
  expect(await called('/mcp/one')).toEqual({ my_find: 'search' })
})
