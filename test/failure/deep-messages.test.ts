import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'

const PLACES = [
  'alone',
  'batch',
  'notification',
  'progress',
  'unknown',
  'request',
  'request-id',
  'result',
  'odd-result',
  'structured',
  'links',
  'error',
]

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({
    env: { WORKERS: '1' },
    settings: {
      mcpServers: {
        deep: { ...stdioFixture('deep'), timeout: 3_000 },
        slow: stdioFixture('slow'),
        varied: stdioFixture('varied'),
      },
      groups: [{ name: 'all', members: ['deep', 'slow', 'varied'] }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['deep', 'slow', 'varied'])
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

for (const where of PLACES) {
  test(`messages nested 200,000 levels (${where}) cost their sender alone: a neighbour's call in flight is answered`, async () => {
    const { pid } = await statusOf(admin, 'slow')
    const neighbour = await admin.mcp('/mcp/slow')
    for (const path of ['/mcp/deep', '/mcp/all']) {
      const client = await admin.mcp(path)
      for (const kind of ['objects', 'arrays']) {
        const waiting = callText(neighbour, 'wait', { ms: 150 })
        await client
          .callTool({ name: 'deep', arguments: { where, kind, depth: 200_000 } }, undefined, {
            timeout: 10_000,
            onprogress: () => {},
          })
          .catch((error: unknown) => error)
        expect(await waiting).toBe('waited 150')
        await online(admin, ['deep'])
      }
    }
    expect((await statusOf(admin, 'slow')).pid).toBe(pid as number)
    expect((await admin.request('GET', '/health')).status).toBe(200)
    expect(hub.unhandled()).toEqual([])
  }, 120_000)
}
