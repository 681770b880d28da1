/** A server with an endless stream that is never kept costs the others of its thread little. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, LOOPBACK, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'

const SERVERS = 4
const CALLS = 60
/** Without pauses of the stream's reader, 80 was seen on an idle machine; with them, 1 to 2. */
const MOST_TIMES = 16

let hub: Hub
let admin: Client
let endless: Program

beforeAll(async () => {
  endless = await startProgram(join(ROOT, 'test/support/mcp-servers/endless-sse.ts'))
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { good: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['good'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await endless?.stop()
}, 120_000)

test('calls of a good server beside streams of comments without end take about as long as before', async () => {
  const client = await new RawClient(hub, '/mcp/good', await admin.mcpKey()).open()
  const calls = async (): Promise<number> => {
    const startedMs = performance.now()
    for (let call = 0; call < CALLS; call += 1) {
      const { result } = await client.call('tools/call', { name: 'echo', arguments: { text: 'x' } })
      expect(result.content).toEqual([{ type: 'text', text: 'x' }])
    }
    return performance.now() - startedMs
  }
  await calls()
  const calmMs = await calls()
  const mallory = await hub.user('mallory')
  // More than there are threads, so that the good server shares its own with one of them.
  for (let n = 0; n < SERVERS; n += 1)
    await mallory.ok('POST', '/api/servers', { name: `endless-${n}`, type: 'sse', url: endless.url })
  const besideMs = await calls()
  console.log(`${CALLS} calls in ms, calm: ${calmMs.toFixed(0)}; beside endless streams: ${besideMs.toFixed(0)}`)
  expect(besideMs).toBeLessThan(MOST_TIMES * calmMs)
}, 120_000)
