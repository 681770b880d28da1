import { expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import type { UpstreamReply, UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { CacheHint } from '../../../core/domain/cache-hint.ts'
import { type Answer, RawClient } from '../../support/raw-mcp.ts'
import { ALL_CAPABILITIES, META, RawModern, type Sent } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool } from './support.ts'

const server = serverRecord('new', { transport: 'streamable-http', visibility: 'public' })
const other = serverRecord('other', { transport: 'streamable-http', visibility: 'public' })
const QUESTION = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }
const ANSWER = { user_name: { action: 'accept', content: { name: 'ann' } } }
const STATE = 'opaque "state" \u2028'

/** A server of the modern era that asks first, and then returns what it received. */
function asking({ modern }: UpstreamRequest): UpstreamReply {
  if (modern?.inputResponses !== undefined) return textReply(JSON.stringify(modern))
  const result = { resultType: 'input_required', inputRequests: { user_name: QUESTION }, requestState: STATE }
  return { kind: 'input_required', text: JSON.stringify(result) }
}

function hub(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(server, other)
    const visibility = 'public' as const
    world.groups.push(
      groupRecord('g', [member(server)], { visibility }),
      groupRecord('h', [member(server)], { visibility }),
    )
    for (const { id } of [server, other]) {
      const added = upstreams.add(id, catalog({ tools: [tool('ask')], protocolVersion: '2026-07-28' }), asking)
      added.status = { ...added.status, era: 'modern' }
    }
  })
}

const sent: Sent = { capabilities: ALL_CAPABILITIES, meta: { [`${META}logLevel`]: 'warning' } }
const call = (client: RawModern, params: JsonObject = {}) =>
  client.call('tools/call', { name: 'ask', arguments: { x: 1 }, ...params }, sent)
const refusal = ({ error }: Answer) => [error?.code, error?.data?.code]

test('a question is passed on unchanged, and the server gets its state back byte for byte (P-16)', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const first = await call(client)
  expect(first.result).toMatchObject({ resultType: 'input_required', inputRequests: { user_name: QUESTION } })
  const { requestState } = first.result
  expect(requestState).not.toContain('opaque')
  const second = await call(client, { inputResponses: ANSWER, requestState })
  expect(JSON.parse(second.result.content[0].text)).toEqual({
    capabilities: ALL_CAPABILITIES,
    logLevel: 'warning',
    inputResponses: ANSWER,
    requestState: STATE,
  })
  // The hub kept nothing for it: no session, no setLevel.
  expect(one.upstreams.seen.map(({ request }) => [request.method, request.session])).toEqual([
    ['tools/call', undefined],
    ['tools/call', undefined],
  ])
})

test('a state that was changed, is of another user, place, server or request, or is too old, is refused', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/@alice/g')
  const { requestState } = (await call(client)).result
  const invalid = [-32602, 'request_state_invalid']
  const retry = { inputResponses: ANSWER, requestState }
  expect(refusal(await call(client, { ...retry, requestState: `${requestState}x` }))).toEqual(invalid)
  expect(refusal(await call(client, { ...retry, arguments: { x: 2 } }))).toEqual(invalid)
  expect(refusal(await call(new RawModern(one, '/mcp/@alice/g', 'bob'), retry))).toEqual(invalid)
  expect(refusal(await call(new RawModern(one, '/mcp/@alice/h'), retry))).toEqual(invalid)
  expect(one.upstreams.seen).toHaveLength(1)
  one.clock.skewMs += LIMITS.parkedMs + 1
  expect(refusal(await call(client, retry))).toEqual(invalid)
  expect(one.upstreams.seen).toHaveLength(1)
})

test('a question where none may be asked is a fault of the server', async () => {
  await using one = hub()
  const known = one.upstreams.servers.get(server.id)
  if (!known?.catalog) throw new Error('no catalogue')
  known.catalog = {
    ...known.catalog,
    capabilities: { tools: {}, completions: {} },
    prompts: catalog({ prompts: [{ name: 'ask' }] }).prompts,
  }
  one.bus.emit('catalog.changed', 'u-alice', { serverId: server.id, name: 'new', kinds: ['prompts'] })
  const params = { ref: { type: 'ref/prompt', name: 'ask' }, argument: { name: 'a', value: '' } }
  const answer = await new RawModern(one, '/mcp/g').call('completion/complete', params, sent)
  expect(refusal(answer)).toEqual([-32603, 'upstream_protocol'])
})

test.each([
  ['no requests', { inputRequests: [1] }],
  ['a request without a method', { inputRequests: { a: { params: {} } } }],
  ['a state that is no text', { inputRequests: { user_name: QUESTION }, requestState: 7 }],
  [
    'a state that no client could send back',
    { inputRequests: { user_name: QUESTION }, requestState: 'x'.repeat(900_000) },
  ],
  ['a state of many megabytes', { inputRequests: { user_name: QUESTION }, requestState: 'x'.repeat(3_900_000) }],
  ['nothing at all', {}],
])('a question that no client can read (%s) is a fault of the server', async (_, asked) => {
  await using one = hub()
  const known = one.upstreams.servers.get(server.id)
  if (!known) throw new Error('no server')
  const text = JSON.stringify({ resultType: 'input_required', ...asked })
  known.handler = () => ({ kind: 'input_required', text })
  expect(refusal(await call(new RawModern(one, '/mcp/g')))).toEqual([-32603, 'upstream_protocol'])
})

