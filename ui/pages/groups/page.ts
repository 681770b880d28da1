import { html, nothing, type TemplateResult } from 'lit'
import { api } from '../../api/client.ts'
import type { Connections } from '../../api/connections.ts'
import { readAll } from '../../api/servers.ts'
import { type GroupRecord, refOf } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { listScopeOf, scopeOf } from '../../app/scope.ts'
import type { Sort } from '../../components/lists/table.ts'
import { PbPage } from '../../components/page.ts'
import { bayOf } from '../../components/patch-bay/model.ts'
import { groupOnlineButton, onlySample } from '../../components/servers/group-online.ts'
import { nothingShared, sharedFilter } from '../../components/sharing/shared-filter.ts'
import { emptyState, show } from '../../components/states.ts'
import { hasTag, tagFilter } from '../../components/tags.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { type GroupRow, groupColumns } from './columns.ts'
import '../../components/patch-bay/patch-bay.ts'
import '../../components/lists/table.ts'

/** Groups as a list, or as the patch bay (`?view=bay`). */
class PbPageGroups extends PbPage {
  readonly #groups = new Resource<readonly GroupRecord[]>(this, {
    read: signal => readAll('/api/groups', { scope: listScopeOf(this.query) }, signal),
    key: () => listScopeOf(this.query),
    topics: ['servers', 'shares'],
    pauseMs: 2000,
  })
  readonly #links = new Resource<Connections>(this, {
    read: signal => api.get('/api/monitoring/connections', { query: { scope: this.#scope }, signal }),
    key: () => this.#scope ?? 'all',
    topics: ['servers'],
    pauseMs: 5000,
    everyMs: 5000,
  })

  get #scope(): string | undefined {
    const scope = scopeOf(this.query)
    return scope === 'visible' ? undefined : scope
  }

  override crumbs() {
    const list = { label: t('Groups') }
    return this.view('view') === 'bay' ? [{ ...list, path: '/groups' }, { label: t('Patch bay') }] : [list]
  }

  override actions(): TemplateResult {
    const bay = this.view('view') === 'bay'
    const scope = this.view('scope')
    return html`<div class="seg" role="group" aria-label=${t('Show groups as')}><a href=${href('/groups', { scope })} aria-current=${bay ? nothing : 'true'}>${icon('list', { class: 's14' })}${t('List')}</a>
      <a href=${href('/groups', { view: 'bay', scope })} aria-current=${bay ? 'true' : nothing}>${icon('waypoints', { class: 's14' })}${t('Patch bay')}</a></div>
      <a class="btn pri" href=${href('/groups/new')}>${icon('plus')}${t('New group')}</a>`
  }

  override content() {
    return this.view('view') === 'bay'
      ? this.#bay()
      : show(this.#groups, groups => (groups.length === 0 ? this.#nothing() : this.#list(groups)))
  }

  #bay(): TemplateResult {
    const data = this.#links.data
    const bay = data && bayOf(data)
    const faults = bay?.servers.filter(({ tone }) => tone === 'bad' || tone === 'warn').length
    const busy = bay?.servers.filter(({ rate }) => rate > 0).length
    const grouped = new Set(bay?.groups.flatMap(({ servers = [] }) => servers))
    const loose = bay?.servers.filter(({ id }) => !grouped.has(id)).length
    const total = bay?.groups.reduce((sum, { rate }) => sum + rate, 0) ?? 0
    const only = this.view('only')
    const chip = (id: string, word: string, n: number | undefined): TemplateResult =>
      html`<button type="button" class="chip" aria-pressed=${only === id ? 'true' : 'false'} @click=${() => this.setView({ only: only === id ? undefined : id })}>${word}${n === undefined ? nothing : html` <b>${n}</b>`}</button>`
    return html`<div class="filters"><div class="wrapin">${icon('search', { class: 's14' })}<input class="in" type="search" data-search placeholder=${t('Client, group or server')} aria-label=${t('Client, group or server')} .value=${this.view('q') ?? ''}
      @input=${(event: InputEvent) => this.setView({ q: (event.target as HTMLInputElement).value })}></div>${chip('faults', t('Faults'), faults)}${chip('traffic', t('With traffic'), busy)}${chip('ungrouped', t('In no group'), loose)}
      ${bay ? html`<span class="push q s wide">${plural(bay.servers.length, '{n} server, {calls} calls a minute', '{n} servers, {calls} calls a minute', { calls: Math.round(total) })}</span>` : nothing}</div>
      <pb-patch-bay .scope=${scopeOf(this.query)} .query=${this.query} .match=${this.view('q') ?? ''} .only=${only}></pb-patch-bay>`
  }

  #list(groups: readonly GroupRecord[]): TemplateResult {
    const bay = this.#links.data && bayOf(this.#links.data)
    const shown = groups.filter(group => hasTag(group, this.view('tag')))
    const rows: GroupRow[] = shown.map(group => ({ group, bay, links: this.#links.data }))
    const [by = 'name', direction] = (this.view('sort') ?? 'name').split(':')
    return html`<div class="filters">${this.#shared()}${tagFilter(groups, this.view('tag'), tag => this.setView({ tag }))}</div>${onlySample(groups) && this.view('scope') === undefined ? this.#offer() : nothing}<pb-table kind="tgroups" .label=${t('Groups')} .rows=${rows} .columns=${groupColumns()} .keyOf=${({ group }: GroupRow) => group.id} .nameOf=${({ group }: GroupRow) => group.name} .sort=${{ by, down: direction === 'down' }}
      .foot=${html`<span>${plural(shown.length, '{n} group', '{n} groups')}</span><span class="push wide">${t('Tokens are what a client reads when it lists the tools')}</span>`}
      @pb-sort=${(event: CustomEvent<Sort>) => this.setView({ sort: `${event.detail.by}${event.detail.down ? ':down' : ''}` })}
      @pb-open=${(event: CustomEvent<GroupRow>) => void router.go(`/groups/${encodeURIComponent(refOf(event.detail.group))}`)}></pb-table>`
  }

  /** Next step for a new user: the sample group contains none of the added servers. */
  #offer(): TemplateResult {
    return html`<div class="callout">${icon('cable')}<div class="row wrap grow"><p>${t('This group came with the sample server. One of your own servers takes a click.')}</p><span class="push">${groupOnlineButton()}</span></div></div>`
  }

  #shared(): TemplateResult {
    return sharedFilter(listScopeOf(this.query), scope => this.setView({ scope }))
  }

  #nothing(): TemplateResult {
    if (listScopeOf(this.query) === 'shared') return nothingShared(this.#shared())
    return emptyState({
      icon: 'cable',
      title: t('No groups yet'),
      text: t('A group is one address for a client: the servers in it, and the tools you choose.'),
      action: groupOnlineButton(),
    })
  }
}
customElements.define('pb-page-groups', PbPageGroups)
