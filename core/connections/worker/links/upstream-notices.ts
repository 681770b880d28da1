import type { JsonObject, JsonValue } from '../../../contract/json.ts'
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
  readonly frame: (text: string) => void
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
    const { conn, calls, withdrawn, budget, lists, frame, control } = this.#options
    const now = performance.now()
    if (method === 'notifications/cancelled') {
      if (params?.requestId !== undefined) withdrawn(params.requestId)
      return
    }
    if (method === 'notifications/progress') {
      const token = params?.progressToken
      if (typeof token !== 'number' || !calls.has(token)) return
      calls.progressed(token, now)
      const text = JSON.stringify(params)
      if (!budget.fits(text, now)) return
      if (calls.spendNotice(token) || budget.spend(now)) frame(`n${conn} ${token} ${text}`)
      return
    }
    const kinds = kindsOf(method)
    const watch = kinds && lists()
    if (kinds && watch) {
      // Sent once for each following reading, however often the upstream repeats it.
      if (watch.stale(kinds, true)) control({ type: 'stale', conn })
      return
    }
    const callId = related !== undefined && calls.has(related) ? related : 0
    const isLog = method === 'notifications/message'
    if (!calls.spendNotice(callId) && !(isLog ? budget.spendLog(now) : budget.spend(now))) return
    const text = JSON.stringify({ method, params })
    if (budget.fits(text, now)) frame(`m${conn} ${callId} ${text}`)
  }
}