test('lists may be kept as long as the least of the members says, by everybody only where all see the same (P-25)', async () => {
  const caching = (ttlMs: number, cacheScope: CacheHint['cacheScope']) => ({ tools: { ttlMs, cacheScope } })
  await using one = startHub((world, upstreams) => {
    world.servers.push(server, other)
    const visibility = 'public' as const
    world.groups.push(
      groupRecord('both', [member(server), member(other)], { visibility }),
      groupRecord('first', [member(server)], { visibility }),
      groupRecord('own', [member(server)]),
    )
    upstreams.add(server.id, catalog({ tools: [tool('a')], caching: caching(9_000, 'public') }))
    upstreams.add(other.id, catalog({ tools: [tool('b')], caching: caching(4_000, 'private') }))
  })
  const hints = async (name: string) => {
    const { ttlMs, cacheScope } = (await new RawModern(one, `/mcp/${name}`).call('tools/list', {}, sent)).result
    return [ttlMs, cacheScope]
  }
  expect(await hints('both')).toEqual([4_000, 'private'])
  expect(await hints('first')).toEqual([9_000, 'public'])
  expect(await hints('own')).toEqual([9_000, 'private'])
})

test('lists of earlier servers may be kept for a minute, and those of a server of 2026-07-28 never longer than it said', async () => {
  const readAgo = (ttlMs: number, ms: number, capabilities: JsonObject = { tools: {} }) =>
    catalog({
      tools: [tool('a')],
      capabilities,
      caching: { tools: { ttlMs, cacheScope: 'public', atMs: Date.now() - ms } },
    })
  await using one = startHub((world, upstreams) => {
    const visibility = 'public' as const
    const add = (name: string, lists: ReturnType<typeof catalog> | undefined, more: object = {}) => {
      const record = { ...server, id: `id-${name}`, name, ...more }
      world.servers.push(record)
      world.groups.push(groupRecord(name, [member(record)], { visibility }))
      if (lists) upstreams.add(record.id, lists)
    }
    add('older', catalog({ tools: [tool('a')] }))
    add('per-user', catalog({ tools: [tool('a')] }), { session: 'per-user' })
    add('fresh', readAgo(90_000, 80_000))
    add('stale', readAgo(90_000, 100_000))
    add('tells', readAgo(30_000, 100_000, { tools: { listChanged: true } }))
    add('day', readAgo(86_400_000, 0))
  })
  const hints = async (name: string) => {
    const { ttlMs, cacheScope } = (await new RawModern(one, `/mcp/${name}`).call('tools/list', {}, sent)).result
    return [ttlMs, cacheScope]
  }
  expect(await hints('older')).toEqual([60_000, 'public'])
  expect(await hints('per-user')).toEqual([60_000, 'private'])
  const [left, scope] = await hints('fresh')
  expect([Number(left) > 0, Number(left) <= 10_000, scope]).toEqual([true, true, 'public'])
  expect(await hints('stale')).toEqual([0, 'public'])
  expect(await hints('tells')).toEqual([30_000, 'public'])
  expect(await hints('day')).toEqual([60_000, 'public'])
})

test('a resource may be kept as its server says, by everybody only where all see the same, and not what was asked for or cut', async () => {
  await using one = startHub((world, upstreams) => {
    world.servers.push(server, other)
    const visibility = 'public' as const
    world.groups.push(
      groupRecord('all', [member(server)], { visibility }),
      groupRecord('own', [member(server)]),
      groupRecord('short', [member(server)], { visibility, resultLimitBytes: 5 }),
      groupRecord('older', [member(other)], { visibility }),
    )
    const text = JSON.stringify({ contents: [{ uri: 'n://1', text: 'long text' }], ttlMs: 7_000, cacheScope: 'public' })
    for (const { id } of [server, other]) {
      const added = upstreams.add(id, catalog({ resources: [{ uri: 'n://1', name: 'n' }] }), () => {
        return { kind: 'result', text, isError: false }
      })
      if (id === server.id) added.status = { ...added.status, era: 'modern' }
    }
  })
  const hints = async (name: string, more: JsonObject = {}) => {
    const client = new RawModern(one, `/mcp/${name}`)
    const { ttlMs, cacheScope } = (await client.call('resources/read', { uri: 'n://1', ...more }, sent)).result
    return [ttlMs, cacheScope]
  }
  expect(await hints('all')).toEqual([7_000, 'public'])
  expect(await hints('own')).toEqual([7_000, 'private'])
  for (const name of ['short', 'older']) expect(await hints(name)).toEqual([0, 'private'])
  expect(await hints('all', { inputResponses: ANSWER })).toEqual([0, 'private'])
})

test('an output schema of any form reaches clients of the modern era, and no others', async () => {
  const outputSchema = { type: 'array', items: {} }
  await using one = startHub((world, upstreams) => {
    world.servers.push(server)
    upstreams.add(server.id, catalog({ tools: [{ ...tool('list'), outputSchema }] }))
  })
  const modern = await new RawModern(one, '/mcp/new').call('tools/list', {}, sent)
  expect(modern.result.tools[0].outputSchema).toEqual(outputSchema)
  const legacy = await new RawClient(one, '/mcp/new').open()
  expect((await legacy.call('tools/list')).result.tools[0]).not.toHaveProperty('outputSchema')
})
