import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Client, type Hub, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const OLD = join(ROOT, 'test/support/mcp-servers/old-versions.ts')
const KNOWN = { era: 'legacy', session: 'shared' }
const ALL = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** The versions and the refusal of each server, and the versions that the hub must have asked it for. */
const VERSIONS: Readonly<Record<string, { readonly env: Record<string, string>; readonly asked: readonly string[] }>> =
  {
    listed: { env: { VERSIONS: '2025-03-26,2024-11-05' }, asked: ['2025-11-25', '2025-03-26'] },
    unlisted: { env: { VERSIONS: '2024-11-05', REFUSE: 'silent' }, asked: ALL },
    ending: { env: { VERSIONS: '2025-03-26', REFUSE: 'exit' }, asked: ALL.slice(0, 3) },
    draft: { env: { VERSIONS: ALL.join(','), ANSWER: '2024-10-07' }, asked: ['2025-11-25'] },
    internal: { env: { VERSIONS: '2025-06-18', REFUSE: 'internal' }, asked: ALL.slice(0, 2) },
    prefixed: { env: { VERSIONS: ALL.join(','), ANSWER: 'v2025-03-26' }, asked: ['2025-11-25'] },
    digits: { env: { VERSIONS: ALL.join(','), ANSWER: '20250618' }, asked: ['2025-11-25'] },
    unnamed: { env: { VERSIONS: ALL.join(','), ANSWER: '1.0' }, asked: ['2025-11-25'] },
    'http-422': {
      env: { BY: 'http', VERSIONS: '2025-06-18', REFUSE: 'status', STATUS: '422' },
      asked: ALL.slice(0, 2),
    },
    'http-listed': { env: { BY: 'http', VERSIONS: '2025-06-18' }, asked: ['2025-11-25', '2025-06-18'] },
    'http-status': { env: { BY: 'http', VERSIONS: '2025-03-26', REFUSE: 'status' }, asked: ALL.slice(0, 3) },
  }

/** Statuses with which servers for SSE answer a POST to their address. */
const STATUSES = [403, 406, 411, 415, 501]

