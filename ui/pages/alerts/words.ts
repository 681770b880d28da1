import { html, type TemplateResult } from 'lit'
import type { Alert, Delivery, Severity } from '../../api/alerts.ts'
import { ownWordsOf } from '../../components/states.ts'
import { formatBytes, formatMs, formatNumber, formatPercent, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { type Problem, problemText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'

/** A severity as a tag. */
export function severityTag(severity: Severity): TemplateResult {
  return severity === 'critical'
    ? html`<span class="tag bad">${icon('octagon-alert')}${t('Critical')}</span>`
    : html`<span class="tag warn">${icon('triangle-alert')}${t('Warning')}</span>`
}

/** The metric that a condition begins with. */
export function metricOf(condition: string): string {
  return /[a-z_][a-z0-9_.]*/.exec(condition)?.[0] ?? ''
}

/** A value in the unit of its metric. */
export function valueText(condition: string, value: number | string | null): string {
  if (value === null) return UNKNOWN
  if (typeof value === 'string') return stateWord(value)
  const metric = metricOf(condition)
  if (/_rate$|_usage$/.test(metric) && metric !== 'request_rate') return formatPercent(value)
  if (/_time$|_lag$/.test(metric)) return formatMs(value)
  if (metric === 'request_rate') return t('{n} a second', { n: formatNumber(value, 2) })
  return metric.startsWith('custom.') && value > 1e6 ? formatBytes(value) : formatNumber(value)
}

function stateWord(state: string): string {
  if (state === 'offline') return t('offline')
  if (state === 'online') return t('online')
  return state === 'connecting' ? t('connecting') : state
}

/** Sentence about a firing alert. */
export function alertSentence({ subject, condition, value }: Alert): TemplateResult {
  const name = subject === 'total' ? t('All servers together') : subject
  return html`<b class="med">${name}</b> ${
    typeof value === 'string'
      ? t('is {state}.', { state: stateWord(value) })
      : t('at {value}.', { value: valueText(condition, value) })
  }`
}

/** Why an alert ended, where its condition is not the reason. */
export function reasonText(reason: string | undefined): string {
  if (reason === 'removed') return t('its server or tool is gone')
  if (reason === 'changed') return t('the rule was changed')
  if (reason === 'rule_removed') return t('the rule was deleted')
  return reason === 'no_data' ? t('no data for 15 minutes') : ''
}

/** Label of a message's kind. */
export function kindText(kind: Delivery['kind']): string {
  if (kind === 'fired') return t('Fired')
  if (kind === 'resolved') return t('Resolved')
  return kind === 'repeat' ? t('Repeat') : t('Test')
}

/** Delivery state of a message. */
export function deliveryMark({ state }: Delivery): TemplateResult {
  if (state === 'sent') return html`<span class="st ok">${icon('circle-check')}${t('Delivered')}</span>`
  if (state === 'waiting') return html`<span class="st warn">${icon('clock')}${t('Waiting')}</span>`
  if (state === 'failed') return html`<span class="st bad">${icon('circle-x')}${t('Failed, is tried again')}</span>`
  return html`<span class="st bad">${icon('circle-x')}${t('Given up')}</span>`
}

/** Reason why a message was not accepted, in the language of the page; for an accepted one, the receiver's answer. */
export function outcomeText({ code, detail = '' }: Pick<Delivery, 'code' | 'detail'>): string {
  return problemText(outcomeProblem({ code, detail }))
}

/** The hub's own words, folded, if the page has translated ones. */
export function outcomeWords({ code, detail = '' }: Pick<Delivery, 'code' | 'detail'>): unknown {
  return ownWordsOf(outcomeProblem({ code, detail }))
}

function outcomeProblem({
  code = '',
  detail,
}: {
  readonly code: string | undefined
  readonly detail: string
}): Problem {
  return { code, message: detail }
}
