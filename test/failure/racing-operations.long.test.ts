import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { footprintWithHistory, settledTo } from '../support/footprint.ts'
import { check, fuzzTimeout } from '../support/fuzz.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { descendants } from '../support/processes.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { Slot, slotVerb, type Verb } from './racing/slot.ts'

const PLACES = ['a', 'b', 'c']
const OWNERS = ['admin', 'p1']
const LIMIT_MS = 12_000
/** Several crashes in a row make the hub wait before it starts a server again. */
const SETTLED_MS = 30_000

let hub: Hub
let admin: Client
/** Requests are counted for each person. More persons make more requests possible: one for each place, and one who observes. */
let people: readonly Client[]
let watcher: Client

beforeAll(async () => {
  hub = await startHub({
    env: { WORKERS: '1' },
    settings: {
      plugins: [{ use: join(import.meta.dir, 'fixtures/crash-plugin.ts'), isolate: false }],
      mcpServers: { crash: { transport: 'crashing' } },
    },
  })
  admin = await hub.setup()
  people = [await hub.user('p1', 'admin'), await hub.user('p2', 'admin'), await hub.user('p3', 'admin')]
  watcher = await hub.user('p4', 'admin')
  // The first child brings the watchdog with it, which stays.
  const first = PLACES.map(place => new Slot(place))
  await Promise.all(first.map(slot => slot.create(admin)))
  await online(admin, ['crash', ...PLACES])
  await clear()
}, 120_000)

afterAll(() => hub?.stop(), 120_000)

interface Steps {
  /** For each place its operations, one after the other; the places do not wait for each other. */
  readonly places: readonly (readonly Verb[])[]
  /** The members that the group gets, one set after the other. */
  readonly groups: readonly (readonly string[])[]
  readonly workerCrash: boolean
}

const steps: fc.Arbitrary<Steps> = fc.record({
  places: fc.tuple(...PLACES.map(() => fc.array(slotVerb, { minLength: 4, maxLength: 12 }))),
  groups: fc.array(fc.subarray(PLACES), { maxLength: 8 }),
  workerCrash: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})

test(
  'whatever happens to servers at once, each ends as the model says, and no call is answered by what was before',
  async () => {
    let last = Promise.resolve()
    const property = fc.asyncProperty(steps, drawn => {
      last = race(drawn)
      return last
    })
    await check(property, { share: 0.02, limitMs: LIMIT_MS })
    // A run that the time limit interrupts continues, and must not outlive the hub.
    await last
    expect(hub.unhandled()).toEqual([])
  },
  fuzzTimeout(LIMIT_MS) + 2 * SETTLED_MS,
)

async function race({ places, groups, workerCrash }: Steps): Promise<void> {
  await clear()
  const before = await footprintWithHistory(hub, admin)
  const slots = PLACES.map(place => new Slot(place))
  await Promise.all(slots.map(slot => slot.create(admin)))
  await admin.ok('POST', '/api/groups', { name: 'g', members: [] })
  const over = new AbortController()
  const calling = callAll(slots, over.signal)
  try {
    await Promise.all([
      ...slots.map((slot, at) => operate(people[at] as Client, slot, places[at] ?? [])),
      regroup(slots, groups),
      ...(workerCrash
        ? [admin.request('POST', '/api/servers/crash/tools/crash/call', { arguments: { how: 'exit' } })]
        : []),
    ])
  } finally {
    over.abort()
    await calling
  }
  await settle(slots)
  for (const slot of slots) if (slot.enabled) expect(await slot.call(watcher)).toBe(true)
  await clear()
  // A server that took its thread down several times waits longer each time, unless it is restarted by hand.
  if (workerCrash) await admin.ok('POST', '/api/servers/crash/restart')
  await online(watcher, ['admin~crash'], SETTLED_MS)
  await settledTo(hub.pid, before, 60_000)
}

async function operate(client: Client, slot: Slot, verbs: readonly Verb[]): Promise<void> {
  for (const verb of verbs) await slot.perform(client, verb, OWNERS)
}

/** A server that is being renamed or given away meanwhile is refused as a member, which changes nothing. */
async function regroup(slots: readonly Slot[], groups: readonly (readonly string[])[]): Promise<void> {
  for (const members of groups) {
    const refs = slots.filter(({ place }) => members.includes(place)).map(({ ref }) => ref)
    const answer = await admin.request('PATCH', '/api/groups/g', { members: refs })
    expect([200, 400, 404]).toContain(answer.status)
  }
}

/** One client session calls what it sees, again and again: an answer is never older than what was confirmed before the call. */
async function callAll(slots: readonly Slot[], over: AbortSignal): Promise<void> {
  const client = await new RawClient(hub, '/mcp', await admin.mcpKey()).open()
  while (!over.aborted) {
    const { result } = await client.call('tools/list')
    for (const { name } of result.tools.filter((tool: { name: string }) => tool.name.endsWith('whoami'))) {
      const confirmed = new Map(slots.map(slot => [slot.place, slot.version]))
      const answer = await client.call('tools/call', { name, arguments: {} })
      if (over.aborted) break
      const text: string | undefined = answer.result?.content?.[0]?.text
      if (text === undefined || answer.result.isError) continue
      const [place = '', version] = JSON.parse(text).who.split('.')
      expect(Number(version)).toBeGreaterThanOrEqual(confirmed.get(place) ?? Number.NaN)
    }
    // The caller pauses, so that others get their turn.
    await Bun.sleep(5)
  }
  await (await client.delete()).text()
}

/** Each server is as the model says, what it runs is one process, and no other process lives. */
async function settle(slots: readonly Slot[]): Promise<void> {
  let seen = ''
  const agreed = async (): Promise<boolean> => {
    const { items } = await watcher.ok('GET', '/api/servers?scope=all')
    const children = descendants(hub.pid).filter(({ state }) => state !== 'Z')
    seen = JSON.stringify({
      items: items.map(({ ref, enabled, status }: Item) => ({ ref, enabled, status })),
      children,
    })
    const wanted = slots.filter(({ enabled }) => enabled)
    const right = slots.every(({ ref, enabled }) => {
      const item: Item | undefined = items.find((each: Item) => each.ref === ref)
      if (!item || item.enabled !== enabled || item.status.state !== (enabled ? 'online' : 'offline')) return false
      return !enabled || children.some(({ pid }) => pid === item.status.pid)
    })
    // One more is the watchdog.
    const others = children.length - wanted.length
    return right && items.length === slots.length + 1 && others <= 1
  }
  await until(agreed, { timeoutMs: SETTLED_MS, intervalMs: 200, what: 'model and hub to agree' }).catch(error => {
    throw new Error(`${error.message}: the model has ${JSON.stringify(slots)}, the hub ${seen}`)
  })
}

interface Item {
  readonly ref: string
  readonly enabled: boolean
  readonly status: { readonly state: string; readonly pid?: number }
}

/** Removes everything, including things that a failed run has left. */
async function clear(): Promise<void> {
  const { items: groups } = await watcher.ok('GET', '/api/groups?scope=all')
  const { items: servers } = await watcher.ok('GET', '/api/servers?scope=all')
  for (const { ref } of groups) await watcher.ok('DELETE', `/api/groups/${ref}`)
  for (const { ref, name } of servers) if (name !== 'crash') await watcher.ok('DELETE', `/api/servers/${ref}`)
}
