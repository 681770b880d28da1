import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { type Program, startProgram } from '../support/program.ts'
import { callText, failureOf, online, statusOf } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const FIXTURE = join(ROOT, 'test/support/mcp-servers/faulty-http.ts')
const TIMEOUT_MS = atLeast(1_500)
/** Number of calls to a server that closes each connection. */
const CALLS = extent(80, 500)

/** Answers of the remote server instead of one to `initialize`, and the reason that the hub must give. */
const AT_START = {
  busy: { init: { status: 503, retryAfter: 30 }, reason: 'upstream_http_error' },
  broken: { init: { status: 500 }, reason: 'upstream_http_error' },
  secret: { init: { status: 401 }, reason: 'authorization_required' },
  moved: { init: { status: 307, location: '/mcp' }, reason: 'redirect_blocked' },
  inward: { init: { status: 302, location: 'http://169.254.169.254/latest' }, reason: 'redirect_blocked' },
} as const

/** The suite tries one for each reason. */
const STARTING = Object.entries(AT_START).filter(([name]) => extent(!['broken', 'moved'].includes(name), true))

interface Call {
  readonly id: number
  readonly response: ServerResponse
}

/** A remote server that answers calls as events, when and where the test says. */
const calls = new Map<string, Call>()
let web: Server
const programs: Program[] = []
let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

