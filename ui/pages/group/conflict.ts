import { html, nothing, type TemplateResult } from 'lit'
import type { ApiError } from '../../api/problem.ts'
import type { GroupRecord } from '../../api/types.ts'
import { whoChanged } from '../../components/conflict.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { type Draft, draftOf } from './draft.ts'

/** Another user has saved the group meanwhile: shows the differences, and the two options. */
export function conflictCard(
  theirs: GroupRecord,
  refusal: ApiError | undefined,
  mine: Draft,
  takeTheirs: () => void,
  keepMine: () => void,
): TemplateResult {
  const other = draftOf(theirs)
  const rows = [
    [t('Name'), other.name, mine.name],
    [t('Description'), other.description, mine.description],
    [t('Names of tools'), other.naming, mine.naming],
    [t('Who may use it'), other.visibility, mine.visibility],
    [t('Members'), membersText(other), membersText(mine)],
  ].filter(([, left, right]) => left !== right)
  return html`<div class="callout warn" role="alert">${icon('triangle-alert')}<div class="grow stack t"><p>${whoChanged(refusal)} ${t('Nothing of yours is lost.')}</p>
    ${
      rows.length === 0
        ? nothing
        : html`<div class="tw"><table><thead><tr><th scope="col">${t('Field')}</th><th scope="col">${t('Theirs')}</th><th scope="col">${t('Yours')}</th></tr></thead><tbody>${rows.map(
            ([word, left, right]) =>
              html`<tr><td>${word}</td><td class="wrapx">${left}</td><td class="wrapx">${right}</td></tr>`,
          )}</tbody></table></div>`
    }<div class="row wrap"><button type="button" class="btn" @click=${takeTheirs}>${t('Take theirs')}</button><button type="button" class="btn" @click=${keepMine}>${t('Save mine over it')}</button></div></div></div>`
}

function membersText({ members }: Draft): string {
  return members.map(({ server, tools }) => `${server} (${tools === 'all' ? t('all') : tools.length})`).join(', ')
}
