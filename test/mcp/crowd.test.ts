/** Many clients on one upstream: what each of them gets, also when the upstream loses its sessions, restarts or stops. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { KeptConnection, type WholeAnswer } from '../support/kept-connection.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Answer, HEADERS, RawClient } from '../support/raw-mcp.ts'
import { failureOf, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const CLIENTS = 200
/** Every fifth call has a progress token and gets two notifications of progress, so that its answer is a stream. */
const WITH_PROGRESS = 5
const MODERN = '2026-07-28'

type Era = 'legacy' | 'modern'

let web: Program
let lax: Program
let hub: Hub
let admin: Client
let key = ''

beforeAll(async () => {
  const script = join(import.meta.dir, '../support/mcp-servers/echo-http.ts')
  ;[web, lax] = await Promise.all([startProgram(script), startProgram(script, { env: { UNKNOWN: '400' } })])
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        varied: sharedFixture('varied'),
        slow: sharedFixture('slow'),
        // These number their sessions; here, only the hub's own session is wanted.
        web: { type: 'streamable-http', url: web.url, session: 'shared' },
        lax: { type: 'streamable-http', url: lax.url, session: 'shared' },
        dying: sharedFixture('crashing', { MODE: 'call' }),
      },
      groups: [{ name: 'g', servers: ['varied', 'slow', 'web', 'dying'] }],
    },
  })
  admin = await hub.setup()
  key = await admin.mcpKey()
  await online(admin, ['varied', 'slow', 'web', 'lax', 'dying'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await web?.stop()
  await lax?.stop()
}, 120_000)

/** Metadata of a client of the newer era in the body of every call. */
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'crowd', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function headersOf(era: Era, path: string): Promise<Record<string, string>> {
  if (era === 'legacy') return (await new RawClient(hub, path, key).open()).headers
  const own = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'emit' }
  return { ...HEADERS, authorization: `Bearer ${key}`, ...own }
}

function messagesOf({ text }: WholeAnswer): readonly Answer[] {
  if (text.startsWith('{')) return [JSON.parse(text)]
  const lines = text.split('\n').filter(line => line.startsWith('data: {'))
  return lines.map(line => JSON.parse(line.slice(6)))
}

/** The fault of the answer to the call of this id and payload; undefined if it is right. */
function problem(answer: WholeAnswer, id: number, payload: string): string | undefined {
  const messages = [...messagesOf(answer)]
  const last = messages.pop()
  const told = messages.map(({ method, params }) => [
    method,
    params?.progressToken,
    params?.progress,
    JSON.parse(String(params?.message)).text,
  ])
  const steps = id % WITH_PROGRESS === 0 ? [1, 2] : []
  const expected = steps.map(step => ['notifications/progress', id, step, payload])
  const right =
    answer.status === 200 &&
    last?.id === id &&
    last.result?.content[0].text === payload &&
    JSON.stringify(told) === JSON.stringify(expected)
  return right ? undefined : `${payload}: ${answer.status} ${answer.text}`
}

/** Clients that all use the ids 1 to `calls` and the progress tokens that go with them. Returns what was wrong. */
async function crowd(era: Era, path: string, calls: number): Promise<string[]> {
  const wrong: string[] = []
  let answered = 0
  const member = async (who: number): Promise<void> => {
    const headers = await headersOf(era, path)
    const connection = await KeptConnection.open(new URL(path, hub.url), headers)
    for (let id = 1; id <= calls; id += 1) {
      const payload = `${era} client ${who}, call ${id}`
      const tells = id % WITH_PROGRESS === 0
      const _meta = { ...(era === 'modern' ? ENVELOPE : {}), ...(tells ? { progressToken: id } : {}) }
      // During the pauses, calls of others overtake.
      const args = { count: 2, gapMs: tells ? 1 : 0, text: payload }
      const params = { name: 'emit', arguments: args, _meta }
      const answer = await connection.post(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
      answered += 1
      const found = problem(answer, id, payload)
      if (found !== undefined) wrong.push(found)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, who) => member(who)))
  expect(answered).toBe(CLIENTS * calls)
  return wrong.slice(0, 5)
}

