import { html, type PropertyValues } from 'lit'
import { asApiError } from '../../api/problem.ts'
import { controlServer, isEditable, refOf, type ServerVerb } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { preferences } from '../../app/preferences.ts'
import { Resource } from '../../app/resource.ts'
import { href, router } from '../../app/router.ts'
import { listScopeOf } from '../../app/scope.ts'
import { session } from '../../app/session.ts'
import { isTyping } from '../../app/typing.ts'
import type { MenuItem } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import type { Column, Sort } from '../../components/lists/table.ts'
import { PbPage } from '../../components/page.ts'
import { nothingShared, sharedFilter } from '../../components/sharing/shared-filter.ts'
import { errorText, show, skeleton } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import { addToGroup, bulkBar, controlEach, deleteItem, deleteServers } from './bulk.ts'
import { type RowActions, serverColumns } from './columns.ts'
import { readChecks, readGroups, readServers, ServerChanges, withFresh } from './data.ts'
import { noHits, nothingYet } from './empty.ts'
import { filterBar, type ServersView } from './filters.ts'
import { groupDialog } from './group-dialog.ts'
import { conditionOf, countConditions, fitsBeyondState } from './list.ts'
import { signInsLink } from './sign-ins-link.ts'
import '../../components/layers/row-menu.ts'
import '../../components/lists/table.ts'

const DEFAULT_SORT: Sort = { by: 'state', down: false }
const keyOf = refOf
const nameOf = ({ name }: ServerRecord): string => name

