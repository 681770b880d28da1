import { html, nothing, type TemplateResult } from 'lit'
import type { Metrics, Overview, Resources, Times, WidgetAnswer } from '../../api/monitoring.ts'
import { unitWord, valueText } from '../../components/chart/units.ts'
import { missingFigure } from '../../components/hub-words.ts'
import { callsNote, serverCallsNote } from '../../text/figures.ts'
import { formatBytes, formatNumber, formatPercent, UNKNOWN } from '../../text/format.ts'
import { t } from '../../text/t.ts'
import { type CallLines, extentOf, type Range, rangeLabel, type ThresholdRule, thresholdsOf } from './calls.ts'
import '../../components/chart/chart.ts'

/** Data of the page. */
export interface MonitoringData {
  readonly range: Range
  readonly metrics: Metrics
  readonly overview: Overview
  readonly resources: Resources
  readonly rules: readonly ThresholdRule[]
  readonly p50: WidgetAnswer
  /** p95 of each server, or of each tool of a server. */
  readonly bySplit: WidgetAnswer
  readonly tools: WidgetAnswer
  readonly startedAtMs: number
  readonly lines: CallLines
}

const pointsOf = (answer: WidgetAnswer) =>
  (answer.series ?? []).map(({ label, points }) => ({
    label,
    points: points.map(([at, value]) => [Date.parse(at), value] as const),
  }))

/** Calls, failures, response times, and p95 by server or tool. */
export function charts(
  { lines, rules, p50, bySplit, range }: MonitoringData,
  server: string | undefined,
): TemplateResult {
  const span = rangeLabel(range.id)
  const common = { from: lines.fromMs, to: lines.toMs, gaps: lines.gaps }
  const calls = extentOf(lines.calls)
  const failed = extentOf(lines.failed)
  const middle = pointsOf(p50).map(line => ({ ...line, label: 'p50', color: 6 as const }))
  const times = [...lines.times.filter(({ label }) => label.startsWith('p')), ...middle]
  const split = pointsOf(bySplit)
  const none = t('No call in this time.')
  const lasts = (all: typeof split): string =>
    all
      .map(line => `${line.label} ${valueText(line.points.findLast(([, value]) => value !== null)?.[1], 'ms')}`)
      .join(', ')
  const splitHeading = server === undefined ? t('p95 by server') : t('p95 by tool')
  return html`<div class="grid2 even"><pb-chart heading=${t('Calls')} note=${unitWord('per_minute')} unit="per_minute" .series=${[lines.calls]} .from=${common.from} .to=${common.to} .gaps=${common.gaps}
      label=${calls ? t('Calls a minute over {span}: {last} now, between {least} and {most}.', { span, last: formatNumber(calls.last), least: formatNumber(calls.least), most: formatNumber(calls.most) }) : none}></pb-chart>
    <pb-chart heading=${t('Error rate')} note=${unitWord('ratio')} unit="ratio" .series=${[lines.failed]} .thresholds=${thresholdsOf(rules, 'error_rate')} .from=${common.from} .to=${common.to} .gaps=${common.gaps}
      label=${failed ? t('Share of failed calls over {span}: {last} now, at most {most}.', { span, last: formatPercent(failed.last), most: formatPercent(failed.most) }) : none}></pb-chart>
    <pb-chart heading=${t('Response time')} note=${unitWord('ms')} unit="ms" end-labels .series=${times} .thresholds=${thresholdsOf(rules, 'response_time')} .from=${common.from} .to=${common.to} .gaps=${common.gaps}
      label=${t('Response time over {span}: {values}.', { span, values: lasts(times as typeof split) })}></pb-chart>
    <pb-chart heading=${splitHeading} note=${unitWord('ms')} unit="ms" end-labels .series=${split} .from=${common.from} .to=${common.to} .gaps=${common.gaps}
      label=${`${splitHeading}: ${lasts(split)}`}></pb-chart></div><p class="xs q">${server === undefined ? callsNote() : serverCallsNote()}</p>`
}