/** Either era, and either way to a server. */
const CROWDS: readonly (readonly [Era, string, number])[] = [
  ['legacy', 'varied', 5],
  ['modern', 'web', 5],
]
const LARGE_CROWDS: typeof CROWDS = [
  ['legacy', 'varied', 500],
  ['modern', 'varied', 100],
  ['legacy', 'web', 50],
  ['modern', 'web', 50],
]

test.each(extent(CROWDS, LARGE_CROWDS).map(row => [...row] as const))(
  'P-11 200 %s clients with equal ids and progress tokens on one server (%s), %d calls each: none crossed, none lost [CVE-2026-25536]',
  async (era, server, calls) => {
    expect(await crowd(era, `/mcp/${server}`, calls)).toEqual([])
  },
  600_000,
)

describe('P-03 an upstream that has lost its sessions', () => {
  const whoami = async (client: RawClient) => {
    const { result, error } = await client.call('tools/call', { name: 'whoami' })
    return error ?? JSON.parse(result.content[0].text)
  }

  test.each([
    ['web', 404],
    ['lax', 400],
  ])(
    'P-03 is met with one handshake for 20 concurrent calls, and each client sees one answer: %s, HTTP %d',
    async name => {
      const server = name === 'web' ? web : lax
      const path = `/mcp/${name}`
      const clients = await Promise.all(Array.from({ length: 20 }, () => new RawClient(hub, path, key).open()))
      for (let round = 1; round <= extent(2, 5); round += 1) {
        const before = (await whoami(clients[0] as RawClient)).session
        const forgotten = await (await fetch(server.url.replace('/mcp', '/control/forget'), { method: 'POST' })).json()
        expect(forgotten.forgotten).toBeGreaterThan(0)
        const answers = await Promise.all(clients.map(whoami))
        expect(answers.filter(({ session }) => session !== before + 1)).toEqual([])
        expect(answers.map(({ session }) => session)).toEqual(Array(20).fill(before + 1))
      }
      await online(admin, [name])
    },
    120_000,
  )

  test('P-03 a call that had begun when the connection was lost is not sent twice', async () => {
    const client = await new RawClient(hub, '/mcp/dying', key).open()
    const pid = async () => (await client.call('tools/call', { name: 'pid' })).result?.content[0].text
    const first = await pid()
    const { error } = await client.call('tools/call', { name: 'crash' })
    expect([error?.code, error?.data?.code]).toEqual([-32603, 'connection_lost'])
    const second = await until(pid, { what: 'the server to be back' })
    expect(second).not.toBe(first)
    // If the call had been repeated, the second process would have ended as well.
    expect(await pid()).toBe(second)
  })
})

describe('an upstream that restarts under open sessions', () => {
  test('is reached again by the same sessions, and its lists are announced once it is back', async () => {
    const sdk = await admin.mcp('/mcp/g')
    const raw = await new RawClient(hub, '/mcp/varied', key).open()
    const call = () => sdk.callTool({ name: 'raw', arguments: { n: 1 } })
    await call()
    await admin.ok('POST', '/api/servers/varied/restart')
    const answers = await Promise.all([call(), call(), raw.call('tools/call', { name: 'raw', arguments: { n: 2 } })])
    expect(answers.map(answer => JSON.stringify(answer)).every(text => text.includes('structuredContent'))).toBe(true)
  })

  test('a server that was stopped answers server_offline, the others continue, and its tools come back with it', async () => {
    const sdk = await admin.mcp('/mcp/g')
    await admin.ok('POST', '/api/servers/varied/stop?wait=30s')
    const failure = await failureOf(sdk.callTool({ name: 'raw', arguments: {} }))
    expect([failure.code, failure.data?.code]).toEqual([-32603, 'server_offline'])
    expect(JSON.stringify(await sdk.callTool({ name: 'quick', arguments: {} }))).toContain('quick')
    const names = async () => (await sdk.listTools()).tools.map(({ name }) => name)
    expect(await names()).not.toContain('raw')
    await admin.ok('POST', '/api/servers/varied/start?wait=30s')
    await until(async () => (await names()).includes('raw'), { what: 'the tools to be back' })
    await sdk.callTool({ name: 'raw', arguments: {} })
  })
})
