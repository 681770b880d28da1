import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { FromWorker } from '../../protocol.ts'
import { kindsOf, type ListWatch } from '../lists/list-watch.ts'
import type { CallTable } from './call-table.ts'
import type { NoticeBudgets } from './notice-budget.ts'

export interface UpstreamNoticesOptions {
  readonly conn: number
  readonly calls: CallTable
  /** The upstream takes back the request of this id. */
  readonly withdrawn: (id: JsonValue) => void
  readonly budget: NoticeBudgets
  /** Undefined where nobody reads the lists. */
  readonly lists: () => ListWatch | undefined
  readonly frame: (text: string) => void
  readonly control: (message: FromWorker) => void
}

/** The notifications of an upstream: used here, passed to the call they belong to, or handed to main as the server's. */
export class UpstreamNotices {
  readonly #options: UpstreamNoticesOptions

  constructor(options: UpstreamNoticesOptions) {
    this.#options = options
  }

  /** `related` is the call on whose stream it came. */
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
      // Told once for each reading that follows, however often the upstream says so.
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
