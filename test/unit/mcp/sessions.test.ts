import { expect, test } from 'bun:test'
import { HEADERS, RawClient } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool, until } from './support.ts'

const time = serverRecord('time')
const bobs = serverRecord('time', { ownerName: 'bob' })
const shared = serverRecord('shared', { ownerName: 'bob', visibility: 'public' })

function hubOfTwo(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(time, bobs, shared)
    world.groups.push(groupRecord('work', [member(time)]))
    world.groups.push(groupRecord('work', [member(bobs)], { ownerName: 'bob' }))
    world.groups.push(groupRecord('open', [member(bobs), member(shared)], { ownerName: 'bob', visibility: 'public' }))
    for (const server of world.servers)
      upstreams.add(server.id, catalog({ tools: [tool('now')] }), () => textReply(server.ownerName))
  })
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

async function code(response: Response): Promise<[number, unknown, unknown]> {
  const body = (await response.json()) as { error?: { code: number; data: { code: string; requestId: string } } }
  expect(body.error?.data.requestId).toBeString()
  return [response.status, body.error?.code, body.error?.data.code]
}

test('a session id is visible ASCII, and foreign users and paths get the same 404 as for an unknown one (P-01)', async () => {
  await using hub = hubOfTwo()
  const alice = await new RawClient(hub, '/mcp/work').open()
  expect(alice.sessionId).toMatch(/^[\x21-\x7e]{40,256}$/)
  const foreign = new RawClient(hub, '/mcp/work', 'bob')
  const elsewhere = new RawClient(hub, '/mcp/time')
  const answers = []
  for (const client of [foreign, elsewhere]) {
    client.headers['mcp-session-id'] = alice.sessionId
    answers.push(await client.send('tools/list'), await client.get(), await client.delete())
  }
  const made = new RawClient(hub, '/mcp/work')
  // A character in the middle is changed: in the last one, some bits do not count.
  const other = alice.sessionId[20] === 'x' ? 'y' : 'x'
  made.headers['mcp-session-id'] = `${alice.sessionId.slice(0, 20)}${other}${alice.sessionId.slice(21)}`
  answers.push(await made.send('tools/list'))
  for (const answer of answers) expect(await code(answer)).toEqual([404, -32600, 'session_not_found'])
  expect((await alice.call('tools/list')).result.tools).toHaveLength(1)
})

test('the session header is needed, and an ended session is 404 for every use (P-02)', async () => {
  await using hub = hubOfTwo()
  const without = new RawClient(hub, '/mcp/work')
  expect(await code(await without.send('tools/list'))).toEqual([400, -32600, 'session_required'])
  expect(await code(await without.get())).toEqual([400, -32600, 'session_required'])
  const client = await new RawClient(hub, '/mcp/work').open()
  const deleted = await client.delete()
  expect([deleted.status, await deleted.text()]).toEqual([204, ''])
  for (const answer of [await client.send('ping'), await client.get(), await client.delete()])
    expect(await code(answer)).toEqual([404, -32600, 'session_not_found'])
})

test('an idle session ends after an hour, one with an open stream does not', async () => {
  await using hub = hubOfTwo()
  const idle = await new RawClient(hub, '/mcp/work').open()
  const busy = await new RawClient(hub, '/mcp/work').open()
  const stream = await busy.get()
  hub.clock.skewMs = 61 * 60_000
  await until(() => hub.mcp.sessions().length === 1)
  expect((await idle.send('ping')).status).toBe(404)
  expect((await busy.send('ping')).status).toBe(200)
  await stream.body?.cancel()
})

test('each owner gets the own group of a name (P-05)', async () => {
  await using hub = hubOfTwo()
  for (const name of ['alice', 'bob']) {
    const client = await new RawClient(hub, '/mcp/work', name).open()
    expect((await client.call('tools/call', { name: 'now' })).result.content[0].text).toBe(name)
  }
})

