/** A simulated day, or its first hours, of ten endpoints of three owners: drops, half-open connections, platforms and hubs that restart. */
import { expect, test } from 'bun:test'
import { HubError } from '../../core/contract/mod.ts'
import type { BridgeEndpoint, BridgeSocket, BridgeSocketEvents } from '../../core/features/mod.ts'
import { DialGate } from '../../plugins/assistant-bridge/dial-gate.ts'
import { OutboundLink } from '../../plugins/assistant-bridge/outbound.ts'
import { extent } from '../support/extent.ts'
import { ManualClock } from '../support/manual-clock.ts'

const SEED = 20_261_124
const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const HOURS = extent(6, 24)
const STEP_MS = 5_000
const CALL_MS = 4_000
/** The longest wait for the next attempt, and the silence after which a connection counts as lost. */
const POLICY_MS = 60_000 + 95_000

/** Mulberry32: the same day each time. */
function chances(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Connection {
  readonly events: BridgeSocketEvents
  /** The hub’s end has not closed it. */
  open: boolean
  /** Nothing passes any more, and neither side is notified. */
  half: boolean
}

/** One endpoint as its platform sees it. */
class Place {
  readonly owner: string
  readonly asked = new Map<number, 'open' | 'answered' | 'lost'>()
  live: Connection | undefined
  dials = 0
  mostOpen = 0
  strangers = 0
  twice = 0
  lostAtMs: number | undefined
  longestAwayMs = 0
  readonly #open = new Set<Connection>()

  constructor(owner: string) {
    this.owner = owner
  }

  opened(connection: Connection, nowMs: number): void {
    this.#open.add(connection)
    this.mostOpen = Math.max(this.mostOpen, this.#open.size)
    this.live = connection
    if (this.lostAtMs !== undefined) this.longestAwayMs = Math.max(this.longestAwayMs, nowMs - this.lostAtMs)
    this.lostAtMs = undefined
  }

  /** The hub closed its end, or was notified of the end. */
  ended(connection: Connection, nowMs: number): void {
    if (!connection.open) return
    connection.open = false
    this.#open.delete(connection)
    if (this.live === connection) this.lose(nowMs)
  }

  lose(nowMs: number): void {
    this.live = undefined
    this.lostAtMs ??= nowMs
    for (const [id, state] of this.asked) if (state === 'open') this.asked.set(id, 'lost')
  }

  heard(text: string): void {
    const { id, result, error } = JSON.parse(text)
    if (typeof id !== 'number') return
    if (this.asked.get(id) !== 'open') this.twice += 1
    this.asked.set(id, 'answered')
    if (error === undefined && !result.content[0].text.startsWith(`${this.owner} `)) this.strangers += 1
  }
}

test('each call is answered or lost once, by its owner’s server, over one connection at a time', async () => {
  const clock = new ManualClock()
  const chance = chances(SEED)
  clock.chance = chance
  let gate = new DialGate()
  const places = Array.from({ length: 10 }, (_, at) => new Place(`owner${at % 3}`))
  let isDown = false

  const endpointOf = (place: Place): BridgeEndpoint => ({
    ...{ name: 'e', version: '1', direction: 'outbound', limits: { tools: 64, resultCharacters: 2_000 } },
    report() {},
    stateChanged() {},
    async checkAddress() {},
    open: async () => ({
      tools: async () => [{ name: 'mark', inputSchema: { type: 'object' } }],
      call: (_tool, args, signal) =>
        new Promise((resolve, reject) => {
          const answer = { result: { content: [{ type: 'text', text: `${place.owner} ${String(args.mark)}` }] } }
          clock.after(chance() * CALL_MS, () => resolve(answer))
          signal.addEventListener('abort', () => reject(new HubError('upstream_timeout', 'cancelled')))
        }),
      close() {},
    }),
    async dial(events): Promise<BridgeSocket> {
      place.dials += 1
      if (isDown) throw new HubError('connection_lost', 'the platform is away')
      const connection: Connection = { events, open: true, half: false }
      place.opened(connection, clock.ms)
      return {
        send(text) {
          if (connection.open && !connection.half) place.heard(text)
          return true
        },
        ping: () => connection.open && !connection.half && events.alive(),
        close() {
          place.ended(connection, clock.ms)
          queueMicrotask(() => events.closed(undefined))
        },
      }
    },
  })

  const start = () => places.map(place => new OutboundLink(endpointOf(place), clock, gate))
  const drop = (place: Place, code: number | undefined): void => {
    const { live } = place
    if (!live) return
    place.ended(live, clock.ms)
    live.events.closed(code)
  }
  let links = start()
  let asked = 0
  const seen = { drops: 0, halves: 0, outages: 0, restarts: 0 }
  const isNow = (perDay: number): boolean => chance() < (perDay * STEP_MS) / DAY_MS

  for (let atMs = 0; atMs < HOURS * HOUR_MS; atMs += STEP_MS) {
    await clock.advance(STEP_MS)
    for (const place of places) {
      if (place.live && !place.live.half && chance() < 0.3) {
        asked += 1
        place.asked.set(asked, 'open')
        const call = {
          jsonrpc: '2.0',
          id: asked,
          method: 'tools/call',
          params: { name: 'mark', arguments: { mark: asked } },
        }
        place.live.events.message(JSON.stringify(call))
      }
      if (isNow(40)) {
        seen.drops += 1
        drop(place, [undefined, 1_001, 1_006, 1_011, 4_004][Math.floor(chance() * 5)])
      }
      if (place.live && isNow(20)) {
        seen.halves += 1
        place.live.half = true
        place.lose(clock.ms)
      }
    }
    if (!isDown && isNow(6)) {
      seen.outages += 1
      isDown = true
      for (const place of places) drop(place, 1_012)
    } else if (isDown && isNow(1_000)) {
      isDown = false
      // Time away counts only while the hub could have reconnected.
      for (const place of places) if (place.lostAtMs !== undefined) place.lostAtMs = clock.ms
    }
    if (isNow(4)) {
      seen.restarts += 1
      const ending = Promise.all(links.map(link => link.close(1_001, 0)))
      await clock.advance(0)
      await ending
      gate = new DialGate()
      links = start()
    }
  }
  isDown = false
  await clock.advance(5 * 60_000)

  for (const kind of Object.values(seen)) expect(kind).toBeGreaterThan(0)
  expect(asked).toBeGreaterThan(833 * HOURS)
  for (const place of places) {
    expect([...place.asked.values()].filter(state => state === 'open')).toEqual([])
    expect({ strangers: place.strangers, twice: place.twice, mostOpen: place.mostOpen }).toEqual({
      ...{ strangers: 0, twice: 0, mostOpen: 1 },
    })
    expect(place.longestAwayMs).toBeLessThanOrEqual(POLICY_MS)
    expect(place.live?.half).toBe(false)
  }
  const answered = places.flatMap(({ asked: calls }) => [...calls.values()]).filter(state => state === 'answered')
  expect(answered.length).toBeGreaterThan(asked * 0.95)
  await Promise.all(links.map(link => link.close(1_001, 0)))
}, 120_000)
