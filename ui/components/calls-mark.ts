import { html, nothing, type TemplateResult } from 'lit'
import { callsOf } from '../../core/domain/log/call-count.ts'
import { formatNumber } from '../text/format.ts'
import { plural } from '../text/t.ts'

/** Number of calls in a record of several, as "× 800"; nothing for any other record. */
export function callsMark(record: {
  readonly message?: unknown
  readonly count?: unknown
}): TemplateResult | typeof nothing {
  const calls = callsOf(record)
  if (calls === 1) return nothing
  return html` <b class="nw tn" aria-hidden="true">× ${formatNumber(calls)}</b><span class="vh">, ${plural(calls, '{n} call', '{n} calls')}</span>`
}
