import { join } from 'node:path'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { openSession } from './http-client.ts'
import { LOGGING_OFF } from './logging.ts'
import { measurePairs, type Pair } from './pairs.ts'

/** Records that a plugin logs beside the calls. */
const PER_SECOND = 20_000
/** One call starts per this many milliseconds, so that calls do not wait for each other. */
const EVERY_MS = 5
/**
 * The runtime compiles hot code in threads of its own, and with two processors each call waits for them. The warm-up sends
 * `FIRST_CALLS` calls as fast as possible until that is done, then waits `WARM_SECONDS` until the history's queue is full.
 */
const FIRST_CALLS = 15_000
const WARM_SECONDS = 12
const SAMPLES = 200

/** Milliseconds that calls took with two hubs. */
export type FloodPair = Pair<readonly number[]>

/** A hub with a flood of records, warm. */
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
    const times: number[] = []
    const startedMs = performance.now()
    for (let dueMs = startedMs; dueMs - startedMs < seconds * 1_000; dueMs += EVERY_MS) {
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) await Bun.sleep(waitMs)
      times.push(await this.#call())
    }
    return times
  }

  async stop(): Promise<void> {
    await this.#hub.stop()
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

/** Measures calls beside 20,000 records a second, with no logging and with all of it, in this many pairs of hubs. */
export async function measureFlood(pairs: number, seconds: number): Promise<readonly FloodPair[]> {
  await using undo = new AsyncDisposableStack()
  const folder = await makeTemp('bench-flood')
  undo.defer(() => removeTemp(folder))
  const logged = { LOG_FILE: join(folder, 'hub.log'), LOG_MAX_SIZE: '20MB', LOG_MAX_FILES: '10' }
  return measurePairs(pairs, async isOn => {
    const hub = await FloodedHub.start(isOn ? logged : LOGGING_OFF)
    try {
      return await hub.run(seconds)
    } finally {
      await hub.stop()
    }
  })
}

/** The duration below which this share of all calls lies, with logging off and on, and the ratio of on to off. */
export function floodQuantile(all: readonly FloodPair[], share: number) {
  const of = (kind: keyof Pair<unknown>) =>
    quantile(
      all.flatMap(pair => pair[kind]),
      share,
    )
  const [off, on] = [of('off'), of('on')]
  return { off, on, ratio: on / off }
}

/** The range that holds nine in ten of such ratios, estimated by drawing pairs of hubs at random (bootstrap). */
export function floodInterval(all: readonly FloodPair[], share: number): readonly [number, number] {
  const ratios: number[] = []
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    ratios.push(floodQuantile(drawn(all), share).ratio)
  }
  return [quantile(ratios, 0.05), quantile(ratios, 0.95)]
}

/** A sample of the same size, drawn with replacement. */
function drawn<Item>(all: readonly Item[]): Item[] {
  return all.map(() => all[Math.floor(Math.random() * all.length)]!)
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0
}
