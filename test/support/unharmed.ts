import { expect } from 'bun:test'
import { footprintWithHistory, settledTo } from './footprint.ts'
import { type Client, type Hub, PASSWORD } from './hub.ts'
import { alive, processStat } from './processes.ts'
import { until } from './wait.ts'

/** The most that a fault may leave in the hub's memory. */
const GROWN_BYTES = 64 * 1024 * 1024
/** Number of the hub's own temporary timers. */
const OWN_TIMERS = 3

export interface UnharmedOptions {
  /** A server with the tool `echo` that has nothing to do with the fault. Default `echo`. */
  readonly bystander?: string
  /** Texts that must not be in any output, besides the passwords and credentials of the test's administrator. */
  readonly canaries?: readonly string[]
  /** Highest growth of memory that a fault may leave. Default 64 MiB. */
  readonly grownBytes?: number
}

/**
 * Records the state of a hub, and returns a function that verifies it after a fault: the same process, healthy, an unrelated
 * server answers, descriptors, children, timers and memory are released, and no secret is in the log. The hub must have been
 * started with `countTimers`.
 */
export async function watchFor(hub: Hub, admin: Client, options: UnharmedOptions = {}): Promise<() => Promise<void>> {
  const { bystander = 'echo', canaries = [], grownBytes = GROWN_BYTES } = options
  const key = await admin.mcpKey()
  const echo = async (text: string): Promise<void> => {
    const answer = await admin.request('POST', `/api/servers/${bystander}/tools/echo/call`, { arguments: { text } })
    expect([answer.status, answer.text.includes(text)]).toEqual([200, true])
  }
  await echo('before the fault')
  const before = await footprintWithHistory(hub, admin)
  const resident = processStat(hub.pid)?.residentBytes ?? 0
  const timers = await timersOf(hub)
  return async () => {
    expect(alive(hub.pid)).toBe(true)
    expect((await admin.request('GET', '/health')).status).toBe(200)
    await echo('after the fault')
    await settledTo(hub.pid, before, 60_000)
    await until(async () => (await timersOf(hub)) <= timers + OWN_TIMERS, {
      timeoutMs: 60_000,
      intervalMs: 100,
      what: `no more than ${timers} timers and ${OWN_TIMERS}`,
    })
    const grown = () => (processStat(hub.pid)?.residentBytes ?? 0) - resident
    await until(() => grown() < grownBytes, { intervalMs: 100, what: `memory to be given back, which is ${grown()}` })
    const log = hub.log()
    const said = [PASSWORD, admin.token, key, ...canaries].filter(secret => log.includes(secret))
    expect(said.map(secret => `${secret.slice(0, 6)}…`)).toEqual([])
  }
}

/** Number of pending timers of the hub's main thread. */
async function timersOf(hub: Hub): Promise<number> {
  const counts = (): RegExpMatchArray[] => [...hub.log().matchAll(/^timers: (\d+)$/gm)]
  const seen = counts().length
  process.kill(hub.pid, 'SIGUSR2')
  return until(() => Number(counts()[seen]?.[1]), { intervalMs: 5, what: 'the number of timers' })
}
