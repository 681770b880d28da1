import { expect, test } from 'bun:test'
import { type Answer, HEADERS, RawClient } from '../../support/raw-mcp.ts'
import { META, RawModern, VERSION } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool, until } from './support.ts'

const server = serverRecord('main')
const other = serverRecord('other')
const REGION = { type: 'string', 'x-mcp-header': 'Region' }

function hub(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(server, other)
    world.groups.push(groupRecord('g', [member(server)]), groupRecord('two', [member(server), member(other)]))
    const lists = catalog({
      tools: [
        { ...tool('echo'), execution: { taskSupport: 'optional' } },
        {
          name: 'marked',
          inputSchema: {
            type: 'object',
            properties: {
              region: REGION,
              at: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
            },
          },
        },
        { name: 'broken', inputSchema: { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } } },
        { name: 'grüße', inputSchema: { type: 'object' } },
      ],
      prompts: [{ name: 'p' }],
      resources: [{ uri: 'a://1', name: '1' }],
      instructions: 'Be kind.',
    })
    upstreams.add(server.id, lists, ({ method, params }) => {
      if (method === 'resources/read') {
        if (params?.uri !== 'a://1') return { kind: 'error', error: { code: -32002, message: 'none', data: { x: 1 } } }
        return { kind: 'result', text: '{"contents":[{"uri":"a://1","text":"x"}]}', isError: false }
      }
      if (method === 'prompts/get') return { kind: 'result', text: '{"messages":[]}', isError: false }
      return textReply(JSON.stringify(params))
    })
    upstreams.add(other.id, catalog({ tools: [tool('plain')] }))
  })
}

test('a request with an envelope is answered without a session, whatever session its header names', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const response = await client.send(
    'tools/call',
    { name: 'echo', arguments: { a: 1 } },
    { headers: { 'mcp-session-id': 'x' } },
  )
  expect(response.status).toBe(200)
  expect(response.headers.get('mcp-session-id')).toBeNull()
  const { result } = (await response.json()) as { result: { content: [{ text: string }] } }
  expect(JSON.parse(result.content[0].text)).toEqual({ name: 'echo', arguments: { a: 1 } })
  expect(one.mcp.sessions()).toEqual([])
})

test('the envelope and the data of rounds stay here, and other members of _meta are passed on', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const meta = { traceparent: '00-1', progressToken: 7, [`${META}logLevel`]: 'info' }
  await client.call('tools/call', { name: 'echo', inputResponses: {} }, { meta })
  expect(one.upstreams.seen.at(-1)?.request.params).toEqual({ name: 'echo', _meta: { traceparent: '00-1' } })
})

test('every result names its type and its server, and a cacheable one its lifetime', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const common = { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: 'patchbay', version: '9.9.9' } } }
  const kept = { ttlMs: 60_000, cacheScope: 'private' }
  const notKept = { ttlMs: 0, cacheScope: 'private' }
  expect((await client.call('tools/call', { name: 'echo' })).result).toMatchObject(common)
  expect((await client.call('tools/call', { name: 'echo' })).result.ttlMs).toBeUndefined()
  expect((await client.call('prompts/get', { name: 'p' })).result).toMatchObject({ ...common, messages: [] })
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'server/discover'])
    expect((await client.call(method)).result).toMatchObject({ ...common, ...kept })
  expect((await client.call('resources/read', { uri: 'a://1' })).result).toMatchObject({ ...common, ...notKept })
})

test('an upstream’s own _meta stays, claims about caching do not, and an unknown kind of result is its fault', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const main = one.upstreams.servers.get(server.id)
  if (!main) throw new Error('no server')
  const answer = (text: string) => {
    main.handler = () => ({ kind: 'result', text, isError: false })
  }
  answer(' {"contents":[],"ttlMs":9000,"cacheScope":"public","_meta":{"own":12345678901234567890}}')
  const response = await client.send('resources/read', { uri: 'a://1' })
  const text = await response.text()
  expect(text).toContain('12345678901234567890')
  expect(JSON.parse(text).result).toMatchObject({ ttlMs: 0, cacheScope: 'private', resultType: 'complete' })
  answer('{}')
  expect((await client.call('tools/call', { name: 'echo' })).result.resultType).toBe('complete')
  for (const strange of ['{"resultType":"task","task":{}}', '[1]']) {
    answer(strange)
    const { status, error } = await client.call('tools/call', { name: 'echo' })
    expect([status, error?.code, error?.data?.code]).toEqual([200, -32603, 'upstream_protocol'])
  }
})

