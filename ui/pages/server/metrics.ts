import { html } from 'lit'
import { api } from '../../api/client.ts'
import { refOf } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { PbElement } from '../../components/element.ts'
import { segments } from '../../components/page.ts'
import { emptyState, show } from '../../components/states.ts'
import { serverCallsNote } from '../../text/figures.ts'
import { formatCount, formatNumber, UNKNOWN } from '../../text/format.ts'
import { plural, t } from '../../text/t.ts'

type Range = '1h' | '24h' | '30d'
interface Answer {
  readonly columns: readonly { readonly name: string }[]
  readonly rows: readonly (readonly (string | number | null)[])[]
}

/** Calls of a server by tool. */
export class PbServerMetrics extends PbElement {
  static override properties = { server: { attribute: false }, range: { state: true } }
  declare server: ServerRecord
  declare range: Range
  readonly #tools = new Resource<Answer>(this, {
    key: () => [refOf(this.server), this.range],
    read: signal => {
      const query = `tools{server=${JSON.stringify(refOf(this.server))}} over ${this.range} limit 100`
      return api.post<Answer>('/api/monitoring/query', { body: { type: 'table', query, range: this.range }, signal })
    },
    everyMs: 30_000,
  })

  constructor() {
    super()
    this.range = '24h'
  }

  override render(): unknown {
    const ranges = [
      { id: '1h' as const, label: t('1 hour') },
      { id: '24h' as const, label: t('24 hours') },
      { id: '30d' as const, label: t('30 days') },
    ]
    return html`<section class="card"><div class="ch"><h2>${t('Calls by tool')}</h2><div class="r row">${segments(
      t('Time'),
      ranges,
      this.range,
      range => {
        this.range = range
      },
      'sm',
    )}<a href=${href('/monitoring', { server: refOf(this.server) })}>${t('Charts in Monitoring')}</a></div></div>
      ${show(this.#tools, answer =>
        answer.rows.length === 0
          ? emptyState({
              icon: 'chart-line',
              title: t('No calls in this time'),
              text: t('The first point comes about 15 s after the first call.'),
            })
          : this.#table(answer),
      )}</section>`
  }

  #table({ columns, rows }: Answer): unknown {
    const at = (name: string): number => columns.findIndex(column => column.name === name)
    const number = (row: Answer['rows'][number], name: string, digits = 0): string => {
      const value = row[at(name)]
      return typeof value === 'number' ? (digits === 0 ? formatCount(value) : formatNumber(value, digits)) : UNKNOWN
    }
    return html`<div class="tw"><table class="cards figures"><thead><tr><th scope="col">${t('Tool')}</th><th scope="col" class="num">${t('Calls')}</th><th scope="col" class="num">${t('Failed calls')}</th><th
      scope="col" class="num">${t('Average, ms')}</th><th scope="col" class="num">${t('p95, ms')}</th><th scope="col" class="num">${t('p99, ms')}</th></tr></thead><tbody>${rows.map(
        row => html`<tr><td class="mono">${row[at('tool')]}</td><td class="num" data-l=${t('Calls')}>${number(row, 'calls')}</td><td class="num" data-l=${t('Failed calls')}>${number(row, 'errors')}</td><td
        class="num" data-l=${t('Average, ms')}>${number(row, 'avg', 1)}</td><td class="num" data-l=${t('p95, ms')}>${number(row, 'p95', 1)}</td><td class="num" data-l=${t('p99, ms')}>${number(row, 'p99', 1)}</td></tr>`,
      )}</tbody></table></div><div class="tf"><span>${plural(rows.length, '{n} tool was called', '{n} tools were called')}</span><span>${serverCallsNote()}</span></div>`
  }
}
customElements.define('pb-server-metrics', PbServerMetrics)

declare global {
  interface HTMLElementTagNameMap {
    'pb-server-metrics': PbServerMetrics
  }
}
