import type { ServerRequestKind } from '../../contract/records.ts'
import type { AskTrials, ConnectionCaller } from '../../domain/session-scope.ts'

/** Longest time without a call after which a caller is placed again: its own connection has ended by then. */
const PLACED_MS = 10 * 60_000
/** Longest time that other calls of a user wait for what its first call of a tool finds out. */
const SETTLES_MS = 5_000
/** Callers that are held per server; the least recently used are dropped first. */
const MOST_CALLERS = 10_000
/** Above this number of findings all are dropped, and each tool is tried again. */
const MOST_FINDINGS = 15_000

const ALL: readonly ServerRequestKind[] = ['sampling', 'elicitation', 'roots']

/** A call that finds out whether its tool asks. */
interface Trial {
  readonly sinceMs: number
  readonly settled: Promise<void>
  readonly settle: () => void
}

interface Place {
  readonly own: boolean
  readonly usedAtMs: number
}

/**
 * Decides which callers of a program use a connection of their own before the program was seen to send server requests. A tool
 * shows only when it is called whether it sends them, and only to a client that declares support for them. So a caller that
 * supports them gets its own connection when its first call is of a tool that has not yet answered such a caller. It is not
 * moved while it uses the server, as programs keep state between calls. Only one caller of a user at a time tries a tool.
 */
export class ServerAskTrials implements AskTrials {
  /** By id; the most recently used are last. */
  readonly #placed = new Map<string, Place>()
  readonly #quiet = new Set<string>()
  /** By user and tool. */
  readonly #running = new Map<string, Trial>()
  readonly #applies: () => boolean
  readonly #now: () => number
  #stopped = false

  /** `applies`: false where the connections of callers are decided otherwise. */
  constructor(applies: () => boolean, now: () => number = () => performance.now()) {
    this.#applies = applies
    this.#now = now
  }

  has(caller: string): boolean {
    return this.#placed.size > 0 && !this.#stopped && this.wasPlaced(caller) && this.#applies()
  }

  /** True when this caller was given its own connection, also where that is over meanwhile. */
  wasPlaced(caller: string): boolean {
    return this.#placeOf(caller)?.own === true
  }

  settling({ id, userId, capabilities }: ConnectionCaller, tool: string): Promise<void> | undefined {
    if (this.#running.size === 0 || this.#placeOf(id) || !this.isUntried(capabilities, tool)) return undefined
    const trial = this.#running.get(`${userId} ${tool}`)
    return trial && this.#now() - trial.sinceMs < SETTLES_MS ? trial.settled : undefined
  }

  place({ id, userId, capabilities }: ConnectionCaller, tool: string): void {
    if (this.#stopped || !this.#applies()) return
    const before = this.#placeOf(id)?.own
    const own = before ?? this.isUntried(capabilities, tool)
    this.#put(id, own)
    if (before === undefined && own) this.#begin(`${userId} ${tool}`)
  }

  admit(caller: string): void {
    this.#put(caller, true)
  }

  /** This caller uses the shared connection. */
  share(caller: string): void {
    this.#put(caller, false)
  }

  /** The program does not run twice at once: nobody tries until another version or configuration of it runs. */
  stop(): void {
    this.#stopped = true
    this.settle()
  }

  /** A call of a tool on a caller's own connection is over. `answered`: without error. */
  ended({ userId, capabilities }: ConnectionCaller, tool: string, answered: boolean): void {
    if (this.#quiet.size > MOST_FINDINGS) this.#quiet.clear()
    if (answered) for (const name of ALL) if (capabilities[name] !== undefined) this.#quiet.add(`${name} ${tool}`)
    this.#end(`${userId} ${tool}`)
  }

  /** Nobody waits for trials any longer, such as when the program was seen to ask. */
  settle(): void {
    for (const key of [...this.#running.keys()]) this.#end(key)
  }

  /** Another version or configuration of the server runs. */
  renew(): void {
    this.#stopped = false
    this.#quiet.clear()
  }

  /** True when the tool has not yet answered a client with these capabilities. */
  isUntried(capabilities: ConnectionCaller['capabilities'], tool: string): boolean {
    return ALL.some(name => capabilities[name] !== undefined && !this.#quiet.has(`${name} ${tool}`))
  }

  #begin(key: string): void {
    this.#end(key)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(key, { sinceMs: this.#now(), settled: promise, settle: resolve })
    const [oldest] = this.#running.keys()
    if (this.#running.size > MOST_CALLERS && oldest !== undefined) this.#end(oldest)
  }

  #end(key: string): void {
    this.#running.get(key)?.settle()
    this.#running.delete(key)
  }

  #placeOf(caller: string): Place | undefined {
    const place = this.#placed.get(caller)
    return place && this.#now() - place.usedAtMs < PLACED_MS ? place : undefined
  }

  #put(caller: string, own: boolean): void {
    const now = this.#now()
    this.#placed.delete(caller)
    this.#placed.set(caller, { own, usedAtMs: now })
    for (const [id, { usedAtMs }] of this.#placed) {
      if (now - usedAtMs < PLACED_MS && this.#placed.size <= MOST_CALLERS) return
      this.#placed.delete(id)
    }
  }
}
