import type { ToolCallRecord } from '../contract/records.ts'
import type { CallWindows } from './call-windows.ts'
import type { RuleScope } from './facts.ts'
import type { AlertServer } from './hub-facts.ts'

/** What calls are counted under that are not counted under a server of the rule's owner. */
const UNSENT = 'unsent:'
const ELSEWHERE = 'elsewhere:'

/** A place in lists of servers for calls that reached no server (`unsent`), or servers of others (`elsewhere`). */
export function otherCalls(kind: 'unsent' | 'elsewhere', ownerId: string, ownerName: string): AlertServer {
  const id = `${kind === 'unsent' ? UNSENT : ELSEWHERE}${ownerId}`
  return { id, ownerId, ownerName, name: '', enabled: true }
}

/** Whether it is one of these places. */
export function isOtherCalls({ name }: Pick<AlertServer, 'name'>): boolean {
  return name === ''
}

/**
 * Calls of each caller that reached no server, and those of others' servers. The first count for rules of the caller and of
 * administrators; the second for rules of the caller about all calls together, since they count under their server elsewhere.
 */
export class OtherCalls {
  readonly #calls: CallWindows
  /** Names of callers, by id. */
  readonly #callers = new Map<string, string>()

  constructor(calls: CallWindows) {
    this.#calls = calls
  }

  /** Counts a call where it belongs here; true where it reached no server. */
  add(call: ToolCallRecord, nowMs: number): boolean {
    const { serverId, ownerId, userId, userName, tool, outcome, durationMs } = call
    const isSent = serverId !== ''
    if (isSent && userId === ownerId) return false
    this.#callers.set(userId, userName)
    const place = otherCalls(isSent ? 'elsewhere' : 'unsent', userId, userName)
    // The tool's name of a call that reached no server is the caller's: any number of different ones.
    this.#calls.add(place, isSent ? tool : '', { failed: outcome !== 'ok', durationMs }, nowMs)
    return !isSent
  }

  /** The places that a rule counts; `timed`: it asks how long calls took, which those that were not sent did not. */
  places({ ownerId }: RuleScope, ofAll: boolean, timed: boolean): readonly AlertServer[] {
    const own = [...this.#callers].filter(([id]) => ownerId === 'all' || id === ownerId)
    const kinds = [...(timed ? [] : ['unsent' as const]), ...(ofAll && ownerId !== 'all' ? ['elsewhere' as const] : [])]
    return own
      .flatMap(([id, name]) => kinds.map(kind => otherCalls(kind, id, name)))
      .filter(({ id }) => this.#calls.tools(id).length > 0)
  }

  /** Forgets callers without calls in the last hour; called after the windows were pruned. */
  prune(): void {
    for (const id of this.#callers.keys()) {
      const has = [UNSENT, ELSEWHERE].some(kind => this.#calls.tools(`${kind}${id}`).length > 0)
      if (!has) this.#callers.delete(id)
    }
  }

  /** Whether calls are counted under this id here. */
  owns(serverId: string): boolean {
    return serverId.startsWith(UNSENT) || serverId.startsWith(ELSEWHERE)
  }

  clear(): void {
    this.#callers.clear()
  }
}