const result = (id: number, text: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
const event = (text: string) => `event: message\ndata: ${text}\n\n`
const started = async (name: string): Promise<Call> => {
  await until(() => calls.has(name), { what: `the call of ${name}` })
  return calls.get(name) as Call
}

/** Starts it, and returns its address. */
async function startWeb(): Promise<string> {
  web = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(body)
    const reply = (value: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'initialize')
      return reply({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'w', version: '1' },
      })
    if (method === 'tools/list')
      return reply({ tools: ['first', 'second'].map(name => ({ name, inputSchema: { type: 'object' } })) })
    if (method !== 'tools/call') return reply({})
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    calls.set(params.name, { id, response })
  })
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`
}

beforeAll(async () => {
  const start = async (env: Record<string, string>) => {
    const program = await startProgram(FIXTURE, { env })
    programs.push(program)
    return { url: program.url, timeout: TIMEOUT_MS }
  }
  const mcpServers: Record<string, object> = { faulty: await start({}), echo: known('echo') }
  for (const [name, { init }] of STARTING) mcpServers[name] = await start({ INIT: JSON.stringify(init) })
  mcpServers.closing = { ...(await start({ UNSAID: '1' })), timeout: 20_000 }
  mcpServers.gone = { url: 'http://127.0.0.1:9/mcp' }
  mcpServers.nowhere = { url: 'http://nowhere.invalid/mcp' }
  mcpServers.dripping = { ...(await start({ INIT: JSON.stringify({ drip: 'head' }) })), startTimeout: atLeast(2_000) }
  mcpServers.web = { url: await startWeb(), era: 'legacy' }
  hub = await startHub({ countTimers: true, settings: { mcpServers } })
  admin = await hub.setup()
  await online(admin, ['faulty', 'echo', 'web'])
  await callText(await admin.mcp('/mcp/faulty'), 'seen')
  unharmed = await watchFor(hub, admin, { canaries: ['canary'] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await Promise.all(programs.map(program => program.stop()))
  web?.closeAllConnections()
  web?.close()
}, 120_000)

afterEach(() => unharmed(), 120_000)

async function timesSent(): Promise<number> {
  return JSON.parse(await callText(await admin.mcp('/mcp/faulty'), 'seen'))['tools/call fail'] ?? 0
}

for (const status of extent([503], [500, 429, 503])) {
  test(`HTTP ${status} fails the call once, with the wait that the server asks for and nothing of its body`, async () => {
    const client = await admin.mcp('/mcp/faulty')
    const sent = await timesSent()
    const failure = await failureOf(callText(client, 'fail', { status, retryAfter: 7 }))
    expect(failure.data?.code).toBe('upstream_http_error')
    expect(failure.message).toContain(`HTTP ${status}`)
    expect(failure.message).toContain('7 s')
    expect(JSON.stringify(failure)).not.toContain('canary')
    expect(await timesSent()).toBe(sent + 1)
    expect((await statusOf(admin, 'faulty')).state).toBe('online')
  })
}

const SLOW: readonly (readonly [what: string, args: Record<string, unknown>])[] = [
  ['drips its body', { drip: 'body' }],
  ['drips its head', { drip: 'head' }],
  ['is silent', { silent: true }],
]
for (const [what, args] of SLOW.slice(0, extent(1, 3))) {
  test(`a remote server that ${what} costs its caller the time limit, and no more`, async () => {
    const client = await admin.mcp('/mcp/faulty')
    const sent = await timesSent()
    const { value: failure, ms } = await timed(() => failureOf(callText(client, 'fail', args)))
    expect(failure.data?.code).toBe('upstream_timeout')
    expect(ms).toBeGreaterThan(TIMEOUT_MS * 0.9)
    expect(ms).toBeLessThan(TIMEOUT_MS + atMost(TIMEOUT_MS * 0.3))
    expect(await timesSent()).toBe(sent + 1)
    expect((await statusOf(admin, 'faulty')).state).toBe('online')
  })
}

test('an answer that is cut off fails the call with connection_lost, and a tools/call is not repeated', async () => {
  const client = await admin.mcp('/mcp/faulty')
  const sent = await timesSent()
  expect((await failureOf(callText(client, 'fail', { cut: true }))).data?.code).toBe('connection_lost')
  await until(async () => (await statusOf(admin, 'faulty')).state === 'online')
  expect(await timesSent()).toBe(sent + 1)
})

test.each(extent(['closing'], ['faulty', 'closing']))(
  'no call is lost and none repeated by a server that closes each connection: %s',
  async name => {
    await online(admin, [name])
    const client = await admin.mcp(`/mcp/${name}`)
    const count = async () => JSON.parse(await callText(client, 'seen'))['tools/call seen']
    const before = await count()
    let left = CALLS
    const caller = async (): Promise<void> => {
      for (; left > 0; await callText(client, 'seen')) left -= 1
    }
    await Promise.all(Array.from({ length: 25 }, caller))
    expect(await count()).toBe(before + CALLS + 1)
  },
  120_000,
)

test('a redirect that ends nowhere is followed three times, and the call says so', async () => {
  const client = await admin.mcp('/mcp/faulty')
  const sent = await timesSent()
  const location = programs[0]?.url
  const result = await client.callTool({ name: 'fail', arguments: { status: 307, location } })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('redirect_blocked: ') }] })
  expect(await timesSent()).toBe(sent + 4)
})

test('a remote server that cannot start says why, with the time of the next attempt', async () => {
  for (const [name, { reason }] of STARTING) {
    const status = await until(async () => {
      const now = await statusOf(admin, name)
      return now.state === 'offline' ? now : undefined
    })
    expect(`${name} ${status.reason?.code}`).toBe(`${name} ${reason}`)
    expect(status.nextAttemptAt).toBeDefined()
  }
  const reasonOf = (name: string) => until(async () => (await statusOf(admin, name)).reason)
  expect((await reasonOf('gone')).code).toBe('connection_lost')
  expect((await reasonOf('nowhere')).code).toBe('upstream_dns_error')
})

test('a server that answers 503 with Retry-After is left in peace for that long', async () => {
  // The attempt at the start may be long ago.
  const { nextAttemptAt: earlier } = await statusOf(admin, 'busy')
  await admin.ok('POST', '/api/servers/busy/restart')
  const { nextAttemptAt } = await until(async () => {
    const status = await statusOf(admin, 'busy')
    return status.state === 'offline' && status.nextAttemptAt !== earlier ? status : undefined
  })
  expect(Date.parse(nextAttemptAt ?? '') - Date.now()).toBeGreaterThan(20_000)
  const left = () => (Date.parse(nextAttemptAt ?? '') - Date.now()) / 1_000
  // The wait is given in whole seconds, in Retry-After and under /mcp: until the next attempt, and not one second more.
  const before = Math.ceil(left())
  const answer = await admin.request('POST', '/api/servers/busy/tools/any/call', { arguments: {} })
  const failure = await failureOf(callText(await admin.mcp('/mcp/busy'), 'any'))
  expect([answer.status, answer.json.code, failure.data?.code]).toEqual([503, 'server_offline', 'server_offline'])
  for (const told of [Number(answer.headers.get('retry-after')), Number(failure.data?.retryAfter)]) {
    expect(told).toBeLessThanOrEqual(before)
    expect(told).toBeGreaterThanOrEqual(Math.ceil(left()))
  }
})

test('a server that was stopped, or is not asked again for long, names no time or the longest one', async () => {
  await until(async () => (await statusOf(admin, 'secret')).state === 'offline')
  expect((await failureOf(callText(await admin.mcp('/mcp/secret'), 'any'))).data?.retryAfter).toBe(300)
  await admin.ok('POST', '/api/servers/secret/stop')
  const answer = await admin.request('POST', '/api/servers/secret/tools/any/call', { arguments: {} })
  expect([answer.json.code, answer.headers.get('retry-after')]).toEqual(['server_offline', null])
  const failure = await failureOf(callText(await admin.mcp('/mcp/secret'), 'any'))
  expect(failure.data).not.toHaveProperty('retryAfter')
  await admin.ok('POST', '/api/servers/secret/start')
})

test('one that drips its answers is given up after three seconds for its era and its startTimeout', async () => {
  const status = await until(
    async () => {
      const now = await statusOf(admin, 'dripping')
      return now.reason ? now : undefined
    },
    { timeoutMs: 60_000, intervalMs: 100, what: 'a reason of the dripping server' },
  )
  expect(status.reason?.code).toBe('upstream_init_timeout')
}, 120_000)

test.each([
  ['a result', (id: number) => result(id, 'forged')],
  ['an error', (id: number) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -1, message: 'forged' } })],
  ['a result in an array', (id: number) => `[${result(id, 'forged')}]`],
  ['what cannot be read', (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"forged":}}`],
])(
  '%s for one call on the stream of another does not answer the first',
  async (_what, forged) => {
    calls.clear()
    const client = await admin.mcp('/mcp/web')
    const first = callText(client, 'first')
    const { id, response } = await started('first')
    const second = callText(client, 'second')
    const other = await started('second')
    other.response.end(event(forged(id)) + event(result(other.id, 'second')))
    expect(await second).toBe('second')
    response.end(event(result(id, 'first')))
    expect(await first).toBe('first')
  },
  120_000,
)
