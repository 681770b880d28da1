import { html, type TemplateResult } from 'lit'
import type { ApiError } from '../../api/problem.ts'
import { whoChanged } from '../../components/conflict.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { differences, type JsonObject, mergePatch, patched } from './merge-patch.ts'

/** Settings that another user saved while they were edited here. */
export interface Conflict {
  /** Version from which both changes started. */
  readonly base: JsonObject
  /** The rejection, with the user who saved it and the time. */
  readonly refusal: ApiError | undefined
  readonly theirs: JsonObject
  readonly mine: JsonObject
  takeTheirs(): void
  /** My changes on top of theirs, still to be saved. */
  keepMine(): void
}

/** Shows the differences, with the choice: nothing is lost before it is made. */
export function conflictView({ base, refusal, theirs, mine, takeTheirs, keepMine }: Conflict): TemplateResult {
  const both = patched(theirs, mergePatch(base, mine))
  const text = (value: unknown): string => (value === undefined ? t('not set') : JSON.stringify(value))
  return html`<section class="callout warn" role="alert">${icon('triangle-alert')}<div class="grow stack"><p>${whoChanged(refusal)} ${t('This is what they have, and what yours would make of it:')}</p>
    <div class="tw"><table class="cards"><thead><tr><th scope="col">${t('Field')}</th><th scope="col">${t('Before')}</th><th scope="col">${t('Theirs')}</th><th scope="col">${t('With yours')}</th></tr></thead><tbody>${rows(
      base,
      theirs,
      both,
    ).map(
      ({ pointer, before, after, merged }) =>
        html`<tr><td class="mono">${pointer}</td><td class="mono" data-l=${t('Before')}>${text(before)}</td><td class="mono" data-l=${t('Theirs')}>${text(after)}</td><td class="mono" data-l=${t('With yours')}>${text(merged)}</td></tr>`,
    )}</tbody></table></div><p class="row wrap"><button type="button" class="btn" @click=${takeTheirs}>${t('Take theirs')}</button><button type="button" class="btn" @click=${keepMine}>${t('Keep mine on top of theirs')}</button></p></div></section>`
}

function rows(base: JsonObject, theirs: JsonObject, both: JsonObject) {
  const pointers = new Set([...differences(base, theirs), ...differences(theirs, both)].map(({ pointer }) => pointer))
  return [...pointers].map(pointer => ({
    pointer,
    before: at(base, pointer),
    after: at(theirs, pointer),
    merged: at(both, pointer),
  }))
}

function at(value: unknown, pointer: string): unknown {
  let part = value
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    part = typeof part === 'object' && part !== null && Object.hasOwn(part, key) ? (part as JsonObject)[key] : undefined
  }
  return part
}
