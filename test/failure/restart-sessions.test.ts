import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client as NewClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as NewSse } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as OldClient } from 'sdk-1-20/client/index.js'
import { SSEClientTransport as OldSse } from 'sdk-1-20/client/sse.js'
import { StreamableHTTPClientTransport as OldHttp } from 'sdk-1-20/client/streamableHttp.js'
import { answering } from '../support/answering.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { type Answer, RawClient } from '../support/raw-mcp.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const SETTINGS = {
  mcpServers: {
    slow: known('slow'),
    local: { ...known('asking'), session: 'per-session' },
  },
  groups: [
    { name: 'g', servers: ['slow', 'local'] },
    { name: 'h', servers: ['slow'] },
  ],
}
/** Number of clients of each kind, four times as many modern ones. */
const EACH = extent(1, 5)
const SERVERS = ['slow', 'local']

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK, settings: SETTINGS })
  admin = await hub.setup()
  await hub.user('bob')
  await online(admin, SERVERS)
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

/** Ends the hub and starts another process of it at the same address. */
async function restart(end: () => Promise<unknown>): Promise<void> {
  const { port } = new URL(hub.url)
  const { folder } = hub
  await end()
  hub = await startHub({ env: { ...LOOPBACK, PORT: port }, folder })
  admin = await hub.signIn('admin')
  await online(admin, SERVERS)
}

const stop = (): Promise<unknown> => {
  hub.signal('SIGTERM')
  return hub.exited()
}

/** The common part of the clients of all SDKs that is used here. */
interface AnyClient {
  readonly kind: string
  /** Errors of its transport and protocol that belong to no call. */
  readonly stray: string[]
  call(name: string, args: Record<string, unknown>, onprogress?: () => void): Promise<string>
  close(): Promise<void>
}

interface Callable {
  onerror?: ((error: Error) => void) | undefined
  connect(transport: never): Promise<unknown>
  callTool(...params: never[]): Promise<unknown>
  close(): Promise<void>
}

async function connected(kind: string, client: Callable, transport: object): Promise<AnyClient> {
  await client.connect(transport as never)
  const stray: string[] = []
  client.onerror = error => void stray.push(error.message)
  return {
    kind,
    stray,
    async call(name, args, onprogress) {
      const params = { name, arguments: args }
      const options = { timeout: 60_000, onprogress }
      // Before 2.0, a schema of the answer comes between them.
      const all = client instanceof ModernClient ? [params, options] : [params, undefined, options]
      const { content } = (await client.callTool(...(all as never[]))) as { content: { text: string }[] }
      return content[0]?.text ?? ''
    },
    close: () => client.close(),
  }
}

async function allKinds(key: string): Promise<AnyClient[]> {
  const info = { name: 'restarted', version: '1' }
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const http = new URL(`${hub.url}/mcp/g`)
  const sse = new URL(`${hub.url}/sse/g`)
  // By itself 1.20 tries twice within 2.5 s and gives its stream up.
  const reconnectionOptions = {
    initialReconnectionDelay: 200,
    maxReconnectionDelay: 1_000,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 30,
  }
  const patient = { requestInit, reconnectionOptions }
  const making: Promise<AnyClient>[] = []
  for (let n = 0; n < EACH; n += 1) {
    making.push(connected('1.20 http', new OldClient(info), new OldHttp(http, patient)))
    making.push(connected('1.20 sse', new OldClient(info), new OldSse(sse, { requestInit })))
    making.push(connected('1.32 http', new NewClient(info), new NewHttp(http, patient)))
    making.push(connected('1.32 sse', new NewClient(info), new NewSse(sse, { requestInit })))
    for (let m = 0; m < 4; m += 1) {
      const modern = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
      making.push(connected('2.4 modern', modern, new ModernTransport(http, { requestInit })))
    }
  }
  return Promise.all(making)
}

