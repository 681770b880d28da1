import { expect, test } from 'bun:test'
import type { ToolSet } from '../../../core/features/tools.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { RawModern } from './modern-support.ts'
import { catalog, groupRecord, member, serverRecord, startHub, textReply, tool } from './support.ts'

/** A tool set that lists the tools it sees, echoes, and replaces other tools. */
function toolSet(applies: 'beside' | 'instead', more: Partial<ToolSet> = {}): ToolSet {
  return {
    applies: ({ path }) => (path === '/mcp/g' ? applies : undefined),
    tools: () => [tool('list'), tool('run')],
    inner: ({ tool: name, arguments: given }) =>
      name === 'run' ? { tool: String(given.tool), arguments: { given: 1 } } : undefined,
    async call(_call, scope) {
      return { result: { content: [{ type: 'text', text: scope.tools.map(({ name }) => name).join() }] } }
    },
    ...more,
  }
}

function start(set: ToolSet) {
  const docs = serverRecord('docs')
  const hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(groupRecord('g', [member(docs)]), groupRecord('other', [member(docs)]))
    upstreams.add(docs.id, catalog({ tools: [tool('get'), tool('list')] }), ({ params }) =>
      textReply(JSON.stringify(params)),
    )
  })
  hub.toolSets.set('own', set)
  return hub
}

const names = async (client: { call(method: string): Promise<{ result?: { tools: { name: string }[] } }> }) =>
  (await client.call('tools/list')).result?.tools.map(({ name }) => name)

test('a set stands beside the members’ tools, or instead of them, in the scopes that it chose', async () => {
  await using beside = start(toolSet('beside'))
  for (const client of [await new RawClient(beside, '/mcp/g').open(), new RawModern(beside, '/mcp/g')]) {
    expect(await names(client)).toEqual(['get', expect.stringMatching(/^list_[0-9a-f]{6}$/), 'list', 'run'])
    const { result } = await client.call('tools/call', { name: 'list' })
    expect(result.content[0].text).toMatch(/^get,list_[0-9a-f]{6}$/)
  }
  expect(await names(await new RawClient(beside, '/mcp/other').open())).toEqual(['get', 'list'])

  await using instead = start(toolSet('instead'))
  const client = await new RawClient(instead, '/mcp/g').open()
  expect(await names(client)).toEqual(['list', 'run'])
  expect((await client.call('tools/call', { name: 'list' })).result.content[0].text).toStartWith('get,list_')
  expect((await client.call('tools/call', { name: 'get' })).result.content[0].text).toContain('"name":"get"')
})

test('an inner call is that call for middlewares, records and rights; other calls pass the middlewares as they are', async () => {
  await using hub = start(toolSet('beside'))
  const seen: unknown[] = []
  hub.middlewares.push({
    method: 'tools/call',
    timeoutMs: 1_000,
    onError: 'closed',
    handle(message, next) {
      seen.push(message.params?.name)
      return next(message)
    },
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const ran = await client.call('tools/call', { name: 'run', arguments: { tool: 'get' } })
  expect(JSON.parse(ran.result.content[0].text)).toMatchObject({ name: 'get', arguments: { given: 1 } })
  await client.call('tools/call', { name: 'list' })
  expect(seen).toEqual(['get', 'list'])
  // The plugin's own tool reached no server.
  expect(hub.calls.map(({ tool, serverId, outcome }) => [tool, serverId !== '', outcome])).toEqual([
    ['get', true, 'ok'],
    ['list', false, 'ok'],
  ])
  for (const other of ['run', 'list', 'hidden'])
    expect((await client.call('tools/call', { name: 'run', arguments: { tool: other } })).error?.message).toContain(
      `There is no tool "${other}" here`,
    )
})

test('a set that fails is left out, and its failed or endless calls end with an error', async () => {
  await using broken = start(toolSet('beside', { tools: () => [{ name: '' }] }))
  expect(await names(await new RawClient(broken, '/mcp/g').open())).toEqual(['get', 'list'])

  await using hub = start(toolSet('beside', { call: () => Promise.reject(new Error('a secret of the plugin')) }))
  const client = await new RawClient(hub, '/mcp/g').open()
  const { error } = await client.call('tools/call', { name: 'list' })
  expect(error?.message).toContain('The plugin that offers "list" failed')
  expect(JSON.stringify(error)).not.toContain('secret')
  expect((await client.call('tools/call', { name: 'list', arguments: [] })).error?.message).toContain('object')
})
