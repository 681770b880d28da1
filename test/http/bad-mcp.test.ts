import { afterAll, beforeAll, expect, test } from 'bun:test'
import { send } from '../support/client.ts'
import { HEADERS, RawClient } from '../support/raw-mcp.ts'
import { call, initialize, type McpTown, mcpTable, openMcpTown, ping } from './mcp-rows.ts'
import { BODIES, MESSAGES } from './message-rows.ts'
import { expectHardened } from './rows.ts'

let town: McpTown

beforeAll(async () => {
  town = await openMcpTown()
}, 120_000)
afterAll(() => town?.close(), 120_000)

const MiB = 1024 * 1024

mcpTable('HTTP under /mcp', () => town, [
  { what: 'no credential', headers: { authorization: '' }, status: 401, rpc: -32600, code: 'unauthenticated' },
  { what: 'Basic', headers: { authorization: 'Basic eDp5' }, status: 401, rpc: -32600, code: 'unauthenticated' },
  {
    what: 'no credential, for a group that nobody has',
    path: '/mcp/none',
    headers: { authorization: '' },
    status: 401,
    rpc: -32600,
    code: 'unauthenticated',
  },
  {
    what: 'an unknown key',
    headers: { authorization: `Bearer pb_${'x'.repeat(43)}` },
    status: 401,
    rpc: -32600,
    code: 'token_revoked',
  },
  {
    what: 'a broken token',
    headers: { authorization: 'Bearer a.b.c' },
    status: 401,
    rpc: -32600,
    code: 'token_invalid',
  },
  { what: 'a token in the URL', path: '/mcp/g?access_token=x', status: 400, rpc: -32600, code: 'token_in_url' },
  {
    what: 'x-auth-token alone',
    headers: { authorization: '', 'x-auth-token': 'x' },
    status: 401,
    rpc: -32600,
    code: 'unauthenticated',
  },
  { what: 'an unknown group', path: '/mcp/none', body: initialize, status: 404, rpc: -32600, code: 'group_not_found' },
  {
    what: 'a group of another',
    path: '/mcp/theirs',
    body: initialize,
    status: 404,
    rpc: -32600,
    code: 'group_not_found',
  },
  {
    what: 'the same by its owner',
    path: '/mcp/@bob/theirs',
    body: initialize,
    status: 404,
    rpc: -32600,
    code: 'group_not_found',
  },
  {
    what: 'an owner nobody is',
    path: '/mcp/@nobody/g',
    body: initialize,
    status: 404,
    rpc: -32600,
    code: 'group_not_found',
  },
  ...['/mcp/@alice', '/mcp/@', '/mcp/a/b', '/mcp/@alice/g/x'].map(path => ({
    what: path,
    path,
    body: initialize,
    status: 404,
    rpc: -32600,
    code: 'group_not_found',
  })),
  ...['/mcp//g', '/mcp/g%2fh', '/mcp/g;x', '/mcp/%00', '/mcp/%zz'].map(path => ({
    what: path,
    path,
    body: initialize,
    status: 400,
    rpc: -32600,
    code: 'path_invalid',
  })),
  {
    what: 'a foreign Origin',
    headers: { origin: 'https://evil.example' },
    status: 403,
    rpc: -32600,
    code: 'origin_not_allowed',
  },
  ...['text/html', 'text/event-stream', 'image/*', 'application/json;q=0, text/event-stream'].map(accept => ({
    what: `Accept: ${accept}`,
    headers: { accept },
    session: true as const,
    status: 406,
    rpc: -32600,
    code: 'not_acceptable',
  })),
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'multipart/form-data; boundary=x',
  ].map(type => ({ what: type, headers: { 'content-type': type }, status: 415, rpc: -32600, code: 'content_type' })),
  {
    what: 'a packed body',
    headers: { 'content-encoding': 'gzip' },
    status: 415,
    rpc: -32600,
    code: 'encoding_not_supported',
  },
  {
    what: 'one byte over 4 MiB',
    body: `${JSON.stringify(ping)}${' '.repeat(4 * MiB - JSON.stringify(ping).length + 1)}`,
    status: 413,
    rpc: -32600,
    code: 'body_too_large',
  },
  ...['PUT', 'PATCH', 'OPTIONS'].map(method => ({
    what: method,
    method,
    status: 405,
    rpc: -32600,
    code: 'method_not_allowed',
  })),
  { what: 'HEAD', method: 'HEAD', status: 405 },
  {
    what: 'GET without a session',
    method: 'GET',
    headers: { accept: 'text/event-stream' },
    status: 400,
    rpc: -32600,
    code: 'session_required',
  },
  {
    what: 'GET that takes no stream',
    method: 'GET',
    headers: { accept: 'application/json' },
    session: true,
    status: 406,
    rpc: -32600,
    code: 'not_acceptable',
  },
  { what: 'DELETE without a session', method: 'DELETE', status: 400, rpc: -32600, code: 'session_required' },
  {
    what: 'DELETE of an unknown session',
    method: 'DELETE',
    headers: { 'mcp-session-id': 'x' },
    status: 404,
    rpc: -32600,
    code: 'session_not_found',
  },
  { what: 'no session id', status: 400, rpc: -32600, code: 'session_required' },
  ...['x', 'x'.repeat(2_000), '../../x', '%00', '1', 'null', 'e30.e30.e30'].map(id => ({
    what: `session id ${id.slice(0, 12)}`,
    headers: { 'mcp-session-id': id },
    status: 404,
    rpc: -32600,
    code: 'session_not_found',
  })),
  ...['1999-01-01', 'latest', '2025-11-25, 2025-11-25', '1'].map(version => ({
    what: `version header ${version}`,
    headers: { 'mcp-protocol-version': version },
    status: 400,
    rpc: -32600,
    code: 'request_invalid',
  })),
])