test('discover names the version, the capabilities and the instructions', async () => {
  await using one = hub()
  const { result } = await new RawModern(one, '/mcp/main').call('server/discover')
  expect(result).toMatchObject({
    supportedVersions: [VERSION],
    capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true } },
    instructions: 'Be kind.',
    _meta: { [`${META}serverInfo`]: { name: 'fake', version: '1' } },
  })
})

test('lists leave tasks of the older core out', async () => {
  await using one = hub()
  const { result } = await new RawModern(one, '/mcp/g').call('tools/list')
  expect(result.tools).toHaveLength(4)
  expect(JSON.stringify(result)).not.toContain('taskSupport')
})

test('a list that no member can have is no method here', async () => {
  await using one = startHub((world, upstreams) => {
    world.servers.push(other)
    upstreams.add(other.id, catalog({ tools: [tool('plain')] }))
  })
  const client = new RawModern(one, '/mcp/other')
  expect((await client.call('tools/list')).status).toBe(200)
  for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
    const { status, error } = await client.call(method)
    expect([status, error?.code]).toEqual([404, -32601])
  }
})

/** The refusal of one POST: status, JSON-RPC code, the hub's code. */
type Refusal = readonly [number, number, string?]

test('the metadata of a request decides how it is handled', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const envelope = client.envelope()
  const { [`${META}clientCapabilities`]: _c, ...noCapabilities } = envelope
  const { [`${META}protocolVersion`]: _v, ...noVersion } = envelope
  const request = (method: string, _meta?: object, params = {}) => ({
    jsonrpc: '2.0',
    id: 'i',
    method,
    params: { ...params, ...(_meta ? { _meta } : {}) },
  })
  const v = (version: string | null) => ({ headers: { 'mcp-protocol-version': version } })
  const wrong = { ...envelope, [`${META}protocolVersion`]: 'v999' }
  const cases: readonly [string, Promise<Response>, Refusal][] = [
    ['initialize with an envelope', client.post(request('initialize', envelope)), [404, -32601, 'method_not_found']],
    ['ping with an envelope', client.post(request('ping', envelope)), [404, -32601, 'method_not_found']],
    ['setLevel', client.post(request('logging/setLevel', envelope)), [404, -32601, 'method_not_found']],
    ['subscribe', client.post(request('resources/subscribe', envelope)), [404, -32601, 'method_not_found']],
    ['modern header, no envelope', client.post(request('tools/list')), [400, -32602, 'envelope_invalid']],
    [
      'modern header, no params',
      client.post({ jsonrpc: '2.0', id: 'i', method: 'tools/list' }),
      [400, -32602, 'envelope_invalid'],
    ],
    ['no version in the envelope', client.post(request('tools/list', noVersion)), [400, -32602, 'envelope_invalid']],
    ['no capabilities', client.post(request('tools/list', noCapabilities)), [400, -32602, 'envelope_invalid']],
    ['initialize, modern header', client.post(request('initialize')), [400, -32020, 'header_mismatch']],
    ['unknown version', client.post(request('tools/list', wrong), v('v999')), [400, -32022, 'version_unsupported']],
    ['header unlike the body', client.post(request('tools/list', wrong)), [400, -32020, 'header_mismatch']],
    ['no version header', client.post(request('tools/list', envelope), v(null)), [400, -32020, 'header_mismatch']],
    ['older header', client.post(request('tools/list', envelope), v('2025-11-25')), [400, -32020, 'header_mismatch']],
    ['an array with an envelope', client.post([request('tools/list', envelope)]), [400, -32600, 'request_invalid']],
    ['a response', client.post({ jsonrpc: '2.0', id: 'i', result: {} }), [400, -32600, 'request_invalid']],
    ['id null', client.post({ ...request('tools/list', envelope), id: null }), [400, -32600, 'request_invalid']],
    ['not JSON', client.post('{'), [400, -32700, 'json_invalid']],
    ['not JSON type', client.post('{}', { headers: { 'content-type': 'text/plain' } }), [415, -32600, 'content_type']],
    ['Accept', client.post('{}', { headers: { accept: 'text/event-stream' } }), [406, -32600, 'not_acceptable']],
    ['unknown tool', client.post(request('tools/call', envelope, { name: 'nope' })), [200, -32602, 'tool_not_found']],
    [
      'unknown prompt',
      client.post(request('prompts/get', envelope, { name: 'nope' })),
      [200, -32602, 'prompt_not_found'],
    ],
    ['unknown cursor', client.post(request('tools/list', envelope, { cursor: 'x' })), [200, -32602, 'cursor_invalid']],
    [
      'unknown level',
      client.post(request('tools/list', { ...envelope, [`${META}logLevel`]: 'loud' })),
      [200, -32602, 'params_invalid'],
    ],
    ['unknown resource', client.post(request('resources/read', envelope, { uri: 'a://2' })), [200, -32602]],
  ]
  for (const [name, answer, [status, code, hubCode]] of cases) {
    const response = await answer
    const body = (await response.json()) as { id?: unknown; error: { code: number; data?: { code?: string } } }
    expect([name, response.status, body.error.code, body.error.data?.code]).toEqual([name, status, code, hubCode])
    const readable =
      code !== -32700 && status !== 415 && status !== 406 && name !== 'id null' && !name.startsWith('an array')
    expect([name, body.id]).toEqual([name, readable ? 'i' : undefined])
  }
  const missing = (await (await client.post(request('tools/list', {}))).json()) as { error: { data: object } }
  expect(missing.error.data).toMatchObject({ missing: [`${META}protocolVersion`, `${META}clientCapabilities`] })
  const unsupported = (await (await client.post(request('x', wrong), v('v999'))).json()) as { error: { data: object } }
  expect(unsupported.error.data).toMatchObject({ supported: [VERSION], requested: 'v999' })
  const noResource = await client.call('resources/read', { uri: 'a://2' })
  expect(noResource.error?.data).toEqual({ x: 1, uri: 'a://2' })
})

