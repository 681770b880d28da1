import type { PendingCall } from './call.ts'

/** How long an upstream may go on sending messages about a cancelled call. */
const TALK_MS = 60_000

/** Callers of recently cancelled calls, about which messages without a call id may still arrive. */
export class RecentlyCancelled {
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
