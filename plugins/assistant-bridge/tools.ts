import type { JsonObject } from 'patchbay/contract'
import type { BridgeAnswer, BridgeEndpoint, BridgeSession } from 'patchbay/features'
import type { Clock } from './clock.ts'
import { type Offered, offer, sameOffer } from './offered.ts'

/** After the last change of several, in milliseconds. */
const QUIET_MS = 3_000
/** Lists that are read in a second; further requests get the last one. */
const READS_PER_SECOND = 2
/** Number of tools of a group that are read, so that omitted ones can be named. */
export const MOST_READ = 500

/** Events for the owner of the tools. */
interface ToolEvents {
  /** The assistant would see other tools than before. */
  changed(): void
  /** The session ended: the group was removed or renamed, or its owner lost it. */
  ended(): void
}

/** The tools of one endpoint during one connection, in a session that is opened when it is first needed. */
export class EndpointTools {
  readonly #endpoint: BridgeEndpoint
  readonly #clock: Clock
  readonly #events: ToolEvents
  #session: Promise<BridgeSession> | undefined
  #offered: Offered | undefined
  #secondMs = Number.NEGATIVE_INFINITY
  #reads = 0
  #reading: Promise<Offered> | undefined
  #stopWaiting: (() => void) | undefined
  #closed = false

  constructor(endpoint: BridgeEndpoint, clock: Clock, events: ToolEvents) {
    this.#endpoint = endpoint
    this.#clock = clock
    this.#events = events
  }

  /** The tools as last read. */
  get offered(): Offered | undefined {
    return this.#offered
  }

  /** Rejects with HubError while the owner may not use the endpoint's target. */
  async open(): Promise<void> {
    await this.#open()
  }

  /** The present tools; if requested too often, those read at most a second ago. */
  read(): Promise<Offered> {
    if (this.#offered && this.#session !== undefined && this.#readsOften()) return Promise.resolve(this.#offered)
    this.#reading ??= this.#readAnew().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAnew(): Promise<Offered> {
    const tools = await (await this.#open()).tools(MOST_READ)
    const offered = offer(tools, this.#endpoint.limits.tools)
    this.#offered = offered
    return offered
  }

  /** Undefined for a tool that is not offered. */
  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<BridgeAnswer | undefined> {
    const session = await this.#open()
    const known = this.#offered?.names.includes(tool) || (await this.read()).names.includes(tool)
    return known ? session.call(tool, args, signal) : undefined
  }

  close(): void {
    this.#closed = true
    this.#stopWaiting?.()
    this.#session?.then(
      session => session.close(),
      () => undefined,
    )
  }

  #readsOften(): boolean {
    const nowMs = this.#clock.now()
    if (nowMs - this.#secondMs >= 1_000) {
      this.#secondMs = nowMs
      this.#reads = 0
    }
    this.#reads += 1
    return this.#reads > READS_PER_SECOND
  }

  #open(): Promise<BridgeSession> {
    this.#session ??= this.#openAnew()
    return this.#session
  }

  #openAnew(): Promise<BridgeSession> {
    const opening: Promise<BridgeSession> = this.#endpoint.open({
      changed: () => this.#wait(),
      ended: () => this.#ended(opening),
    })
    opening.then(
      session => this.#closed && session.close(),
      () => this.#forget(opening),
    )
    return opening
  }

  #ended(session: Promise<BridgeSession>): void {
    this.#forget(session)
    if (!this.#closed) this.#events.ended()
  }

  #forget(session: Promise<BridgeSession>): void {
    if (this.#session === session) this.#session = undefined
  }

  #wait(): void {
    this.#stopWaiting?.()
    if (!this.#closed) this.#stopWaiting = this.#clock.after(QUIET_MS, () => void this.#compare())
  }

  async #compare(): Promise<void> {
    const before = this.#offered
    try {
      const now = await this.read()
      if (!this.#closed && before && !sameOffer(before, now)) this.#events.changed()
    } catch {
      // Without a session, the next request or connection opens another one and reads again.
      if (this.#session !== undefined) this.#wait()
    }
  }
}
