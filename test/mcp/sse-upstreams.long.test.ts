import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { sseServer } from '../plugins/transport-sse/sse-server.ts'
import { answering } from '../support/answering.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { EVERYTHING, everythingOverSse, type Peer, supergateway } from '../support/peers.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, online, statusOf, throughHub, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const ECHO = join(ROOT, 'test/support/mcp-servers/echo.ts')

let everything: Peer
let gateway: Peer
let asking: Program
let hub: Hub
let admin: Client

beforeAll(async () => {
  ;[everything, gateway, asking] = await Promise.all([
    everythingOverSse(),
    supergateway(`${process.execPath} ${ECHO}`),
    startProgram(fixture('asking-sse')),
  ])
  hub = await startHub({
    settings: {
      mcpServers: {
        everything: { type: 'sse', url: everything.url, session: 'shared' },
        guessed: { url: everything.url },
        gateway: { url: gateway.url, session: 'shared' },
        asking: { url: asking.url },
        fixed: { type: 'streamable-http', url: everything.url },
      },
      groups: [{ name: 'both', servers: ['guessed', 'gateway'] }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['everything', 'guessed', 'gateway', 'asking'], 60_000)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await everything?.program.stop()
  await gateway?.program.stop()
  await asking?.stop()
}, 120_000)

test('server-everything over SSE offers through the hub what it offers on its own pipes', async () => {
  const own = new McpClient({ name: 'direct', version: '1.0.0' })
  const env = { PATH: process.env.PATH ?? '' }
  await own.connect(new StdioClientTransport({ command: process.execPath, args: [EVERYTHING], env, stderr: 'ignore' }))
  try {
    const through = await admin.mcp('/mcp/everything')
    expect((await through.listTools()).tools).toEqual(throughHub((await own.listTools()).tools))
    expect((await through.listPrompts()).prompts).toEqual((await own.listPrompts()).prompts)
    const call = { name: 'get-structured-content', arguments: { location: 'New York' } }
    expect(await through.callTool(call)).toEqual(await own.callTool(call))
  } finally {
    await own.close()
  }
}, 120_000)

test('a server with only a URL is found to speak SSE, and the status says so', async () => {
  expect(await statusOf(admin, 'guessed')).toMatchObject({ state: 'online', transport: 'sse', era: 'legacy' })
  expect(await statusOf(admin, 'gateway')).toMatchObject({ state: 'online', transport: 'sse' })
  expect(await statusOf(admin, 'everything')).toMatchObject({ transport: 'sse' })
  const { transport } = await admin.ok('GET', '/api/servers/guessed')
  expect(transport).toBe('streamable-http')
})

test('one that is configured as streamable HTTP is never tried as SSE', async () => {
  const refused = async () => {
    const now = await statusOf(admin, 'fixed')
    return now.state === 'offline' ? now : undefined
  }
  expect(await until(refused, { what: 'the refusal' })).toMatchObject({
    transport: 'streamable-http',
    reason: { code: 'upstream_http_error' },
  })
})

test('a group of SSE servers lists and calls all of them', async () => {
  const client = await admin.mcp('/mcp/both')
  const names = await toolNames(client)
  expect(names).toContain('get-sum')
  expect(await callText(client, 'get-sum', { a: 2, b: 40 })).toContain('42')
  const echo = names.find(name => name === 'gateway_echo') ?? 'echo'
  expect(await callText(client, echo, { text: 'hello', message: 'hello' })).toContain('hello')
})

test('progress of an SSE server reaches the caller', async () => {
  const client = await admin.mcp('/mcp/guessed')
  const seen: number[] = []
  await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } }, undefined, {
    onprogress: ({ progress }) => seen.push(progress),
  })
  expect(seen).toEqual([1, 2, 3, 4])
})

test('sampling, elicitation and roots of an SSE server reach the session that called', async () => {
  const able = (name: string) => admin.mcp('/mcp/asking', answering(name).options)
  const [anna, bert] = await Promise.all([able('anna'), able('bert')])
  for (const tool of ['sample', 'elicit', 'roots']) {
    const [one, two] = await Promise.all([callText(anna, tool), callText(bert, tool)])
    expect(one).toContain('anna')
    expect(two).toContain('bert')
  }
})

test('a server that was lost comes back', async () => {
  await everything.program.stop()
  await until(async () => (await statusOf(admin, 'guessed')).state !== 'online', { what: 'the loss to be seen' })
  everything = await everythingOverSse(everything.port)
  await online(admin, ['guessed'], 60_000)
  expect(await callText(await admin.mcp('/mcp/guessed'), 'echo', { message: 'back' })).toContain('back')
}, 120_000)

test('a trial of a URL tells both attempts, and connects by the second', async () => {
  const report = await admin.ok('POST', '/api/servers/test', { url: gateway.url })
  expect(report.ok).toBe(true)
  const steps = report.steps.map((step: { name: string; ok: boolean }) => `${step.name} ${step.ok}`)
  expect(steps).toEqual([
    'check true',
    'load the transport streamable-http true',
    'initialize false',
    'check true',
    'load the transport sse true',
    'initialize true',
    'tools/list true',
  ])
})

test('the transport found for a server is kept over a restart of the hub, and a restart by hand asks again', async () => {
  await using server = await sseServer()
  const hello = '"method":"initialize"'
  const asked = () =>
    server.seen.filter(({ method, url, body }) => url === '/sse' && method === 'POST' && body.includes(hello)).length
  await admin.ok('POST', '/api/servers', { name: 'only', url: server.url })
  await online(admin, ['only'])
  const before = asked()
  expect(before).toBeGreaterThan(0)
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  await online(admin, ['only'])
  expect(await statusOf(admin, 'only')).toMatchObject({ transport: 'sse' })
  expect(asked()).toBe(before)
  await admin.ok('POST', '/api/servers/only/restart?wait=10s')
  await online(admin, ['only'])
  expect(asked()).toBeGreaterThan(before)
}, 120_000)
