import { html, nothing, svg, type TemplateResult } from 'lit'
import type { RulePreview } from '../../api/alerts.ts'
import type { ApiError } from '../../api/problem.ts'
import { errorText } from '../../components/states.ts'
import { formatClock, formatDateTime, formatSpan } from '../../text/format.ts'
import { plural, t } from '../../text/t.ts'
import { valueText } from './words.ts'

const WIDTH = 380
const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [44, 370, 8, 130, 150]
const MOST_ROWS = 20

/** Preview of a rule over the last 24 hours: a line, and the times at which it would have fired. */
export function previewCard(
  condition: string,
  preview: RulePreview | undefined,
  error: ApiError | undefined,
): TemplateResult {
  const past = preview?.past
  const summary = past
    ? past.fired === 0
      ? t('would not have fired')
      : plural(past.fired, 'would have fired once', 'would have fired {n} times')
    : ''
  return html`<section class="card"><div class="ch"><h2>${t('Last 24 hours')}</h2><div class="r"><b class="s" role="status">${summary}</b></div></div>${
    past
      ? html`<div class="cb">${past.series ? chart(condition, past.series, past) : html`<p class="s q">${t('No calls in this time.')}</p>`}</div>${firings(condition, past)}`
      : html`<div class="cb"><p class="s q">${preview?.why ?? (error && error.fields.length === 0 ? errorText(error) : t('Shown as soon as the condition can be read.'))}</p></div>`
  }</section>`
}

function chart(
  condition: string,
  { subject, values }: { readonly subject: string; readonly values: readonly (number | null)[] },
  past: { readonly from: string; readonly to: string },
): TemplateResult {
  const numbers = values.filter(value => value !== null)
  const threshold = thresholdOf(condition)
  const most = Math.max(...numbers, threshold ?? 0, Number.MIN_VALUE) * 1.1
  const x = (at: number): number => LEFT + (at * (RIGHT - LEFT)) / Math.max(1, values.length - 1)
  const y = (value: number): number => BOTTOM - (value / most) * (BOTTOM - TOP)
  let path = ''
  let isDown = false
  values.forEach((value, at) => {
    if (value !== null) path += `${isDown ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`
    isDown = value !== null
  })
  const name = subject === 'total' ? t('all together') : subject
  const ticks = [0, most / 2.2, most / 1.1]
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${t('{name} over 24 hours, highest {value}.', { name, value: valueText(condition, Math.max(...numbers, 0)) })}>${ticks.map(
    tick =>
      svg`<line class="gl" x1=${LEFT} x2=${RIGHT} y1=${y(tick)} y2=${y(tick)}></line><text x=${LEFT - 6} y=${y(tick) + 4} text-anchor="end">${valueText(condition, tick)}</text>`,
  )}<text x=${LEFT} y=${HEIGHT - 4} text-anchor="start">${formatClock(past.from).slice(0, 5)}</text><text x=${RIGHT} y=${HEIGHT - 4} text-anchor="end">${t('now')}</text>
    <path class="ln c2" d=${path}></path>${
      threshold === undefined
        ? nothing
        : svg`<line class="thr" x1=${LEFT} x2=${RIGHT} y1=${y(threshold)} y2=${y(threshold)}></line>`
    }</svg><p class="xs q">${name}</p>`
}

/** The first number that a condition compares with, in base units. */
function thresholdOf(condition: string): number | undefined {
  const found = /[<>]=?\s*(\d+(?:\.\d+)?)\s*(%|ms|s|m|\/s|\/m)?/.exec(condition)
  if (!found) return undefined
  const factors: Readonly<Record<string, number>> = { '%': 0.01, s: 1000, m: 60_000, '/m': 1 / 60 }
  return Number(found[1]) * (factors[found[2] ?? ''] ?? 1)
}

function firings(condition: string, { firings: all, to }: NonNullable<RulePreview['past']>): unknown {
  if (all.length === 0) return nothing
  return html`<table class="mtop2"><thead><tr><th scope="col">${t('Would fire')}</th><th scope="col" class="num">${t('For')}</th><th scope="col" class="num">${t('Highest')}</th></tr></thead><tbody>${all
    .slice(0, MOST_ROWS)
    .map(
      ({ subject, startsAt, endsAt, highest }) =>
        html`<tr><td class="tn"><span title=${formatDateTime(startsAt)}>${formatClock(startsAt).slice(0, 5)}</span> <span class="cellsub">${subject === 'total' ? t('all together') : subject}</span></td><td class="num">${formatSpan(Date.parse(endsAt ?? to) - Date.parse(startsAt))}${endsAt === undefined ? html`, ${t('still')}` : nothing}</td><td class="num">${valueText(condition, highest)}</td></tr>`,
    )}</tbody></table>${all.length > MOST_ROWS ? html`<div class="tf">${t('First {n} of {total}', { n: MOST_ROWS, total: all.length })}</div>` : nothing}`
}
