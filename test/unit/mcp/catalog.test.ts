import { expect, test } from 'bun:test'
import { RawClient } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, member, serverRecord, startHub, tool } from './support.ts'

const big = serverRecord('big')
const small = serverRecord('small')

test('a list comes in pages of a thousand, whose cursors are sealed and survive changes', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(big, small)
    world.groups.push(groupRecord('g', [member(big), member(small)]))
    upstreams.add(big.id, catalog({ tools: Array.from({ length: 2_500 }, (_, i) => tool(`t${i}`)) }))
    upstreams.add(small.id, catalog({ tools: [tool('last')] }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const names: string[] = []
  const sizes: number[] = []
  let cursor: string | undefined
  do {
    const { result } = await client.call('tools/list', cursor === undefined ? {} : { cursor })
    sizes.push(result.tools.length)
    names.push(...result.tools.map((each: { name: string }) => each.name))
    cursor = result.nextCursor
  } while (cursor !== undefined)
  expect(sizes).toEqual([1_000, 1_000, 501])
  expect(new Set(names).size).toBe(2_501)
  const first = (await client.call('tools/list')).result.nextCursor
  for (const wrong of ['x', `${first}x`])
    expect((await client.call('tools/list', { cursor: wrong })).error).toMatchObject({
      code: -32602,
      data: { code: 'cursor_invalid' },
    })
  expect((await client.call('prompts/list', { cursor: first })).error?.code).toBe(-32602)
  const other = await new RawClient(hub, '/mcp/big').open()
  expect((await other.call('tools/list', { cursor: first })).error?.code).toBe(-32602)
  const server = hub.upstreams.servers.get(big.id)
  if (!server) throw new Error('no server')
  server.catalog = catalog({ tools: [] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: big.id, name: 'big', kinds: ['tools'] })
  // The items behind the cursor still come, though its own place is gone.
  expect((await client.call('tools/list', { cursor: first })).result.tools).toMatchObject([{ name: 'last' }])
})

test('a cursor continues when its member and the members behind it are gone or have changed places', async () => {
  const names = ['m1', 'm2', 'm3', 'm4']
  const servers = names.map(name => serverRecord(name))
  const tools = (name: string, count: number) => Array.from({ length: count }, (_, n) => tool(`${name}_${n}`))
  await using hub = startHub((world, upstreams) => {
    world.servers.push(...servers)
    world.groups.push(
      groupRecord(
        'g',
        servers.map(server => member(server)),
      ),
    )
    for (const { id, name } of servers) upstreams.add(id, catalog({ tools: tools(name, name === 'm1' ? 10 : 995) }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const { nextCursor } = (await client.call('tools/list')).result
  const after = async (members: readonly string[]) => {
    const chosen = servers.filter(({ name }) => members.includes(name))
    hub.world.groups[0] = groupRecord(
      'g',
      members.flatMap(name => chosen.filter(each => each.name === name)).map(each => member(each)),
    )
    hub.bus.emit('group.updated', 'u-alice', { groupId: 'grp-alice-g', name: 'g', revision: 2 })
    const { result } = await client.call('tools/list', { cursor: nextCursor })
    return result.tools[0]?.name
  }
  // The page ended inside of m2.
  expect(await after(['m1', 'm2', 'm3', 'm4'])).toBe('m2_990')
  expect(await after(['m1', 'm3', 'm4'])).toBe('m3_0')
  expect(await after(['m1', 'm4'])).toBe('m4_0')
  expect(await after(['m4', 'm1'])).toBe('m4_0')
  expect(await after(['m1'])).toBeUndefined()
})

test('a page ends at one mebibyte', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(big)
    upstreams.add(big.id, catalog({ tools: Array.from({ length: 10 }, (_, i) => tool(`t${i}`, 'x'.repeat(250_000))) }))
  })
  const client = await new RawClient(hub, '/mcp/big').open()
  expect((await client.call('tools/list')).result.tools).toHaveLength(4)
})

test('capabilities are the union, and a member never seen counts as all lists (P-18)', async () => {
  const [a, b, c] = [serverRecord('a'), serverRecord('b'), serverRecord('c')]
  await using hub = startHub((world, upstreams) => {
    world.servers.push(a, b, c)
    const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } }
    upstreams.add(a.id, catalog({ capabilities: { tools: {}, logging: {}, extensions: ui, experimental: { x: {} } } }))
    upstreams.add(b.id, catalog({ capabilities: { prompts: { listChanged: false }, completions: {}, tasks: {} } }))
    upstreams.add(c.id, undefined)
    world.groups.push(groupRecord('ab', [member(a), member(b)]), groupRecord('bc', [member(b), member(c)]))
  })
  const capabilities = async (path: string) => {
    const client = new RawClient(hub, path)
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    return (await client.call('initialize', params)).result.capabilities
  }
  const listChanged = true
  expect(await capabilities('/mcp/ab')).toEqual({
    tools: { listChanged },
    prompts: { listChanged },
    logging: {},
    completions: {},
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } },
  })
  expect(await capabilities('/mcp/bc')).toEqual({
    tools: { listChanged },
    prompts: { listChanged },
    resources: { listChanged },
    completions: {},
  })
  expect((await capabilities('/mcp/a')).experimental).toEqual({ x: {} })
})