/** Start of a server, running a tool, requests to the API. */
export function responseGroups({ metrics, range }: MonitoringData): TemplateResult {
  const times = metrics.responseTimeMetrics
  const row = (word: string, { avg, p95, p99 }: Times): TemplateResult =>
    html`<tr><td class="med">${word}</td>${[avg, p95, p99].map(
      value =>
        html`<td class="num">${value === null ? html`<span title=${t('nothing was measured')}>${UNKNOWN}<span class="vh">${t('nothing was measured')}</span></span>` : formatNumber(value)}</td>`,
    )}</tr>`
  return html`<section class="card"><div class="ch line"><h2>${t('Three groups of response times')} <span class="q">${t('over {span}', { span: rangeLabel(range.id) })}</span></h2></div><div class="tw" tabindex="0" role="region" aria-label=${t('Response times, table')}><table><thead><tr><th scope="col">${t('Group')}</th>
    <th scope="col" class="num">${t('Average, ms')}</th><th scope="col" class="num">${t('p95, ms')}</th><th scope="col" class="num">${t('p99, ms')}</th></tr></thead><tbody>${row(t('Start of a server'), times.server_startup)}${row(t('Calls that reached a server'), times.tool_execution)}${row(t('API requests'), times.api_requests)}</tbody></table></div></section>`
}

function headOf(name: string): string {
  const heads: Readonly<Record<string, string>> = {
    server: t('Server'),
    tool: t('Tool'),
    user: t('Name'),
    calls: t('Calls'),
    errors: t('Failed calls'),
    avg: t('Average, ms'),
    p95: t('p95, ms'),
    p99: t('p99, ms'),
  }
  return heads[name] ?? name
}

/** Rows of an answer as a table. */
export function rowsCard(title: string, { columns = [], rows = [] }: WidgetAnswer, note?: string): TemplateResult {
  const number = (value: string | number | null): string =>
    typeof value === 'number' ? formatNumber(value) : (value ?? UNKNOWN)
  const errors = columns.findIndex(({ name }) => name === 'errors')
  return html`<section class="card"><div class="ch line"><h2>${title}</h2></div><div class="tw" tabindex="0" role="region" aria-label=${title}><table class="cards figures"><thead><tr>${columns.map(
    ({ name, unit }) => html`<th scope="col" class=${unit ? 'num' : ''}>${headOf(name)}</th>`,
  )}</tr></thead><tbody>${rows.map(
    row =>
      html`<tr>${row.map((cell, at) => html`<td class=${columns[at]?.unit ? 'num' : 'mono wrap-cell'} data-l=${columns[at]?.unit ? headOf(columns[at].name) : nothing}>${at === errors && Number(cell) > 0 ? html`<span class="bad-t">${number(cell)}</span>` : number(cell)}</td>`)}</tr>`,
  )}</tbody></table></div>${rows.length === 0 ? html`<p class="cb q s">${t('No call in this time.')}</p>` : html`<div class="tf"><span>${note}</span></div>`}</section>`
}

/** Use of the machine, and why a figure is missing. */
export function resourcesCard({ resources, metrics }: MonitoringData): TemplateResult {
  const { cpu, memory, disk, network, reasons } = resources
  const missing = (part: string): string => `${UNKNOWN} ${t('not available')}: ${missingFigure(part, reasons[part])}`
  const amount = (part: 'memory' | 'disk', { used, total, usage }: Resources['memory']): string =>
    usage === null
      ? missing(part)
      : t('{used} of {total} ({usage})', { used: used ?? UNKNOWN, total: total ?? UNKNOWN, usage })
  const bytes =
    network.bytesIn === null || network.bytesOut === null
      ? missing('network')
      : t('{in} in, {out} out since the start', {
          in: formatBytes(network.bytesIn),
          out: formatBytes(network.bytesOut),
        })
  const rows = [
    [
      t('Processor'),
      cpu.usage === null
        ? missing('cpu')
        : t('{usage} of {n} cores, load {load}', {
            usage: cpu.usage,
            n: cpu.cores,
            load: cpu.loadAverage.map(each => formatNumber(each, 2)).join(' '),
          }),
    ],
    [t('Memory'), amount('memory', memory)],
    [t('Disk'), amount('disk', disk)],
    [t('Network'), bytes],
    [t('Open connections'), formatNumber(network.connectionsActive, 0)],
    [
      t('The hub itself'),
      t('{memory} of memory, {cpu} of a processor, running for {uptime}', {
        memory: metrics.metrics.system.memoryUsage,
        cpu: metrics.metrics.system.cpuUsage,
        uptime: metrics.metrics.system.uptime,
      }),
    ],
  ]
  return html`<section class="card"><div class="ch line"><h2>${t('Resources')}</h2></div><dl class="kv cb padt">${rows.map(([word, value]) => html`<dt>${word}</dt><dd>${value}</dd>`)}</dl></section>`
}
