import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { UpstreamFrame } from '../../protocol/frames.ts'
import type { FromWorker } from '../../protocol.ts'
import { kindsOf, type ListWatch } from '../lists/list-watch.ts'
import type { CallTable } from './call-table.ts'
import type { NoticeBudgets } from './notice-budget.ts'

/** Callbacks of an `UpstreamNotices`. */
export interface UpstreamNoticesOptions {
  readonly conn: number
  readonly calls: CallTable
  /** The upstream cancelled its request with this id. */
  readonly withdrawn: (id: JsonValue) => void
  readonly budget: NoticeBudgets
  /** Undefined when this connection does not read the lists. */
  readonly lists: () => ListWatch | undefined
  readonly frame: (frame: UpstreamFrame) => void
  readonly control: (message: FromWorker) => void
}

/** The notifications of an upstream: handled here, passed to their call, or sent to main as the server's. */
export class UpstreamNotices {
  readonly #options: UpstreamNoticesOptions

  constructor(options: UpstreamNoticesOptions) {
    this.#options = options
  }

  /** `related` is the call on whose stream it arrived. */
  received(method: string, params: JsonObject | undefined, related: number | undefined): void {
    if (method === 'notifications/cancelled') {
      if (params?.requestId !== undefined) this.#options.withdrawn(params.requestId)
    } else if (method === 'notifications/progress') {
      this.#progress(params)
    } else if (!this.#listsChanged(method)) {
      this.#passOn(method, params, related)
    }
  }

  #progress(params: JsonObject | undefined): void {
    const { calls, budget, frame } = this.#options
    const id = params?.progressToken
    if (typeof id !== 'number' || !calls.has(id)) return
    const now = performance.now()
    calls.progressed(id, now)
    const text = JSON.stringify(params)
    if (!budget.fits(text, now)) return
    if (calls.spendNotice(id) || budget.spend(now)) frame({ kind: 'progress', id, text })
  }

  /** True when the notification only says that lists changed which this connection reads. */
  #listsChanged(method: string): boolean {
    const { conn, lists, control } = this.#options
    const kinds = kindsOf(method)
    const watch = kinds && lists()
    if (!kinds || !watch) return false
    // Sent once for each following reading, however often the upstream repeats it.
    if (watch.stale(kinds, true)) control({ type: 'stale', conn })
    return true
  }

  #passOn(method: string, params: JsonObject | undefined, related: number | undefined): void {
    const { calls, budget, frame } = this.#options
    const now = performance.now()
    const id = related !== undefined && calls.has(related) ? related : 0
    const spend = (): boolean => (method === 'notifications/message' ? budget.spendLog(now) : budget.spend(now))
    if (!calls.spendNotice(id) && !spend()) return
    const text = JSON.stringify({ method, params })
    if (budget.fits(text, now)) frame({ kind: 'notification', id, text })
  }
}
