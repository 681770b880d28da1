import { html, nothing, svg, type TemplateResult } from 'lit'
import { type ApiError, fieldText, formatNumber, icon, t } from 'patchbay/console'
import type { Quota, QuotaState } from './api.ts'
import { PARTS, partLabel, partText } from './names.ts'

/** The most that a member of a quota may be. */
const MOST = 1_000_000_000
/** Percent from which a bar shows that a quota is nearly, or wholly, used up. */
const NEAR = 80
const FULL = 100

/** Fields of a quota. `error`: an answer of the hub, whose problems of fields are shown beside them. */
export function quotaFields(id: string, { quota, used }: QuotaState, error: ApiError | undefined): TemplateResult {
  return html`<div class="form2">${PARTS.map(part => {
    const wrong = error?.fields.find(({ pointer }) => pointer.endsWith(`/${part}`))
    const field = `${id}-${part}`
    return html`<div class="field"><label for=${field}>${partLabel(part)} <span class="o">${t('optional')}</span></label><input id=${field} name=${part} class="in ${wrong ? 'err' : ''}" type="number" inputmode="numeric" min="0" max=${MOST} step="1" .value=${String(quota?.[part] ?? '')} placeholder=${t('unlimited')} aria-describedby="${field}-h" aria-invalid=${wrong ? 'true' : nothing}>
      <p class="hint ${wrong ? 'bad' : ''}" id="${field}-h">${wrong ? html`${icon('circle-alert')}${fieldText(wrong)}` : hintOf(part, used?.[part])}</p>${bar(quota?.[part], used?.[part], partLabel(part))}</div>`
  })}</div>`
}

/** The used part of a number as a bar; nothing where there is no number. */
export function bar(limit: number | undefined, used: number | undefined, label: string): unknown {
  if (limit === undefined || used === undefined) return nothing
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  const text = t('{label}: {n} of {limit} used', { label, n: formatNumber(used, 0), limit: formatNumber(limit, 0) })
  return html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${text}>${svg`<rect class="tr" width="100" height="6"></rect><rect class=${percent >= FULL ? 'fbad' : percent >= NEAR ? 'fwarn' : 'f1'} width=${percent} height="6"></rect>`}</svg>`
}

/** The numbers of a quota with what is used of them, to be read. */
export function quotaBars(quota: Quota, used: Readonly<Record<keyof Quota, number>>): TemplateResult {
  return html`<ul class="stack plain">${PARTS.flatMap(part => {
    const limit = quota[part]
    if (limit === undefined) return []
    const numbers = { n: formatNumber(used[part], 0), limit: formatNumber(limit, 0), what: partText(part) }
    return [
      html`<li><p class="s">${t('{n} of {limit} {what}', numbers)}</p>${bar(limit, used[part], partLabel(part))}</li>`,
    ]
  })}</ul>`
}

function hintOf(part: keyof Quota, used: number | undefined): string {
  if (used !== undefined) return t('{n} used', { n: formatNumber(used, 0) })
  if (part === 'perMinute') return t('Of the last 60 seconds. 0 refuses all calls.')
  if (part === 'perDay') return t('A day begins at 00:00 UTC.')
  return part === 'atOnce' ? t('Calls that have not ended.') : t('Four characters count as one token.')
}

/** The quota that was entered; null: nothing is limited. */
export function quotaOf(form: HTMLFormElement): Quota | null {
  const data = new FormData(form)
  const entered = PARTS.flatMap(part => {
    const text = String(data.get(part) ?? '').trim()
    return text === '' ? [] : [[part, Number(text)] as const]
  })
  return entered.length === 0 ? null : Object.fromEntries(entered)
}
