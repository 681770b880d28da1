/** Wrong credentials are counted per address before anything is looked up; the right ones of others there go on working. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { LIMITS } from '../../core/config/limits.ts'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'

setDefaultTimeout(120_000)

/** An address that no test has used before: the hub believes its proxy, which is the test. */
let addresses = 0
const newAddress = () => {
  addresses += 1
  return { 'x-forwarded-for': `198.51.100.${addresses}` }
}
const AT_ONCE = LIMITS.failedCredentialBurstPerAddress

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ env: { TRUSTED_PROXIES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

const randomKey = () => `pb_${randomBytes(32).toString('base64url')}`
/** A token with everything but the right signature. */
const forged = () => {
  const [head, body] = admin.token.split('.')
  return `${head}.${body}.${randomBytes(32).toString('base64url')}`
}
const bearer = (token: string, more = {}) => ({ authorization: `Bearer ${token}`, ...more })
const told = ({ status, json }: Answer) => `${status} ${json.code ?? json.error?.data?.code ?? ''}`.trim()

/** Sends wrong credentials until the address has none left; twice as many as may be wrong at once. */
async function useUp(token: () => string, path: string, from: Record<string, string>): Promise<Answer[]> {
  const one = () => send(hub.url, 'GET', path, undefined, bearer(token(), from))
  return Promise.all(Array.from({ length: 2 * AT_ONCE }, one))
}

test.each([
  ['random keys', '/api/servers', randomKey, 'token_revoked'],
  ['random keys', '/mcp/x', randomKey, 'token_revoked'],
  ['random keys', '/sse/x', randomKey, 'token_revoked'],
  ['forged session tokens', '/api/servers', forged, 'token_invalid'],
  ['forged session tokens', '/mcp/x', forged, 'token_invalid'],
] as const)('%s at %s: past the budget the answer is 429 with Retry-After', async (_what, path, token, code) => {
  const from = newAddress()
  const startedMs = performance.now()
  const all = await useUp(token, path, from)
  const filled = (LIMITS.failedCredentialsPerSecondPerAddress * (performance.now() - startedMs)) / 1_000
  const answers = all.map(told)
  const refused = answers.filter(answer => answer === `401 ${code}`).length
  expect(answers.filter(answer => answer === '429 rate_limited').length).toBe(answers.length - refused)
  expect(refused).toBeGreaterThanOrEqual(AT_ONCE)
  expect(refused).toBeLessThanOrEqual(AT_ONCE + filled)
  const isLate = ({ status }: Answer): boolean => status === 429
  // Again where the machine is so slow that the budget comes back meanwhile.
  const late = all.find(isLate) ?? (await until(async () => (await useUp(token, path, from)).find(isLate)))
  expect(late.headers.get('retry-after')).toBe('1')
  // Another address has a budget of its own.
  expect(told(await send(hub.url, 'GET', path, undefined, bearer(token(), newAddress())))).toBe(`401 ${code}`)
})

test('who was accepted before, or signs in now, goes on working behind the same address', async () => {
  const from = newAddress()
  const key = await admin.mcpKey()
  const headers = bearer(key, { accept: 'application/json, text/event-stream', ...from })
  const mcp = () => send(hub.url, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)
  const before = told(await mcp())
  await useUp(randomKey, '/api/servers', from)
  expect(told(await admin.request('GET', '/api/servers', undefined, from))).toBe('200')
  expect(told(await mcp())).toBe(before)
  const again = await hub.signIn('admin')
  expect(told(await again.request('GET', '/api/servers', undefined, from))).toBe('200')
  expect((await send(hub.url, 'GET', '/health', undefined, bearer(randomKey(), from))).status).toBe(200)
})

test('the budget of an address comes back with time', async () => {
  const from = newAddress()
  await useUp(randomKey, '/api/servers', from)
  const checked = async () => told(await send(hub.url, 'GET', '/api/servers', undefined, bearer(randomKey(), from)))
  await until(async () => (await checked()) === '401 token_revoked', { what: 'a wrong key to be checked again' })
})

test('first messages of live streams count as well', async () => {
  const headers = newAddress()
  await useUp(randomKey, '/api/servers', headers)
  const code = async (): Promise<string> => {
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, { headers } as never)
    const closed = new Promise<CloseEvent>(resolve => socket.addEventListener('close', resolve, { once: true }))
    socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', token: randomKey() }))
    return JSON.parse((await closed).reason).code
  }
  // The budget fills meanwhile, but not as quickly as sockets open.
  await until(async () => (await Promise.all(Array.from({ length: 20 }, code))).includes('rate_limited'))
})
