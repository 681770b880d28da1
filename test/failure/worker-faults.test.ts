import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { atWork, callText, failureOf, online, statusOf } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

/** A thread counts as dead after 15 s of silence; the hub checks every 5 s. */
const SILENCE_MS = 15_000
/** Time to notice the silence and end the worker. */
const LATER_MS = 6_000

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  const crash = { transport: 'crashing' }
  hub = await startHub({
    countTimers: true,
    env: { WORKERS: '1' },
    settings: {
      plugins: [{ use: join(import.meta.dir, 'fixtures/crash-plugin.ts'), isolate: false }],
      mcpServers: {
        crash,
        alone: { ...crash, isolate: true },
        echo: known('echo'),
        slow: known('slow'),
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['crash', 'alone', 'echo', 'slow'])
  await callText(await admin.mcp('/mcp/echo'), 'whoami')
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterAll(async () => {
  await hub?.stop({ unhandled: 1 })
}, 120_000)

afterEach(() => unharmed(), 120_000)

for (const how of extent(['throw'], ['throw', 'exit'])) {
  test(`a worker that ends (${how}): its calls fail with connection_lost, its servers are back within 1 s`, async () => {
    const [bad, slow, echo] = [
      await admin.mcp('/mcp/crash'),
      await admin.mcp('/mcp/slow'),
      await admin.mcp('/mcp/echo'),
    ]
    const waiting = failureOf(callText(slow, 'wait', { ms: 15_000 }))
    await atWork(admin, slow)
    expect((await failureOf(callText(bad, 'crash', { how }))).data?.code).toBe('connection_lost')
    const { value: waited, ms } = await timed(() => waiting)
    expect(waited.data?.code).toBe('connection_lost')
    expect(ms).toBeLessThan(atMost(200))
    const again = await timed(() => callText(echo, 'echo', { text: 'back' }))
    expect(again.value).toBe('back')
    expect(again.ms).toBeLessThan(atMost(1_000))
    await online(admin, ['crash', 'alone', 'echo', 'slow'])
  }, 120_000)
}

test('a rejection that nobody handles in a worker ends no connection, and is logged', async () => {
  const [bad, echo] = [await admin.mcp('/mcp/crash'), await admin.mcp('/mcp/echo')]
  const { pid } = await statusOf(admin, 'echo')
  await bad.callTool({ name: 'crash', arguments: { how: 'reject' } })
  await until(() => hub.unhandled().length === 1, { what: 'a line in the log' })
  await bad.callTool({ name: 'crash', arguments: { how: 'nothing' } })
  expect(await callText(echo, 'echo', { text: 'unharmed' })).toBe('unharmed')
  expect((await statusOf(admin, 'echo')).pid).toBe(pid)
})

beyondCore(() => {
  test('a worker that spins is ended after 15 s of silence; nobody else notices', async () => {
    const client = await admin.mcp('/mcp/alone')
    const echo = await admin.mcp('/mcp/echo')
    const spinning = client.callTool({ name: 'crash', arguments: { how: 'spin' } }, undefined, { timeout: 60_000 })
    let over = false
    const ended = timed(() => failureOf(spinning)).finally(() => {
      over = true
    })
    const waits: number[] = []
    while (!over) {
      waits.push((await timed(() => callText(echo, 'echo', { text: 'x' }))).ms)
      // This is often enough for hundreds of them.
      await Bun.sleep(50)
    }
    const { value: failure, ms } = await ended
    expect(failure.data?.code).toBe('connection_lost')
    expect(ms).toBeLessThan(SILENCE_MS + atMost(LATER_MS))
    // There are hundreds of waits, and the machine may delay one or two.
    expect(waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.95)]).toBeLessThan(atMost(250))
    await online(admin, ['alone'])
  }, 120_000)
})