describe('clients of a hub that starts again at the same address', () => {
  test(`${EACH * 4} legacy and ${EACH * 4} modern ones continue without being restarted; a call in flight fails once`, async () => {
    const clients = await allKinds(await admin.mcpKey())
    expect(clients).toHaveLength(EACH * 8)
    for (const client of clients) expect(await client.call('quick', {})).toBe('quick')
    for (const { stray } of clients) stray.length = 0
    // Half of the legacy ones have received progress: their answer has begun, and breaks instead of failing. A modern client
    // (SDK 2.4) does not notice that, and nothing can be resumed there.
    const begun = new Set<AnyClient>()
    const begins = clients.filter((_, index) => index % 16 < 4).length
    const failures = clients.map(async (client, index) => {
      let ends = 0
      const count = () => {
        ends += 1
      }
      const onprogress = index % 16 < 4 ? () => void begun.add(client) : undefined
      const call = client.call('wait', { ms: 60_000 }, onprogress)
      const error = await call.finally(count).then(
        text => ({ message: `answered ${text}` }),
        (thrown: Error) => thrown,
      )
      return { client, message: error.message, ends, index }
    })
    await until(async () => (await inFlight()) >= EACH * 4 && begun.size === begins, {
      what: 'the calls of the sessions to be in flight',
      timeoutMs: 60_000,
    })
    const killedMs = performance.now()
    await restart(() => hub.kill9())
    for (const { client, message, ends, index } of await Promise.all(failures)) {
      const { kind } = client
      const toldByHub = kind.endsWith('sse') || (begun.has(client) && kind.endsWith('http'))
      const clear = toldByHub
        ? /the connection to the hub was lost before the server had answered/i
        : /closed|reset|fetch|connect/i
      expect([kind, index, message, ends]).toEqual([kind, index, expect.stringMatching(clear), 1])
      expect(client.stray.filter(text => /unknown/i.test(text))).toEqual([])
    }
    expect(performance.now() - killedMs).toBeLessThan(atMost(15_000))
    for (const client of clients)
      await until(() => client.call('quick', {}).catch(() => undefined), {
        what: `${client.kind} to go on`,
        timeoutMs: 60_000,
        intervalMs: 50,
      })
    const sessions = (await admin.ok('GET', '/api/admin/sessions')).items as { protocolVersion: string }[]
    expect(sessions).toHaveLength(EACH * 4)
    await Promise.all(clients.map(client => client.close()))
  }, 120_000)

  beyondCore(() => {
    test('one whose hub was stopped continues, with its capabilities and its version', async () => {
      const key = await admin.mcpKey()
      const able = await admin.mcp('/mcp/g', { ...answering('anna').options, credential: key })
      const older = await new RawClient(hub, '/mcp/g', key).open('2025-03-26')
      expect(await callText(able, 'sample')).toContain('anna')
      await restart(stop)
      expect(await callText(able, 'sample')).toContain('anna')
      const batch = await older.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])
      expect(((await batch.json()) as Answer[])[0]).toMatchObject({ id: 1, result: {} })
      await able.close()
      await older.delete()
    }, 120_000)
  })
})

