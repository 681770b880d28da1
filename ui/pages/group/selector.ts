import { html, nothing, type TemplateResult } from 'lit'
import type { ApiError } from '../../api/problem.ts'
import { fieldText } from '../../text/problem.ts'
import { t } from '../../text/t.ts'
import type { Draft, DraftMember, DraftSelector } from './draft.ts'

/** A tool or prompt that differs between members, as `group_schema_differs` has it. */
interface Difference {
  readonly kind: string
  readonly name: string
  readonly values: readonly string[]
  readonly as?: string
  readonly places?: readonly { readonly at: string; readonly one?: string; readonly other?: string }[]
}

/** Members with the same tools as one set of tools, with an argument that chooses the server. */
export function selectorCard(
  { selector, members }: Draft,
  error: ApiError | undefined,
  mayEdit: boolean,
  change: (changes: Partial<Draft>) => void,
): TemplateResult {
  const isOn = selector !== undefined
  const toggle = () => change({ selector: isOn ? undefined : suggested(members) })
  return html`<section class="card"><div class="ch ${isOn ? 'line' : ''}"><h2 id="g-sel-h">${t('Equal servers as one')}</h2><div class="r"><input type="checkbox" role="switch" class="sw" aria-labelledby="g-sel-h" ?disabled=${!mayEdit || (!isOn && members.length === 0)} .checked=${isOn} @change=${toggle}></div></div>
    ${isOn ? form(selector, members, error, mayEdit, change) : html`<div class="cb"><p class="s q">${t('Servers that are alike, such as one for each region, are listed once, with an argument that chooses the server.')}</p></div>`}</section>`
}

/** Values from the names of the servers, without what all of them begin with. */
function suggested(members: readonly DraftMember[]): DraftSelector {
  const names = members.map(({ server }) => server.slice(server.indexOf('~') + 1))
  const common = names.length < 2 ? '' : names.reduce(sharedStart)
  const cut = Math.max(...['-', '_', '.', ' '].map(mark => common.lastIndexOf(mark))) + 1
  const values = members.map(({ server }, at) => [server, names[at]?.slice(cut) ?? ''] as const)
  return { argument: 'server', default: '', description: '', values: Object.fromEntries(values) }
}

function sharedStart(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return one.slice(0, length)
}

function form(
  selector: DraftSelector,
  members: readonly DraftMember[],
  error: ApiError | undefined,
  mayEdit: boolean,
  change: (changes: Partial<Draft>) => void,
): TemplateResult {
  const set = (changes: Partial<DraftSelector>): void => change({ selector: { ...selector, ...changes } })
  const text = (event: Event): string => (event.target as HTMLInputElement).value
  const wrong = error?.fields.find(({ pointer }) => pointer.includes('/selector/argument'))
  const others = error?.fields.filter(({ pointer }) => /\/selector(?!\/argument)/.test(pointer)) ?? []
  const given = members.map(({ server }) => selector.values[server] ?? '').filter(value => value !== '')
  return html`<div class="cb stack padt"><div class="form3">
    <div class="field"><label for="g-sel-arg">${t('Argument')}</label><input id="g-sel-arg" class="in mono ${wrong ? 'bad' : ''}" maxlength="64" autocomplete="off" spellcheck="false" ?disabled=${!mayEdit} .value=${selector.argument} aria-describedby="g-sel-arg-h" aria-invalid=${wrong ? 'true' : 'false'} @input=${(event: Event) => set({ argument: text(event) })}><p class="hint ${wrong ? 'bad' : ''}" id="g-sel-arg-h">${wrong ? fieldText(wrong) : t('Such as region, tenant or device')}</p></div>
    <div class="field"><label for="g-sel-desc">${t('Its description')} <span class="o">${t('optional')}</span></label><input id="g-sel-desc" class="in" ?disabled=${!mayEdit} .value=${selector.description} placeholder=${t('The server that runs it.')} @input=${(event: Event) => set({ description: text(event) })}></div>
    <div class="field"><label for="g-sel-default">${t('Where it is left out')}</label><select id="g-sel-default" class="in" ?disabled=${!mayEdit} @change=${(event: Event) => set({ default: text(event) })}><option value="" ?selected=${selector.default === ''}>${t('Refuse the call')}</option>${given.map(value => html`<option value=${value} ?selected=${selector.default === value}>${value}</option>`)}</select></div></div>
    ${others.map(each => html`<p class="hint bad">${fieldText(each)}</p>`)}
    <div class="tw"><table><thead><tr><th scope="col">${t('Server')}</th><th scope="col">${t('Value that chooses it')}</th></tr></thead><tbody>${members.map(
      ({ server }, at) => {
        const value = selector.values[server] ?? ''
        const isTwice = value !== '' && given.filter(each => each === value).length > 1
        const name = server.slice(server.indexOf('~') + 1)
        return html`<tr><td>${name}</td><td><input id="g-sel-v${at}" class="in mini2 mono ${isTwice ? 'bad' : ''}" maxlength="64" autocomplete="off" spellcheck="false" ?disabled=${!mayEdit} .value=${value} aria-label=${t('Value that chooses {name}', { name })} aria-invalid=${isTwice ? 'true' : 'false'} placeholder=${t('listed on its own')} @input=${(event: Event) => set({ values: { ...selector.values, [server]: text(event) } })}>${isTwice ? html`<span class="hint bad">${t('Another server has this value')}</span>` : nothing}</td></tr>`
      },
    )}</tbody></table></div>${differencesOf(error)}</div>`
}

/** Differences between the members, if the group was refused for them. */
function differencesOf(error: ApiError | undefined): unknown {
  if (error?.code !== 'group_schema_differs' || !Array.isArray(error.body.differences)) return nothing
  const found = error.body.differences as readonly Difference[]
  return html`<div role="group" aria-label=${t('Differences')}><h3 class="sech">${t('Differences')}</h3>${found.map(
    ({ name, values, as = '', places = [] }) =>
      html`<p class="s"><code>${name}</code></p><div class="tw" tabindex="0" role="region" aria-label=${t('Differences of {name}', { name })}><table><thead><tr><th scope="col">${t('Place in the schema')}</th><th scope="col">${as}</th><th scope="col">${values.join(', ')}</th></tr></thead><tbody>${places.map(
        ({ at, one, other }) =>
          html`<tr><td class="mono xs">${at === '' ? '/' : at}</td><td class="mono xs">${one ?? t('not there')}</td><td class="mono xs">${other ?? t('not there')}</td></tr>`,
      )}</tbody></table></div>`,
  )}</div>`
}