test('GET and DELETE are no methods of the modern era, and notifications need no answer', async () => {
  await using one = hub()
  const headers = { ...HEADERS, authorization: 'Bearer alice', 'mcp-protocol-version': VERSION }
  for (const method of ['GET', 'DELETE']) {
    const response = await fetch(`${one.url}/mcp/g`, { method, headers })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  }
  const legacy = await fetch(`${one.url}/mcp/g`, {
    method: 'PUT',
    headers: { ...headers, 'mcp-protocol-version': '2025-11-25' },
  })
  expect([legacy.status, legacy.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE'])
  const client = new RawModern(one, '/mcp/g')
  const response = await client.post({ jsonrpc: '2.0', method: 'notifications/whatever' })
  expect([response.status, await response.text()]).toEqual([202, ''])
})

test('an array is refused as an array, also where only its header names this era', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const response = await client.post([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }])
  expect([response.status, ((await response.json()) as Answer).error?.message]).toEqual([
    400,
    `Arrays are not part of the protocol version ${VERSION}`,
  ])
})

test('both eras live at one URL', async () => {
  await using one = hub()
  const legacy = await new RawClient(one, '/mcp/g').open()
  const modern = new RawModern(one, '/mcp/g')
  expect((await legacy.call('tools/list')).result.tools).toHaveLength(4)
  expect((await modern.call('tools/list')).result.tools).toHaveLength(4)
  expect((await legacy.call('ping')).result).toEqual({})
})

