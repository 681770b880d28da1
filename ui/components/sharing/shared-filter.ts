import { html, type TemplateResult } from 'lit'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { emptyState } from '../states.ts'

/** The filter of a list for what others share with the reader; it is the scope `shared` of the address. */
export function sharedFilter(scope: string, set: (scope: 'shared' | undefined) => void): TemplateResult {
  const isOn = scope === 'shared'
  return html`<button type="button" class="chip ${isOn ? 'on' : ''}" aria-pressed=${isOn ? 'true' : 'false'} @click=${() => set(isOn ? undefined : 'shared')}>${icon('users-round')}${t('Shared with me')}</button>`
}

/** The list while nothing is shared with the reader. */
export function nothingShared(filter: TemplateResult): TemplateResult {
  return html`<div class="filters">${filter}</div>${emptyState({
    icon: 'users-round',
    title: t('Nothing is shared with you'),
    text: t('What colleagues share with you, or with a team of yours, is listed here at once.'),
  })}`
}
