import type { PluginContext } from 'patchbay/contract'
import type { Notice } from 'patchbay/features'
import { visibleName } from 'patchbay/plugin-kit'
import type { ApprovalRequest } from './requests.ts'

/** Time for which a first message waits for further requests. */
const GATHER_MS = 1_000
/** Shortest time between two messages to one person. */
const PAUSE_MS = 60_000
/** Requests of one caller in an hour that cause messages: any user may name a team in a rule and then call. */
const MOST_OF_CALLER = 60
const HOUR_MS = 3_600_000
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
  readonly #callers = new Map<string, { readonly sinceMs: number; requests: number }>()

  /** `now`: milliseconds of a monotonic clock. */
  constructor(context: Pick<PluginContext<unknown>, 'address' | 'notify'>, now = () => performance.now()) {
    this.#context = context
    this.#now = now
  }

  /** Adds a request for all of these users. */
  add(userIds: readonly string[], request: ApprovalRequest): void {
    const nowMs = this.#now()
    if (!this.#take(request.asked.caller.userId, nowMs)) return
    for (const userId of userIds) {
      const known = this.#people.get(userId)
      if (known) known.waiting.push(request)
      else this.#people.set(userId, { waiting: [request], dueMs: nowMs + GATHER_MS })
    }
  }

  /** False when the caller has caused enough of them in this hour. */
  #take(callerId: string, nowMs: number): boolean {
    const known = this.#callers.get(callerId)
    const hour = known && nowMs - known.sinceMs < HOUR_MS ? known : { sinceMs: nowMs, requests: 0 }
    this.#callers.set(callerId, hour)
    hour.requests += 1
    return hour.requests <= MOST_OF_CALLER
  }

  /** Sends what is due, about requests that still wait. A channel that fails or is slow delays nothing. */
  sweep(): void {
    const nowMs = this.#now()
    for (const [id, { sinceMs }] of this.#callers) if (nowMs - sinceMs >= HOUR_MS) this.#callers.delete(id)
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

/** A name of others, which is no link. */
function named(text: string): string {
  const cut = text.length <= MOST_NAME ? text : `${text.slice(0, MOST_NAME)}…`
  return visibleName(cut).replaceAll('://', ': //')
}

function timeOf({ expiresAtMs }: ApprovalRequest): string {
  return `${new Date(expiresAtMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
