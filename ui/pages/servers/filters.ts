import { html, nothing, type TemplateResult } from 'lit'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { stateOf } from '../../components/servers/status.ts'
import { allTags } from '../../components/tags.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { CONDITIONS, type Condition } from './list.ts'

/** The view of the list, from the address. */
export interface ServersView {
  readonly q: string
  readonly state: string
  readonly transport: string
  readonly owner: string
  readonly group: string
  readonly tag: string
}

/** Data and actions of the filters. */
export interface FilterOptions {
  readonly view: ServersView
  readonly counts: Readonly<Record<Condition, number>>
  readonly servers: readonly ServerRecord[]
  readonly groups: readonly GroupRecord[]
  /** The filter of shared servers. */
  readonly shared: unknown
  readonly open: boolean
  toggle(): void
  set(changes: Partial<Record<keyof ServersView, string | undefined>>): void
}

/** Search, chips with counts, and the filters that are seldom needed. */
export function filterBar(options: FilterOptions): TemplateResult {
  const { view, counts, open } = options
  const total = CONDITIONS.reduce((sum, one) => sum + counts[one], 0)
  const hint = t('Name, command, URL or error')
  const narrowed = [view.transport, view.owner, view.group, view.tag].filter(value => value !== '').length
  return html`<div class="filters"><div class="wrapin">${icon('search', { class: 's14' })}<input class="in" type="search" data-search placeholder=${hint} aria-label=${hint}
      .value=${view.q} @input=${(event: InputEvent) => options.set({ q: (event.target as HTMLInputElement).value })}></div>
    <span class="chips row wrap" role="group" aria-label=${t('State')}>${chip('', t('All'), total, options)}${CONDITIONS.filter(one => one !== 'sign-in' || counts[one] > 0 || view.state === one).map(one => chip(one, wordOf(one), counts[one], options))}</span>${options.shared}
    <span class="push row"><button type="button" class="btn ghost" aria-expanded=${open ? 'true' : 'false'} @click=${options.toggle}>${icon('list-filter')}${t('Filter')}${
      narrowed === 0 ? nothing : html` <b>${narrowed}</b>`
    }</button></span></div>
    ${open || narrowed > 0 ? moreFilters(options) : nothing}`
}

function chip(id: string, label: string, count: number, { view, set }: FilterOptions): TemplateResult {
  const isOn = view.state === id
  return html`<button type="button" class="chip ${isOn ? 'on' : ''}" aria-pressed=${isOn ? 'true' : 'false'} @click=${() => set({ state: id || undefined })}>${
    id === '' ? nothing : icon(iconOf(id as Condition))
  }${label} <b>${count}</b></button>`
}

const EXAMPLES = {
  online: { state: 'online' },
  connecting: { state: 'connecting' },
  offline: { state: 'offline' },
  'sign-in': { state: 'offline' },
  stopped: { state: 'offline', reason: { code: 'stopped', message: '' } },
} as const
const example = (condition: Condition) =>
  stateOf({
    status: { ...EXAMPLES[condition], since: '', counts: { tools: 0, prompts: 0, resources: 0 } },
    ...(condition === 'sign-in' ? { mine: { state: 'sign_in_needed' } } : {}),
  })
const iconOf = (condition: Condition): string => example(condition).icon
/** The word of a condition, as in the column of states. */
export const wordOf = (condition: Condition): string => example(condition).word

function moreFilters({ view, servers, groups, set }: FilterOptions): TemplateResult {
  const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].sort()
  const choice = (
    key: 'transport' | 'owner' | 'group' | 'tag',
    label: string,
    entries: readonly (readonly [string, string])[],
  ): TemplateResult =>
    html`<label class="row s"><span class="q">${label}</span><select class="in" @change=${(event: Event) =>
      set({
        [key]: (event.target as HTMLSelectElement).value || undefined,
      })}><option value="" ?selected=${view[key] === ''}>${t('All')}</option>${entries.map(
      ([value, text]) => html`<option value=${value} ?selected=${view[key] === value}>${text}</option>`,
    )}</select></label>`
  const own = (value: string): readonly [string, string] => [value, value]
  return html`<div class="filters morefilters">${choice('transport', t('Transport'), distinct(servers.map(({ transport }) => transport)).map(own))}
    ${choice('owner', t('Owner'), distinct(servers.map(({ owner }) => owner)).map(own))}
    ${choice(
      'group',
      t('Group'),
      groups.map(group => [group.ref, group.name] as const),
    )}
    ${choice('tag', t('Tag'), allTags(servers).map(own))}
    <button type="button" class="btn ghost sm" @click=${() => set({ transport: undefined, owner: undefined, group: undefined, tag: undefined })}>${t('Clear filters')}</button></div>`
}
