import type { ToolCallRecord } from '../features/call-records.ts'
import { Histogram } from '../telemetry/histogram.ts'
import type { AlertServer, RuleScope } from './facts.ts'

const SLOT_MS = 10_000
/** Time for which calls are remembered, in milliseconds. */
export const CALL_WINDOW_MS = 60 * 60_000
/**
 * Number of slots that are kept, about 30 MB. If all are in use, further tools are counted for their server as `other`, except
 * for owners with fewer slots than their share: one user's tools never displace another's.
 */
const MOST_SLOTS = 200_000
const OTHER = 'other'

/** Calls within a window. */
export interface CallCounts {
  readonly calls: number
  /** Number of calls whose status was not `success`. */
  readonly errors: number
  /** Sum of their durations in milliseconds. */
  readonly totalMs: number
}

/** Counts, with the durations in microseconds where these are kept. */
export interface TimedCounts extends CallCounts {
  readonly durations: Histogram
}

interface Slot extends CallCounts {
  readonly number: number
  /** Written as bytes once the slot is over. */
  durations?: Histogram | Uint8Array
}

interface ServerCalls {
  readonly ownerId: string
  readonly tools: Map<string, Slot[]>
}

/** Counts finished calls by server and tool in slots of 10 s, for one hour. Times are of a monotonic clock. */
export class CallWindows {
  readonly #servers = new Map<string, ServerCalls>()
  readonly #mostSlots: number
  /** Slots of each owner. */
  readonly #owners = new Map<string, number>()
  /** True when durations are kept, for percentiles. */
  keepsDurations = false
  #total = 0

  constructor(mostSlots = MOST_SLOTS) {
    this.#mostSlots = mostSlots
  }

  /** `server`: its id, and that of its owner. */
  add(
    server: { readonly id: string; readonly ownerId: string },
    tool: string,
    call: { readonly failed: boolean; readonly durationMs: number },
    nowMs: number,
  ): void {
    const number = Math.floor(nowMs / SLOT_MS)
    const slots = this.#slots(server, tool, number)
    const last = slots.at(-1)
    if (last && last.number !== number && last.durations instanceof Histogram) last.durations = last.durations.encode()
    const isSame = last?.number === number
    const before = isSame ? (slots.pop() as Slot) : { calls: 0, errors: 0, totalMs: 0 }
    const errors = before.errors + (call.failed ? 1 : 0)
    const slot: Slot = { ...before, number, calls: before.calls + 1, errors, totalMs: before.totalMs + call.durationMs }
    if (this.keepsDurations) {
      slot.durations ??= new Histogram()
      if (slot.durations instanceof Histogram) slot.durations.add(call.durationMs * 1_000)
    }
    slots.push(slot)
    if (!isSame) this.#count(server.ownerId, 1)
    const oldest = number - CALL_WINDOW_MS / SLOT_MS
    while ((slots[0]?.number ?? number) < oldest) {
      slots.shift()
      this.#count(server.ownerId, -1)
    }
  }

