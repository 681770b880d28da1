import { Histogram } from '../telemetry/histogram.ts'

const SLOT_MS = 10_000
/** How far back calls are remembered. */
export const CALL_WINDOW_MS = 60 * 60_000
/** Tools of all servers that are counted by themselves; the calls of others count for their server as `other`. */
const MOST_SERIES = 20_000
const OTHER = 'other'

/** Calls within a window. */
export interface CallCounts {
  readonly calls: number
  /** Those whose status was not `success`. */
  readonly errors: number
  /** Of their durations. */
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

/** Counts finished calls by server and tool in slots of 10 s, for one hour. Times are of a monotonic clock. */
export class CallWindows {
  readonly #servers = new Map<string, Map<string, Slot[]>>()
  /** Whether durations are kept one by one, for percentiles. */
  keepsDurations = false
  #series = 0

  add(serverId: string, tool: string, call: { readonly failed: boolean; readonly durationMs: number }, nowMs: number) {
    const slots = this.#slots(serverId, tool)
    const number = Math.floor(nowMs / SLOT_MS)
    const last = slots.at(-1)
    if (last && last.number !== number && last.durations instanceof Histogram) last.durations = last.durations.encode()
    const before = last?.number === number ? (slots.pop() as Slot) : { calls: 0, errors: 0, totalMs: 0 }
    const errors = before.errors + (call.failed ? 1 : 0)
    const slot: Slot = { ...before, number, calls: before.calls + 1, errors, totalMs: before.totalMs + call.durationMs }
    if (this.keepsDurations) {
      slot.durations ??= new Histogram()
      if (slot.durations instanceof Histogram) slot.durations.add(call.durationMs * 1_000)
    }
    slots.push(slot)
    const oldest = number - CALL_WINDOW_MS / SLOT_MS
    while ((slots[0]?.number ?? number) < oldest) slots.shift()
  }

  tools(serverId: string): readonly string[] {
    return [...(this.#servers.get(serverId)?.keys() ?? [])]
  }

  /** Of one server, of one tool or of all that pass. */
  counts(serverId: string, wanted: string | ((tool: string) => boolean), windowMs: number, nowMs: number): TimedCounts {
    const from = Math.floor((nowMs - windowMs) / SLOT_MS)
    const durations = new Histogram()
    let [calls, errors, totalMs] = [0, 0, 0]
    for (const slots of this.#wanted(serverId, wanted)) {
      // The newest stand last, and a window is mostly much shorter than what is kept.
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
    for (const [serverId, tools] of this.#servers) {
      for (const [tool, slots] of tools) {
        if (kept(serverId) && (slots.at(-1)?.number ?? 0) >= oldest) continue
        tools.delete(tool)
        this.#series -= 1
      }
      if (tools.size === 0) this.#servers.delete(serverId)
    }
  }

  clear(): void {
    this.#servers.clear()
    this.#series = 0
  }

  /** One tool is looked up: a rule asks for each of thousands. */
  #wanted(serverId: string, wanted: string | ((tool: string) => boolean)): readonly (readonly Slot[])[] {
    const tools = this.#servers.get(serverId)
    if (!tools) return []
    if (typeof wanted === 'string') return [tools.get(wanted) ?? []]
    return [...tools].filter(([tool]) => wanted(tool)).map(([, slots]) => slots)
  }

  #slots(serverId: string, tool: string): Slot[] {
    const tools = this.#servers.get(serverId) ?? new Map<string, Slot[]>()
    this.#servers.set(serverId, tools)
    const known = tools.get(tool)
    if (known) return known
    if (this.#series >= MOST_SERIES && tool !== OTHER) return this.#slots(serverId, OTHER)
    this.#series += 1
    const slots: Slot[] = []
    tools.set(tool, slots)
    return slots
  }
}

function read(durations: Histogram | Uint8Array): Histogram {
  return durations instanceof Histogram ? durations : Histogram.decode(durations)
}
