/** Streams of every kind say why they end when the credential does that they were opened with. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { HEADERS, RawClient, SseReader } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { slow: stdioFixture('slow') } } })
  admin = await hub.setup()
  await online(admin, ['slow'])
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

/** Longer than opening one stream of each kind takes. */
const OPENED_MS = Math.max(10_000, atLeast(5_000))

/** Everything that comes until the stream ends. */
async function lastEvent(response: Response): Promise<string> {
  const text = await response.text()
  return text.trim().split('\n\n').at(-1) ?? ''
}

test.each([
  ['token_expired', 'expires'],
  ['token_revoked', 'is removed'],
] as const)('%s is the last that a stream says whose key %s', async (code, _what) => {
  const expiresAt = code === 'token_expired' ? new Date(Date.now() + OPENED_MS).toISOString() : undefined
  const { id, secret } = await admin.ok('POST', '/api/keys', { label: 'short', scopes: ['api', 'mcp'], expiresAt })
  const headers = { ...HEADERS, authorization: `Bearer ${secret}` }
  const person = new Client(hub.url, 'admin', secret)

  const live = await fetch(`${hub.url}/api/stream`, { headers })
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, { headers } as never)
  const closed = new Promise<string>(resolve => socket.addEventListener('close', ({ reason }) => resolve(reason)))
  const client = await new RawClient(hub, '/mcp/slow', secret).open()
  const get = await client.get()
  const pair = await fetch(`${hub.url}/sse/slow`, { headers: { ...headers, accept: 'text/event-stream' } })
  const listen = await new RawModern(hub, '/mcp/slow', secret).send('subscriptions/listen', { notifications: {} })
  const call = client.send('tools/call', { name: 'wait', arguments: { ms: 60_000 } })
  const rest = person.request('POST', '/api/servers/slow/tools/wait/call', { arguments: { ms: 60_000 } })
  const reader = new SseReader(live)
  await reader.next()
  if (code === 'token_revoked') await admin.ok('DELETE', `/api/keys/${id}`)

  const end = `event: stream.end\ndata: {"code":"${code}"}`
  const lastLive = async () => {
    let last: string | undefined
    for (let event = await reader.event(); event; event = await reader.event()) last = event.data
    return last
  }
  expect({
    live: await lastLive(),
    socket: await closed,
    get: await lastEvent(get),
    pair: await lastEvent(pair),
    listen: await lastEvent(listen),
    call: (await (await call).text()).includes(`"code":"${code}"`),
    rest: (await rest).json.code,
  }).toEqual({
    live: `{"code":"${code}"}`,
    socket: `{"code":"${code}"}`,
    get: end,
    pair: end,
    listen: end,
    call: true,
    rest: code,
  })
})
