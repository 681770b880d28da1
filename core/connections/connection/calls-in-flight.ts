import type { JsonObject } from '../../contract/json.ts'
import { asDouble } from '../../domain/json/exact-json.ts'
import { SequenceMap } from '../../transport-kit/sequence-map.ts'
import type { PendingCall } from './call.ts'
import type { ConnectionEvents } from './connection-events.ts'
import { ServerRequests } from './server-requests.ts'

/** Longest time for which an upstream may still send messages about a cancelled call. */
const TALK_MS = 60_000
/** With more requests in flight, a log message is not matched to a call: reading them all for each message would be costly. */
const MAX_MATCHED = 8

/**
 * Requests that the hub sends by itself, of which no server talks. The caller's next call often overtakes their responses: a level
 * is not awaited, and pings show that a server has worked on the client's folders.
 */
const OF_THE_HUB: ReadonlySet<string> = new Set(['logging/setLevel', 'ping'])

/** The calls in flight over one connection, and to which of them something belongs that the upstream sends meanwhile. */
export class CallsInFlight {
  readonly #events: Pick<ConnectionEvents, 'asked' | 'serverRequest' | 'notification' | 'said'>
  readonly #calls = new SequenceMap<PendingCall>()
  readonly #cancelled = new RecentlyCancelled()
  readonly #serverRequests: ServerRequests
  #emptied: (() => void) | undefined

  /** `answer` sends the client's response to a server request. */
  constructor(
    events: Pick<ConnectionEvents, 'asked' | 'serverRequest' | 'notification' | 'said'>,
    answer: ConstructorParameters<typeof ServerRequests>[0],
  ) {
    this.#events = events
    this.#serverRequests = new ServerRequests(answer)
  }

  get size(): number {
    return this.#calls.size
  }

  /** Resolves when there is none. */
  empty(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#emptied = resolve
    this.#removed()
    return promise
  }

  #removed(): void {
    if (this.#calls.size === 0) this.#emptied?.()
  }

  add(id: number, call: PendingCall): void {
    this.#calls.set(id, call)
  }

  /** Removes the call that gets its response now; undefined when it was given up. */
  take(id: number): PendingCall | undefined {
    const call = this.#calls.get(id)
    if (!call) return undefined
    this.#calls.delete(id)
    if (call.serverRequests !== undefined) this.#serverRequests.end(call)
    this.#removed()
    return call
  }

  /** Removes all calls: none of them gets a response any more. */
  *takeAll(): Iterable<readonly [id: number, call: PendingCall]> {
    const calls = this.#calls.entries()
    this.#calls.clear()
    this.#removed()
    this.#serverRequests.endAll()
    for (const [id, call] of calls) {
      call.home = undefined
      this.#serverRequests.end(call)
      yield [id, call]
    }
  }

  /** Removes a call whose caller cancelled it; false when it is not in flight. */
  giveUp(call: PendingCall): boolean {
    if (!this.#calls.delete(call.id)) return false
    this.#cancelled.givenUp(call)
    this.#removed()
    return true
  }

  /** Ends the server requests that the call has caused. */
  endRequestsOf(call: PendingCall): void {
    this.#serverRequests.end(call)
  }

  /** The call has timed out; the upstream may still work on it. */
  answeredLate(call: PendingCall): void {
    this.#cancelled.givenUp(call)
  }

  note(id: number, text: string): void {
    const call = this.#calls.get(id)
    if (call) call.note = text
  }

  progress(id: number, { progressToken: _, ...params }: JsonObject): void {
    const call = this.#calls.get(id)
    const done = asDouble(params.progress)
    if (!call?.request.progress || done === undefined || done <= call.lastProgress) return
    call.lastProgress = done
    call.request.progress(params)
  }

  /** `id` 0: it came on no call's own stream. */
  notification(id: number, { method, params }: { method: string; params?: JsonObject }): void {
    if (method === 'notifications/message') this.#events.said?.(params)
    const named = id === 0 ? undefined : this.#calls.get(id)
    const call = named ?? (method === 'notifications/message' ? this.#onlyCall() : undefined)
    if (call?.request.notification) call.request.notification(method, params)
    else this.#events.notification(method, params)
  }

  /** The call to which a log message belongs that names none, as over stdio; undefined with several calls in flight. */
  #onlyCall(): PendingCall | undefined {
    if (this.#calls.size > MAX_MATCHED) return undefined
    const [only, ...others] = this.#callersCalls()
    return only && others.length === 0 && !this.#cancelled.possible(only) ? only : undefined
  }

  /** Calls that the upstream may be talking about, the oldest first. */
  #callersCalls(): PendingCall[] {
    const calls = this.#calls.entries().map(([, call]) => call)
    return calls.filter(({ request }) => !OF_THE_HUB.has(request.method))
  }

  /** A request that names no call is for the client of the connection; with a lease, for its one call's caller. */
  asked(id: number, key: number, method: string, params: JsonObject | undefined): void {
    const { asked } = this.#events
    this.#events.serverRequest?.(method)
    if (id === 0 && asked) return this.#serverRequests.askClient(asked, key, method, params)
    const call = id === 0 ? this.#callersCalls().at(-1) : this.#calls.get(id)
    this.#serverRequests.askCaller(call, key, method, params)
  }

  /** The upstream cancelled its request. */
  withdrawn(key: number): void {
    this.#serverRequests.withdrawn(key)
    for (const [, call] of this.#calls.entries()) this.#serverRequests.withdrawnOf(call, key)
  }
}

/** Callers of recently cancelled calls, about which messages without a call id may still arrive. */
class RecentlyCancelled {
  readonly #untilMs = new Map<string, number>()

  givenUp(call: PendingCall): void {
    this.#untilMs.set(callerOf(call), performance.now() + TALK_MS)
  }

  /** True when a message without a call id may be about a call of another caller than this one's. */
  possible(only: PendingCall): boolean {
    const now = performance.now()
    for (const [caller, untilMs] of this.#untilMs) {
      if (untilMs <= now) this.#untilMs.delete(caller)
      else if (caller !== callerOf(only)) return true
    }
    return false
  }
}

function callerOf({ request }: PendingCall): string {
  return request.session?.id ?? ''
}
