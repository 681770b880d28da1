import type { WireError } from '../../contract/errors.ts'
import type { CallHome, PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'

/** The way to one upstream for one kind of caller: a connection when there is one, else a place to wait for it. */
export class ConnectionSlot implements CallHome {
  /** Set while calls can be sent. */
  connection: Connection | undefined
  readonly #waiting = new Map<PendingCall, ReturnType<typeof setTimeout>>()

  get waiting(): number {
    return this.#waiting.size
  }

  /** Keeps the call until a connection comes, at most `limitMs`; then it fails with what `reason` says by then. */
  wait(call: PendingCall, limitMs: number, reason: () => WireError): void {
    this.#keep(call, limitMs, () => call.failFor(reason()))
  }

  /** Keeps the call until another connection comes; if none does within `limitMs`, `still` says how it goes on. */
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

  /** Those that wait; whoever takes them sends them. */
  takeWaiting(): readonly PendingCall[] {
    const calls = [...this.#waiting.keys()]
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    return calls
  }
}
