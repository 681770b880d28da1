import { afterEach, expect, test } from 'bun:test'
import type { SessionBinding, UpstreamReply } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { LegacyHttp, mcpTransports } from './legacy-http.ts'
import { httpRecord, ModernHttp } from './modern-http.ts'
import { type Rig, startRig, textOf, until } from './support.ts'

const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

async function start(version: string, more: Partial<ServerRecord> = {}): Promise<{ rig: Rig; server: LegacyHttp }> {
  const server = new LegacyHttp()
  server.version = version
  running.push(server)
  const rig = await startRig([httpRecord('a', `${server.url}/mcp`, more)], { transports: mcpTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  return { rig, server }
}

const EVERYTHING: JsonObject = {
  sampling: { tools: {} },
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}

function call(rig: Rig, id: string, more: Partial<SessionBinding> = {}): Promise<UpstreamReply> {
  const session: SessionBinding = {
    ...{ id, userId: 'u', kind: 'session', capabilities: EVERYTHING, protocolVersion: '2025-11-25' },
    ...more,
  }
  return rig.connections.request('a', { method: 'tools/call', params: { name: 'echo', arguments: {} }, session }).reply
}

/** The capabilities that all shared connections declare. */
const APPS: JsonObject = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
}

/** The capabilities that the server received, by its sessions in their order. */
const told = (server: LegacyHttp): unknown[] => server.of('initialize').map(({ params }) => params?.capabilities)

test.each([
  ['2024-11-05', { sampling: {}, roots: { listChanged: true } }],
  ['2025-03-26', { sampling: {}, roots: { listChanged: true } }],
  ['2025-06-18', { sampling: {}, elicitation: {}, roots: { listChanged: true } }],
  ['2025-11-25', EVERYTHING],
] as const)('a server of %s is told only what that version knows', async (version, wanted) => {
  const { rig, server } = await start(version)
  textOf(await call(rig, 's'))
  expect(told(server)).toEqual([APPS, wanted as JsonObject])
})

/** The capabilities that the reader of the lists declares, in the form of 2025-11-25. */
const READER: JsonObject = { ...EVERYTHING, sampling: { tools: {}, context: {} } }

test.each([
  ['2024-11-05', { sampling: {}, roots: { listChanged: true } }],
  ['2025-06-18', { sampling: {}, elicitation: {}, roots: { listChanged: true } }],
  ['2025-11-25', READER],
] as const)(
  'lists for sessions of their own are read with all that %s knows, and nobody answers there',
  async (version, wanted) => {
    const { rig, server } = await start(version, { session: 'per-session' })
    // Its version is unknown before its first answer.
    expect(told(server)).toEqual([{ ...READER, ...APPS }])
    rig.connections.restart('a')
    await until('the second connection', () => told(server).length === 2)
    expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
    expect(told(server)[1]).toEqual({ ...(wanted as JsonObject), ...APPS })
    server.answer = () => undefined
    const asked: string[] = []
    const ask = (method: string) => {
      asked.push(method)
      return Promise.resolve({ result: {} })
    }
    // These calls have no session, as calls by REST.
    const call = rig.connections.request('a', { method: 'tools/call', params: { name: 'echo', arguments: {} }, ask })
    await until('the call', () => server.of('tools/call').length === 1)
    const methods = ['sampling/createMessage', 'elicitation/create', 'roots/list']
    for (const method of methods) server.tell({ id: method, method, params: {} })
    const answers = () => server.seen.filter(message => message.method === undefined) as unknown[]
    await until('the refusals', () => answers().length === methods.length)
    for (const answer of answers()) expect(answer).toMatchObject({ error: { code: -32601 } })
    expect(asked).toEqual([])
    call.cancel()
    await call.reply
  },
)

test('lists of a server of 2026-07-28 too are read with all capabilities only where sessions have connections', async () => {
  for (const [session, wanted] of [
    ['per-session', { ...READER, roots: {}, ...APPS }],
    ['shared', APPS],
  ] as const) {
    await using server = new ModernHttp()
    const rig = await startRig([httpRecord('a', server.url, { session })], { transports: mcpTransports })
    running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
    expect((await rig.connections.settled('a', 60_000)).era).toBe('modern')
    await call(rig, 's', { capabilities: { roots: {} } })
    const declared = (method: string) =>
      server.of(method).map(({ params }) => params._meta['io.modelcontextprotocol/clientCapabilities'])
    // The hub itself runs tasks, for every client.
    const extensions = { ...(APPS.extensions as object), 'io.modelcontextprotocol/tasks': {} }
    expect(declared('tools/list')).toEqual([{ ...wanted, extensions }])
    // The one that asks for the era, the one that reads the lists, and the session's own.
    expect(declared('server/discover')).toEqual(session === 'shared' ? [{}, APPS] : [{}, wanted, {}])
  }
})

test('each session is spoken for exactly, and what all share or one user shares declares apps alone', async () => {
  for (const session of ['shared', 'per-user', 'per-session'] as const) {
    const { rig, server } = await start('2025-11-25', { session })
    const [one, other] = [{ roots: {} }, { sampling: {} }]
    textOf(await call(rig, 's1', { capabilities: one }))
    textOf(await call(rig, 's2', { capabilities: other }))
    const wanted = { shared: [APPS], 'per-user': [APPS, APPS], 'per-session': [{ ...READER, ...APPS }, one, other] }[
      session
    ]
    expect(told(server)).toEqual(wanted)
  }
})

test('MCP Apps is declared for a session as its client declares it, with other settings too', async () => {
  const { rig, server } = await start('2025-06-18')
  const draws = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/x'], more: 1 }, other: {} } }
  textOf(await call(rig, 's', { capabilities: { roots: {}, ...draws } }))
  const { 'io.modelcontextprotocol/ui': apps } = draws.extensions
  expect(told(server)[1]).toEqual({ roots: {}, extensions: { 'io.modelcontextprotocol/ui': apps } })
})

test('a modern server gets MCP Apps with the calls of a legacy client that declares it, and with no other call', async () => {
  await using server = new ModernHttp()
  const rig = await startRig([httpRecord('a', server.url, { session: 'shared' })], { transports: mcpTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('a', 60_000)).era).toBe('modern')
  await call(rig, 's1', { capabilities: { roots: {}, ...APPS } })
  await call(rig, 's2', { capabilities: { roots: {} } })
  const declared = server
    .of('tools/call')
    .map(({ params }) => params._meta['io.modelcontextprotocol/clientCapabilities'])
  expect(declared).toEqual([APPS, {}])
})

test('a server that refuses capabilities which it does not know is asked again without extensions', async () => {
  const server = new LegacyHttp()
  running.push(server)
  server.refuse = async request => {
    const message = request.method === 'POST' ? await request.clone().json() : {}
    if (message.params?.capabilities?.extensions === undefined) return undefined
    const error = { code: -32602, message: 'Unrecognized key: "extensions"' }
    return Response.json({ jsonrpc: '2.0', id: message.id, error })
  }
  const rig = await startRig([httpRecord('a', `${server.url}/mcp`)], { transports: mcpTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  expect(server.of('initialize').map(({ params }) => params?.protocolVersion)).toEqual(['2025-11-25'])
})

test('a server that asks what was not offered in its version is refused at once, with the error for it', async () => {
  const { rig, server } = await start('2025-06-18')
  server.answer = () => undefined
  const reply = call(rig, 's')
  await until('the call', () => server.of('tools/call').length === 1)
  const answers = (): unknown[] => server.seen.filter(message => message.method === undefined)
  server.tell({ id: 'ask 1', method: 'elicitation/create', params: { mode: 'url', url: 'http://a/', message: 'x' } })
  server.tell({ id: 'ask 2', method: 'tasks/list' })
  await until('both answers', () => answers().length === 4)
  const [url, other] = ['ask 1', 'ask 2'].map(id =>
    (answers() as { id: string; error: { code: number } }[]).filter(one => one.id === id).map(one => one.error.code),
  )
  // The shared connection, which declares no capabilities, got the same request.
  expect([url?.sort(), other]).toEqual([
    [-32601, -32602],
    [-32601, -32601],
  ])
  rig.connections.endSession('s')
  await reply
})
