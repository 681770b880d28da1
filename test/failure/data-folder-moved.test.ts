import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const hub = await startHub()
const admin = await hub.setup()
afterAll(async () => {
  await hub.stop()
}, 120_000)

describe('a data folder that goes while the hub runs', () => {
  for (const [what, replace] of [
    ['moved away', () => undefined],
    ['replaced by an empty one', () => void mkdirSync(hub.dataDir)],
  ] as const) {
    test(`${what}: /health says that the store is lost, writes are refused, nothing is made anew`, async () => {
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

test('a log file that is moved away: after SIGHUP, and without it, lines go to a new one', async () => {
  const folder = await makeTemp('log-moved')
  const file = join(folder, 'hub.log')
  const other = await startHub({ env: { LOG_FILE: file, ENABLE_REQUEST_LOGS: 'true' } })
  const boss = await other.setup()
  const goesOn = async (signal: boolean, away: string): Promise<void> => {
    // Lines wait a moment for each other before they are written.
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', { what: 'lines in the file' })
    renameSync(file, `${file}.${away}`)
    if (signal) process.kill(other.pid, 'SIGHUP')
    await until(
      async () => {
        await boss.ok('GET', '/api/servers')
        return existsSync(file) && readFileSync(file, 'utf8').includes('/api/servers')
      },
      { what: `lines in the new file (${away})` },
    )
    expect(readFileSync(`${file}.${away}`, 'utf8')).not.toBe('')
  }
  try {
    await goesOn(true, '1')
    await goesOn(false, '2')
    process.kill(other.pid, 'SIGHUP')
    expect((await boss.request('GET', '/health')).status).toBe(200)
  } finally {
    await other.stop()
    await removeTemp(folder)
  }
}, 120_000)

test('a hub that is stopping refuses writes over REST and starts nothing', async () => {
  const other = await startHub({ settings: { mcpServers: { slow: stdioFixture('slow') } } })
  const boss = await other.setup()
  await online(boss, ['slow'])
  const client = await boss.mcp('/mcp/slow')
  const under = client.callTool({ name: 'wait', arguments: { ms: 2_500 } }).catch(() => undefined)
  await until(async () => (await boss.ok('GET', '/api/servers/slow')).status !== undefined)
  process.kill(other.pid, 'SIGTERM')
  await until(async () => (await boss.request('GET', '/health')).json.status === 'draining', { what: 'the drain' })
  for (const [method, path, body] of [
    ['POST', '/api/servers', { name: 'late', url: 'https://mcp.example/mcp' }],
    ['POST', '/api/servers/slow/restart', undefined],
  ] as const) {
    const answer = await boss.request(method, path, body)
    expect([path, answer.status, answer.json.code]).toEqual([path, 503, 'draining'])
  }
  await under
  await boss.close()
  await other.stop()
}, 120_000)
