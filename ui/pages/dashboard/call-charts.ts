import { html, type TemplateResult } from 'lit'
import type { Metrics } from '../../api/monitoring.ts'
import { callsNote } from '../../text/figures.ts'
import { formatCount, formatMs, formatNumber, formatPercent, UNKNOWN } from '../../text/format.ts'
import { t } from '../../text/t.ts'
import { callLines, extentOf, rangeLabel, rangeOf, type ThresholdRule, thresholdsOf } from '../monitoring/calls.ts'

/** Calls, error rate and response time over the range, each with its figure. */
export function callCharts(
  metrics: Metrics,
  uptimeMs: number,
  range: string,
  rules: readonly ThresholdRule[],
): TemplateResult {
  const { requests: sum } = metrics.metrics
  const lines = callLines(metrics, rangeOf(range).stepMs, Date.now() - uptimeMs)
  const times = metrics.responseTimeMetrics.tool_execution
  const span = rangeLabel(range)
  const now = extentOf(lines.calls)
  const ratio = sum.total === 0 ? null : sum.errors / sum.total
  const common = { from: lines.fromMs, to: lines.toMs, gaps: lines.gaps }
  const none = t('No call in this time.')
  const p95 = lines.times.filter(({ label }) => label !== 'p99')
  return html`<div class="grid3"><pb-chart heading=${t('Calls')} unit="per_minute" .figure=${formatCount(sum.total)} .figureNote=${t('in {span} · {rate} a minute on average', { span, rate: formatNumber(sum.rate * 60) })}
      .series=${[lines.calls]} .from=${common.from} .to=${common.to} .gaps=${common.gaps} height="100"
      label=${now ? t('Calls a minute over {span}: {last} now, between {least} and {most}.', { span, last: formatNumber(now.last), least: formatNumber(now.least), most: formatNumber(now.most) }) : none}></pb-chart>
    <pb-chart heading=${t('Error rate')} unit="ratio" .figure=${ratio === null ? UNKNOWN : formatPercent(ratio)} .figureNote=${ratio === null ? none : t('{n} failed calls in {span}', { n: formatCount(sum.errors), span })}
      .series=${[lines.failed]} .thresholds=${thresholdsOf(rules, 'error_rate')} .from=${common.from} .to=${common.to} .gaps=${common.gaps} height="100"
      label=${ratio === null ? none : t('Share of failed calls over {span}: {ratio}.', { span, ratio: formatPercent(ratio) })}></pb-chart>
    <pb-chart heading=${t('Response time')} unit="ms" .figure=${times.p95 === null ? UNKNOWN : formatMs(times.p95)} .figureNote=${times.p95 === null ? none : t('p95 · average {avg}', { avg: times.avg === null ? UNKNOWN : formatMs(times.avg) })}
      .series=${p95} .thresholds=${thresholdsOf(rules, 'response_time')} .from=${common.from} .to=${common.to} .gaps=${common.gaps} height="100"
      label=${times.p95 === null ? none : t('Response time over {span}: p95 {p95}.', { span, p95: formatMs(times.p95) })}></pb-chart></div><p class="xs q">${callsNote()}</p>`
}
