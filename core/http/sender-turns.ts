import { LRUCache } from 'lru-cache'
import { HubError } from '../contract/errors.ts'

/** Processor time of the main thread, in ms, that a sender's parallel requests may take per second without a rest: a page of the console. */
const FREE_MS = 60
/** After a request beyond that time, its sender rests for this many times the time that the request took. */
const REST = 3
const MOST_REST_MS = 500
/**
 * Milliseconds that one MiB of a body counts as, whichever thread parses it: new memory costs up to 5 ms (measured in virtual
 * machines), and is collected later.
 */
const MIB_MS = 8
const MIB = 2 ** 20
/** Most requests of one sender that may wait for their turn. */
const MOST_WAITING = 100
/** Number of senders whose used time is remembered; above it, the sender that was quiet for the longest is forgotten. */
const MOST_SENDERS = 10_000

interface Sender {
  running: number
  readonly waiting: Turn[]
  serving: boolean
  /** Rest of FREE_MS at `atMs`. */
  freeMs: number
  atMs: number
}

interface Turn {
  readonly bytes: number
  readonly go: () => void
}

/** One request among those of its sender. */
export interface SenderTurn {
  /**
   * Await it before work that may take milliseconds, such as parsing a body of `bytes` bytes. Resolves with true when it
   * waited: earlier checks may then be out of date. Throws `rate_limited` when 100 requests of the sender wait already.
   */
  wait(bytes?: number): Promise<boolean>
  /** Call it when the request has its reply. */
  end(): void
}

/**
 * Runs the parallel requests of one sender one per turn of the event loop. A sender whose requests take long pauses between
 * them, so that others wait for at most one such turn, and rarely. A sender with one request at a time never waits. Only the
 * sender's own processor time counts, so that a user who is slowed down by another one does not pause for it.
 */
export class SenderTurns {
  readonly #senders = new LRUCache<string, Sender>({ max: MOST_SENDERS })

  /** `late`: the request already waited behind others, which may have been the same sender's. */
  begin(name: string, late = false): SenderTurn {
    const sender = this.#senders.get(name) ?? {
      ...{ running: 0, waiting: [], serving: false },
      ...{ freeMs: FREE_MS, atMs: performance.now() },
    }
    this.#senders.set(name, sender)
    sender.running += 1
    return {
      wait: (bytes = 0) => (late || sender.running > 1 ? waitFor(sender, bytes) : Promise.resolve(false)),
      end: () => {
        sender.running -= 1
      },
    }
  }
}

async function waitFor(sender: Sender, bytes: number): Promise<boolean> {
  if (sender.waiting.length >= MOST_WAITING) {
    throw new HubError('rate_limited', `${MOST_WAITING} of your requests wait already`, { retryAfterSeconds: 1 })
  }
  await new Promise<void>(resolve => {
    sender.waiting.push({ bytes, go: resolve })
    if (!sender.serving) void serve(sender)
  })
  return true
}

async function serve(sender: Sender): Promise<void> {
  sender.serving = true
  while (sender.waiting.length > 0) {
    let bytes = 0
    const ownMs = await runAlone(() => {
      const turn = sender.waiting.shift()
      bytes = turn?.bytes ?? 0
      turn?.go()
    })
    const tookMs = ownMs + (bytes / MIB) * MIB_MS
    // A sender that has stopped has its whole free time again two seconds later.
    sender.freeMs = Math.max(-FREE_MS, refilled(sender) - tookMs)
    sender.atMs = performance.now()
    const restMs = sender.freeMs < 0 ? Math.min(REST * tookMs, MOST_REST_MS) : 0
    if (restMs > 0) await new Promise(resolve => setTimeout(resolve, restMs))
  }
  sender.serving = false
}

/** Runs it in the next turn. Resolves with the processor time of this thread, in ms, until its promise jobs were done. */
function runAlone(go: () => void): Promise<number> {
  return new Promise(resolve => {
    let beganMs = 0
    setImmediate(() => {
      beganMs = threadMs()
      go()
    })
    // The next task of the same phase: only the promise jobs of the one before run between them, no requests of others.
    setImmediate(() => resolve(threadMs() - beganMs))
  })
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function refilled({ freeMs, atMs }: Sender): number {
  const seconds = (performance.now() - atMs) / 1_000
  return Math.min(FREE_MS, freeMs + FREE_MS * seconds)
}
