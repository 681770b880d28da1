import { expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import type { AskReply, UpstreamReply, UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { type Answer, SseReader } from '../../support/raw-mcp.ts'
import { ALL_CAPABILITIES, META, RawModern, type Sent } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool, until } from './support.ts'

const asker = serverRecord('asker', { transport: 'streamable-http' })
const elsewhere = serverRecord('elsewhere', { transport: 'streamable-http' })
const FORM = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
const ELICITED = { action: 'accept', content: { a: 1 } }
const SAMPLED = { role: 'assistant', content: { type: 'text', text: 's' }, model: 'm' }
const ROOTS = { roots: [{ uri: 'file:///r' }] }

type Handler = (request: UpstreamRequest, signal: AbortSignal) => UpstreamReply | Promise<UpstreamReply>

function hub(handler: Handler): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(asker, elsewhere)
    world.groups.push(groupRecord('g', [member(asker)]), groupRecord('h', [member(asker)]))
    const lists = catalog({ tools: [tool('ask'), tool('tell')], prompts: [{ name: 'ask' }] })
    upstreams.add(asker.id, lists, handler)
    upstreams.add(elsewhere.id, catalog({ tools: [tool('ask')] }), handler)
  })
}

const reply = (value: unknown): UpstreamReply => textReply(JSON.stringify(value))

/** Asks one thing after the other, and answers with the replies. */
function inTurn(...requests: readonly (readonly [string, JsonObject?])[]): Handler {
  return async (request, signal) => {
    const heard: (AskReply | undefined)[] = []
    for (const [method, params] of requests) heard.push(await request.ask?.(method, params, signal))
    return reply(heard)
  }
}

/** Asks everything at once. */
function together(...requests: readonly (readonly [string, JsonObject?])[]): Handler {
  return async (request, signal) =>
    reply(await Promise.all(requests.map(([method, params]) => request.ask?.(method, params, signal))))
}

const sent: Sent = { capabilities: ALL_CAPABILITIES }
const call = (client: RawModern, params: JsonObject = {}, more: Sent = {}) =>
  client.call('tools/call', { name: 'ask', arguments: { x: 1 }, ...params }, { ...sent, ...more })
const heard = ({ result }: Answer) => JSON.parse(result.content[0].text)
const INVALID = [200, -32602, 'request_state_invalid']
const refusal = ({ status, error }: Answer & { status: number }) => [status, error?.code, error?.data?.code]

test('requests of an upstream come as input required, and the retry’s answers reach it', async () => {
  await using one = hub(inTurn(['elicitation/create', FORM]))
  const client = new RawModern(one, '/mcp/g')
  const first = await call(client)
  expect(first.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { elicitation_1: { method: 'elicitation/create', params: FORM } },
    _meta: { [`${META}serverInfo`]: { name: 'patchbay' } },
  })
  expect(first.result.ttlMs).toBeUndefined()
  const { requestState } = first.result
  const second = await call(client, { requestState, inputResponses: { elicitation_1: ELICITED, unknown: { x: 1 } } })
  expect(second.result.resultType).toBe('complete')
  expect(heard(second)).toEqual([{ result: ELICITED }])
  expect(one.upstreams.seen).toHaveLength(1)
  expect(one.calls).toMatchObject([{ tool: 'ask', status: 'success' }])
})

test('requests within one moment come in one round', async () => {
  await using one = hub(
    together(['elicitation/create', FORM], ['sampling/createMessage', { messages: [] }], ['roots/list']),
  )
  const client = new RawModern(one, '/mcp/g')
  const { result } = await call(client)
  expect(Object.keys(result.inputRequests)).toEqual(['elicitation_1', 'sampling_2', 'roots_3'])
  const inputResponses = { elicitation_1: ELICITED, sampling_2: SAMPLED, roots_3: ROOTS }
  const done = await call(client, { requestState: result.requestState, inputResponses })
  expect(heard(done)).toEqual([{ result: ELICITED }, { result: SAMPLED }, { result: ROOTS }])
})

