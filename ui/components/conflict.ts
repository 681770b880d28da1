import { html, nothing, type TemplateResult } from 'lit'
import type { ApiError } from '../api/problem.ts'
import { session } from '../app/session.ts'
import { icon } from '../text/icon.ts'
import { t } from '../text/t.ts'
import './time.ts'

/** A record that another user saved while it was edited here. */
export interface SavedElsewhere {
  /** The rejection, with the user who saved it and the time. */
  readonly refusal: ApiError | undefined
  readonly theirs: Readonly<Record<string, unknown>>
  readonly mine: Readonly<Record<string, unknown>>
  /** Fields whose values are secret: only the fact that they differ is shown. */
  readonly secret?: readonly string[]
  takeTheirs(): void
  keepMine(): void
}

/** Shows the differences between their version and mine, with the choice: nothing is lost before it is made. */
export function savedElsewhere({
  refusal,
  theirs,
  mine,
  secret = [],
  takeTheirs,
  keepMine,
}: SavedElsewhere): TemplateResult {
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])]
  const different = names.filter(name => text(theirs[name]) !== text(mine[name]))
  return html`<div class="callout warn" role="alert">${icon('triangle-alert')}<div class="grow stack t"><p>${whoChanged(refusal)} ${t('Your changes are kept here.')}</p>${
    different.length === 0
      ? html`<p class="s">${t('Both have the same.')}</p>`
      : html`<div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Field')}</th><th scope="col">${t('Theirs')}</th><th scope="col">${t('Yours')}</th></tr></thead><tbody>${different.map(
          name =>
            html`<tr><td class="mono">${name}</td><td class="mono wrapx" data-l=${t('Theirs')}>${secret.includes(name) ? t('differs') : text(theirs[name])}</td><td class="mono wrapx" data-l=${t('Yours')}>${secret.includes(name) ? t('differs') : text(mine[name])}</td></tr>`,
        )}</tbody></table></div>`
  }<p class="row wrap"><button type="button" class="btn sm" @click=${takeTheirs}>${t('Take theirs')}</button><button type="button" class="btn sm" @click=${keepMine}>${t('Save mine')}</button></p></div></div>`
}

/** Shows who saved the record meanwhile, and when, as far as the rejection contains it. */
export function whoChanged(refusal: ApiError | undefined): TemplateResult {
  const { changedBy: by, changedAt: at } = refusal?.body ?? {}
  const when = typeof at === 'string' ? html` <pb-time .at=${at}></pb-time>.` : nothing
  if (typeof by !== 'string') return html`<b>${t('Somebody else has saved this meanwhile.')}</b>${when}`
  const who =
    by === session.user?.name
      ? t('You have saved this meanwhile, elsewhere.')
      : t('{name} has saved this meanwhile.', { name: by })
  return html`<b>${who}</b>${when}`
}

function text(value: unknown): string {
  if (value === undefined) return t('not set')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
