import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const MiB = 1024 * 1024
const WIRES = ['stdio', 'json', 'events', 'sse'] as const

let hub: Hub
let admin: Client
const programs: Program[] = []
let api: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  const mcpServers: Record<string, object> = { stdio: { ...sharedFixture('large'), maxResultBytes: 2 * MiB } }
  const script = join(ROOT, 'test/support/mcp-servers/large.ts')
  for (const wire of WIRES.slice(1)) {
    const program = await startProgram(script, { env: { WIRE: wire } })
    programs.push(program)
    mcpServers[wire] = {
      type: wire === 'sse' ? 'sse' : 'streamable-http',
      url: program.url,
      session: 'shared',
      maxResultBytes: 2 * MiB,
    }
  }
  api = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: request => new Response('x'.repeat(Number(new URL(request.url).searchParams.get('bytes')))),
  })
  const parameters = [{ name: 'bytes', in: 'query', schema: { type: 'integer' } }]
  const schema = {
    ...{ openapi: '3.1.0', info: { title: 'Large', version: '1' }, servers: [{ url: `http://127.0.0.1:${api.port}` }] },
    paths: { '/big': { get: { operationId: 'big', parameters, responses: { 200: { description: 'x' } } } } },
  }
  mcpServers.openapi = { openapi: { schema }, maxResultBytes: 2 * MiB }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings: { mcpServers }, timeoutMs: 60_000 }))
}, 300_000)

afterAll(async () => {
  await hub?.stop()
  for (const program of programs) await program.stop()
  await api?.stop(true)
}, 120_000)

describe.each([...WIRES])('over %s', wire => {
  test.each([
    ['first', false],
    ['last', true],
  ])('a result over maxResultBytes whose id stands %s fails its call alone', async (_, idLast) => {
    const client = await admin.mcp(`/mcp/${wire}`)
    const pid = await callText(client, 'pid')
    const held = callText(client, 'hold')
    const failure = await failureOf(client.callTool({ name: 'big', arguments: { bytes: 3 * MiB, idLast } }))
    expect(failure).toMatchObject({ code: -32603, data: { code: 'result_too_large' } })
    expect(failure.message).toContain(String(2 * MiB))
    expect(JSON.stringify(failure.data)).toContain('maxResultBytes')
    expect(JSON.stringify(failure)).not.toMatch(/repeat/i)
    await callText(client, 'release')
    expect(await held).toBe('done')
    expect(await callText(client, 'big', { bytes: MiB, idLast })).toHaveLength(MiB)
    expect(await callText(client, 'pid')).toBe(pid)
  })
})

test('a result of an API over maxResultBytes is a failure that a model can act on', async () => {
  const client = await admin.mcp('/mcp/openapi')
  const failed = await client.callTool({ name: 'big', arguments: { bytes: 3 * MiB } })
  expect(failed.isError).toBe(true)
  expect(JSON.stringify(failed.content)).toContain('result_too_large')
  expect(await callText(client, 'big', { bytes: MiB })).toHaveLength(MiB)
})

test('maxResultBytes holds from its change on, over REST too, and only within its bounds', async () => {
  const call = () => admin.request('POST', '/api/servers/stdio/tools/big/call', { arguments: { bytes: 3 * MiB } })
  const refused = await call()
  expect([refused.status, refused.json.code]).toEqual([502, 'result_too_large'])
  expect(refused.json.hint).toContain('maxResultBytes')
  const pid = (await admin.ok('GET', '/api/servers/stdio')).status.pid
  await admin.ok('PATCH', '/api/servers/stdio', { maxResultBytes: 64 * MiB })
  await until(async () => (await call()).status === 200, { what: 'the larger limit to hold' })
  const server = await admin.ok('GET', '/api/servers/stdio')
  expect([server.maxResultBytes, server.status.pid]).toEqual([64 * MiB, pid])
  for (const maxResultBytes of [MiB - 1, 64 * MiB + 1]) {
    const answer = await admin.request('PATCH', '/api/servers/stdio', { maxResultBytes })
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: '#/maxResultBytes', code: 'range' }]])
  }
}, 120_000)
