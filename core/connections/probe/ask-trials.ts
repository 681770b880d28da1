import type { AskCapability } from '../../contract/records.ts'
import type { AskTrials, ConnectionCaller } from '../../domain/session-scope.ts'

/** Longest time without a call after which a caller is placed anew: its own connection has ended by then. */
const PLACED_MS = 10 * 60_000
/** Callers that are held per server; those unused longest give way. */
const MOST_CALLERS = 10_000
/** A server that has had more tools than this is tried anew. */
const MOST_FINDINGS = 15_000

const ALL: readonly AskCapability[] = ['sampling', 'elicitation', 'roots']

interface Place {
  readonly own: boolean
  readonly usedAtMs: number
}

/**
 * Which callers of a program use a connection of their own before it was seen to ask. Only a call shows whether a tool
 * asks, and a program that was told that nobody can be asked does not ask. So a caller that can be asked, and whose first
 * call is of a tool that has not yet answered somebody who can be asked, gets its own connection; it is not moved while
 * it uses the server, as programs keep state between calls.
 */
export class ServerAskTrials implements AskTrials {
  /** By id, those used last at the end. */
  readonly #placed = new Map<string, Place>()
  readonly #quiet = new Set<string>()
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

  place({ id, capabilities }: Pick<ConnectionCaller, 'id' | 'capabilities'>, tool: string): void {
    if (this.#stopped || !this.#applies()) return
    const own =
      this.#placeOf(id)?.own ??
      ALL.some(name => capabilities[name] !== undefined && !this.#quiet.has(`${name} ${tool}`))
    this.#put(id, own)
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
  }

  /** A tool has answered on the own connection of a caller with these capabilities, without error. */
  answered(capabilities: ConnectionCaller['capabilities'], tool: string): void {
    if (this.#quiet.size > MOST_FINDINGS) this.#quiet.clear()
    for (const name of ALL) if (capabilities[name] !== undefined) this.#quiet.add(`${name} ${tool}`)
  }

  /** Another version or configuration of the server runs. */
  renew(): void {
    this.#stopped = false
    this.#quiet.clear()
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
