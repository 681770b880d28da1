import { expect, test } from 'bun:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { REMEDIES } from '../../../core/contract/remedies.ts'
import { atMost } from '../../support/pace.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { least } from '../../support/wait.ts'
import { catalog, groupRecord, member, serverRecord, startHub, textReply, tool } from './support.ts'

const time = serverRecord('time')
const notes = serverRecord('notes')

function twoServers() {
  return startHub((world, upstreams) => {
    world.servers.push(time, notes)
    world.groups.push(groupRecord('work', [member(time), member(notes)]))
    upstreams.add(time.id, catalog({ tools: [tool('now'), tool('search')] }), request =>
      textReply(`time ${request.params?.name} ${JSON.stringify(request.params?.arguments)}`),
    )
    upstreams.add(notes.id, catalog({ tools: [tool('search'), tool('add')] }), request =>
      textReply(`notes ${request.params?.name}`),
    )
  })
}

test('the SDK client lists and calls the tools of a group', async () => {
  await using hub = twoServers()
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/work`), {
    requestInit: { headers: { authorization: 'Bearer alice' } },
  })
  await client.connect(transport)
  expect(client.getServerVersion()).toMatchObject({ name: 'patchbay', title: 'Patchbay: work' })
  const { tools } = await client.listTools()
  expect(tools.map(each => each.name)).toEqual(['now', 'time_search', 'notes_search', 'add'])
  const result = await client.callTool({ name: 'time_search', arguments: { q: 1 } })
  expect(result.content).toEqual([{ type: 'text', text: 'time search {"q":1}' }])
  expect(hub.calls).toMatchObject([
    { tool: 'search', server: 'time', group: 'work', status: 'success', userName: 'alice' },
  ])
  expect(hub.calls[0]?.durationMs).toBeGreaterThan(0)
  await transport.terminateSession()
  await client.close()
  expect(hub.mcp.sessions()).toEqual([])
  expect(hub.upstreams.endedSessions).toHaveLength(1)
})

test('a result passes with its bytes as the upstream wrote them', async () => {
  const text = '{ "content":[],"structuredContent":{"n":12345678901234567890,"f":1.0} }'
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ tools: [tool('now')] }), () => ({ kind: 'result', text, isError: false }))
  })
  const client = await new RawClient(hub, '/mcp/time').open()
  const response = await client.send('tools/call', { name: 'now' }, 'a"b')
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":"a\\"b","result":${text}}`)
})

test('numbers beyond 2^53 reach the upstream, and ids the client, as they were written', async () => {
  await using hub = twoServers()
  const client = await new RawClient(hub, '/mcp/time').open()
  const response = await client.post(
    '{"jsonrpc":"2.0","id":98765432109876543210,"method":"tools/call","params":{"name":"now","arguments":{"n":12345678901234567891}}}',
  )
  const text = await response.text()
  expect(text).toStartWith('{"jsonrpc":"2.0","id":98765432109876543210,')
  expect(text).toContain('12345678901234567891')
})

test('an upstream error passes unchanged, a failure of the hub names its code', async () => {
  await using hub = twoServers()
  const client = await new RawClient(hub, '/mcp/work').open()
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  server.handler = () => ({ kind: 'error', error: { code: -32050, message: 'own', data: { a: [1] } } })
  expect((await client.call('tools/call', { name: 'now' })).error).toEqual({
    code: -32050,
    message: 'own',
    data: { a: [1] },
  })
  server.handler = () => ({ kind: 'failed', code: 'upstream_timeout', message: 'too slow' })
  const response = await client.send('tools/call', { name: 'now' })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({
    id: 2,
    error: { code: -32603, message: 'too slow', data: { code: 'upstream_timeout', requestId: expect.any(String) } },
  })
  server.handler = () => ({ kind: 'result', text: '{"content":[],"isError":true}', isError: true })
  await client.call('tools/call', { name: 'now' })
  expect(hub.calls.map(call => call.status)).toEqual(['error', 'upstream_timeout', 'error'])
})

