/** Requests as some clients write them: null for an absent value, an empty cursor, JSON as the only accepted type. */
import { expect, test } from 'bun:test'
import { type Answer, RawClient } from '../../support/raw-mcp.ts'
import { META, RawModern } from './modern-support.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool } from './support.ts'

const server = serverRecord('main')

function hub(): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(groupRecord('g', [member(server)]))
    const lists = catalog({ tools: [tool('echo')], prompts: [{ name: 'p' }], resources: [{ uri: 'a://1', name: '1' }] })
    upstreams.add(server.id, lists, ({ params, progress, notification }) => {
      progress?.({ progress: 1 })
      notification?.('notifications/message', { level: 'error', data: 'x' })
      return textReply(JSON.stringify(params?.arguments ?? null))
    })
  })
}

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

test('params and cursors that are null, and empty cursors, are as absent', async () => {
  await using one = hub()
  const older = await new RawClient(one, '/mcp/g').open()
  const newer = new RawModern(one, '/mcp/g')
  for (const method of LISTS) {
    const plain = await older.call(method)
    expect(plain.result).toBeObject()
    for (const params of [null, { cursor: null }, { cursor: '' }, { cursor: null, _meta: null }])
      expect((await older.call(method, params)).result).toEqual(plain.result)
    const modern = await newer.call(method, {})
    expect(modern.result).toBeObject()
    for (const cursor of [null, '']) expect((await newer.call(method, { cursor })).result).toEqual(modern.result)
  }
  expect((await older.call('ping', null)).result).toEqual({})
  for (const cursor of [0, false, {}, []])
    expect((await older.call('tools/list', { cursor })).error).toMatchObject({ code: -32602 })
  expect((await older.post({ jsonrpc: '2.0', method: 'notifications/initialized', params: null })).status).toBe(202)
})

test('input responses with the key __proto__ are answered as those with other keys that nobody asked for', async () => {
  await using one = hub()
  const answers: unknown[] = []
  const meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {} }
  for (const key of ['unknown', 'constructor', 'toString', '__proto__']) {
    const responses = `{"${key}":{"polluted":1}}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","inputResponses":${responses},"_meta":${JSON.stringify(meta)}}}`
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
    const response = await new RawClient(one, '/mcp/g').post(body, headers)
    answers.push([response.status, ((await response.json()) as Answer).result?.content])
  }
  expect(answers).toEqual(Array(4).fill([200, [{ type: 'text', text: 'null' }]]))
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted')
})

test('a client that accepts JSON alone is answered in JSON, whatever comes before the answer', async () => {
  await using one = hub()
  const older = await new RawClient(one, '/mcp/g').open()
  const json = { accept: 'application/json' }
  const params = { name: 'echo', arguments: { a: 1 }, _meta: { progressToken: 7 } }
  const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params }
  const legacy = await older.post(call, json)
  const modern = await new RawModern(one, '/mcp/g').send('tools/call', params, {
    headers: json,
    meta: { progressToken: 7, [`${META}logLevel`]: 'debug' },
  })
  for (const response of [legacy, modern]) {
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(((await response.json()) as Answer).result.content).toEqual([{ type: 'text', text: '{"a":1}' }])
  }
  const listens = await new RawModern(one, '/mcp/g').send(
    'subscriptions/listen',
    { notifications: { toolsListChanged: true } },
    { headers: json },
  )
  expect([listens.status, ((await listens.json()) as Answer).error?.data?.code]).toEqual([406, 'not_acceptable'])
})