test('one round follows another, each with a state and keys of its own', async () => {
  await using one = hub(inTurn(['roots/list'], ['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const first = (await call(client)).result
  const second = (await call(client, { requestState: first.requestState, inputResponses: { roots_1: ROOTS } })).result
  expect(Object.keys(second.inputRequests)).toEqual(['roots_2'])
  expect(second.requestState).not.toBe(first.requestState)
  const done = await call(client, { requestState: second.requestState, inputResponses: { roots_2: ROOTS } })
  expect(heard(done)).toHaveLength(2)
})

test('an answer that is missing is asked for again, the others are used (P-16)', async () => {
  await using one = hub(together(['elicitation/create', FORM], ['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const first = (await call(client)).result
  const again = (await call(client, { requestState: first.requestState, inputResponses: { roots_2: ROOTS } })).result
  expect([again.resultType, Object.keys(again.inputRequests)]).toEqual(['input_required', ['elicitation_1']])
  const nothing = (await call(client, { requestState: again.requestState })).result
  expect(Object.keys(nothing.inputRequests)).toEqual(['elicitation_1'])
  const done = await call(client, { requestState: nothing.requestState, inputResponses: { elicitation_1: ELICITED } })
  expect(heard(done)).toEqual([{ result: ELICITED }, { result: ROOTS }])
})

test('a state works once, for its own user, place, method and parameters, and unchanged (P-16)', async () => {
  await using one = hub(inTurn(['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const { requestState } = (await call(client)).result
  const inputResponses = { roots_1: ROOTS }
  const given = { requestState, inputResponses }
  const tampered = `${requestState.slice(0, 20)}${requestState[20] === 'A' ? 'B' : 'A'}${requestState.slice(21)}`
  for (const wrong of [tampered, `${requestState}x`, '', 'x', 7, null, {}])
    expect(refusal(await call(client, { inputResponses, requestState: wrong as never }))).toEqual(INVALID)
  expect(refusal(await call(new RawModern(one, '/mcp/h'), given))).toEqual(INVALID)
  expect(refusal(await call(new RawModern(one, '/mcp/asker'), given))).toEqual(INVALID)
  expect(refusal(await call(client, { ...given, arguments: { x: 2 } }))).toEqual(INVALID)
  expect(refusal(await call(client, { ...given, name: 'tell' }))).toEqual(INVALID)
  expect(refusal(await client.call('prompts/get', { name: 'ask', arguments: { x: 1 }, ...given }, sent))).toEqual(
    INVALID,
  )
  expect(refusal(await client.call('tools/list', given, sent))).toEqual(INVALID)
  const [a, b] = await Promise.all([call(client, given), call(client, given)])
  expect([a, b].filter(({ result }) => result?.resultType === 'complete')).toHaveLength(1)
  expect(refusal([a, b].find(({ error }) => error) ?? a)).toEqual(INVALID)
})

test('a foreign user’s state is none, though both may use the same server', async () => {
  await using one = startHub((world, upstreams) => {
    const shared = serverRecord('asker', { transport: 'streamable-http', visibility: 'public' })
    world.servers.push(shared)
    world.groups.push(groupRecord('g', [member(shared)], { visibility: 'public' }))
    upstreams.add(shared.id, catalog({ tools: [tool('ask')] }), inTurn(['roots/list']))
  })
  const { requestState } = (await call(new RawModern(one, '/mcp/@alice/g'))).result
  const given = { requestState, inputResponses: { roots_1: ROOTS } }
  expect(refusal(await call(new RawModern(one, '/mcp/@alice/g', 'bob'), given))).toEqual(INVALID)
  expect((await call(new RawModern(one, '/mcp/@alice/g'), given)).result.resultType).toBe('complete')
})

test('the keys of a retry may come in another order, and its own _meta is its own', async () => {
  await using one = hub(inTurn(['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const args = { b: 1, a: [{ d: 1, c: 2 ** 70 }] }
  const { requestState } = (await call(client, { arguments: args })).result
  const turned = { a: [{ c: 2 ** 70, d: 1 }], b: 1 }
  const given = { arguments: turned, requestState, inputResponses: { roots_1: ROOTS } }
  expect((await call(client, given, { meta: { traceparent: '00-2' } })).result.resultType).toBe('complete')
})

test('malformed answers are refused, and nothing is used up by them (P-16)', async () => {
  await using one = hub(together(['elicitation/create', FORM], ['sampling/createMessage', {}], ['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const { requestState } = (await call(client)).result
  const good = { elicitation_1: ELICITED, sampling_2: SAMPLED, roots_3: ROOTS }
  const bad = [
    null,
    7,
    [],
    { ...good, elicitation_1: 5 },
    { ...good, elicitation_1: { action: 'yes' } },
    { ...good, sampling_2: { role: 'assistant' } },
    { ...good, roots_3: { roots: 'r' } },
  ]
  for (const inputResponses of bad) {
    const answer = await call(client, { requestState, inputResponses: inputResponses as never })
    expect(refusal(answer)).toEqual([200, -32602, 'params_invalid'])
  }
  expect((await call(client, { requestState, inputResponses: good })).result.resultType).toBe('complete')
})

test('an upstream is refused at once what the client did not declare, and shared ones are offered nothing', async () => {
  await using one = hub(
    inTurn(['sampling/createMessage', {}], ['elicitation/create', { ...FORM, mode: 'url', url: 'https://a' }]),
  )
  const client = new RawModern(one, '/mcp/g')
  const refused = { error: { code: -32601 } }
  for (const capabilities of [{}, { roots: {} }, { elicitation: {} }, { elicitation: { form: {} } }])
    expect(heard(await call(client, {}, { capabilities }))).toMatchObject([refused, refused])
  expect(one.upstreams.seen[0]?.request.session).toBeUndefined()
  expect(one.upstreams.seen[1]?.request.session?.capabilities).toEqual({ roots: {} })
  const { result } = await call(client, {}, { capabilities: { elicitation: { url: {} } } })
  expect(result.inputRequests.elicitation_1.params.url).toBe('https://a')
})

test('an upstream that withdraws its request removes the key, and one that finishes leaves its result', async () => {
  const withdraw = new AbortController()
  const finish = Promise.withResolvers<void>()
  await using one = hub(async request => {
    void request.ask?.('roots/list', undefined, withdraw.signal)
    void request.ask?.('elicitation/create', FORM, new AbortController().signal)
    await finish.promise
    return reply('done without it')
  })
  const client = new RawModern(one, '/mcp/g')
  const first = (await call(client)).result
  expect(Object.keys(first.inputRequests)).toEqual(['roots_1', 'elicitation_2'])
  withdraw.abort()
  const second = (await call(client, { requestState: first.requestState })).result
  expect(Object.keys(second.inputRequests)).toEqual(['elicitation_2'])
  finish.resolve()
  await until(() => one.calls.length === 1)
  const done = await call(client, { requestState: second.requestState, inputResponses: { elicitation_2: ELICITED } })
  expect(heard(done)).toBe('done without it')
})

test('a parked call is cancelled after ten minutes, and with its credential', async () => {
  await using one = hub(inTurn(['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const { requestState } = (await call(client)).result
  one.clock.skewMs = 10 * 60_000 + 1_000
  expect(refusal(await call(client, { requestState, inputResponses: { roots_1: ROOTS } }))).toEqual(INVALID)
  await until(() => one.upstreams.cancelled.length === 1)
  await call(client)
  one.world.revoked.add('alice')
  one.bus.emit('key.removed', 'u-alice', { keyId: 'k' })
  await until(() => one.upstreams.cancelled.length === 2)
}, 120_000)

test('a parked call ends with its group, and with the hub', async () => {
  await using one = hub(inTurn(['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  await call(client)
  one.world.groups.splice(0, 1)
  one.bus.emit('group.removed', 'u-alice', { groupId: 'grp-alice-g', name: 'g' })
  await until(() => one.upstreams.cancelled.length === 1)
  await call(new RawModern(one, '/mcp/h'))
  await one.mcp.drain(5_000)
  expect(one.upstreams.cancelled).toHaveLength(2)
})

test('requests that a retry no longer offers are refused to the upstream', async () => {
  await using one = hub(together(['elicitation/create', FORM], ['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const { requestState } = (await call(client)).result
  const given = { requestState, inputResponses: { elicitation_1: ELICITED } }
  const done = await call(client, given, { capabilities: { elicitation: {} } })
  expect(heard(done)).toMatchObject([{ result: ELICITED }, { error: { code: -32601 } }])
})

test('a client that leaves while it is asked nothing yet takes the call back, parked ones stay', async () => {
  await using one = hub(inTurn(['roots/list']))
  const client = new RawModern(one, '/mcp/g')
  const leave = new AbortController()
  const response = await client.send(
    'tools/call',
    { name: 'ask', arguments: { x: 1 } },
    { ...sent, signal: leave.signal },
  )
  const { result } = (await response.json()) as Answer
  leave.abort()
  const done = await call(client, { requestState: result.requestState, inputResponses: { roots_1: ROOTS } })
  expect(heard(done)).toHaveLength(1)
  expect(one.upstreams.cancelled).toEqual([])
})

test('a user has sixteen calls parked at most; beyond, the upstream is refused', async () => {
  const servers = Array.from({ length: 5 }, (_, index) => serverRecord(`s${index}`, { transport: 'streamable-http' }))
  await using one = startHub((world, upstreams) => {
    world.servers.push(...servers)
    for (const { id } of servers) upstreams.add(id, catalog({ tools: [tool('ask')] }), inTurn(['roots/list']))
  })
  const answers: Answer[] = []
  for (const { name } of servers)
    for (let i = 0; i < 4; i++) if (answers.length < 17) answers.push(await call(new RawModern(one, `/mcp/${name}`)))
  const parked = answers.filter(({ result }) => result.resultType === 'input_required')
  expect(parked).toHaveLength(16)
  expect(heard(answers[16] as Answer)).toMatchObject([{ error: { code: -32603 } }])
})

test('the hub itself asks for no visit beside sixteen parked calls', async () => {
  const elicitations = [{ mode: 'url', url: 'https://a.example/x', message: 'Sign in', elicitationId: 'e1' }]
  await using one = hub(() => ({
    kind: 'error',
    error: { code: -32042, message: 'visit first', data: { elicitations } },
  }))
  const client = new RawModern(one, '/mcp/g')
  for (let parked = 0; parked < 16; parked += 1) expect((await call(client)).result.resultType).toBe('input_required')
  const { error } = await call(client)
  expect(error).toMatchObject({ code: -32603, data: { code: 'quota_parked', retryAfter: 5 } })
})

test('a visit to a URL that an upstream wants first is asked for, and the retry calls again', async () => {
  let visited = false
  const elicitations = [{ mode: 'url', url: 'https://a.example/x', message: 'Sign in', elicitationId: 'e1' }]
  await using one = hub(() => {
    if (visited) return textReply('in')
    return { kind: 'error', error: { code: -32042, message: 'visit first', data: { elicitations } } }
  })
  const client = new RawModern(one, '/mcp/g')
  const { result } = await call(client)
  const params = { mode: 'url', url: 'https://a.example/x', message: 'Sign in' }
  expect(result.inputRequests).toEqual({ elicitation_1: { method: 'elicitation/create', params } })
  visited = true
  const given = { requestState: result.requestState, inputResponses: { elicitation_1: { action: 'accept' } } }
  expect((await call(client, given)).result.content[0].text).toBe('in')
  expect(refusal(await call(client, given))).toEqual(INVALID)
  expect(one.upstreams.seen).toHaveLength(2)
  visited = false
  const { status, error } = await call(client, {}, { capabilities: { elicitation: {} } })
  expect([status, error?.code]).toEqual([400, -32021])
  expect(error?.data).toMatchObject({
    code: 'client_capability_missing',
    requiredCapabilities: { elicitation: { url: {} } },
  })
})

test('progress is sent on the request’s own stream under its own token, the last of it on the retry’s', async () => {
  const parked = Promise.withResolvers<void>()
  const worked = Promise.withResolvers<void>()
  await using one = hub(async (request, signal) => {
    request.progress?.({ progress: 1, total: 9 })
    const asked = request.ask?.('roots/list', undefined, signal)
    await parked.promise
    request.progress?.({ progress: 2, total: 9 })
    request.progress?.({ progress: 3, total: 9 })
    worked.resolve()
    await asked
    request.progress?.({ progress: 4, total: 9 })
    return reply('done')
  })
  const client = new RawModern(one, '/mcp/g')
  const open = (params: JsonObject, token: string | number) =>
    client.send(
      'tools/call',
      { name: 'ask', arguments: { x: 1 }, ...params },
      { ...sent, meta: { progressToken: token } },
    )
  const all = async (response: Response) => {
    const reader = new SseReader(response)
    const messages: Answer[] = []
    for (let next = await reader.message(); next; next = await reader.message()) messages.push(next)
    return messages
  }
  const first = await all(await open({}, 0))
  expect(first.map(({ params }) => params?.progress)).toEqual([1, undefined])
  expect(first[0]?.params).toEqual({ progress: 1, total: 9, progressToken: 0 })
  parked.resolve()
  await worked.promise
  const { requestState } = first[1]?.result ?? {}
  const second = await all(await open({ requestState, inputResponses: { roots_1: ROOTS } }, 'two'))
  expect(second.map(({ params }) => params?.progress)).toEqual([3, 4, undefined])
  expect(second[0]?.params?.progressToken).toBe('two')
})

test('log messages come to the client that asked for them, from the level on, on the stream of that request (P-21)', async () => {
  await using one = hub(request => {
    if (request.method === 'logging/setLevel') return textReply('')
    for (const level of ['debug', 'info', 'error'])
      request.notification?.('notifications/message', { level, data: level })
    return textReply('ok')
  })
  const main = one.upstreams.servers.get(asker.id)
  if (!main?.catalog) throw new Error('no catalogue')
  main.catalog = { ...main.catalog, capabilities: { ...main.catalog.capabilities, logging: {} } }
  one.bus.emit('catalog.changed', 'u-alice', { serverId: asker.id, name: 'asker', kinds: [] })
  const client = new RawModern(one, '/mcp/g')
  const levels = async (level: string | undefined) => {
    const meta: JsonObject = level === undefined ? {} : { [`${META}logLevel`]: level }
    const response = await client.send('tools/call', { name: 'tell' }, { meta })
    if (response.headers.get('content-type') === 'application/json') return []
    const reader = new SseReader(response)
    const found: unknown[] = []
    for (let next = await reader.message(); next?.method; next = await reader.message()) found.push(next.params?.level)
    return found
  }
  expect(await levels(undefined)).toEqual([])
  expect(await levels('error')).toEqual(['error'])
  expect(await levels('debug')).toEqual(['debug', 'info', 'error'])
  expect(await levels('info')).toEqual(['info', 'error'])
  const told = one.upstreams.seen.filter(({ request }) => request.method === 'logging/setLevel')
  expect(told.map(({ request }) => request.params?.level)).toEqual(['error', 'debug'])
})

test('questions that wait for their answers count for the caller, and those that do not fit are refused', async () => {
  const long = { ...FORM, message: 'x'.repeat(2 ** 20) }
  await using one = hub(together(...Array.from({ length: 40 }, () => ['elicitation/create', long] as const)))
  const client = new RawModern(one, '/mcp/g')
  const { result } = await call(client)
  const asked = Object.keys(result.inputRequests)
  expect(asked.length).toBeWithin(20, 33)
  const used = () => one.mcp.usage('u-alice').bytesInFlightPerUser
  await until(() => used() < LIMITS.bytesInFlightPerUser)
  expect(used()).toBeGreaterThan(2 * asked.length * 2 ** 20)
  const inputResponses = Object.fromEntries(asked.map(key => [key, ELICITED]))
  const done = await call(client, { requestState: result.requestState, inputResponses })
  const refused = heard(done).filter((each: AskReply) => 'error' in each)
  expect([refused.length, refused[0].error.message]).toEqual([40 - asked.length, expect.stringContaining('in flight')])
  await until(() => used() === 0)
})
