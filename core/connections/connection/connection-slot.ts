import type { WireError } from '../../transport-kit/wire-error.ts'
import type { CallHome, PendingCall } from './call.ts'
import type { Connection } from './connection.ts'

/** Holds one upstream connection for one kind of caller, or queues calls until there is one. */
export class ConnectionSlot implements CallHome {
  /** Set while calls can be sent. */
  connection: Connection | undefined
  readonly #waiting = new Map<PendingCall, ReturnType<typeof setTimeout>>()

  get waiting(): number {
    return this.#waiting.size
  }

  get firstWaiting(): PendingCall | undefined {
    return this.#waiting.keys().next().value
  }

  /** Queues the call until a connection opens, at most `limitMs`; then it fails with the current `reason`. */
  wait(call: PendingCall, limitMs: number, reason: () => WireError): void {
    this.#keep(call, limitMs, () => call.failFor(reason()))
  }

  /** Queues the call for another connection, at most `limitMs`; after that `still` decides what happens to it. */
  hold(call: PendingCall, limitMs: number, still: () => void): void {
    this.#keep(call, limitMs, still)
  }

  opened(connection: Connection): void {
    this.connection = connection
    for (const call of this.takeWaiting()) connection.send(call)
  }

  failWaiting(reason: WireError): void {
    for (const call of this.takeWaiting()) call.failFor(reason)
  }

  withdraw(call: PendingCall): void {
    clearTimeout(this.#waiting.get(call))
    this.#waiting.delete(call)
  }

  #keep(call: PendingCall, limitMs: number, late: () => void): void {
    call.home = this
    const timer = setTimeout(() => {
      this.#waiting.delete(call)
      late()
    }, limitMs)
    this.#waiting.set(call, timer)
  }

  /** Empties the queue; the caller must dispatch the calls. */
  takeWaiting(): readonly PendingCall[] {
    const calls = [...this.#waiting.keys()]
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    return calls
  }
}
