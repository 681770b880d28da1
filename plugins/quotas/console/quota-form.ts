import { html, nothing, type TemplateResult } from 'lit'
import { type ApiError, fieldText, formatNumber, icon, t } from 'patchbay/console'
import type { Quota, QuotaState } from './api.ts'
import { PARTS, partLabel } from './names.ts'

/** The most that a member of a quota may be. */
const MOST = 1_000_000_000

/** Fields of a quota. `error`: an answer of the hub, whose problems of fields are shown beside them. */
export function quotaFields(id: string, { quota, used }: QuotaState, error: ApiError | undefined): TemplateResult {
  return html`<div class="form2">${PARTS.map(part => {
    const wrong = error?.fields.find(({ pointer }) => pointer.endsWith(`/${part}`))
    const field = `${id}-${part}`
    return html`<div class="field"><label for=${field}>${partLabel(part)} <span class="o">${t('optional')}</span></label><input id=${field} name=${part} class="in ${wrong ? 'err' : ''}" type="number" inputmode="numeric" min="0" max=${MOST} step="1" .value=${String(quota?.[part] ?? '')} placeholder=${t('unlimited')} aria-describedby="${field}-h" aria-invalid=${wrong ? 'true' : nothing}>
      <p class="hint ${wrong ? 'bad' : ''}" id="${field}-h">${wrong ? html`${icon('circle-alert')}${fieldText(wrong)}` : hintOf(part, used?.[part])}</p></div>`
  })}</div>`
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
