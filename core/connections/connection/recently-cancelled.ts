import type { PendingCall } from './call.ts'

/** So long an upstream may go on talking of a call that was given up. */
const TALK_MS = 60_000

/** Callers whose calls were given up here, and of which messages may still come that name no call. */
export class RecentlyCancelled {
  readonly #untilMs = new Map<string, number>()

  givenUp(call: PendingCall): void {
    this.#untilMs.set(callerOf(call), performance.now() + TALK_MS)
  }

  /** Whether a message that names no call might be about a call of somebody else than this one's caller. */
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
