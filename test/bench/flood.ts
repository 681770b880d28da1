import { join } from 'node:path'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { openSession } from './http-client.ts'
import { LOGGING_OFF } from './logging.ts'

/** Records that a plugin logs beside the calls. */
const PER_SECOND = 20_000
/** One call each so many milliseconds, so that calls do not wait for each other. */
const EVERY_MS = 5
/** After a stop the timers of a hub are late, and its history takes the pause for a quiet time. */
const SETTLE_MS = 2_500
/**
 * The runtime compiles what is called often in threads of their own, for which each call has to wait on two processors: so many calls,
 * as quickly as they go, until it has done so, and so many seconds until the history's queue is full.
 */
const FIRST_CALLS = 20_000
const WARM_SECONDS = 10
/** Of hubs: two that do the same differ by a tenth, by where their memory happens to lie. */
const PAIRS = 3
const SAMPLES = 200

/** Milliseconds that calls took in one round. */
interface FloodRound {
  readonly off: readonly number[]
  readonly on: readonly number[]
}

/** The rounds of two hubs. */
export type FloodPair = readonly FloodRound[]

/** A hub with a flood of records, which stands still unless it is measured. */
class FloodedHub {
  readonly #hub: Hub
  readonly #headers: Record<string, string>
  #id = 1

  private constructor(hub: Hub, headers: Record<string, string>) {
    this.#hub = hub
    this.#headers = headers
  }

  static async start(env: Readonly<Record<string, string>>): Promise<FloodedHub> {
    const flood = { use: join(import.meta.dir, 'fixtures/endless-flood.ts'), isolate: false }
    const hub = await startHub({ env, settings: { mcpServers: { echo: stdioFixture('echo') }, plugins: [flood] } })
    const admin = await hub.setup()
    await online(admin, ['echo'])
    const target = { url: `${hub.url}/mcp/echo`, tool: 'echo', credential: await admin.mcpKey() }
    const flooded = new FloodedHub(hub, await openSession(target))
    await admin.ok('POST', `/api/plugins/flood/start?perSecond=${PER_SECOND}`)
    for (let n = 0; n < FIRST_CALLS; n += 1) await flooded.#call()
    await flooded.run(WARM_SECONDS)
    return flooded
  }

  /** Milliseconds of each call within `seconds`. */
  async run(seconds: number): Promise<number[]> {
    this.#signal('SIGCONT')
    const times: number[] = []
    const startedMs = performance.now()
    for (let dueMs = startedMs; dueMs - startedMs < SETTLE_MS + seconds * 1_000; dueMs += EVERY_MS) {
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) await Bun.sleep(waitMs)
      const ms = await this.#call()
      if (dueMs - startedMs >= SETTLE_MS) times.push(ms)
    }
    this.#signal('SIGSTOP')
    return times
  }

  async stop(): Promise<void> {
    this.#signal('SIGCONT')
    await this.#hub.stop()
  }

  #signal(name: 'SIGCONT' | 'SIGSTOP'): void {
    process.kill(this.#hub.pid, name)
  }

  async #call(): Promise<number> {
    const params = { name: 'echo', arguments: { text: 'x' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#id++, method: 'tools/call', params })
    const startedMs = performance.now()
    const answer = await fetch(`${this.#hub.url}/mcp/echo`, { method: 'POST', headers: this.#headers, body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`tools/call answered ${answer.status}: ${text}`)
    return performance.now() - startedMs
  }
}

/**
 * Calls beside 20,000 records a second, with nothing that is logged and with all of it. All hubs but the one that is measured stand
 * still, so that they see the same weather and each is as warm as the others. Each round measures every hub once, those with logging
 * and those without by turns.
 */
export async function measureFlood(rounds: number, seconds: number): Promise<readonly FloodPair[]> {
  await using undo = new AsyncDisposableStack()
  const folder = await makeTemp('bench-flood')
  undo.defer(() => removeTemp(folder))
  const limits = { LOG_MAX_SIZE: '20MB', LOG_MAX_FILES: '10' }
  const pairs: { readonly off: FloodedHub; readonly on: FloodedHub; readonly found: FloodRound[] }[] = []
  for (let n = 0; n < PAIRS; n += 1) {
    const off = await FloodedHub.start(LOGGING_OFF)
    undo.defer(() => off.stop())
    const on = await FloodedHub.start({ LOG_FILE: join(folder, `hub-${n}.log`), ...limits })
    undo.defer(() => on.stop())
    pairs.push({ off, on, found: [] })
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { off, on, found }] of pairs.entries()) {
      const first = (round + index) % 2 === 0 ? off : on
      const [one, other] = [await first.run(seconds), await (first === off ? on : off).run(seconds)]
      found.push(first === off ? { off: one, on: other } : { off: other, on: one })
    }
  }
  return pairs.map(({ found }) => found)
}

/** The duration below which this share of all calls lies, of both, and how many times as long it is with logging. */
export function floodQuantile(all: readonly FloodPair[], share: number) {
  const of = (kind: keyof FloodRound) =>
    quantile(
      all.flat().flatMap(round => round[kind]),
      share,
    )
  const [off, on] = [of('off'), of('on')]
  return { off, on, ratio: on / off }
}

/** Between which ratios nine in ten of such measurements lie, found by drawing pairs of hubs anew, and rounds of each. */
export function floodInterval(all: readonly FloodPair[], share: number): readonly [number, number] {
  const ratios: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    ratios.push(floodQuantile(drawn(all).map(drawn), share).ratio)
  }
  return [quantile(ratios, 0.05), quantile(ratios, 0.95)]
}

/** As many of them, each drawn from all. */
function drawn<Item>(all: readonly Item[]): Item[] {
  return all.map(() => all[Math.floor(Math.random() * all.length)]!)
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
}
