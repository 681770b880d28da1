import { html, nothing, type TemplateResult } from 'lit'
import { formatBytes, formatMs, formatNumber, formatSpan } from '../../text/format.ts'
import { t } from '../../text/t.ts'

/** A limit of the hub, with the reader's use if it is counted for each user. */
export interface Limit {
  readonly name: string
  readonly value: number
  readonly unit: 'bytes' | 'ms' | 'count'
  readonly used?: number
}

/** Limits with a use are first, the nearest to its limit on top; then limits of each request and server. */
export function limitTables(limits: readonly Limit[]): TemplateResult {
  const share = ({ used = 0, value }: Limit): number => used / value
  const counted = limits.filter(({ used }) => used !== undefined).sort((left, right) => share(right) - share(left))
  const others = limits.filter(({ used }) => used === undefined)
  return html`${table(t('Your limits'), counted)}${table(t('Limits of each request and server'), others)}`
}

function table(title: string, limits: readonly Limit[]): TemplateResult {
  const isCounted = limits.some(({ used }) => used !== undefined)
  return html`<section class="card"><div class="ch line"><h2>${title}</h2></div><div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Limit')}</th>${isCounted ? html`<th scope="col" class="num">${t('Used')}</th>` : nothing}<th scope="col" class="num">${t('Most')}</th></tr></thead><tbody>${limits.map(
    limit =>
      html`<tr><td class=${isCounted ? 'full' : ''}><code>${limit.name}</code></td>${isCounted ? html`<td class="num" data-l=${t('Used')}>${amount(limit.used ?? 0, limit)}</td>` : nothing}<td class="num" data-l=${isCounted ? t('Most') : nothing}>${amount(limit.value, limit)}</td></tr>`,
  )}</tbody></table></div></section>`
}

/** In the unit of the limit, with the exact number to point at. */
function amount(value: number, { unit }: Limit): unknown {
  const exact = formatNumber(value, 0)
  if (unit === 'bytes') return html`<span title=${exact}>${formatBytes(value)}</span>`
  if (unit === 'ms') return html`<span title=${exact}>${value < 60_000 ? formatMs(value) : formatSpan(value)}</span>`
  return exact
}
