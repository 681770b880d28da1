/** Two administrators who edit the settings of the hub: the later one is told of the other, and nothing is overwritten. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

const SETTINGS = '/api/admin/settings'
const CONFIG = '/api/monitoring/config'

let hub: Hub
let admin: Client
let other: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  other = await hub.user('second')
  await admin.ok('PATCH', '/api/admin/users/second', { role: 'admin' })
}, 30_000)

afterAll(async () => {
  await hub?.stop()
}, 40_000)

test('a change by what was read before another one is refused, and says whose it was and when', async () => {
  const { headers } = await admin.request('GET', SETTINGS)
  const seen = headers.get('etag') ?? ''
  expect(seen).toMatch(/^"\d+"$/)
  const first = await other.request('PATCH', SETTINGS, { logMaxFiles: 7 }, { 'if-match': seen })
  expect(first.status).toBe(200)
  for (const [method, path, body] of [
    ['PATCH', SETTINGS, { logMaxFiles: 9 }],
    ['PUT', CONFIG, { logRotation: { maxFiles: 9 } }],
  ] as const) {
    const late = await admin.request(method, path, body, { 'if-match': seen })
    expect(late.status).toBe(412)
    expect(late.json).toMatchObject({ code: 'version_conflict', changedBy: 'second', changedAt: expect.any(String) })
  }
  expect((await admin.ok('GET', SETTINGS)).logMaxFiles).toBe(7)
  const now = first.headers.get('etag') ?? ''
  expect(now).not.toBe(seen)
  expect((await admin.request('GET', CONFIG)).headers.get('etag')).toBe(now)
  expect((await admin.request('PATCH', SETTINGS, { logMaxFiles: 9 }, { 'if-match': now })).status).toBe(200)
  expect((await admin.ok('PATCH', SETTINGS, { logMaxFiles: 11 })).logMaxFiles).toBe(11)
})
