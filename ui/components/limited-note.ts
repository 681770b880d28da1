import { html, nothing } from 'lit'
import { icon } from '../text/icon.ts'
import { t } from '../text/t.ts'

/** Note that an administrator's rule, channel or endpoint has only the rights of an ordinary user, and how to change that. */
export function limitedNote(record: { readonly limited?: true } | undefined, how: string): unknown {
  if (!record?.limited) return nothing
  return html`<div class="callout warn" role="note">${icon('shield-alert')}<p>${t('It has the rights of an ordinary user: it was made or changed without those of an administrator.')} ${how}</p></div>`
}
