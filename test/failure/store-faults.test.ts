import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { callText, online } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>
let other: Database | undefined

beforeAll(async () => {
  hub = await startHub({ countTimers: true, settings: { mcpServers: { echo: known('echo') } } })
  admin = await hub.setup()
  await online(admin, ['echo'])
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterEach(async () => {
  other?.close()
  other = undefined
  await unharmed()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Another process holds the write lock of the store. */
function lock(): Database {
  // The hub itself may hold the lock for a moment.
  other = new Database(join(hub.dataDir, 'patchbay.db'), { timeout: 5_000 })
  other.exec('begin immediate')
  return other
}

test('a store that another process has locked: storage_busy within 300 ms, and requests that do not write continue', async () => {
  const client = await admin.mcp('/mcp/echo')
  lock()
  const writes = Array.from({ length: 5 }, (_, n) =>
    timed(() => admin.request('POST', '/api/servers', { name: `new-${n}`, url: 'http://127.0.0.1:9/mcp' })),
  )
  const durations: number[] = []
  const reading = (async () => {
    for (let call = 0; call < 60; call += 1) {
      durations.push((await timed(() => callText(client, 'echo', { text: 'x' }))).ms)
      await Bun.sleep(2)
    }
  })()
  for (const { value: answer, ms } of await Promise.all(writes)) {
    expect(answer.status).toBe(503)
    expect(answer.json.code).toBe('storage_busy')
    expect(answer.headers.get('retry-after')).not.toBeNull()
    // The limit is 300 ms, and more on a busy machine.
    expect(ms).toBeLessThan(atMost(500))
  }
  await reading
  // SQLite's own busy wait would be 250 ms for each write.
  expect(Math.max(...durations)).toBeLessThan(atMost(200))
  expect((await admin.ok('GET', '/api/servers')).items).toHaveLength(1)
  expect((await admin.request('GET', '/health')).status).toBe(200)
  await client.close()
}, 120_000)

test('a short lock is waited for, and the write succeeds', async () => {
  await admin.ok('POST', '/api/servers', { name: 'before', url: 'http://127.0.0.1:9/mcp' })
  await admin.ok('DELETE', '/api/servers/before')
  const client = await admin.mcp('/mcp/echo')
  const held = lock()
  let settled = false
  const writing = admin
    .request('POST', '/api/servers', { name: 'later', url: 'http://127.0.0.1:9/mcp' })
    .finally(() => {
      settled = true
    })
  // Calls that came after the write are answered, so the write has reached the lock.
  for (let call = 0; call < 2; call += 1) await callText(client, 'echo', { text: 'x' })
  expect(settled).toBe(false)
  held.exec('rollback')
  expect((await writing).status).toBe(201)
  await admin.ok('DELETE', '/api/servers/later')
})

describe('a data folder that goes while the hub runs', () => {
  for (const [what, replace] of [
    ['moved away', () => undefined],
    ['replaced by an empty one', () => void mkdirSync(hub.dataDir)],
  ] as const) {
    test(`${what}: /health says that the store is lost, writes are refused, no new store is made`, async () => {
      const away = `${hub.dataDir}-away`
      renameSync(hub.dataDir, away)
      replace()
      const health = await admin.request('GET', '/health')
      expect([health.status, health.json.checks.store]).toEqual([503, 'lost'])
      for (const [method, path, body] of [
        ['POST', '/api/servers', { name: 'x', url: 'https://mcp.example/mcp', enabled: false }],
        ['POST', '/api/keys', { name: 'k' }],
      ] as const) {
        const answer = await admin.request(method, path, body)
        expect([path, answer.status, answer.json.code]).toEqual([path, 503, 'storage_unavailable'])
      }
      expect((await admin.request('GET', '/api/servers')).status).toBe(200)
      expect(existsSync(hub.dataDir) ? readdirSync(hub.dataDir) : []).toEqual([])
      rmSync(hub.dataDir, { recursive: true, force: true })
      renameSync(away, hub.dataDir)
      await until(async () => (await admin.request('GET', '/health')).status === 200, { what: 'the store to be back' })
      const name = what.replaceAll(' ', '-')
      await admin.ok('POST', '/api/servers', { name, url: 'https://mcp.example/mcp', enabled: false })
    }, 120_000)
  }
})

test('sign-in, sign-out, keys and new sessions work on a locked store as far as they need no write', async () => {
  const key = await admin.mcpKey()
  lock()
  expect(await callText(await admin.mcp('/mcp/echo', { credential: key }), 'echo', { text: 'y' })).toBe('y')
  expect((await hub.signIn('admin')).token).toBeString()
  const out = await admin.request('POST', '/api/auth/logout')
  expect([204, 503]).toContain(out.status)
})