test('an unknown tool is refused with near names of this scope alone', async () => {
  await using hub = twoServers()
  const client = await new RawClient(hub, '/mcp/time').open()
  const { error } = await client.call('tools/call', { name: 'serach' })
  expect(error).toMatchObject({ code: -32602, data: { code: 'tool_not_found', hint: 'Did you mean "search"?' } })
  const far = (await client.call('tools/call', { name: 'add' })).error?.data
  expect(far).toMatchObject({ hint: REMEDIES.tool_not_found })
  expect((await client.call('tools/call', { name: 'now', arguments: 'x' })).error).toMatchObject({
    code: -32602,
    data: { code: 'params_invalid' },
  })
  expect((await client.call('nothing/here')).error).toMatchObject({ code: -32601, data: { code: 'method_not_found' } })
  expect(hub.upstreams.seen).toEqual([])
})

test('a hidden tool, prompt or resource cannot be reached by its name (P-24)', async () => {
  const server = serverRecord('time', { tools: { secret: { enabled: false }, now: { name: 'clock' } } })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(groupRecord('g', [member(server, { prompts: ['shown'], resources: ['a://1'] })]))
    upstreams.add(
      server.id,
      catalog({
        tools: [tool('secret'), tool('now')],
        prompts: [{ name: 'shown' }, { name: 'hidden' }],
        resources: [
          { uri: 'a://1', name: '1' },
          { uri: 'a://2', name: '2' },
        ],
        capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} },
      }),
    )
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  expect((await client.call('tools/list')).result.tools).toMatchObject([{ name: 'clock' }])
  const refused = [
    await client.call('tools/call', { name: 'secret' }),
    await client.call('tools/call', { name: 'now' }),
    await client.call('prompts/get', { name: 'hidden' }),
    await client.call('resources/read', { uri: 'a://2' }),
    await client.call('resources/subscribe', { uri: 'a://2' }),
    await client.call('completion/complete', { ref: { type: 'ref/prompt', name: 'hidden' }, argument: {} }),
  ]
  expect(refused.map(each => each.error?.code)).toEqual([-32602, -32602, -32602, -32002, -32002, -32602])
  expect(hub.upstreams.seen).toEqual([])
  await client.call('tools/call', { name: 'clock' })
  expect(hub.upstreams.seen[0]?.request.params).toEqual({ name: 'now' })
})

test('completion reaches the owning member with its own names, and only one that completes (P-17, P-18)', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time, notes)
    world.groups.push(groupRecord('g', [member(time), member(notes)]))
    const prompts = [{ name: 'p' }]
    upstreams.add(time.id, catalog({ prompts, capabilities: { prompts: {}, completions: {} } }), () => ({
      kind: 'result',
      text: '{"completion":{"values":["x"]}}',
      isError: false,
    }))
    upstreams.add(notes.id, catalog({ prompts }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const ask = (name: string) =>
    client.call('completion/complete', {
      ref: { type: 'ref/prompt', name },
      argument: { name: 'a', value: 'v' },
      context: { arguments: { b: 'c' } },
    })
  expect((await ask('time_p')).result).toEqual({ completion: { values: ['x'] } })
  expect(hub.upstreams.seen[0]).toMatchObject({
    serverId: time.id,
    request: { params: { ref: { type: 'ref/prompt', name: 'p' }, context: { arguments: { b: 'c' } } } },
  })
  expect((await ask('notes_p')).error?.code).toBe(-32601)
  expect((await ask('p')).error?.code).toBe(-32602)
  expect(hub.upstreams.seen).toHaveLength(1)
})

