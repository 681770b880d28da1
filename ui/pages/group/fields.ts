import { html, nothing, type TemplateResult } from 'lit'
import type { ApiError } from '../../api/problem.ts'
import type { GroupRecord } from '../../api/types.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import type { Draft } from './draft.ts'

/** Name, description, naming, visibility, tags and instructions of a group. */
export function fields(
  draft: Draft,
  group: GroupRecord | undefined,
  error: ApiError | undefined,
  may: { readonly edit: boolean; readonly publish: boolean },
  change: (changes: Partial<Draft>) => void,
): TemplateResult {
  const text = (event: Event): string => (event.target as HTMLInputElement).value
  const mayEdit = may.edit
  const wrong = error?.fields.find(({ pointer }) => pointer.endsWith('/name'))
  const visibility = error?.fields.find(({ pointer }) => pointer.endsWith('/visibility'))
  const path = group ? new URL(group.endpoint).pathname : `/mcp/${draft.name || '…'}`
  return html`<section class="card"><div class="cb stack padt"><div class="form3"><div class="field"><label for="g-name">${t('Name')}</label><input id="g-name" class="in ${wrong ? 'bad' : ''}" required maxlength="64" autocomplete="off" ?disabled=${!may.publish} .value=${draft.name}
      aria-describedby="g-name-h" aria-invalid=${wrong ? 'true' : 'false'} @input=${(event: Event) => change({ name: text(event) })}><p class="hint ${wrong ? 'bad' : ''}" id="g-name-h">${wrong ? fieldText(wrong) : t('Also its address: {path}', { path })}</p></div>
    <div class="field"><label for="g-description">${t('Description')} <span class="o">${t('optional')}</span></label><input id="g-description" class="in" ?disabled=${!mayEdit} .value=${draft.description} @input=${(event: Event) => change({ description: text(event) })}></div>
    <div class="field"><label for="g-naming">${t('Names of tools')}</label><select id="g-naming" class="in" ?disabled=${!mayEdit} @change=${(event: Event) => change({ naming: text(event) as Draft['naming'] })}>
      <option value="auto" ?selected=${draft.naming === 'auto'}>${t('Prefix only where names clash')}</option><option value="prefixed" ?selected=${draft.naming === 'prefixed'}>${t('Always prefix')}</option></select></div>
    <div class="field"><label for="g-visibility">${t('Who may use it')}</label><select id="g-visibility" class="in" ?disabled=${!may.publish} @change=${(event: Event) => change({ visibility: text(event) as Draft['visibility'] })}>
      <option value="private" ?selected=${draft.visibility === 'private'}>${t('Only those it is shared with')}</option><option value="public" ?selected=${draft.visibility === 'public'}>${t('Everybody on this hub')}</option></select>
      ${visibility ? html`<p class="hint bad">${fieldText(visibility)}</p>` : draft.visibility === 'public' ? html`<p class="hint">${t('Others reach only those of its servers that are public too.')}</p>` : nothing}</div>${tagsField(draft, error, mayEdit, change)}</div>${instructionsField(draft, error, mayEdit, change)}</div></section>`
}

type Change = (changes: Partial<Draft>) => void

function tagsField({ tags }: Draft, error: ApiError | undefined, mayEdit: boolean, change: Change): TemplateResult {
  const wrong = error?.fields.find(({ pointer }) => pointer.includes('/tags'))
  return html`<div class="field"><label for="g-tags">${t('Tags')} <span class="o">${t('optional')}</span></label><input id="g-tags" class="in ${wrong ? 'bad' : ''}" autocomplete="off" ?disabled=${!mayEdit} .value=${tags} aria-describedby="g-tags-h" aria-invalid=${wrong ? 'true' : 'false'}
    @input=${(event: Event) => change({ tags: (event.target as HTMLInputElement).value })}><p class="hint ${wrong ? 'bad' : ''}" id="g-tags-h">${wrong ? fieldText(wrong) : t('Words to find it by, separated by commas')}</p></div>`
}

function instructionsField(
  { instructions }: Draft,
  error: ApiError | undefined,
  mayEdit: boolean,
  change: Change,
): TemplateResult {
  const wrong = error?.fields.find(({ pointer }) => pointer.includes('/instructions'))
  const { text, members } = instructions
  return html`<div class="field"><label for="g-instructions">${t('Instructions for clients')} <span class="o">${t('optional')}</span></label><textarea id="g-instructions" class="in ${wrong ? 'bad' : ''}" rows="3" ?disabled=${!mayEdit} .value=${text} aria-describedby="g-instructions-h" aria-invalid=${wrong ? 'true' : 'false'}
    @input=${(event: Event) => change({ instructions: { members, text: (event.target as HTMLTextAreaElement).value } })}></textarea><p class="hint ${wrong ? 'bad' : ''}" id="g-instructions-h">${wrong ? fieldText(wrong) : t('Models read them before they use the tools, in place of the description.')}</p></div>
    ${text === '' ? nothing : html`<label class="row s"><input type="checkbox" ?disabled=${!mayEdit} .checked=${members === 'instead'} @change=${(event: Event) => change({ instructions: { text, members: (event.target as HTMLInputElement).checked ? 'instead' : 'beside' } })}>${t('Leave out the instructions of its servers')}</label>`}`
}
