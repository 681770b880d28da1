import { afterAll, beforeAll, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { callText, statusOf, toolNames } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const GOOD = Array.from({ length: extent(3, 16) }, (_, index) => `good-${index + 1}`)

let hub: Hub
let admin: Client
let startedAt = 0

beforeAll(async () => {
  startedAt = performance.now()
  hub = await startHub({
    settings: {
      mcpServers: {
        deaf: known('deaf'),
        leaving: known('crashing'),
        flooding: known('flooding', { MODE: 'notices' }),
        malformed: { command: 42, args: 'none' },
        ...Object.fromEntries(GOOD.map(name => [name, known('echo', { WHO: name })])),
      },
    },
  })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

async function health(): Promise<{ total: number; online: number; connecting: number; offline: number }> {
  return (await (await fetch(`${hub.url}/health`)).json()).servers
}

test(`${GOOD.length} servers are online within 5 s beside one malformed, one deaf, one leaving and one flooding`, async () => {
  admin = await hub.setup()
  // Servers are compared by name: the one that leaves is online now and then, and would hide another in a number.
  const late = async (): Promise<string[]> => {
    const { items } = await admin.ok('GET', '/api/servers')
    const states = new Map<string, string>(
      items.map((item: { name: string; status: { state: string } }) => [item.name, item.status.state]),
    )
    return GOOD.filter(name => states.get(name) !== 'online')
  }
  await until(async () => (await late()).length === 0, { timeoutMs: 5_000, intervalMs: 50 })
  expect(performance.now() - startedAt).toBeLessThan(atMost(5_000))
}, 120_000)

test('tools/list waits at most 2 s for a member that was never seen, and answers within 200 ms from then on', async () => {
  const client = await admin.mcp('/mcp')
  const first = await timed(() => toolNames(client))
  expect(first.ms).toBeLessThan(atMost(2_200))
  const { since } = await statusOf(admin, 'deaf')
  await until(() => Date.now() - Date.parse(since) > 2_000, { what: 'the hanging server to be 2 s old' })
  const session = await admin.mcp('/mcp')
  const { value: names, ms } = await timed(() => toolNames(session))
  expect(ms).toBeLessThan(atMost(200))
  for (const name of GOOD) expect(names).toContain(`${name}_echo`)
}, 120_000)

test('/health counts each of them once and right', async () => {
  const counted = await until(async () => {
    const before = await health()
    const { items } = await admin.ok('GET', '/api/servers')
    const after = await health()
    // The one that exits changes between connecting and offline; a reading counts only if nothing changed meanwhile.
    if (JSON.stringify(before) !== JSON.stringify(after)) return undefined
    const count = (state: string): number =>
      items.filter((item: { status: { state: string } }) => item.status.state === state).length
    expect(items).toHaveLength(GOOD.length + 4)
    expect(after).toMatchObject({
      total: GOOD.length + 4,
      online: count('online'),
      connecting: count('connecting'),
      offline: count('offline'),
    })
    // The one that floods is started again now and then.
    return after.online === GOOD.length + 1 ? after : undefined
  })
  // Online are the good ones and the one that floods; offline the malformed one; connecting the deaf one.
  expect(counted.online).toBe(GOOD.length + 1)
  expect(counted.offline).toBeGreaterThanOrEqual(1)
  expect(counted.connecting).toBeGreaterThanOrEqual(1)
})

test('GET /api/servers gives each bad one its state and reason', async () => {
  expect((await statusOf(admin, 'deaf')).state).toBe('connecting')
  const malformed = await statusOf(admin, 'malformed')
  expect(malformed.state).toBe('offline')
  expect(malformed.reason?.code).toBe('config_invalid')
  expect(malformed.reason?.message).toContain('command')
  const leaving = await until(
    async () => {
      const status = await statusOf(admin, 'leaving')
      return status.state !== 'online' && status.reason ? status : undefined
    },
    { what: 'a reason of the server that exits at once' },
  )
  expect(['connection_lost', 'crash_loop', 'spawn_failed']).toContain(leaving.reason?.code ?? '')
  expect(leaving.reason?.message).not.toBe('')
})

test('the neighbours of a flooding server answer within 250 ms, fifty times in a row', async () => {
  const client = await admin.mcp('/mcp/good-1')
  const durations: number[] = []
  for (let call = 0; call < 50; call += 1) {
    durations.push((await timed(() => callText(client, 'echo', { text: String(call) }))).ms)
  }
  expect(Math.max(...durations)).toBeLessThan(atMost(250))
}, 120_000)

test('no call and no state of the bad ones has left an error that nobody handled', () => {
  expect(hub.unhandled()).toEqual([])
})