test('ping is answered while every upstream hangs (P-22)', async () => {
  await using hub = twoServers()
  for (const server of hub.upstreams.servers.values()) server.handler = () => new Promise(() => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const hanging = client.send('tools/call', { name: 'now' })
  const ping = async (): Promise<number> => {
    const started = performance.now()
    expect((await client.call('ping')).result).toEqual({})
    return performance.now() - started
  }
  expect(await least(ping)).toBeLessThan(atMost(100))
  await client.delete()
  await (await hanging).text()
})

test('a middleware sees and changes calls, and cannot reach what is hidden', async () => {
  await using hub = twoServers()
  const client = await new RawClient(hub, '/mcp/time').open()
  hub.middlewares.push({
    method: 'tools/*',
    timeoutMs: 1_000,
    onError: 'closed',
    async handle(message, next) {
      const name = message.params?.name === 'now' ? 'add' : (message.params?.name ?? null)
      const result = await next({ ...message, params: { ...message.params, name } })
      return { ...(result as object), marked: true }
    },
  })
  expect((await client.call('tools/call', { name: 'now' })).error?.data).toMatchObject({ code: 'tool_not_found' })
  expect((await client.call('tools/call', { name: 'search' })).result).toMatchObject({ marked: true })
  hub.middlewares[0] = {
    method: '*',
    timeoutMs: 1_000,
    onError: 'open',
    handle: () => Promise.reject(new Error('broken')),
  }
  expect((await client.call('tools/call', { name: 'search' })).result).toBeDefined()
  hub.middlewares[0] = {
    method: '*',
    timeoutMs: 20,
    onError: 'closed',
    handle: () => new Promise(() => {}),
  }
  expect((await client.call('tools/call', { name: 'search' })).error).toMatchObject({ code: -32603 })
  // The words of a plugin, or of its library, are for the log.
  hub.middlewares[0] = { ...hub.middlewares[0], handle: () => Promise.reject(new Error('words of a library')) }
  const { error } = await client.call('tools/call', { name: 'search' })
  expect(error).toMatchObject({ code: -32603, data: { code: 'internal' } })
  expect(JSON.stringify(error)).not.toContain('library')
})

test('a middleware may continue a tools/call once, and a list any number of times', async () => {
  await using hub = twoServers()
  const client = await new RawClient(hub, '/mcp/time').open()
  const passed: string[] = []
  for (const onError of ['closed', 'open'] as const) {
    hub.middlewares.splice(0)
    hub.middlewares.push(
      {
        method: 'tools/*',
        timeoutMs: 1_000,
        onError,
        async handle(message, next) {
          await next(message)
          return { ...((await next(message)) as object), marked: true }
        },
      },
      {
        method: 'tools/*',
        order: 1,
        timeoutMs: 1_000,
        onError: 'closed',
        handle(message, next) {
          passed.push(message.method)
          return next(message)
        },
      },
    )
    const called = await client.call('tools/call', { name: 'search' })
    if (onError === 'closed') expect(called.error).toMatchObject({ code: -32603 })
    // The answer of the one call that was made.
    else expect(called.result).not.toHaveProperty('marked')
    expect((await client.call('tools/list')).result).toMatchObject({ marked: true })
  }
  expect(passed).toEqual([...Array(2)].flatMap(() => ['tools/call', 'tools/list', 'tools/list']))
})

test('a member that was never seen delays a list by two seconds at most, and once (P-23)', async () => {
  await using hub = twoServers()
  const dead = hub.upstreams.servers.get(notes.id)
  if (!dead) throw new Error('no server')
  dead.catalog = undefined
  dead.status = { ...dead.status, state: 'connecting', since: new Date().toISOString() }
  const client = await new RawClient(hub, '/mcp/work').open()
  expect((await client.call('tools/list')).result.tools).toHaveLength(2)
  expect(hub.upstreams.readyWaits).toMatchObject([{ ids: [notes.id] }])
  expect(hub.upstreams.readyWaits[0]?.budgetMs).toBeLessThanOrEqual(2_000)
  dead.status = { ...dead.status, since: new Date(Date.now() - 3_000).toISOString() }
  await client.call('tools/list')
  dead.status = { ...dead.status, attempts: 2, since: new Date().toISOString() }
  await client.call('tools/list')
  expect(hub.upstreams.readyWaits).toHaveLength(1)
})
