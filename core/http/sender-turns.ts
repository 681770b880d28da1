import { LRUCache } from 'lru-cache'
import { HubError } from '../contract/errors.ts'

/** Time of the main thread that the parallel requests of a sender may take in each second without a rest: a page of the console. */
const FREE_MS = 60
/** So many times as long as a part took does its sender rest after it, who has used that up. */
const REST = 3
const MOST_REST_MS = 500
/**
 * What a MiB of a body counts as, in whichever thread it is parsed: new memory costs up to 5 ms (seen in virtual machines), and
 * has to be collected.
 */
const MIB_MS = 8
const MIB = 2 ** 20
/** Requests of one sender that wait for their turn. */
const MOST_WAITING = 100
/** Senders of whom is known what they used; with more, the one that was quiet for the longest has all of it free again. */
const MOST_SENDERS = 10_000

interface Sender {
  running: number
  readonly waiting: Turn[]
  serving: boolean
  /** What is left of FREE_MS, as of `atMs`. */
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
   * To be awaited before what may take milliseconds, so before a body is parsed. `bytes`: of its body. Resolves with whether
   * it waited: what was checked before may hold no longer. Throws `rate_limited` where 100 wait already.
   */
  wait(bytes?: number): Promise<boolean>
  /** To be called when the request has its reply. */
  end(): void
}

/**
 * The parallel requests of one sender run one in a turn of the event loop, and whose requests take long rests between them, so that
 * what one person sends makes others wait for the longest of these turns at most, and rarely. A sender with one request at a
 * time waits for nothing.
 */
export class SenderTurns {
  readonly #senders = new LRUCache<string, Sender>({ max: MOST_SENDERS })

  /** `late`: it waited already behind others, which may have been those of this sender. */
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
  await new Promise(setImmediate)
  for (;;) {
    const turn = sender.waiting.shift()
    if (!turn) break
    const beganMs = performance.now()
    turn.go()
    // What it lets run ends before the next turn of the event loop.
    await new Promise(setImmediate)
    const tookMs = performance.now() - beganMs + (turn.bytes / MIB) * MIB_MS
    // Whoever has stopped has all of it again two seconds later.
    sender.freeMs = Math.max(-FREE_MS, refilled(sender) - tookMs)
    sender.atMs = performance.now()
    const restMs = sender.freeMs < 0 ? Math.min(REST * tookMs, MOST_REST_MS) : 0
    if (restMs > 0) await new Promise(resolve => setTimeout(resolve, restMs))
  }
  sender.serving = false
}

function refilled({ freeMs, atMs }: Sender): number {
  const seconds = (performance.now() - atMs) / 1_000
  return Math.min(FREE_MS, freeMs + FREE_MS * seconds)
}