test('Mcp-Method and Mcp-Name must say what the body says, in plain or base64 form (P-25)', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const call = (headers: Record<string, string | null>, name = 'echo') =>
    client.call('tools/call', { name, arguments: {} }, { headers })
  const refused = async (headers: Record<string, string | null>, name?: string) => {
    const { status, error } = await call(headers, name)
    expect([JSON.stringify(headers), status, error?.code]).toEqual([JSON.stringify(headers), 400, -32020])
  }
  await refused({ 'mcp-method': null })
  await refused({ 'mcp-method': 'tools/list' })
  await refused({ 'mcp-method': 'TOOLS/CALL' })
  await refused({ 'mcp-name': null })
  await refused({ 'mcp-name': 'marked' })
  await refused({ 'mcp-name': '=?base64?ZWNobw?=' })
  await refused({ 'mcp-name': '=?base64?!!!!?=' })
  await refused({ 'mcp-name': '=?base64?/w==?=' })
  await refused({ 'mcp-name': 'grüße' }, 'grüße')
  expect((await call({ 'mcp-name': base64('echo') })).status).toBe(200)
  expect((await call({ 'mcp-name': '  echo ' })).status).toBe(200)
  // Its exposed name has only characters that are allowed in names here.
  const { result } = await client.call('tools/list')
  const exposed = result.tools[3].name as string
  expect((await call({ 'mcp-name': exposed }, exposed)).status).toBe(200)
  expect(one.upstreams.seen.at(-1)?.request.params?.name).toBe('grüße')
  const noUri = await client.call('resources/read', { uri: 'a://1' }, { headers: { 'mcp-name': null } })
  expect(noUri.error?.code).toBe(-32020)
})

test('Mcp-Param headers must repeat the marked arguments, and no others count', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const call = async (args: object, headers: Record<string, string>, name = 'marked') => {
    const { status, error } = await client.call('tools/call', { name, arguments: args as never }, { headers })
    return error ? [status, error.code] : status
  }
  const bad = [400, -32020]
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'eu' })).toBe(200)
  expect(await call({ region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' })).toBe(200)
  expect(await call({}, {})).toBe(200)
  expect(await call({ region: null }, {})).toBe(200)
  expect(await call({ region: 'eu', at: { n: 42 } }, { 'mcp-param-region': 'eu', 'mcp-param-n': '42.0' })).toBe(200)
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'eu', 'mcp-param-unknown': 'x' })).toBe(200)
  expect(await call({ region: 'eu' }, {})).toEqual(bad)
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'us' })).toEqual(bad)
  expect(await call({}, { 'mcp-param-region': 'eu' })).toEqual(bad)
  expect(await call({ at: { n: 42 } }, { 'mcp-param-n': 'x' })).toEqual(bad)
  expect(await call({ a: 1 }, {}, 'broken')).toBe(200)
  expect(one.upstreams.seen.filter(({ request }) => request.method === 'tools/call')).toHaveLength(7)
})

test('a client that goes away takes its call back within a second (P-10)', async () => {
  await using one = hub()
  const main = one.upstreams.servers.get(server.id)
  if (!main) throw new Error('no server')
  main.handler = () => new Promise(() => {})
  const client = new RawModern(one, '/mcp/g')
  const silent = new AbortController()
  const gone = client.send('tools/call', { name: 'echo' }, { signal: silent.signal }).catch(() => undefined)
  await until(() => one.upstreams.seen.length === 1)
  silent.abort()
  await gone
  await until(() => one.upstreams.cancelled.length === 1)
  main.handler = request => {
    request.progress?.({ progress: 1 })
    return new Promise(() => {})
  }
  const response = await client.send('tools/call', { name: 'echo' }, { meta: { progressToken: 0 } })
  await response.body?.cancel()
  await until(() => one.upstreams.cancelled.length === 2)
})

