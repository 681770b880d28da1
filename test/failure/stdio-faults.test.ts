import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, descendants, processStat, runningWith } from '../support/processes.ts'
import { callText, failureOf, online, statusOf, toolNames } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

type Mode = 'notices' | 'stderr' | 'garbage' | 'huge' | 'partial' | 'answers'
type Catalogue = 'many' | 'endless' | 'fat' | 'malformed' | 'same'
const MODES = extent<readonly Mode[]>(
  ['notices', 'huge', 'partial'],
  ['notices', 'stderr', 'garbage', 'huge', 'partial', 'answers'],
)
const CATALOGUES = extent<readonly Catalogue[]>(
  ['many', 'malformed', 'same'],
  ['many', 'endless', 'fat', 'malformed', 'same'],
)

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  const flooders = Object.fromEntries(MODES.map(mode => [mode, { ...known('flooding'), timeout: 1_500 }]))
  const listing = Object.fromEntries(CATALOGUES.map(kind => [kind, known('unruly', { CATALOG: kind })]))
  hub = await startHub({
    countTimers: true,
    settings: {
      mcpServers: {
        ...flooders,
        ...listing,
        good: known('echo'),
        leaving: known('crashing', { CODE: '9' }),
        ...extent({}, { family: known('grandchild', { SETSID: '0' }) }),
        daemon: known('grandchild'),
        missing: { command: 'no-such-program-anywhere' },
        mixed: known('flooding'),
        lost: { ...known('echo'), cwd: '/nonexistent/folder' },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, [...MODES, ...CATALOGUES, 'good', 'daemon', ...extent([], ['family'])])
  unharmed = await watchFor(hub, admin, { bystander: 'good', grownBytes: 150 * 1024 * 1024 })
}, 120_000)

afterEach(() => unharmed(), 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

describe('a child that breaks the protocol costs itself alone', () => {
  for (const mode of MODES) {
    test(`mode ${mode}: the hub lives, the neighbour answers, and memory grows by less than 150 MB`, async () => {
      const before = processStat(hub.pid)?.residentBytes ?? 0
      const bad = await admin.mcp(`/mcp/${mode}`)
      const good = await admin.mcp('/mcp/good')
      const flood = callText(bad, 'flood', { mode }).catch((error: unknown) => error)
      for (let call = 0; call < 20; call += 1) {
        expect(await callText(good, 'echo', { text: `${call}` })).toBe(`${call}`)
      }
      await flood
      await admin.ok('POST', `/api/servers/${mode}/stop`)
      await until(async () => (await statusOf(admin, mode)).state === 'offline', { timeoutMs: 60_000 })
      expect((processStat(hub.pid)?.residentBytes ?? 0) - before).toBeLessThan(150 * 1024 * 1024)
      expect(hub.unhandled()).toEqual([])
    }, 120_000)
  }
})

test('half a line and then silence: calls end with upstream_timeout at their limit', async () => {
  await admin.ok('POST', '/api/servers/partial/start?wait=30s')
  await online(admin, ['partial'])
  const client = await admin.mcp('/mcp/partial')
  for (const call of [() => callText(client, 'flood', { mode: 'partial' }), () => callText(client, 'quick')]) {
    const { value: failure, ms } = await timed(() => failureOf(call()))
    expect(failure.code).toBe(-32603)
    expect(failure.data?.code).toBe('upstream_timeout')
    expect(ms).toBeGreaterThan(1_400)
    expect(ms).toBeLessThan(atMost(3_000))
  }
}, 120_000)

test('a program that exits at every start ends as crash_loop, with its last words', async () => {
  const status = await until(
    async () => {
      const now = await statusOf(admin, 'leaving')
      return now.reason?.code === 'crash_loop' ? now : undefined
    },
    { timeoutMs: 60_000, intervalMs: 250, what: 'crash_loop' },
  )
  expect(status.state).toBe('offline')
  expect(status.reason?.message).toContain('as it was told')
}, 120_000)

test('malformed lines between valid messages give one WARN a second at most, which count all of them', async () => {
  await online(admin, ['mixed'])
  const client = await admin.mcp('/mcp/mixed')
  const began = performance.now()
  await callText(client, 'flood', { mode: 'mixed' })
  // On a busy machine the server has other warnings too, such as of a late answer, which have no count.
  const search = async (): Promise<{ message: string; fields: { count: number } }[]> => {
    const { items } = await admin.ok('GET', '/api/logs/search?server=mixed&level=warn&limit=1000')
    return items.filter(({ fields }: { fields?: { count?: number } }) => fields?.count !== undefined)
  }
  const counted = async () => (await search()).reduce((sum, { fields }) => sum + fields.count, 0)
  await until(async () => (await counted()) === 2_000, { timeoutMs: 20_000, what: 'all malformed lines are counted' })
  const items = await search()
  expect(items.length).toBeGreaterThan(1)
  // The first one comes at once. Their times are those of the main thread, which takes several together when it is busy.
  expect(items.length).toBeLessThanOrEqual(2 + (performance.now() - began) / 1_000)
  for (const { message } of items) expect(message).toContain('a line that is not JSON')
}, 60_000)

test('a missing program and a missing folder have different reasons', async () => {
  const reasonOf = (name: string) => until(async () => (await statusOf(admin, name)).reason?.code)
  expect(await reasonOf('missing')).toBe('command_not_found')
  expect(await reasonOf('lost')).toBe('cwd_not_found')
})

beyondCore(() => {
  test('stopping a server ends its children too, and leaves no zombie', async () => {
    const client = await admin.mcp('/mcp/family')
    const { child, grandchild } = JSON.parse(await callText(client, 'pids'))
    expect([alive(child), alive(grandchild)]).toEqual([true, true])
    await admin.ok('POST', '/api/servers/family/stop')
    await until(() => !alive(child) && !alive(grandchild), {
      timeoutMs: 5_000,
      what: 'child and grandchild to be gone',
    })
    await until(() => descendants(hub.pid).every(stat => stat.state !== 'Z'), { timeoutMs: 2_000, what: 'no zombie' })
  }, 120_000)
})

test('a grandchild that left its session ends with the server too', async () => {
  const client = await admin.mcp('/mcp/daemon')
  const { child, grandchild } = JSON.parse(await callText(client, 'pids'))
  try {
    expect([alive(child), alive(grandchild)]).toEqual([true, true])
    await admin.ok('POST', '/api/servers/daemon/stop?wait=30s')
    await until(() => !alive(child) && !alive(grandchild), {
      timeoutMs: 1_000,
      what: 'child and grandchild to be gone',
    })
  } finally {
    if (alive(grandchild)) process.kill(grandchild, 'SIGKILL')
  }
}, 120_000)

beyondCore(() => {
  test('children that a server starts in sessions of their own end with each of its processes: the probe, a killed one, a stopped one', async () => {
    // A number that no other test uses, so that the process can be found anywhere.
    const seconds = `600.${crypto.getRandomValues(new Uint32Array(1))[0]}1`
    const grandchildren = (): number[] => runningWith(seconds)
    try {
      await admin.ok('POST', '/api/servers', { name: 'forking', ...stdioFixture('grandchild', { SECONDS: seconds }) })
      await online(admin, ['forking'])
      await until(() => grandchildren().length === 1, { timeoutMs: 60_000, what: 'that of the probe to be gone' })
      const [first = 0] = grandchildren()
      const { pid } = await statusOf(admin, 'forking')
      process.kill(Number(pid), 'SIGKILL')
      await until(() => !alive(first), { timeoutMs: 5_000, what: 'that of the killed process to be gone' })
      await until(async () => ![undefined, pid].includes((await statusOf(admin, 'forking')).pid), { timeoutMs: 60_000 })
      await admin.ok('DELETE', '/api/servers/forking')
      await until(() => grandchildren().length === 0, {
        // A stop asks first, for seconds.
        timeoutMs: 60_000,
        what: 'that of the stopped process to be gone',
      })
    } finally {
      for (const pid of grandchildren()) process.kill(pid, 'SIGKILL')
    }
  }, 120_000)

  test('a server that writes many other lines before each of its answers stays, whatever it answers', async () => {
    await admin.ok('POST', '/api/servers', { name: 'chatty', ...known('chatty') })
    await online(admin, ['chatty'])
    const { pid } = await statusOf(admin, 'chatty')
    const client = await admin.mcp('/mcp/chatty')
    for (let call = 0; call < 3; call += 1) expect(await callText(client, 'talk')).toBe('said')
    expect(await statusOf(admin, 'chatty')).toMatchObject({ state: 'online', pid })
    await admin.ok('DELETE', '/api/servers/chatty')
  }, 120_000)
})

const CUT: readonly (readonly [name: Catalogue, count: number, ...said: string[]])[] = [
  ['many', 5_000, 'more than 5000 items'],
  ['endless', 64, 'more than 64 pages'],
  ['same', 4, 'the same next page again', '6 items are listed more than once'],
  ['fat', 4, '1 items over 262144 bytes'],
]
for (const [name, count, ...said] of CUT.filter(([each]) => CATALOGUES.includes(each))) {
  test(`the catalogue of "${name}" is cut at its limit, the rest works, and the omission is reported`, async () => {
    const client = await admin.mcp(`/mcp/${name}`)
    expect((await toolNames(client)).length).toBe(count)
    const { warnings } = await admin.ok('GET', `/api/servers/${name}/tools`)
    for (const warning of said) expect(JSON.stringify(warnings)).toContain(warning)
    expect(await statusOf(admin, name)).toMatchObject({ state: 'online', counts: { tools: count } })
  }, 120_000)
}

test('tools in a form that MCP does not know cost nobody the tools of the others in the group', async () => {
  await admin.ok('POST', '/api/groups', { name: 'beside', members: ['good', 'malformed'] })
  const names = await toolNames(await admin.mcp('/mcp/beside'))
  expect(names).toEqual(expect.arrayContaining(['echo', 'quick', 'odd_0', 'odd_1', 'odd_2', 'odd_3', 'odd_5', 'odd_7']))
  for (const name of ['odd_4', 'odd_6']) expect(names).not.toContain(name)
  const { warnings } = await admin.ok('GET', '/api/servers/malformed/tools')
  expect(JSON.stringify(warnings)).toContain('the tool \\"odd_6\\" is left out')
}, 120_000)

beyondCore(() => {
  test('reading huge lists again and again delays nobody for long and leaks nothing', async () => {
    const client = await admin.mcp('/mcp/good')
    const before = processStat(hub.pid)?.residentBytes ?? 0
    const slowestOf = async (calls: number, pauseMs: number): Promise<number> => {
      let slowest = 0
      for (let call = 0; call < calls; call += 1) {
        slowest = Math.max(slowest, (await timed(() => callText(client, 'echo', { text: 'x' }))).ms)
        if (pauseMs > 0) await Bun.sleep(pauseMs)
      }
      return slowest
    }
    // Other work of the machine delays calls as well.
    const quiet = await slowestOf(100, 0)
    let slowest = 0
    for (let round = 0; round < 5; round += 1) {
      for (const name of ['many', 'fat']) await admin.ok('POST', `/api/servers/${name}/restart`)
      // So that the calls are spread over the reading; none waits for it.
      slowest = Math.max(slowest, await slowestOf(40, 5))
      await online(admin, ['many', 'fat'])
    }
    expect(slowest).toBeLessThan(atMost(250) + 5 * quiet)
    expect((processStat(hub.pid)?.residentBytes ?? 0) - before).toBeLessThan(150_000_000)
  }, 120_000)
})