  tools(serverId: string): readonly string[] {
    return [...(this.#servers.get(serverId)?.tools.keys() ?? [])]
  }

  /** Counts of one server: of one tool, or of all tools that pass the filter. */
  counts(serverId: string, wanted: string | ((tool: string) => boolean), windowMs: number, nowMs: number): TimedCounts {
    const from = Math.floor((nowMs - windowMs) / SLOT_MS)
    const durations = new Histogram()
    let [calls, errors, totalMs] = [0, 0, 0]
    for (const slots of this.#wanted(serverId, wanted)) {
      // The newest slots are last, and a window is mostly much shorter than the kept time.
      for (let at = slots.length - 1; at >= 0; at -= 1) {
        const slot = slots[at]
        if (!slot || slot.number <= from) break
        calls += slot.calls
        errors += slot.errors
        totalMs += slot.totalMs
        if (slot.durations) durations.merge(read(slot.durations))
      }
    }
    return { calls, errors, totalMs, durations }
  }

  /** Drops tools without calls in the last hour, and servers that are not kept. */
  prune(nowMs: number, kept: (serverId: string) => boolean): void {
    const oldest = Math.floor((nowMs - CALL_WINDOW_MS) / SLOT_MS)
    for (const [serverId, { ownerId, tools }] of this.#servers) {
      for (const [tool, slots] of tools) {
        if (kept(serverId) && (slots.at(-1)?.number ?? 0) >= oldest) continue
        tools.delete(tool)
        this.#count(ownerId, -slots.length)
      }
      if (tools.size === 0) this.#servers.delete(serverId)
    }
  }

  clear(): void {
    this.#servers.clear()
    this.#owners.clear()
    this.#total = 0
  }

  /** A single tool is read by key: a rule may query each of thousands. */
  #wanted(serverId: string, wanted: string | ((tool: string) => boolean)): readonly (readonly Slot[])[] {
    const tools = this.#servers.get(serverId)?.tools
    if (!tools) return []
    if (typeof wanted === 'string') return [tools.get(wanted) ?? []]
    return [...tools].filter(([tool]) => wanted(tool)).map(([, slots]) => slots)
  }

  #slots(server: { readonly id: string; readonly ownerId: string }, tool: string, number: number): Slot[] {
    const { tools } = this.#servers.get(server.id) ?? { tools: new Map<string, Slot[]>() }
    // Its owner may be another one than at its last call.
    if (this.#servers.get(server.id)?.ownerId !== server.ownerId) this.#move(server, tools)
    const slots = tools.get(tool) ?? []
    const grows = slots.at(-1)?.number !== number
    if (grows && tool !== OTHER && this.#isFull(server.ownerId)) return this.#slots(server, OTHER, number)
    tools.set(tool, slots)
    return slots
  }

  #move({ id, ownerId }: { readonly id: string; readonly ownerId: string }, tools: Map<string, Slot[]>): void {
    const count = [...tools.values()].reduce((sum, slots) => sum + slots.length, 0)
    const former = this.#servers.get(id)?.ownerId
    if (former !== undefined) this.#count(former, -count)
    this.#count(ownerId, count)
    this.#servers.set(id, { ownerId, tools })
  }

  #isFull(ownerId: string): boolean {
    if (this.#total < this.#mostSlots) return false
    const own = this.#owners.get(ownerId) ?? 0
    return own >= this.#mostSlots / (this.#owners.size + (own === 0 ? 1 : 0))
  }

  #count(ownerId: string, change: number): void {
    this.#total += change
    const now = (this.#owners.get(ownerId) ?? 0) + change
    if (now > 0) this.#owners.set(ownerId, now)
    else this.#owners.delete(ownerId)
  }
}

function read(durations: Histogram | Uint8Array): Histogram {
  return durations instanceof Histogram ? durations : Histogram.decode(durations)
}

/** Ids that count calls which belong to no server of the rule's owner. */
const UNSENT = 'unsent:'
const ELSEWHERE = 'elsewhere:'

/** A place in lists of servers for calls that reached no server (`unsent`), or servers of others (`elsewhere`). */
export function otherCalls(kind: 'unsent' | 'elsewhere', ownerId: string, ownerName: string): AlertServer {
  const id = `${kind === 'unsent' ? UNSENT : ELSEWHERE}${ownerId}`
  return { id, ownerId, ownerName, name: '', enabled: true }
}

/** True for one of these ids. */
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

  /** Counts a call that belongs here; returns true if it reached no server. */
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

  /** The places that a rule counts; `timed`: for the duration of calls, so calls that were not sent are excluded. */
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

  /** True when calls are counted under this id here. */
  owns(serverId: string): boolean {
    return serverId.startsWith(UNSENT) || serverId.startsWith(ELSEWHERE)
  }

  clear(): void {
    this.#callers.clear()
  }
}