let folder: string
let hub: Hub
let admin: Client
const programs: Program[] = []
const webs: Server[] = []

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  webs.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server for SSE that answers every POST to its own address with this status. */
async function sseBehind(status: number): Promise<string> {
  let stream: ServerResponse | undefined
  const base = await listen(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void stream.write('event: endpoint\ndata: /messages\n\n')
    }
    if (request.url !== '/messages') return response.writeHead(status).end()
    response.writeHead(202).end()
    const { id, method } = JSON.parse(body)
    const serverInfo = { name: 'sse', version: '1' }
    const results: Record<string, object> = {
      initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: [{ name: 'any', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'by SSE' }] },
    }
    if (id === undefined) return
    stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} })}\n\n`)
  })
  return `${base}/mcp`
}

/** A server by HTTP that is down until a test changes it. */
const later = { down: true, initializedAtMs: [] as number[], url: '' }

async function startLater(): Promise<void> {
  const base = await listen(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method } = JSON.parse(body)
    if (method === 'initialize') later.initializedAtMs.push(performance.now())
    if (later.down) return response.writeHead(500).end()
    if (id === undefined) return response.writeHead(202).end()
    const serverInfo = { name: 'later', version: '1' }
    const results: Record<string, object> = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools: [{ name: 'any', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'up again' }] },
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
  })
  later.url = `${base}/mcp`
}

beforeAll(async () => {
  folder = await makeTemp('connecting')
  const mcpServers: Record<string, object> = {}
  for (const [name, { env }] of Object.entries(VERSIONS)) {
    const all = { ...env, ASKED: join(folder, name) }
    if (env.BY !== 'http') mcpServers[name] = { ...stdioFixture('old-versions', all), ...KNOWN }
    else {
      const program = await startProgram(OLD, { env: all })
      programs.push(program)
      mcpServers[name] = { url: program.url, transport: 'streamable-http', ...KNOWN }
    }
  }
  for (const status of STATUSES) mcpServers[`sse-${status}`] = { url: await sseBehind(status), session: 'shared' }
  const authorization = 'Bearer canary'
  mcpServers.refused = { url: await sseBehind(403), headers: { authorization }, ...KNOWN }
  mcpServers.pinned = { url: await sseBehind(415), transport: 'streamable-http', ...KNOWN }
  await startLater()
  mcpServers.later = { url: later.url, transport: 'streamable-http', ...KNOWN }
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await Promise.all(programs.map(program => program.stop()))
  for (const web of webs) {
    web.closeAllConnections()
    web.close()
  }
  if (folder) await removeTemp(folder)
}, 120_000)

const askedOf = (name: string): readonly string[] => readFileSync(join(folder, name), 'utf8').trim().split(' ')

test.each(Object.entries(VERSIONS))(
  'a server that refuses newer versions is asked for the next one, and connected: %s',
  async (name, { asked }) => {
    await online(admin, [name])
    expect(askedOf(name)).toEqual([...asked])
    expect(await callText(await admin.mcp(`/mcp/${name}`), 'asked')).toContain(asked.at(-1) as string)
  },
  120_000,
)

test('an answer with the draft version 2024-10-07 counts as 2024-11-05', async () => {
  expect(await admin.ok('GET', '/api/servers/draft')).toMatchObject({ status: { protocolVersion: '2024-11-05' } })
})

test('an answer with a version in another notation, or none, is taken with a warning; an unknown one is not', async () => {
  for (const [name, version] of Object.entries({
    prefixed: '2025-03-26',
    digits: '2025-06-18',
    unnamed: '2025-03-26',
  })) {
    const { status } = await admin.ok('GET', `/api/servers/${name}`)
    expect(status.protocolVersion).toBe(version)
    expect(status.warnings.map(({ code }: { code: string }) => code)).toContain('transport_deviates')
  }
  const env = { VERSIONS: ALL.join(','), ANSWER: '2027-01-01', ASKED: join(folder, 'future') }
  await admin.ok('POST', '/api/servers', { name: 'future', ...stdioFixture('old-versions', env), ...KNOWN })
  const { message } = await until(async () => (await statusOf(admin, 'future')).reason)
  expect(message).toContain('"2027-01-01"; the hub speaks 2024-11-05')
})

test.each(STATUSES)('a server for SSE that answers a POST with %d is connected by SSE', async status => {
  await online(admin, [`sse-${status}`])
  expect((await statusOf(admin, `sse-${status}`)).transport).toBe('sse')
  expect(await callText(await admin.mcp(`/mcp/sse-${status}`), 'any')).toBe('by SSE')
})

test('if SSE is not tried, the reason says which field to set', async () => {
  for (const name of ['refused', 'pinned']) {
    const reason = await until(async () => (await statusOf(admin, name)).reason)
    expect(reason.message).toContain('set "transport": "sse"')
  }
})

test('many calls to a server that waits make one attempt a second, and one that is up again answers at once', async () => {
  await until(async () => (await statusOf(admin, 'later')).state === 'offline')
  const clients = await Promise.all(Array.from({ length: 8 }, () => admin.mcp('/mcp/later')))
  const lastAtMs = () => later.initializedAtMs.at(-1) ?? 0
  const began = performance.now()
  const before = later.initializedAtMs.length
  const refusals = await Promise.all(clients.map(client => failureOf(callText(client, 'any'))))
  expect(refusals.every(({ data }) => data?.code === 'server_offline')).toBe(true)
  expect(refusals.map(({ message }) => message)).toContainEqual(expect.stringMatching(/; next attempt in \d+ s$/))
  const seconds = Math.ceil((performance.now() - began) / 1_000)
  // One attempt a second, one that was under way, and one that was due by itself; eight callers would make eight.
  expect(later.initializedAtMs.length - before).toBeLessThanOrEqual(seconds + 2)
  // A call's attempt has just failed, and the next attempt by itself is further away than the next one by a call.
  await until(
    async () => {
      await failureOf(callText(clients[0]!, 'any'))
      const { nextAttemptAt = '' } = await statusOf(admin, 'later')
      return Date.parse(nextAttemptAt) - Date.now() > 2_000 && performance.now() - lastAtMs() < 500
    },
    { timeoutMs: 60_000, intervalMs: 0 },
  )
  const failedAtMs = lastAtMs()
  later.down = false
  // Calls within a second of it are not refused: they wait for one attempt, which begins a second after the last.
  expect(await Promise.all(clients.map(client => callText(client, 'any')))).toEqual(clients.map(() => 'up again'))
  const after = later.initializedAtMs.filter(at => at > failedAtMs)
  expect(after).toHaveLength(1)
  // A busy test may have noticed the last attempt late.
  expect((after[0] ?? 0) - failedAtMs).toBeGreaterThan(500)
}, 120_000)

test('calls do not keep up a server that ends again and again', async () => {
  const file = join(folder, 'starts')
  const args = ['-c', `echo started >> ${file}; exit 3`]
  await admin.ok('POST', '/api/servers', { name: 'looping', command: 'sh', args, ...KNOWN })
  const starts = () => readFileSync(file, 'utf8').split('started').length - 1
  const clients = await Promise.all(Array.from({ length: 4 }, () => admin.mcp('/mcp/looping')))
  const callAll = () => Promise.all(clients.map(client => failureOf(callText(client, 'any'))))
  await until(
    async () => {
      await callAll()
      return (await statusOf(admin, 'looping')).reason?.code === 'crash_loop'
    },
    { intervalMs: 0, timeoutMs: 55_000, what: 'the loop to be known' },
  )
  // Five exits in a minute are a loop. Retries by themselves have random delays, so that the times of these starts say nothing.
  const known = starts()
  expect(known).toBeGreaterThanOrEqual(5)
  const refusals = await callAll()
  expect(refusals.map(({ data }) => data?.code)).toEqual(clients.map(() => 'server_offline'))
  expect(starts()).toBe(known)
}, 60_000)

test('the version that was found is kept over a restart of the hub', async () => {
  const asked = askedOf('unlisted').length
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  await until(() => askedOf('unlisted').length > asked, { timeoutMs: 60_000 })
  expect(askedOf('unlisted').slice(asked)).toEqual(['2024-11-05'])
}, 120_000)