test('calls of both eras count against their user', async () => {
  await using one = hub()
  const main = one.upstreams.servers.get(server.id)
  if (!main) throw new Error('no server')
  main.handler = () => new Promise(() => {})
  const legacy = await new RawClient(one, '/mcp/g').open('2025-03-26')
  const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo' } })
  const client = new RawModern(one, '/mcp/g')
  const open = [client.send('tools/call', { name: 'echo' })]
  for (const [from, length] of [
    [0, 100],
    [100, 100],
    [200, 55],
  ] as const)
    open.push(legacy.post(Array.from({ length }, (_, index) => call(from + index))))
  await until(() => one.upstreams.seen.length === 256)
  const refused = await client.send('tools/call', { name: 'echo' })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  one.mcp.dispose()
  await Promise.all(open)
})

/** A call that its server never answers. */
async function hanging(one: Hub): Promise<Promise<Answer & { readonly status: number }>[]> {
  const main = one.upstreams.servers.get(server.id)
  if (!main) throw new Error('no server')
  main.handler = () => new Promise(() => {})
  const call = new RawModern(one, '/mcp/g').call('tools/call', { name: 'echo' })
  await until(() => one.upstreams.seen.length === 1)
  // The call is returned in a list, since an async function would wait for a promise that it returns.
  return [call]
}

test('calls of a modern client end with its credential, and get that reason', async () => {
  await using one = hub()
  const [call] = await hanging(one)
  one.world.revoked.add('alice')
  one.bus.emit('key.removed', 'u-alice', { keyId: 'k' })
  expect((await call)?.error).toMatchObject({ code: -32600, data: { code: 'token_revoked' } })
  expect(one.upstreams.cancelled).toHaveLength(1)
})

test('calls of a modern client end with their group, and get that reason', async () => {
  await using one = hub()
  const [call] = await hanging(one)
  one.world.groups.splice(0, 1)
  one.bus.emit('group.removed', 'u-alice', { groupId: 'grp-alice-g', name: 'g' })
  expect((await call)?.error).toMatchObject({ data: { code: 'group_not_found' } })
  expect(one.upstreams.cancelled).toHaveLength(1)
})

test('a call of a modern client that does not end in time is answered when the hub stops, and cancelled upstream', async () => {
  await using one = hub()
  const [call] = await hanging(one)
  await one.mcp.drain(50)
  expect((await call)?.error).toMatchObject({ code: -32603, data: { code: 'draining' } })
  expect(one.upstreams.cancelled).toHaveLength(1)
})

test('a hub that stops takes no new requests, finishes those in flight and says so', async () => {
  await using one = hub()
  const main = one.upstreams.servers.get(server.id)
  if (!main) throw new Error('no server')
  const done = Promise.withResolvers<void>()
  main.handler = () => done.promise.then(() => textReply('late'))
  const client = new RawModern(one, '/mcp/g')
  const call = client.call('tools/call', { name: 'echo' })
  await until(() => one.upstreams.seen.length === 1)
  const drained = one.mcp.drain(5_000)
  const refused = await client.send('tools/list')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  done.resolve()
  expect((await call).result.content[0].text).toBe('late')
  await drained
})

test('a call that repeats an earlier one has its own id and arguments, and is refused for what is wrong with it alone', async () => {
  await using one = hub()
  const client = new RawModern(one, '/mcp/g')
  const marked = (region: string, said = region, id: unknown = 7) =>
    client.call('tools/call', { name: 'marked', arguments: { region } }, { id, headers: { 'mcp-param-region': said } })
  for (const [id, region] of [
    [1, 'eu'],
    [22, 'us'],
    [333, 'ap'],
  ] as const) {
    const answer = await marked(region, region, id)
    expect(answer).toMatchObject({ status: 200, id })
    const [content] = (answer.result as { content: [{ text: string }] }).content
    expect(JSON.parse(content.text)).toEqual({ name: 'marked', arguments: { region } })
  }
  expect(await marked('eu', 'us')).toMatchObject({ status: 400, id: 7, error: { data: { code: 'header_mismatch' } } })
  const list = await client.call('tools/call', { name: 'marked', arguments: [] }, { id: 8 })
  expect(list).toMatchObject({ id: 8, error: { data: { code: 'params_invalid' } } })
  expect(await marked('eu')).toMatchObject({ status: 200, id: 7 })
})