test('paths are resolved by owner, letter case and encoding aside, and what may not be seen is like missing', async () => {
  await using hub = hubOfTwo()
  const statuses: Record<string, unknown> = {}
  const bodies = new Set<string>()
  for (const path of [
    '/mcp',
    '/mcp/work',
    '/mcp/WORK/',
    '/mcp/w%6Frk',
    '/mcp/time',
    '/mcp/@bob/open',
    '/mcp/@alice/work',
  ])
    statuses[path] = (await new RawClient(hub, path).post(initialize)).status
  expect(Object.values(statuses)).toEqual(Array(7).fill(200))
  for (const path of [
    '/mcp/none',
    '/mcp/@bob/none',
    '/mcp/@nobody/none',
    '/mcp/@bob/',
    '/mcp/a/b',
    '/mcp/@bob/open/x',
  ]) {
    const response = await new RawClient(hub, path).post(initialize)
    expect(response.status).toBe(404)
  }
  for (const path of ['/mcp/@bob/work', '/mcp/@carol/work', '/mcp/@bob/time', '/mcp/@alice/none']) {
    const response = await new RawClient(hub, path).post(initialize)
    expect(response.status).toBe(404)
    bodies.add((await response.text()).replace(/"requestId":"r\d+"/, '').replace(/"(@\w+\/)?(work|time|none)\\?"/, ''))
  }
  expect(bodies.size).toBeLessThanOrEqual(2)
})

test('a public group gives others its public members alone', async () => {
  await using hub = hubOfTwo()
  const alice = await new RawClient(hub, '/mcp/@bob/open').open()
  expect((await alice.call('tools/list')).result.tools.map((each: { name: string }) => each.name)).toEqual(['now'])
  expect((await alice.call('tools/call', { name: 'bob_now' })).error?.code).toBe(-32602)
  const bob = await new RawClient(hub, '/mcp/open', 'bob').open()
  expect((await bob.call('tools/list')).result.tools.map((each: { name: string }) => each.name)).toEqual([
    'time_now',
    'shared_now',
  ])
})

test('an access key opens what it is made for, and everything else is like missing', async () => {
  await using hub = hubOfTwo()
  const key = (token: string, scopes: readonly ('mcp' | 'api' | { groupId: string } | { serverId: string })[]) =>
    hub.world.person('alice', token, { kind: 'key', keyId: token, label: token, scopes })
  key('k-all', ['mcp'])
  key('k-group', [{ groupId: 'grp-alice-work' }])
  key('k-server', [{ serverId: time.id }])
  key('k-api', ['api'])
  const opened: Record<string, string[]> = {}
  for (const token of ['k-all', 'k-group', 'k-server', 'k-api']) {
    opened[token] = []
    for (const path of ['/mcp', '/mcp/work', '/mcp/time']) {
      const { status } = await new RawClient(hub, path, token).post(initialize)
      if (status === 200) opened[token].push(path)
      else expect(status).toBe(404)
    }
  }
  expect(opened).toEqual({
    'k-all': ['/mcp', '/mcp/work', '/mcp/time'],
    'k-group': ['/mcp/work'],
    'k-server': ['/mcp/time'],
    'k-api': [],
  })
  // A narrower key of the same user is another principal.
  const wide = await new RawClient(hub, '/mcp/work', 'k-all').open()
  wide.headers.authorization = 'Bearer k-group'
  expect((await wide.send('ping')).status).toBe(404)
})

test('401 is a plain Bearer challenge, the same for every path (P-05)', async () => {
  await using hub = hubOfTwo()
  for (const [path, authorization] of [
    ['/mcp/work', undefined],
    ['/mcp/none', 'Bearer wrong'],
  ] as const) {
    const response = await fetch(`${hub.url}${path}`, {
      method: 'POST',
      headers: { ...HEADERS, ...(authorization ? { authorization } : {}) },
      body: JSON.stringify(initialize),
    })
    const error = authorization ? ', error="invalid_token"' : ''
    expect(response.headers.get('www-authenticate')).toBe(`Bearer realm="patchbay"${error}`)
    expect(await code(response)).toEqual([401, -32600, authorization ? 'token_invalid' : 'unauthenticated'])
  }
})

test('when a credential ends its sessions, streams and calls end within five seconds', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const bob = await new RawClient(hub, '/mcp/work', 'bob').open()
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  server.handler = () => new Promise(() => {})
  const hanging = client.send('tools/call', { name: 'now' })
  const stream = await client.get()
  await until(() => hub.upstreams.seen.length === 1)
  hub.world.revoked.add('alice')
  hub.bus.emit('user.updated', 'u-alice', { userId: 'u-alice', name: 'alice' })
  expect(await (await hanging).text()).not.toContain('result')
  expect(await stream.text()).toStartWith(': ok')
  expect(hub.upstreams.cancelled).toHaveLength(1)
  expect(hub.mcp.sessions()).toHaveLength(1)
  expect((await client.send('ping')).status).toBe(401)
  expect((await bob.send('ping')).status).toBe(200)
})

