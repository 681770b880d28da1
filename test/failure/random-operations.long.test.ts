import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { extent } from '../support/extent.ts'
import { footprint, footprintWithHistory, settledTo } from '../support/footprint.ts'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { alive, descendants, processStat } from '../support/processes.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { timed, until } from '../support/wait.ts'
import { KNOWN, known } from './fixtures/known.ts'

const NAMES = ['a', 'b', 'c', 'd']
const TINY = ['t1', 't2', 't3', 't4']
const OPERATIONS = extent(60, 200)
const CYCLES = extent(80, 1_000)
const CYCLES_AT_MOST_MS = CYCLES * 30
const VERBS = ['start', 'stop', 'restart', 'edit', 'crash', 'call', 'disable', 'enable'] as const

let hub: Hub
let admin: Client
/** Requests are counted for each person, so that several may do more than one. */
let people: readonly Client[]

beforeAll(async () => {
  hub = await startHub({ env: { WORKERS: '1' } })
  admin = await hub.setup()
  people = [await hub.user('p1', 'admin'), await hub.user('p2', 'admin'), await hub.user('p3', 'admin')]
  for (const name of NAMES) await admin.ok('POST', '/api/servers', { name, ...known('echo', { WHO: name }) })
  const command = join(ROOT, 'test/support/mcp-servers/tiny.sh')
  for (const name of TINY) await admin.ok('POST', '/api/servers', { name, command, ...KNOWN })
  await online(admin, [...NAMES, ...TINY])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Checks that every server agrees with the registry, and that each running one is one process. */
async function agreed(names: readonly string[]): Promise<boolean> {
  const { items } = await admin.ok('GET', '/api/servers?scope=all')
  const children = descendants(hub.pid).filter(stat => stat.state !== 'Z')
  const running = new Set(children.map(stat => stat.pid))
  let expected = 0
  for (const { name, enabled, status } of items) {
    if (!names.includes(name)) continue
    if (status.state !== (enabled ? 'online' : 'offline')) return false
    if (enabled && !running.has(status.pid)) return false
  }
  for (const { enabled } of items) if (enabled) expected += 1
  // One more is the watchdog.
  return children.length === expected + 1
}

test(`after ${OPERATIONS} random operations at once each server is as the registry says, and no other child lives`, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  console.log(`random operations: SEED=${seed}`)
  const before = await footprintWithHistory(hub, admin)
  const step = fc.record({
    who: fc.nat(people.length - 1),
    name: fc.constantFrom(...NAMES),
    verb: fc.constantFrom(...VERBS),
    waits: fc.boolean(),
  })
  const doing: Promise<void>[] = []
  for (const [index, { who, name, verb, waits }] of fc.sample(step, { seed, numRuns: OPERATIONS }).entries()) {
    const work = perform(people[who] as Client, `admin~${name}`, verb, index)
    doing.push(work)
    if (waits) await work
  }
  await Promise.all(doing)
  await until(() => agreed(NAMES), {
    timeoutMs: 60_000,
    intervalMs: 200,
    what: `wish and state to agree, SEED=${seed}`,
  })
  for (const name of NAMES) await admin.ok('POST', `/api/servers/${name}/start?wait=30s`)
  for (const name of NAMES) {
    const { env } = await admin.ok('GET', `/api/servers/${name}`)
    expect(JSON.parse(await callText(await admin.mcp(`/mcp/${name}`), 'whoami')).who).toBe(env.WHO)
  }
  await settledTo(hub.pid, before)
  expect((await admin.request('GET', '/health')).json).toMatchObject({ status: 'ok', servers: { online: 8 } })
}, 120_000)

async function perform(client: Client, ref: string, verb: (typeof VERBS)[number], index: number): Promise<void> {
  const path = `/api/servers/${ref}`
  if (verb === 'edit') {
    await client.ok('PATCH', path, known('echo', { WHO: `edited-${index}` }))
  } else if (verb === 'disable' || verb === 'enable') {
    await client.ok('PATCH', path, { enabled: verb === 'enable' })
  } else if (verb === 'crash') {
    const { pid } = await statusOf(client, ref)
    if (pid !== undefined && alive(pid)) process.kill(pid, 'SIGKILL')
  } else if (verb === 'call') {
    await client.request('POST', `${path}/tools/whoami/call`, { arguments: {} })
  } else {
    await client.ok('POST', `${path}/${verb}`)
  }
}

test(`${CYCLES} starts and stops leave descriptors, children and memory as they were`, async () => {
  const cycle = async (name: string, client: Client, times: number): Promise<void> => {
    for (let n = 0; n < times; ) {
      const answer = await client.request('POST', `/api/servers/admin~${name}/restart?wait=60s`)
      if (answer.status === 429) await Bun.sleep(100)
      else n += 1
      expect(['online', undefined]).toContain(answer.json.status.state)
    }
  }
  const everybody = [admin, ...people]
  const all = (times: number) =>
    Promise.all(TINY.map((name, n) => cycle(name, everybody[n] as Client, times / TINY.length)))
  // Memory that is kept for good (compiled code, the heaps of the threads) is in place after the first tenth. Garbage
  // collection moves some 30 MB; more cycles need no more.
  await all(CYCLES / 10)
  const before = footprint(hub.pid)
  const resident = processStat(hub.pid)?.residentBytes ?? 0
  const { ms } = await timed(() => all(CYCLES * 0.9))
  await settledTo(hub.pid, before)
  const grown = (processStat(hub.pid)?.residentBytes ?? 0) - resident
  // The runtime starts helpers of its own as it likes.
  expect(footprint(hub.pid).threads).toBeLessThanOrEqual(before.threads + 4)
  expect(grown).toBeLessThan(64_000_000)
  expect(ms).toBeLessThan(atMost(CYCLES_AT_MOST_MS))
}, 600_000)
