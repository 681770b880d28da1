import { html, type TemplateResult } from 'lit'
import type { DashboardData, MetricUnit, WidgetAnswer } from '../../api/monitoring.ts'
import { type ChartUnit, valueText } from '../../components/chart/units.ts'
import { formatDateTime, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import '../../components/chart/chart.ts'

/** Units of the hub as those of charts. */
function unitOf(unit: MetricUnit | undefined): ChartUnit {
  return unit ?? 'any'
}

/** A widget with what it shows; one that failed says why, alone, and is tried again by its button. */
export function widgetCard(widget: DashboardData['widgets'][number], retry: () => void): TemplateResult {
  const title = widget.title || widget.query
  if (widget.error) {
    return html`<section class="card"><div class="ch"><h2>${title}</h2></div><div class="cb stack t"><p class="s">${icon('circle-x', { class: 'st-bad' })} ${problemText(widget.error)}</p>
      <p class="row xs q"><code>${widget.error.code}</code><button type="button" class="btn sm push" @click=${retry}>${t('Try again')}</button></p></div></section>`
  }
  return answerCard(title, widget.type, widget)
}

/** What a query answers, as its type is shown. */
export function answerCard(title: string, type: string, answer: WidgetAnswer): TemplateResult {
  if (type === 'metric')
    return html`<section class="card wmetric"><div class="ch"><h2>${title}</h2></div><div class="cb"><p class="stat"><b>${valueText(answer.value, unitOf(answer.unit))}</b>${answer.value == null ? html`<span>${t('no number yet')}</span>` : ''}</p></div></section>`
  if (type === 'chart') return chartCard(title, answer)
  return tableCard(title, answer)
}

function chartCard(title: string, { series = [], unit, stepMs }: WidgetAnswer): TemplateResult {
  const lines = series.map(({ label, points }) => ({
    label,
    points: points.map(([at, value]) => [Date.parse(at), value] as const),
  }))
  const label = lines.map(line => `${line.label} ${valueText(line.points.at(-1)?.[1], unitOf(unit))}`).join(', ')
  return html`<pb-chart heading=${title} .unit=${unitOf(unit)} .series=${lines} .stepMs=${stepMs} ?end-labels=${lines.length > 1} label=${`${title}: ${label || t('no data')}`}
    .empty=${t('No data in this time')}></pb-chart>`
}

function tableCard(title: string, { columns = [], rows = [] }: WidgetAnswer): TemplateResult {
  return html`<section class="card wtable"><div class="ch line"><h2>${title}</h2></div><div class="tw" tabindex="0" role="region" aria-label=${t('{what}, table', { what: title })}><table><thead><tr>${columns.map(
    ({ name, unit }) => html`<th scope="col" class=${unit ? 'num' : ''}>${name}</th>`,
  )}</tr></thead><tbody>${rows.map(
    row =>
      html`<tr>${row.map((cell, at) => html`<td class=${columns[at]?.unit ? 'num' : ''}>${cellText(cell, columns[at]?.unit)}</td>`)}</tr>`,
  )}</tbody></table></div>${rows.length === 0 ? html`<p class="cb q s">${t('Nothing in this time')}</p>` : html`<div class="tf">${plural(rows.length, '{n} row', '{n} rows')}</div>`}</section>`
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

function cellText(cell: string | number | null, unit: MetricUnit | undefined): string {
  if (cell === null) return UNKNOWN
  if (typeof cell === 'number') return valueText(cell, unitOf(unit))
  return TIME.test(cell) ? formatDateTime(cell) : cell
}