test('when its group is removed a session ends', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const reasons: string[] = []
  hub.bus.on('session.ended', ({ data }) => reasons.push(data.reason))
  hub.world.groups.shift()
  hub.bus.emit('group.removed', 'u-alice', { groupId: 'grp-alice-work', name: 'work' })
  await until(() => hub.mcp.sessions().length === 0)
  expect(reasons).toEqual(['scope_removed'])
  expect((await client.send('ping')).status).toBe(404)
})

test('beyond a thousand sessions the longest idle one makes room, and none when all are in use', async () => {
  await using hub = hubOfTwo()
  const first = await new RawClient(hub, '/mcp/work').open()
  for (let i = 1; i < 1_000; i++) await (await new RawClient(hub, '/mcp/work').post(initialize)).text()
  expect(hub.mcp.sessions()).toHaveLength(1_000)
  const bob = await new RawClient(hub, '/mcp/work', 'bob').open()
  await (await new RawClient(hub, '/mcp/work').post(initialize)).text()
  expect(hub.mcp.sessions().filter(each => each.userName === 'alice')).toHaveLength(1_000)
  expect((await first.send('ping')).status).toBe(404)
  expect((await bob.send('ping')).status).toBe(200)
})

test('the fault of a request decides its status and code', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const cases: [Promise<Response>, [number, number, string]][] = [
    [client.post('{'), [400, -32700, 'json_invalid']],
    [client.post(''), [400, -32700, 'json_empty']],
    [client.post('[]'), [400, -32600, 'request_invalid']],
    [client.post('null'), [400, -32600, 'request_invalid']],
    [client.post({ jsonrpc: '1.0', id: 1, method: 'ping' }), [400, -32600, 'request_invalid']],
    [client.post({ jsonrpc: '2.0', id: null, method: 'ping' }), [400, -32600, 'request_invalid']],
    [client.post({ jsonrpc: '2.0', id: 1, method: 5 }), [400, -32600, 'request_invalid']],
    [client.post({ jsonrpc: '2.0', id: 1 }), [400, -32600, 'request_invalid']],
    [client.post({ jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }), [400, -32600, 'request_invalid']],
    [client.post(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`), [400, -32600, 'json_too_deep']],
    [client.post('{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}'), [400, -32600, 'key_forbidden']],
    [client.post(`"${'x'.repeat(4 * 1024 * 1024)}"`), [413, -32600, 'body_too_large']],
    [client.post({}, { 'content-type': 'text/plain' }), [415, -32600, 'content_type']],
    [client.post({}, { 'content-encoding': 'gzip' }), [415, -32600, 'encoding_not_supported']],
    [client.post({}, { accept: 'text/html' }), [406, -32600, 'not_acceptable']],
    [client.post({}, { accept: 'text/event-stream' }), [406, -32600, 'not_acceptable']],
    [client.get({ accept: 'application/json' }), [406, -32600, 'not_acceptable']],
    [client.post(initialize), [400, -32600, 'request_invalid']],
    [
      client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '1999-01-01' }),
      [400, -32600, 'request_invalid'],
    ],
    [
      client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '2025-06-18' }),
      [400, -32600, 'request_invalid'],
    ],
    [fetch(`${hub.url}/mcp/work`, { method: 'PUT', headers: client.headers }), [405, -32600, 'method_not_allowed']],
  ]
  for (const [response, expected] of cases) expect(await code(await response)).toEqual(expected)
  const put = await fetch(`${hub.url}/mcp/work`, { method: 'PATCH', headers: client.headers })
  expect(put.headers.get('allow')).toBe('GET, POST, DELETE')
  const chunked = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 5; i++) controller.enqueue(new Uint8Array(1024 * 1024).fill(32))
      controller.close()
    },
  })
  const response = await fetch(`${hub.url}/mcp/work`, { method: 'POST', headers: client.headers, body: chunked })
  expect(response.status).toBe(413)
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff"}}', 'latin1')
  const latin = await fetch(`${hub.url}/mcp/work`, { method: 'POST', headers: client.headers, body: bytes })
  expect(await code(latin)).toEqual([400, -32700, 'json_encoding'])
  expect((await client.send('ping')).status).toBe(200)
  expect((await client.send('ping', { text: '\uFFFD' })).status).toBe(200)
})

test('a refusal of a readable request carries its id', async () => {
  await using hub = hubOfTwo()
  const response = await new RawClient(hub, '/mcp/work').send('ping', undefined, 'x')
  expect(await response.json()).toMatchObject({ id: 'x', error: { code: -32600 } })
})

test('the version is what the client asked, else the latest, whatever the upstream speaks (P-07)', async () => {
  await using hub = hubOfTwo()
  const told: string[] = []
  for (const protocolVersion of ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '1.0']) {
    const response = await new RawClient(hub, '/mcp/work').post({
      ...initialize,
      params: { ...initialize.params, protocolVersion },
    })
    const body = (await response.json()) as { result: { protocolVersion: string } }
    told.push(body.result.protocolVersion)
  }
  expect(told).toEqual(['2025-03-26', '2025-06-18', '2025-11-25', '2025-11-25', '2025-11-25'])
})

test('an array is answered in full for 2025-03-26 and refused later (P-06)', async () => {
  await using hub = hubOfTwo()
  const old = await new RawClient(hub, '/mcp/work').open('2025-03-26')
  const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' })
  const call = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'now' } }
  const response = await old.post([
    ping(1),
    call,
    { jsonrpc: '2.0', id: 2 },
    { jsonrpc: '2.0', method: 'notifications/x' },
    ping(1),
  ])
  const answers = (await response.json()) as { id: unknown; error?: { code: number } }[]
  expect(answers.map(each => each.id)).toEqual(expect.arrayContaining([1, 'c', 2]))
  expect(answers).toHaveLength(4)
  expect(answers.filter(each => each.error)).toMatchObject([{ id: 2, error: { code: -32600 } }])
  expect((await old.post([{ jsonrpc: '2.0', method: 'notifications/x' }])).status).toBe(202)
  expect((await old.post(Array.from({ length: 101 }, (_, i) => ping(i)))).status).toBe(400)
  expect((await old.post([initialize])).status).toBe(400)
  const later = await new RawClient(hub, '/mcp/work').open('2025-06-18')
  expect(await code(await later.post([ping(1)]))).toEqual([400, -32600, 'request_invalid'])
})

test('a second request with an id in flight is refused, and the first completes (P-12)', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  const gate = Promise.withResolvers<void>()
  server.handler = async () => {
    await gate.promise
    return textReply('first')
  }
  const first = client.send('tools/call', { name: 'now' }, 7)
  await until(() => hub.upstreams.seen.length === 1)
  expect(await code(await client.send('ping', undefined, 7))).toEqual([400, -32600, 'request_invalid'])
  expect((await client.send('ping', undefined, '7')).status).toBe(200)
  gate.resolve()
  expect(await (await first).json()).toMatchObject({ id: 7, result: { content: [{ text: 'first' }] } })
  expect((await client.send('ping', undefined, 7)).status).toBe(200)
})

test('a hub that drains opens no session, finishes calls and closes streams', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  const gate = Promise.withResolvers<void>()
  server.handler = async () => {
    await gate.promise
    return textReply('late')
  }
  const stream = await client.get()
  const call = client.call('tools/call', { name: 'now' })
  await until(() => hub.upstreams.seen.length === 1)
  const drained = hub.mcp.drain(5_000)
  const refused = await new RawClient(hub, '/mcp/work').post(initialize)
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(await code(refused)).toEqual([503, -32603, 'draining'])
  gate.resolve()
  expect((await call).result.content[0].text).toBe('late')
  await drained
  expect(await stream.text()).toStartWith(': ok')
})

test('a call that does not end in time is answered when the hub stops, and cancelled upstream', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  server.handler = () => new Promise<never>(() => {})
  const call = client.call('tools/call', { name: 'now' })
  await until(() => hub.upstreams.seen.length === 1)
  await hub.mcp.drain(50)
  expect((await call).error).toMatchObject({ code: -32603, data: { code: 'draining' } })
  expect(hub.upstreams.cancelled).toHaveLength(1)
})

test('sessions are listed by a hash of their id, and ended by it', async () => {
  await using hub = hubOfTwo()
  const client = await new RawClient(hub, '/mcp/work').open()
  const [info] = hub.mcp.sessions()
  if (!info) throw new Error('no session')
  expect(info).toMatchObject({ userName: 'alice', scope: '/mcp/work', protocolVersion: '2025-11-25', streams: 0 })
  expect(client.sessionId).not.toContain(info.id)
  expect(hub.mcp.endSession(info.id, 'asked')).toBe(true)
  expect(hub.mcp.endSession(info.id, 'asked')).toBe(false)
  expect((await client.send('ping')).status).toBe(404)
})
