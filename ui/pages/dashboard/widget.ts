import { html, nothing, type TemplateResult } from 'lit'
import type { DashboardData, WidgetAnswer } from '../../api/monitoring.ts'
import { valueText } from '../../components/chart/units.ts'
import { queryNote } from '../../text/figures.ts'
import { icon } from '../../text/icon.ts'
import { problemText } from '../../text/problem.ts'
import { plural, t } from '../../text/t.ts'
import { builtInTitle, cellOf, columnHead, shownColumns, unitOf } from './widget-words.ts'
import '../../components/chart/chart.ts'

/** Card of a widget with its data; a failed widget shows its own error and a retry button. */
export function widgetCard(
  widget: DashboardData['widgets'][number],
  isBuiltIn: boolean,
  retry: () => void,
): TemplateResult {
  const given = widget.title || widget.query
  const title = isBuiltIn ? builtInTitle(given) : given
  if (widget.error) {
    return html`<section class="card"><div class="ch"><h2>${title}</h2></div><div class="cb stack t"><p class="s">${icon('circle-x', { class: 'st-bad' })} ${problemText(widget.error)}</p>
      <p class="row xs q"><code>${widget.error.code}</code><button type="button" class="btn sm push" @click=${retry}>${t('Try again')}</button></p></div></section>`
  }
  return answerCard(title, widget.type, widget, widget.query)
}

/** Data of a query, shown by its type. */
export function answerCard(title: string, type: string, answer: WidgetAnswer, query = ''): TemplateResult {
  if (type === 'metric')
    return html`<section class="card wmetric"><div class="ch"><h2>${title}</h2></div><div class="cb"><p class="stat"><b>${valueText(answer.value, unitOf(answer.unit))}</b>${answer.value == null ? html`<span>${t('no number yet')}</span>` : ''}</p>${noteLine(query)}</div></section>`
  if (type === 'chart') return chartCard(title, answer, query)
  return tableCard(title, answer, query)
}

/** Note that explains the figures of a widget. */
function noteLine(query: string): unknown {
  const note = queryNote(query)
  return note === undefined ? nothing : html`<p class="xs q">${note}</p>`
}

function chartCard(title: string, answer: WidgetAnswer, query: string): TemplateResult {
  const { series = [], unit, stepMs, from = '', to = '' } = answer
  const [metric] = query.split(/[\s{]/)
  const lines = series.map(({ label, points }) => ({
    // The only line of a chart is called after its metric.
    label: label === metric ? title : label || t('reached no server'),
    points: points.map(([at, value]) => [Date.parse(at), value] as const),
  }))
  const label = lines.map(line => `${line.label} ${valueText(line.points.at(-1)?.[1], unitOf(unit))}`).join(', ')
  return html`<pb-chart heading=${title} .unit=${unitOf(unit)} .series=${lines} .stepMs=${stepMs} .from=${Date.parse(from)} .to=${Date.parse(to)} ?end-labels=${lines.length > 1} label=${`${title}: ${label || t('no data')}`}
    .empty=${t('No data in this time')} .foot=${queryNote(query)}></pb-chart>`
}

function tableCard(title: string, { columns = [], rows = [] }: WidgetAnswer, query: string): TemplateResult {
  const shown = shownColumns(columns)
  const look = (at: number): string => (columns[at]?.unit ? 'num' : '')
  return html`<section class="card wtable"><div class="ch line"><h2>${title}</h2></div><div class="tw" tabindex="0" role="region" aria-label=${t('{what}, table', { what: title })}><table><thead><tr>${shown.map(
    at => html`<th scope="col" class=${look(at)}>${columnHead(columns[at]?.name ?? '')}</th>`,
  )}</tr></thead><tbody>${rows.map(
    row => html`<tr>${shown.map(at => html`<td class=${look(at)}>${cellOf(columns, row, at)}</td>`)}</tr>`,
  )}</tbody></table></div>${rows.length === 0 ? html`<p class="cb q s">${t('Nothing in this time')}</p>` : html`<div class="tf"><span>${plural(rows.length, '{n} row', '{n} rows')}</span>${noteLine(query)}</div>`}</section>`
}
