/** Traffic of proxies and probes that browsers do not cause: at the hub itself, and through nginx. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Client, type Hub, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { nginxBefore, type RunningProxy } from './proxies.ts'

let hub: Hub
let proxy: RunningProxy
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    settings: { mcpServers: { slow: stdioFixture('slow') } },
    env: {
      ...{ ADMIN_USERNAME: 'root', ADMIN_PASSWORD: PASSWORD, TRUSTED_PROXIES: '127.0.0.1' },
      ...{ PUBLIC_URL: 'https://hub.example.com', ALLOWED_HOSTS: '127.0.0.1,hub.example.com' },
    },
  })
  admin = await hub.signIn('root')
  await online(admin, ['slow'])
  proxy = await nginxBefore(hub.url)
}, 120_000)
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]()
  await hub?.stop()
}, 120_000)

interface Exchange {
  /** The statuses of the answers, in order. */
  readonly statuses: readonly string[]
  readonly text: string
  /** True when the other side closed the connection. */
  readonly closed: boolean
}

/** Writes these bytes and reads until `answers` have come and, if `closes`, until the connection is closed. */
function exchange(url: string, text: string, options: { answers: number; closes?: boolean; half?: boolean }) {
  const { hostname, port, protocol } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>()
  let seen = ''
  const statuses = () => [...seen.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status)
  const started = (socket: Socket): void => {
    socket.on('data', chunk => {
      seen += chunk.toString('latin1')
      const whole = [...seen.matchAll(/\r\n\r\n\{[^\r]*\}/g)].length
      if (whole >= options.answers && !options.closes) {
        resolve({ statuses: statuses(), text: seen, closed: false })
        socket.destroy()
      }
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ statuses: statuses(), text: seen, closed: true }))
    if (options.half) socket.end(text)
    else socket.write(text)
  }
  const plain = connect({ host: hostname, port: Number(port) }, () => {
    if (protocol === 'http:') return started(plain)
    const secured = connectTls({ socket: plain, rejectUnauthorized: false }, () => started(secured))
  })
  plain.on('error', reject)
  return promise
}

const get = (version = '1.1', head: readonly string[] = ['Host: 127.0.0.1']) =>
  [`GET /health HTTP/${version}`, ...head, '', ''].join('\r\n')
const HOST = 'Host: 127.0.0.1'

test('pipelined requests are answered in their order, and the connection stays', async () => {
  for (const url of [hub.url, proxy.url]) {
    const missing = get().replace('/health', '/api/none')
    const { statuses, closed } = await exchange(url, get() + missing + get(), { answers: 3 })
    expect([url, statuses, closed]).toEqual([url, ['200', '401', '200'], false])
  }
}, 120_000)

test('Connection: close closes after the answer, also as the last of a pipeline', async () => {
  for (const url of [hub.url, proxy.url]) {
    const last = get('1.1', [HOST, 'Connection: close'])
    expect((await exchange(url, last, { answers: 1, closes: true })).statuses).toEqual(['200'])
    expect((await exchange(url, get() + last, { answers: 2, closes: true })).statuses).toEqual(['200', '200'])
  }
}, 120_000)

test('health probes by HTTP/1.0: with a Host everywhere, without one through nginx', async () => {
  for (const url of [hub.url, proxy.url])
    expect((await exchange(url, get('1.0', [HOST]), { answers: 1, closes: true })).statuses).toEqual(['200'])
  // A name that is not listed is refused, and a missing name counts as not listed; nginx sends its own instead.
  expect((await exchange(hub.url, get('1.0', []), { answers: 1, closes: true })).statuses).toEqual(['403'])
  expect((await exchange(proxy.url, get('1.0', []), { answers: 1, closes: true })).statuses).toEqual(['200'])
}, 120_000)

test('a client that closes its half gets what is answered at once; a call under way is given up', async () => {
  const quick = await exchange(hub.url, get(), { answers: 1, closes: true, half: true })
  expect(quick.statuses).toEqual(['200'])
  // As docs/deployment.md says: Bun takes the closed half for a client that has gone.
  const body = '{"arguments":{"ms":60000}}'
  const call = [
    'POST /api/servers/slow/tools/wait/call HTTP/1.1',
    ...[HOST, `Authorization: Bearer ${admin.token}`, 'Content-Type: application/json'],
    ...[`Content-Length: ${body.length}`, '', body],
  ].join('\r\n')
  expect((await exchange(hub.url, call, { answers: 1, closes: true, half: true })).statuses).toEqual([])
  await until(async () => {
    const { items } = await admin.ok('GET', '/api/admin/sessions')
    return items.every((one: { callsInFlight: number }) => one.callsInFlight === 0)
  })
}, 120_000)