mcpTable('bodies under /mcp', () => town, BODIES)
mcpTable('messages under /mcp', () => town, MESSAGES)

test('a session id is good for its own user and its own path alone, and says so as if it were unknown', async () => {
  const { hub, standing, bob, key } = town
  const foreign = { 'mcp-session-id': standing.sessionId, 'mcp-protocol-version': '2025-11-25' }
  const unknown = { ...foreign, 'mcp-session-id': `${standing.sessionId.slice(0, -2)}xx` }
  const as = async (token: string, path: string, headers: Record<string, string>) => {
    const answer = await send(hub.url, 'POST', path, ping, { ...HEADERS, authorization: `Bearer ${token}`, ...headers })
    return [answer.status, answer.text.replaceAll(answer.headers.get('x-request-id') ?? '-', 'ID')]
  }
  for (const [token, path] of [
    [await bob.mcpKey(), '/mcp'],
    [key, '/mcp'],
    [key, '/mcp/echo'],
  ] as const) {
    const answer = await as(token, path, foreign)
    expect(answer[0]).toBe(404)
    expect(answer).toEqual(await as(token, path, unknown))
  }
})

test('every kind of answer has the headers of all answers, streams and empty ones too', async () => {
  const { hub, key } = town
  const client = await new RawClient(hub, '/mcp/g', key).open()
  const authorization = `Bearer ${key}`
  const seen: [string, Response][] = [
    ['a result', await client.send('ping')],
    ['nothing', await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' })],
    ['a stream', await client.get()],
    ['the older stream', await fetch(`${hub.url}/sse/g`, { headers: { authorization, accept: 'text/event-stream' } })],
    ['the metadata', await fetch(`${hub.url}/.well-known/oauth-protected-resource/mcp/g`)],
    ['a refusal', await new RawClient(hub, '/mcp/none', key).send('ping')],
    ['no credential', await new RawClient(hub, '/mcp/g', 'none').send('ping')],
    ['the end', await client.delete()],
  ]
  expect(seen.map(([what, { status }]) => [what, status])).toEqual([
    ['a result', 200],
    ['nothing', 202],
    ['a stream', 200],
    ['the older stream', 200],
    ['the metadata', 200],
    ['a refusal', 404],
    ['no credential', 401],
    ['the end', 204],
  ])
  for (const [, answer] of seen) {
    expectHardened(answer)
    await answer.body?.cancel()
  }
})

test('a server that is switched off fails its own calls, with what to do, and the others stay', async () => {
  const { hub, key } = town
  const half = await new RawClient(hub, '/mcp/half', key).open()
  const { tools } = (await half.call('tools/list')).result
  expect(tools.map((tool: { name: string }) => tool.name)).toContain('echo')
  const working = await half.call('tools/call', { name: 'echo', arguments: { text: 'x' } })
  expect(working.result.content[0].text).toBe('x')
  const down = await new RawClient(hub, '/mcp/down', key).open()
  const { error } = await down.call('tools/call', { name: 'echo', arguments: {} })
  expect(error).toMatchObject({ code: -32603, data: { code: 'server_offline', hint: expect.any(String) } })
  // It was switched off, so the hub does not start it again by itself.
  expect(error?.data).not.toHaveProperty('retryAfter')
  await half.delete()
  await down.delete()
})

test('an id that is in flight is refused, and the first call still answers', async () => {
  const client = await new RawClient(town.hub, '/mcp/g', town.key).open()
  const batch = [
    call({ name: 'echo', arguments: { text: 'first' } }, 5),
    call({ name: 'echo', arguments: { text: 'x' } }, 5),
  ]
  const answers = await Promise.all(batch.map(async body => (await client.post(body)).json()))
  const refused = answers.filter(answer => answer.error)
  for (const { error } of refused) expect(error).toMatchObject({ code: -32600, data: { code: 'request_invalid' } })
  expect(answers.some(answer => answer.result?.content[0].text === 'first')).toBe(true)
  await client.delete()
})
