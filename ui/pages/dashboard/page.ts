import { html, nothing } from 'lit'
import type { Dashboard } from '../../api/monitoring.ts'
import { readAll } from '../../api/servers.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { Resource } from '../../app/resource.ts'
import { href } from '../../app/router.ts'
import { scopeOf } from '../../app/scope.ts'
import { PbPage, segments, tabs } from '../../components/page.ts'
import { show } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import { rangeLabel, rangeOf } from '../monitoring/calls.ts'
import { greeting, newcomer } from './newcomer.ts'
import { sharedOffer } from './shared-offer.ts'
import './board.ts'
import './overview.ts'

const RANGES = ['1h', '24h', '7d', '30d'] as const

interface Own {
  readonly servers: readonly ServerRecord[]
  readonly groups: readonly GroupRecord[]
  readonly dashboards: readonly Dashboard[]
}

/** The first page: problems that need an action, figures of calls, and the patch bay; built-in and own dashboards are tabs. */
class PbPageDashboard extends PbPage {
  readonly #own = new Resource<Own>(this, {
    read: async signal => {
      const [servers, groups, dashboards] = await Promise.all([
        readAll<ServerRecord>('/api/servers', { scope: 'mine' }, signal),
        readAll<GroupRecord>('/api/groups', { scope: 'mine' }, signal),
        readAll<Dashboard>('/api/monitoring/dashboards', {}, signal),
      ])
      return { servers, groups, dashboards }
    },
    topics: ['servers'],
    pauseMs: 5000,
  })
  /** Things that others share, for a new user alone. */
  readonly #shared = new Resource<Pick<Own, 'servers' | 'groups'>>(this, {
    read: async signal => {
      const [servers, groups] = await Promise.all([
        readAll<ServerRecord>('/api/servers', { scope: 'shared' }, signal),
        readAll<GroupRecord>('/api/groups', { scope: 'shared' }, signal),
      ])
      return { servers, groups }
    },
    key: () => (this.#isNew ? 'new' : undefined),
    topics: ['shares'],
  })

  override crumbs() {
    return [{ label: this.#isNew ? greeting() : t('Dashboard') }]
  }

  /** True when the user has only the sample server, and has not opened the figures explicitly. */
  get #isNew(): boolean {
    const own = this.#own.data
    if (!own || this.view('tab') !== undefined) return false
    return own.servers.every(({ name }) => name === 'sample')
  }

  override actions() {
    if (this.#isNew || this.#own.data === undefined) return nothing
    const range = this.view('range') ?? '1h'
    return html`${segments(
      t('Time range'),
      RANGES.map(id => ({ id, label: rangeLabel(id) })),
      rangeOf(range).id as (typeof RANGES)[number],
      id => this.setView({ range: id === '1h' ? undefined : id }),
      'sm',
    )}<a class="btn pri" href=${href('/servers/new')}>${icon('plus')}${t('Add server')}</a>`
  }

  override content() {
    return show(this.#own, own => (this.#isNew ? this.#first(own) : this.#boards(own)))
  }

  #first({ servers, groups }: Own): unknown {
    const { data } = this.#shared
    return newcomer(servers, groups, data && sharedOffer(data.groups, data.servers))
  }

  #boards({ dashboards }: Own) {
    const present = this.view('tab') ?? 'overview'
    const link = (id: string): string =>
      href('/', { tab: id === 'overview' ? undefined : id, range: this.view('range'), scope: this.view('scope') })
    const entries = [
      { id: 'overview', label: t('Overview') },
      ...dashboards.map(({ ref, name, builtIn }) => ({ id: ref, label: builtIn ? builtInLabel(name) : name })),
      { id: 'new', label: t('New dashboard') },
    ]
    const range = rangeOf(this.view('range')).id
    const scope = scopeOf(this.query)
    return html`${tabs(t('Dashboards'), entries, present, link)}${
      present === 'overview'
        ? html`<pb-dashboard-overview .range=${range} .scope=${scope} .query=${this.query}></pb-dashboard-overview>`
        : html`<pb-board .ref=${present} .known=${dashboards} .range=${range} .scope=${scope} @pb-saved=${() => this.#own.reload()}></pb-board>`
    }`
  }
}
customElements.define('pb-page-dashboard', PbPageDashboard)

function builtInLabel(name: string): string {
  if (name === 'system-overview') return t('System')
  if (name === 'server-status') return t('Servers')
  if (name === 'request-analysis') return t('Calls')
  if (name === 'error-tracking') return t('Errors')
  return name === 'user-activity' ? t('People') : name
}
