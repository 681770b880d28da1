import { afterEach, expect, test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, descendants } from '../support/processes.ts'
import { atWork, callText, online } from '../support/servers.ts'
import { removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

let hub: Hub | undefined

afterEach(async () => {
  if (hub && alive(hub.pid)) await hub.stop()
  if (hub) await removeTemp(hub.folder)
  hub = undefined
}, 120_000)

async function startSlow(): Promise<Hub> {
  hub = await startHub({
    settings: {
      mcpServers: {
        slow: known('slow'),
        stubborn: known('deaf', { IGNORE_TERM: '1' }),
        family: known('grandchild', { SETSID: '0' }),
      },
    },
  })
  await online(await hub.setup(), ['slow', 'family'])
  return hub
}

test('TERM under load: calls in flight end, streams in good order, what is new is refused, exit code 0, and no child is left', async () => {
  const running = await startSlow()
  const admin = await running.setup()
  const client = await admin.mcp('/mcp/slow')
  const children = descendants(running.pid).map(stat => stat.pid)
  expect(children.length).toBeGreaterThanOrEqual(3)
  const closed = new Promise<void>(resolve => {
    client.onclose = resolve
  })
  const authorization = `Bearer ${admin.token}`
  const events = await fetch(`${running.url}/api/stream`, { headers: { authorization } })
  expect(events.status).toBe(200)
  // This reads to the end of the stream, which succeeds only if the last chunk comes.
  const whole = events.text()
  const socket = new WebSocket(`${running.url.replace('http', 'ws')}/api/stream`, {
    headers: { authorization },
  } as unknown as string[])
  await new Promise(resolve => {
    socket.onmessage = resolve
  })
  const code = new Promise<number>(resolve => {
    socket.onclose = event => resolve(event.code)
  })
  const call = callText(client, 'wait', { ms: 5_000 })
  await atWork(admin, client)

  running.signal('SIGTERM')
  await until(async () => (await send(running.url, 'GET', '/health')).json.status === 'draining')
  expect((await send(running.url, 'GET', '/health')).status).toBe(503)
  await newIsRefused(running, admin)

  expect(await call).toBe('waited 5000')
  expect(await whole).toContain(':')
  expect(await code).toBe(1001)
  expect(await running.exited(15_000)).toBe(0)
  expect(children.filter(alive)).toEqual([])
  await client.close()
  await closed
}, 120_000)

/** New sessions, and writes over REST; nothing is started. */
async function newIsRefused(running: Hub, admin: Client): Promise<void> {
  const refused = await send(
    running.url,
    'POST',
    '/mcp/slow',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'late', version: '1' } },
    },
    { authorization: `Bearer ${await admin.mcpKey()}`, accept: 'application/json, text/event-stream' },
  )
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).not.toBeNull()
  for (const [method, path, body] of [
    ['POST', '/api/servers', { name: 'late', url: 'https://mcp.example/mcp' }],
    ['POST', '/api/servers/slow/restart', undefined],
  ] as const) {
    const answer = await admin.request(method, path, body)
    expect([path, answer.status, answer.json.code]).toEqual([path, 503, 'draining'])
  }
}

beyondCore(() => {
  secondSignal('SIGINT')
  secondSignal('SIGTERM')
})

function secondSignal(second: NodeJS.Signals): void {
  test(`${second} after SIGTERM ends the hub at once, and no child is left`, async () => {
    const running = await startSlow()
    const admin = await running.setup()
    const client = await admin.mcp('/mcp/slow')
    const children = descendants(running.pid).map(stat => stat.pid)
    const call = callText(client, 'wait', { ms: 20_000 }).catch(() => 'cut off')
    await atWork(admin, client)
    running.signal('SIGTERM')
    await until(async () => (await send(running.url, 'GET', '/health')).status === 503)
    const start = performance.now()
    running.signal(second)
    await running.exited(10_000)
    expect(performance.now() - start).toBeLessThan(atMost(1_000))
    await until(() => children.every(pid => !alive(pid)), { timeoutMs: 1_000, what: 'all children to be gone' })
    await client.close()
    expect(await call).toBe('cut off')
  }, 120_000)
}