describe('a session does not come back', () => {
  test('for others, at another place, when it was ended before, or when its group was gone in between', async () => {
    const key = await admin.mcpKey()
    const bobsKey = await (await hub.signIn('bob')).mcpKey()
    const narrow = await admin.ok('POST', '/api/keys', { label: 'narrow', scopes: [{ group: 'g' }] })
    const brief = await admin.ok('POST', '/api/keys', { label: 'brief', scopes: ['mcp'] })
    const open = () => new RawClient(hub, '/mcp/g', key).open()
    const [kept, deleted, byAdmin] = await Promise.all([open(), open(), open()])
    const revoked = await new RawClient(hub, '/mcp/g', brief.secret).open()
    await admin.ok('DELETE', `/api/admin/sessions/${keyOf(byAdmin)}`)
    await admin.ok('DELETE', `/api/keys/${brief.id}`)
    await until(async () => !(await openKeys()).includes(keyOf(revoked)), {
      what: 'the session of the revoked key to end',
      timeoutMs: 60_000,
    })
    await admin.ok('POST', '/api/groups', { name: 'brief', members: [] })
    const ofGroup = await new RawClient(hub, '/mcp/brief', key).open()
    await admin.ok('DELETE', '/api/groups/brief')
    await until(async () => !(await openKeys()).includes(keyOf(ofGroup)), { what: 'the session to end' })
    await stored([kept, deleted], [byAdmin, revoked, ofGroup])
    await admin.ok('POST', '/api/groups', { name: 'brief', members: [] })
    expect((await deleted.delete()).status).toBe(204)
    // The hub is killed directly after the answer: the end of a session is stored before its answer.
    await restart(() => hub.kill9())
    const statusOf = async (client: RawClient): Promise<unknown> => {
      const answer = await client.send('ping')
      return [answer.status, ((await answer.json()) as Answer).error?.data?.code]
    }
    const gone = [404, 'session_not_found']
    const with_ = (client: RawClient, path: string, credential: string): RawClient => {
      const other = new RawClient(hub, path, credential)
      other.headers['mcp-session-id'] = client.sessionId
      return other
    }
    // All at once: none of them joins a resume that is under way for the session's own client.
    const [own, another, narrower, again] = await Promise.all([
      statusOf(kept),
      statusOf(with_(kept, '/mcp', bobsKey)),
      statusOf(with_(kept, '/mcp/g', narrow.secret)),
      statusOf(kept),
    ])
    expect([own, another, narrower, again]).toEqual([[200, undefined], gone, gone, [200, undefined]])
    expect(await statusOf(deleted)).toEqual(gone)
    expect(await statusOf(byAdmin)).toEqual(gone)
    expect(await statusOf(ofGroup)).toEqual(gone)
    expect(await statusOf(revoked)).toEqual([401, expect.any(String)])
    expect(await statusOf(with_(revoked, '/mcp/g', key))).toEqual(gone)
    expect(await statusOf(with_(kept, '/mcp/h', key))).toEqual(gone)
    expect(await statusOf(with_(kept, '/mcp/g', narrow.secret))).toEqual(gone)
    expect(await statusOf(with_(kept, '/mcp/@admin/g', bobsKey))).toEqual([404, 'group_not_found'])
    expect(await statusOf(with_(kept, '/mcp', bobsKey))).toEqual(gone)
    expect(await statusOf(kept)).toEqual([200, undefined])
    await kept.delete()
  }, 120_000)
})

async function inFlight(): Promise<number> {
  const sessions = (await admin.ok('GET', '/api/admin/sessions')).items as { callsInFlight: number }[]
  return sessions.reduce((sum, { callsInFlight }) => sum + callsInFlight, 0)
}

/** The hub's display form of a session's id. */
function keyOf({ sessionId }: RawClient): string {
  return createHash('sha256').update(sessionId).digest().subarray(0, 12).toString('base64url')
}

async function openKeys(): Promise<string[]> {
  const { items } = await admin.ok('GET', '/api/admin/sessions?limit=200')
  return (items as { id: string }[]).map(({ id }) => id)
}

/** Waits until the database has the sessions that are open and not those that ended: a change is written within a tenth of a second. */
async function stored(open: readonly RawClient[], ended: readonly RawClient[]): Promise<void> {
  const database = new Database(`${hub.dataDir}/patchbay.db`, { readonly: true })
  try {
    const row = database.query('SELECT 1 FROM client_session WHERE key = ?')
    const isStored = (client: RawClient): boolean => row.get(keyOf(client)) !== null
    await until(() => open.every(isStored) && !ended.some(isStored), { what: 'the stored sessions' })
  } finally {
    database.close()
  }
}
