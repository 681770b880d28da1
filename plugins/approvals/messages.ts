import type { PluginContext } from 'patchbay/contract'
import type { Notice } from 'patchbay/features'
import { visibleName } from 'patchbay/plugin-kit'
import type { ApprovalRequest } from './requests.ts'

/** Time for which a first message waits for further requests. */
const GATHER_MS = 1_000
/** Shortest time between two messages to one person. */
const PAUSE_MS = 60_000
/** Requests that one message names. */
const MOST_NAMED = 5
const MOST_NAME = 128

interface Person {
  waiting: ApprovalRequest[]
  dueMs: number
}

/**
 * Messages with links to requests, by the channels of those who decide. A person gets at most one a minute, about all that wait. They
 * have no arguments, and no button: a decision is made at the console.
 */
export class Messages {
  readonly #context: Pick<PluginContext<unknown>, 'address' | 'notify'>
  readonly #now: () => number
  readonly #people = new Map<string, Person>()

  /** `now`: milliseconds of a monotonic clock. */
  constructor(context: Pick<PluginContext<unknown>, 'address' | 'notify'>, now = () => performance.now()) {
    this.#context = context
    this.#now = now
  }

  add(userId: string, request: ApprovalRequest): void {
    const known = this.#people.get(userId)
    if (known) known.waiting.push(request)
    else this.#people.set(userId, { waiting: [request], dueMs: this.#now() + GATHER_MS })
  }

  /** Sends what is due, about requests that still wait. A channel that fails or is slow delays nothing. */
  sweep(): void {
    const nowMs = this.#now()
    for (const [userId, person] of this.#people) {
      person.waiting = person.waiting.filter(({ state }) => state === 'pending')
      if (person.dueMs > nowMs) continue
      if (person.waiting.length === 0) {
        this.#people.delete(userId)
        continue
      }
      void this.#context.notify(userId, noticeOf(person.waiting, this.#context.address()))
      this.#people.set(userId, { waiting: [], dueMs: nowMs + PAUSE_MS })
    }
  }
}

/** The message about these requests. */
export function noticeOf(requests: readonly ApprovalRequest[], address: string): Notice {
  const [first] = requests
  if (first && requests.length === 1) {
    const { caller, server, tool } = first.asked
    return {
      title: `${named(caller.name)} wants to call ${named(tool)} of ${named(server)}`,
      lines: [`The call waits for your decision. It is denied at ${timeOf(first)}.`],
      url: `${address}/approvals/${first.id}`,
    }
  }
  const shown = fairly(requests).slice(0, MOST_NAMED)
  const more = requests.length - shown.length
  return {
    title: `${requests.length} calls wait for your decision`,
    lines: [...shown.map(lineOf), ...(more > 0 ? [`and ${more} more`] : [])],
    url: `${address}/approvals`,
  }
}

function lineOf(request: ApprovalRequest): string {
  const { caller, server, tool } = request.asked
  return `${named(caller.name)}: ${named(tool)} of ${named(server)}, until ${timeOf(request)}`
}

/** The first request of each caller comes before the second one of any. */
function fairly(requests: readonly ApprovalRequest[]): readonly ApprovalRequest[] {
  const turns = new Map<string, number>()
  const ranked = requests.map(request => {
    const { userId } = request.asked.caller
    const turn = turns.get(userId) ?? 0
    turns.set(userId, turn + 1)
    return { request, turn }
  })
  return ranked.toSorted((one, other) => one.turn - other.turn).map(({ request }) => request)
}

function named(text: string): string {
  return visibleName(text.length <= MOST_NAME ? text : `${text.slice(0, MOST_NAME)}…`)
}

function timeOf({ expiresAtMs }: ApprovalRequest): string {
  return `${new Date(expiresAtMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
