/** Time of the main thread that the parallel requests of a sender may take in each second without a rest: a page of the console. */
const FREE_MS = 60
/** So many times as long as a part took does its sender rest after it, who has used that up. */
const REST = 3
const MOST_REST_MS = 100
/** Senders that are known before those with nothing to remember are forgotten. */
const MOST_IDLE = 1_000

interface Sender {
  running: number
  readonly waiting: (() => void)[]
  serving: boolean
  /** What is left of FREE_MS, as of `atMs`. */
  freeMs: number
  atMs: number
}

/**
 * The parallel requests of one sender run one part each in a turn of the event loop, and whose parts take long rests between them,
 * so that what one person sends makes others wait for the longest of these parts at most, and rarely. A sender with one request
 * at a time waits for nothing.
 */
export class SenderTurns {
  readonly #senders = new Map<string, Sender>()

  /** To be called when a request begins; call what it gives when the request has its reply. */
  begin(name: string): () => void {
    if (this.#senders.size > MOST_IDLE) this.#forgetIdle()
    const sender = this.#senders.get(name) ?? {
      ...{ running: 0, waiting: [], serving: false },
      ...{ freeMs: FREE_MS, atMs: performance.now() },
    }
    this.#senders.set(name, sender)
    sender.running += 1
    return () => {
      sender.running -= 1
    }
  }

  /** To be awaited before each part of a request that may take milliseconds, between `begin` and its end. */
  async turn(name: string): Promise<void> {
    const sender = this.#senders.get(name)
    if (!sender || sender.running < 2) return
    await new Promise<void>(resolve => {
      sender.waiting.push(resolve)
      if (!sender.serving) void serve(sender)
    })
  }

  #forgetIdle(): void {
    for (const [name, sender] of this.#senders) {
      if (sender.running === 0 && refilled(sender) === FREE_MS) this.#senders.delete(name)
    }
  }
}

async function serve(sender: Sender): Promise<void> {
  sender.serving = true
  for (;;) {
    await new Promise(setImmediate)
    const go = sender.waiting.shift()
    if (!go) break
    const beganMs = performance.now()
    go()
    // What `go` lets run ends before the next turn of the event loop.
    await new Promise(setImmediate)
    const tookMs = performance.now() - beganMs
    // Whoever has stopped has all of it again two seconds later.
    sender.freeMs = Math.max(-FREE_MS, refilled(sender) - tookMs)
    sender.atMs = performance.now()
    if (sender.freeMs < 0) await Bun.sleep(Math.min(REST * tookMs, MOST_REST_MS))
  }
  sender.serving = false
}

function refilled({ freeMs, atMs }: Sender): number {
  const seconds = (performance.now() - atMs) / 1_000
  return Math.min(FREE_MS, freeMs + FREE_MS * seconds)
}