test('instructions and names are the upstream’s own for one server, and the group’s for several', async () => {
  const [a, b] = [serverRecord('a'), serverRecord('b')]
  await using hub = startHub((world, upstreams) => {
    world.servers.push(a, b)
    const serverInfo = { name: 'Own', version: '2', title: 'T' }
    upstreams.add(a.id, catalog({ instructions: 'use a', serverInfo }))
    upstreams.add(b.id, catalog({ instructions: 'é'.repeat(10_000) }))
    world.groups.push(groupRecord('g', [member(a), member(b)], { description: 'About g' }))
  })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const one = (await new RawClient(hub, '/mcp/a').call('initialize', params)).result
  expect(one).toMatchObject({ serverInfo: { name: 'Own', version: '2', title: 'T' }, instructions: 'use a' })
  const several = (await new RawClient(hub, '/mcp/g').call('initialize', params)).result
  expect(several.serverInfo).toEqual({ name: 'patchbay', title: 'Patchbay: g', version: '9.9.9' })
  expect(several.instructions).toStartWith('About g\n\n## a\nuse a\n\n## b\nééé')
  expect(Buffer.byteLength(several.instructions)).toBeLessThanOrEqual(8_192)
  expect(several.instructions).not.toContain('\uFFFD')
})

test('headers that a member wants are handed on for it alone, and never credentials', async () => {
  const wants = serverRecord('a', { passthroughHeaders: ['X-Trace', 'Authorization', 'Cookie', 'Mcp-Session-Id'] })
  const none = serverRecord('b')
  await using hub = startHub((world, upstreams) => {
    world.servers.push(wants, none)
    world.groups.push(groupRecord('g', [member(wants), member(none)]))
    upstreams.add(wants.id, catalog({ tools: [tool('x')] }))
    upstreams.add(none.id, catalog({ tools: [tool('y')] }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  client.headers['x-trace'] = 't1'
  client.headers.cookie = 'c=1'
  await client.call('tools/call', { name: 'x' })
  await client.call('tools/call', { name: 'y' })
  expect(hub.upstreams.seen.map(each => each.request.passthroughHeaders)).toEqual([{ 'x-trace': 't1' }, {}])
})

test('the view of a group shows stored tools with where they come from, and what is not known yet', async () => {
  const [a, b] = [serverRecord('a'), serverRecord('b')]
  const group = groupRecord('g', [member(a), member(b)])
  await using hub = startHub((world, upstreams) => {
    world.servers.push(a, b)
    world.groups.push(group)
    const server = upstreams.add(a.id, catalog({ tools: [tool('x.y')], warnings: ['cut'] }))
    server.status = { ...server.status, state: 'offline', reason: { code: 'stopped', message: '' } }
    upstreams.add(b.id, undefined)
  })
  const view = await hub.mcp.groupView(hub.world.person('alice'), group, [a, b])
  expect(view.tools(0, 10)).toMatchObject([{ name: 'x_y', server: 'a', original: 'x.y' }])
  expect(view.counts).toEqual({ tools: 1, prompts: 0, resources: 0 })
  expect(view.tokens).toBeGreaterThan(10)
  expect(view.warnings).toEqual([
    { code: 'server_lists', message: 'Server "a": cut', server: 'a' },
    {
      code: 'server_unseen',
      message: 'Server "b" was never seen online, so its tools are not known yet',
      server: 'b',
    },
  ])
})

test('an output schema without object root is left out for clients that cannot read one, and all others stay', async () => {
  const server = serverRecord('new')
  const object = { type: 'object', properties: {} }
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    const tools = [
      { ...tool('list'), outputSchema: { type: 'array', items: {} } },
      { ...tool('object'), outputSchema: object },
      { ...tool('none'), description: 'speaks of its "outputSchema"' },
    ]
    upstreams.add(server.id, catalog({ tools }))
  })
  const client = await new RawClient(hub, '/mcp/new').open()
  const { tools } = (await client.call('tools/list')).result
  expect(tools.map((each: { outputSchema?: unknown }) => each.outputSchema)).toEqual([undefined, object, undefined])
})

test('old names are remembered up to a limit', async () => {
  const count = 5_000
  const aliases = ['a0', 'a1', 'a2', 'a3']
  await using hub = startHub((world, upstreams) => {
    world.servers.push(big)
    upstreams.add(big.id, catalog({ tools: Array.from({ length: count }, (_, i) => tool(`t${i}`)) }))
    world.groups.push(groupRecord('g', [member(big, { alias: 'a0' })], { naming: 'prefixed' }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  for (const alias of aliases) {
    hub.world.groups[0] = groupRecord('g', [member(big, { alias })], { naming: 'prefixed' })
    hub.bus.emit('group.updated', 'u-alice', { groupId: 'grp-alice-g', name: 'g', revision: 2 })
    expect((await client.call('tools/list')).result.tools[0].name).toBe(`${alias}_t0`)
  }
  const code = async (name: string) => (await client.call('tools/call', { name })).error?.code
  expect(await Promise.all(aliases.map(alias => code(`${alias}_t7`)))).toEqual([
    -32602,
    undefined,
    undefined,
    undefined,
  ])
})