/** The list of servers: faulty ones are at the top and stand out. */
class PbPageServers extends PbPage implements RowActions {
  static override properties = {
    ...PbPage.properties,
    selected: { state: true },
    filtersOpen: { state: true },
    grouping: { state: true },
  }
  /** References of the chosen servers. */
  declare selected: ReadonlySet<string>
  declare filtersOpen: boolean
  /** Servers that are being added to a group. */
  declare grouping: readonly ServerRecord[] | undefined
  readonly #wanted = new Map<string, boolean>()
  readonly #changes = new ServerChanges(ids => void this.#refresh(ids))
  readonly #servers = new Resource<readonly ServerRecord[]>(this, {
    key: () => listScopeOf(this.query),
    keep: true,
    read: signal => readServers(listScopeOf(this.query), signal),
    topics: ['servers', 'shares'],
    apply: (event, servers) => this.#changes.apply(event, servers),
    pauseMs: 2000,
  })
  #checksScope: 'mine' | 'all' = 'mine'
  readonly #checks = new Resource(this, {
    // The checks of all servers include one's own: a narrower scope needs no further ones.
    key: () => {
      if (listScopeOf(this.query) !== 'mine') this.#checksScope = 'all'
      return this.#checksScope
    },
    keep: true,
    read: signal => readChecks(this.#checksScope, signal),
    everyMs: 30_000,
  })
  readonly #groups = new Resource(this, { read: readGroups })
  #columns: readonly Column<ServerRecord>[] = []
  /** Values on which the cells depend besides their row. */
  #columnsFor: readonly unknown[] = []
  #presses = 0
  #sort = DEFAULT_SORT
  #sortKey = ''
  #shown: readonly ServerRecord[] = []
  #shownFor: readonly unknown[] = []

  constructor() {
    super()
    this.selected = new Set()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    addEventListener('keydown', this.#pressed)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    removeEventListener('keydown', this.#pressed)
    this.#changes.stop()
  }

  override crumbs() {
    return [{ label: t('Servers') }]
  }

  override actions(): unknown {
    return html`${signInsLink()}<span class="wide"><a class="btn" href=${href('/servers/new', { from: 'import' })}>${icon('file-json')}${t('Import')}</a></span>
      <a class="btn pri" href=${href('/servers/new')}>${icon('plus')}${t('Add server')}</a>`
  }

  get checks() {
    return this.#checks.data
  }

  isOn(server: ServerRecord): boolean {
    return this.#wanted.get(refOf(server)) ?? server.enabled === true
  }

  isPending(server: ServerRecord): boolean {
    return this.#wanted.has(refOf(server))
  }

  refusal(server: ServerRecord): string | undefined {
    if (!live.reachable) return t('The hub does not answer')
    const review = server.review as { readonly required?: boolean } | undefined
    return review?.required ? t('Its configuration waits for a review') : undefined
  }

  toggle(server: ServerRecord): void {
    void this.#control(server, this.isOn(server) ? 'stop' : 'start', true)
  }

  menu(server: ServerRecord): readonly MenuItem[] {
    const path = `/servers/${encodeURIComponent(refOf(server))}`
    const open = (tab?: string) => (): void => void router.go(tab === undefined ? path : `${path}?tab=${tab}`)
    const common: MenuItem[] = [
      { label: t('Open'), icon: 'arrow-right', action: open() },
      { label: t('Try a tool'), icon: 'play', action: open('tools') },
      { label: t('Add to group'), icon: 'cable', action: () => this.#startGrouping([server]) },
    ]
    if (!isEditable(server)) return common
    const off = !live.reachable
    const isOn = this.isOn(server)
    return [
      ...common,
      { label: t('Logs'), icon: 'scroll-text', action: open('logs') },
      { label: t('Settings'), icon: 'settings-2', action: open('settings') },
      {
        label: isOn ? t('Stop server') : t('Start server'),
        icon: isOn ? 'square' : 'play',
        disabled: this.refusal(server) !== undefined,
        action: () => this.toggle(server),
      },
      { label: t('Restart'), icon: 'rotate-cw', disabled: off, action: () => void this.#control(server, 'restart') },
      ...deleteItem(server, off, () => void this.#remove([server])),
    ]
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    const view = this.#view()
    // Another view is sorted again: rows keep their place only while the list is the same.
    const sortKey = JSON.stringify([this.view('sort'), view, listScopeOf(this.query), this.#servers.outdated])
    if (sortKey !== this.#sortKey) {
      this.#sortKey = sortKey
      const text = this.view('sort')
      this.#sort = text ? { by: text.replace(/^-/, ''), down: text.startsWith('-') } : { ...DEFAULT_SORT }
    }
    const { language } = preferences
    const columnsFor = [this.#checks.data, language, live.reachable, session.user, this.#presses]
    if (columnsFor.some((one, at) => one !== this.#columnsFor[at])) {
      this.#columnsFor = columnsFor
      this.#columns = serverColumns(this)
    }
  }

  #view(): ServersView {
    const value = (name: string): string => this.view(name) ?? ''
    return {
      q: value('q'),
      state: value('state'),
      transport: value('transport'),
      owner: value('owner'),
      group: value('group'),
      tag: value('tag'),
    }
  }

  override content(): unknown {
    const { outdated } = this.#servers
    return html`<div class="kept ${outdated ? 'stale' : ''}" aria-busy=${outdated ? 'true' : 'false'}>${show(
      this.#servers,
      servers => this.#list(servers),
      () => skeleton(10),
    )}</div>${groupDialog({
      servers: this.grouping,
      groups: (this.#groups.data ?? []).filter(group => group.owner === session.user?.name && group.origin !== 'file'),
      close: () => {
        this.grouping = undefined
      },
      add: group => void this.#addToGroup(group),
    })}`
  }

  #list(servers: readonly ServerRecord[]): unknown {
    const scope = listScopeOf(this.query)
    const shared = sharedFilter(scope, next => this.setView({ scope: next }))
    if (servers.length === 0) return scope === 'shared' ? nothingShared(shared) : nothingYet(scope === 'mine')
    const view = this.#view()
    const groups = this.#groups.data ?? []
    const group = groups.find(({ ref }) => ref === view.group)
    const members = view.group === '' ? undefined : new Set(group?.members.map(({ server }) => server))
    const fitting = servers.filter(server => fitsBeyondState(server, { ...view, text: view.q, members }))
    const shown = this.#kept(fitting, view.state)
    const bar = filterBar({
      view,
      counts: countConditions(fitting),
      servers,
      groups,
      shared,
      open: this.filtersOpen,
      toggle: () => {
        this.filtersOpen = !this.filtersOpen
      },
      set: changes => this.setView(changes),
    })
    return html`${bar}${shown.length === 0 ? noHits(view, () => this.setView({ q: undefined, state: undefined, transport: undefined, owner: undefined, group: undefined, tag: undefined })) : this.#table(servers, shown)}`
  }

  /** Returns the same list while nothing in it changed, so that the table does not arrange it again. */
  #kept(fitting: readonly ServerRecord[], state: string): readonly ServerRecord[] {
    const shown = state === '' ? fitting : fitting.filter(server => conditionOf(server) === state)
    const same = shown.length === this.#shown.length && shown.every((server, at) => server === this.#shownFor[at])
    if (!same) {
      this.#shown = shown
      this.#shownFor = shown
    }
    return this.#shown
  }

  #table(all: readonly ServerRecord[], shown: readonly ServerRecord[]): unknown {
    const chosen = shown.filter(server => this.selected.has(refOf(server)))
    const mine = all.filter(({ owner }) => owner === session.user?.name).length
    const head =
      chosen.length === 0
        ? undefined
        : bulkBar(chosen, all.length, {
            disabled: !live.reachable,
            control: verb => void controlEach(chosen, verb),
            group: () => this.#startGrouping(chosen),
            remove: () => void this.#remove(chosen),
            clear: () => this.#choose(new Set()),
          })
    const count = plural(all.length, '{n} server you can see, {mine} yours', '{n} servers you can see, {mine} yours', {
      mine,
    })
    const foot = `${shown.length < all.length ? `${t('{n} shown', { n: shown.length })} · ` : ''}${count}`
    return html`<pb-table kind="tserv" label=${t('Servers')} .rows=${shown} .columns=${this.#columns} .keyOf=${keyOf} .nameOf=${nameOf} .sort=${this.#sort}
      selectable .selected=${this.selected} .head=${head} .foot=${foot}
      @pb-select=${(event: CustomEvent<ReadonlySet<string>>) => this.#choose(event.detail)}
      @pb-sort=${({ detail }: CustomEvent<Sort>) => this.setView({ sort: `${detail.down ? '-' : ''}${detail.by}` })}
      @pb-open=${({ detail }: CustomEvent<ServerRecord>) => void router.go(`/servers/${encodeURIComponent(refOf(detail))}`)}></pb-table>`
  }

  #choose(selected: ReadonlySet<string>): void {
    this.selected = selected
  }

  #startGrouping(servers: readonly ServerRecord[]): void {
    void this.#groups.reload()
    this.grouping = servers
  }

  async #addToGroup(group: GroupRecord): Promise<void> {
    const servers = this.grouping ?? []
    this.grouping = undefined
    await addToGroup(servers, group)
    await this.#groups.reload()
  }

  async #remove(servers: readonly ServerRecord[]): Promise<void> {
    if (await deleteServers(servers, this.#groups.data ?? [])) this.#choose(new Set())
  }

  /** The switch moves at once; the hub's answer decides. */
  async #control(server: ServerRecord, verb: ServerVerb, undoable = false): Promise<void> {
    const ref = refOf(server)
    if (verb === 'start' || verb === 'stop') this.#wanted.set(ref, verb === 'start')
    this.#presses += 1
    this.requestUpdate()
    try {
      const after = await controlServer(ref, verb)
      this.#replace(after)
      if (verb === 'stop') {
        toast(
          t('{name} stopped', { name: server.name }),
          undoable ? () => void this.#control(after, 'start') : undefined,
        )
      } else
        toast(
          verb === 'start' ? t('{name} starts', { name: server.name }) : t('{name} restarts', { name: server.name }),
        )
    } catch (error) {
      toast(`${server.name}: ${errorText(asApiError(error))}`)
    }
    this.#wanted.delete(ref)
    this.#presses += 1
    this.requestUpdate()
  }

  #replace(fresh: ServerRecord): void {
    const servers = this.#servers.data
    if (servers) this.#servers.set(servers.map(server => (server.id === fresh.id ? fresh : server)))
  }

  async #refresh(ids: readonly string[]): Promise<void> {
    const servers = this.#servers.data
    if (ids.length === 0 || !servers) return this.#servers.reload()
    const fresh = await withFresh(servers, ids)
    const now = this.#servers.data ?? servers
    const byId = new Map(fresh.map(server => [server.id, server]))
    this.#servers.set(
      now.map(server =>
        server.id !== undefined && ids.includes(server.id) ? (byId.get(server.id) ?? server) : server,
      ),
    )
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !preferences.letterKeys) return
    if (isTyping(event) || document.querySelector('wa-dialog[open], wa-drawer[open]')) return
    if (event.key === 'n') void router.go('/servers/new')
    else if (event.key === 'x') this.#toggleFocused()
    else return
    event.preventDefault()
  }

  #toggleFocused(): void {
    const key = document.activeElement?.closest<HTMLElement>('tr[data-key]')?.dataset.key
    const server = this.#servers.data?.find(one => refOf(one) === key)
    if (server && isEditable(server) && this.refusal(server) === undefined && !this.isPending(server))
      this.toggle(server)
  }
}
customElements.define('pb-page-servers', PbPageServers)

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-servers': PbPageServers
  }
}
