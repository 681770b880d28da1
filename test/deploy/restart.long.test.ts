/** The hub behind nginx is stopped and started again while calls come in. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { freePort } from '../support/free-port.ts'
import { type Hub, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { rawRequest } from '../support/raw-http.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { nginxBefore, type RunningProxy } from './proxies.ts'

const CALLERS = 4

let hub: Hub
let proxy: RunningProxy
let env: Record<string, string>
const trusting = process.env.NODE_TLS_REJECT_UNAUTHORIZED

beforeAll(async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  const port = String(await freePort())
  const assistants = { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: 'a key of sixteen characters or more' }
  env = { PORT: port, ADMIN_USERNAME: 'root', ADMIN_PASSWORD: PASSWORD, TRUSTED_PROXIES: '127.0.0.1', ...assistants }
  hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo'), slow: stdioFixture('slow') } }, env })
  proxy = await nginxBefore(hub.url)
}, 120_000)
afterAll(async () => {
  if (trusting === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  else process.env.NODE_TLS_REJECT_UNAUTHORIZED = trusting
  await proxy?.[Symbol.asyncDispose]()
  await hub?.stop()
}, 120_000)

interface Outcome {
  readonly atMs: number
  readonly kind: string
}

test('calls are refused only while the hub is down, each with a time to try again; calls in flight end well', async () => {
  const admin = await hub.signIn('root')
  await online(admin, ['echo', 'slow'])
  const key = await admin.mcpKey()
  const outcomes: Outcome[] = []
  let going = true
  const caller = async (name: string): Promise<void> => {
    const client = await new RawClient(proxy, '/mcp/echo', key).open()
    for (let n = 0; going; n += 1) {
      const text = `${name}-${n}`
      const response = await client.send('tools/call', { name: 'echo', arguments: { text } })
      const body = await response.text()
      const isAnswer = response.status === 200 && body.includes(`"text":"${text}"`)
      const isProxys = [502, 503].includes(response.status) && response.headers.has('retry-after')
      // A hub that drains still answers, since calls that it has taken may continue.
      const isHubs = response.status === 200 && /"retryAfter":\d/.test(body)
      const isRetryable = isProxys || isHubs
      outcomes.push({
        atMs: performance.now(),
        kind: isAnswer ? 'answered' : isRetryable ? 'refused' : `${response.status} ${body.slice(0, 300)}`,
      })
      // This keeps the refusals of a hub that is down from being thousands.
      if (!isAnswer) await Bun.sleep(50)
    }
  }
  const callers = Array.from({ length: CALLERS }, (_, n) => caller(`c${n}`))
  await until(() => outcomes.length > 50, { what: 'calls before the stop' })

  const patient = await new RawClient(proxy, '/mcp/slow', key).open()
  // The head of its answer comes with the first progress, when the call is under way.
  const answer = await patient.send('tools/call', {
    ...{ name: 'wait', arguments: { ms: 3_000 }, _meta: { progressToken: 1 } },
  })
  const stoppedAtMs = performance.now()
  expect(await hub.stop({ keep: true })).toBe(0)
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('waited 3000')])
  await until(() => outcomes.some(({ kind }) => kind === 'refused'), { what: 'a refused call' })
  hub = await startHub({ folder: hub.folder, env })
  const startedAtMs = performance.now()
  await online(await hub.signIn('root'), ['echo'])
  const onlineAtMs = performance.now()
  await until(() => outcomes.filter(({ atMs, kind }) => atMs > onlineAtMs && kind === 'answered').length > 50, {
    timeoutMs: 60_000,
    what: 'calls after the start',
  })
  going = false
  await Promise.all(callers)

  const kinds = new Set(outcomes.map(({ kind }) => kind))
  expect([...kinds].sort()).toEqual(['answered', 'refused'])
  const refused = outcomes.filter(({ kind }) => kind === 'refused').map(({ atMs }) => atMs)
  expect(refused.filter(atMs => atMs < stoppedAtMs || atMs > startedAtMs + atMost(5_000))).toEqual([])
}, 300_000)

test('an assistant that dials all the while is never told that its token is a wrong one', async () => {
  const admin = await hub.signIn('root')
  const body = { name: 'box', direction: 'inbound', group: 'echo' }
  const { token } = await admin.ok('POST', '/api/assistant/endpoints', body)
  const statuses = new Map<number, number>()
  let going = true
  const dialler = async (): Promise<void> => {
    while (going) {
      // The request rejects while nothing listens.
      const answer = await rawRequest(hub.url, dial(token), { quietMs: 1 }).catch(() => ({ status: 0 }))
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      await Bun.sleep(2)
    }
  }
  const diallers = [dialler(), dialler()]
  const accepted = () => statuses.get(101) ?? 0
  await until(() => accepted() > 0, { what: 'a connection before the stop' })
  expect(await hub.stop({ keep: true })).toBe(0)
  await until(() => statuses.has(0), { what: 'a refused connection' })
  const before = accepted()
  hub = await startHub({ folder: hub.folder, env })
  await until(() => accepted() > before + 5, { timeoutMs: 60_000, what: 'connections after the start' })
  going = false
  await Promise.all(diallers)
  // A hub that stops answers 503.
  expect([...statuses.keys()].filter(status => ![0, 101, 503].includes(status))).toEqual([])
}, 300_000)

const dial = (token: string) =>
  `GET /api/assistant/ws?token=${token} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
